"""A key that stands twice in an object of a file is refused: JSON would silently take the last."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readmit import Policy
from readmit.errors import ReadmitError
from readmit.inference import settings_from
from readmit.records.canonical import decode_file, repeated_key
from readmit.scenario import document
from tests.cli.run import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

READERS: dict[str, tuple[Callable[[str], object], str, str]] = {
    "a policy": (
        lambda text: decode_file(text, Policy, what="policy.json"),
        '{"evidence": {"writers": ["bob"],\n "writers": ["mallory"]}}',
        "policy.json: line 2, column 2: the key 'writers' is given twice; keep one of them",
    ),
    "a key in two spellings": (
        lambda text: decode_file(text, Policy, what="policy.json"),
        r'{"evidence": {"writers": ["bob"], "\u0077riters": ["mallory"]}}',
        "policy.json: line 1, column 35: the key 'writers' is given twice",
    ),
    "the policy of a scenario": (
        document.read_scenario,
        '{"readmit": 1, "name": "x", "policy": {"evidence": {"writers": ["bob"], "writers": ["eve"]}}, "steps": []}',
        "line 1, column 73: the key 'writers' is given twice",
    ),
    "a step": (
        document.read_steps,
        '[{"do": "observe", "text": "x", "by": "bob", "by": "mallory"}]',
        "line 1, column 46: the key 'by' is given twice",
    ),
    "settings": (settings_from, '{"budget": 1, "budget": 9}', "settings: line 1, column 15: the key 'budget'"),
}


@pytest.mark.parametrize("case", READERS)
def test_a_repeated_key_is_refused_by_name_and_place(case: str) -> None:
    read, text, said = READERS[case]
    with pytest.raises(ReadmitError, match=f"^{re.escape(said)}"):
        read(text)


def test_init_refuses_a_policy_file_with_a_repeated_key(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text('{"evidence": {"writers": ["bob"], "writers": ["mallory"]}}', encoding="utf-8")
    refused = run("init", "--db", tmp_path / "team.db", "--policy", file, status=1)
    assert "line 1, column 35: the key 'writers' is given twice" in refused.stderr
    assert not (tmp_path / "team.db").exists()


class Pairs(list[tuple[str, Any]]):
    """An object that may repeat a key."""


def written(value: object) -> str:
    if isinstance(value, Pairs):
        pairs = (f"{json.dumps(key)} : {written(part)}" for key, part in value)
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(written, value))}]"
    return json.dumps(value)


keys = st.sampled_from(["a", "b", "{", "}", '"', "\\", ":", "é", '":{'])
values = st.recursive(
    keys | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(keys, inner), max_size=4).map(Pairs),
)


@given(values)
def test_it_finds_what_a_parser_finds(value: object) -> None:
    repeated = []

    def gathered(pairs: list[tuple[str, Any]]) -> None:
        repeated.append(len(dict(pairs)) < len(pairs))

    text = written(value)
    json.loads(text, object_pairs_hook=gathered)
    assert (repeated_key(text) is not None) == any(repeated)
