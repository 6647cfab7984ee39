"""Every promise of SECURITY.md names its attacks, and every attack tries a promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.promises import CAMPAIGNS, NO_ATTACK, PROMISES, defined, promise_of, promised, table, written
from tests.conftest import ROOT


def test_every_promise_of_the_page_has_attacks_and_there_is_no_other() -> None:
    assert promised() == list(PROMISES)
    assert not [key for key, promise in PROMISES.items() if not promise.attacks]
    assert {promise.campaign for promise in PROMISES.values()} == CAMPAIGNS.keys()


@pytest.mark.parametrize("key", PROMISES)
def test_every_attack_that_a_promise_names_is_there(key: str) -> None:
    for attack in PROMISES[key].attacks:
        file, _, name = attack.partition("::")
        assert (name in defined(file)) if name else defined(file), attack


def test_every_attack_tries_a_promise() -> None:
    files = sorted(path.relative_to(ROOT / "tests").as_posix() for path in Path(__file__).parent.rglob("test_*.py"))
    found = [f"{file}::{name}" for file in files if file not in NO_ATTACK for name in defined(file)]
    assert not [one for one in found if not promise_of(one)], "name it in PROMISES (tests/attacks/promises.py)"


def test_an_attack_counts_for_one_promise() -> None:
    every = [attack for promise in PROMISES.values() for attack in promise.attacks]
    assert len(every) == len(set(every))


def test_the_page_names_these_attacks() -> None:
    ours = [line.split("|")[1:4] for line in table().splitlines()[2:]]
    assert [row[:3] for row in written()] == [[cell.strip() for cell in row] for row in ours], "run: make attack"


def test_the_page_says_how_often_each_was_tried_and_that_none_broke_a_promise() -> None:
    assert not [row[0] for row in written() if row[3] in ("", "0") or row[-1] != "0"], "run: make attack"
