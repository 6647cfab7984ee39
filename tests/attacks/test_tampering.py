"""The tampering table: nothing that was edited without a key is acted on without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.attacks.sampling import SEED, sampled, seed
from tests.attacks.tampering import ALL, MOST, PAGE, edits, findings_at, rewritten, table_of
from tests.attacks.victim import build, tables, tampered
from tests.conftest import NIGHTLY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.attacks.tampering import Edit, Finding

# The built-in memory store is a store like any other: what it holds is checked against the signed ledger when it is
# read.
UNSIGNED = {"memory", "memory_store", "memory_term", "memory_version"}
EACH = 4
"""Edits of a kind on a table in a sample: a minute of processor time for all."""
PARTS = 16
"""So that no part of the whole is longer than a test may be, and several processes share them."""


@pytest.fixture(scope="module", params=[pytest.param(6, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)])
def findings(request: pytest.FixtureRequest) -> list[Finding]:
    """Those of every sixth edit, and of all."""
    return findings_at(MOST, lambda every: every[:: request.param])


WHOLE = pytest.mark.parametrize("findings", [1], indirect=True, ids=["all"])


def _described(one: Finding, act: str) -> str:
    said = one.seen[act].crash or one.seen[act].result[:200]
    return f"{one.edit.act} {one.edit.table}.{one.edit.column}, recomputed {one.recomputed}, {act}: {said}"


def _loud(findings: list[Finding]) -> list[str]:
    loud = {"UNDETECTED", "CRASHED"}
    return [_described(one, act) for one in findings for act, came in one.outcomes.items() if came in loud]


def _silent(findings: list[Finding]) -> list[str]:
    return [
        _described(one, "verify")
        for one in findings
        # A row under the number of another workspace is none of this one.
        if one.outcomes["verify"] == "same" and one.edit.table not in UNSIGNED and one.edit.column != "ws"
    ]


def _withheld(findings: list[Finding]) -> set[str]:
    return {act for one in findings for act, came in one.outcomes.items() if came == "withheld"}


def _wrong(findings: list[Finding]) -> list[str]:
    return [*_loud(findings), *_silent(findings), *sorted(_withheld(findings) - {"search"})]


def test_nothing_else_is_decided_or_handed_over_without_a_word(
    findings: list[Finding], record_property: Callable[[str, object], None]
) -> None:
    record_property("attempts", len(findings))
    assert not _loud(findings)


def test_every_edit_of_what_is_signed_shows_in_the_audit(findings: list[Finding]) -> None:
    assert not _silent(findings)


def test_only_memories_are_withheld(findings: list[Finding]) -> None:
    """A return and an exposure are the same or refused."""
    assert _withheld(findings) <= {"search"}


@pytest.mark.slow
@WHOLE
def test_every_table_and_column_is_tried(findings: list[Finding], tmp_path: Path) -> None:
    with tampered(build(tmp_path / "victim")) as sql:
        columns = {(table, column) for table, names in tables(sql).items() for column in names}
        empty = {table for table in tables(sql) if not sql.execute(f"SELECT 1 FROM {table}").fetchone()}  # noqa: S608
    assert not empty
    assert columns == {(one.edit.table, one.edit.column) for one in findings if one.edit.column}


@pytest.mark.slow
@WHOLE
def test_the_page_holds_what_came_of_it(findings: list[Finding]) -> None:
    assert PAGE.read_text(encoding="utf-8") == rewritten(table_of(findings)), "run `python -m tests.attacks.tampering`"


def _drawn(every: list[Edit], start: int, each: int) -> list[Edit]:
    drawn = sampled(every, start, each)
    assert {(one.table, one.act) for one in drawn} == {(one.table, one.act) for one in every}
    return drawn


def test_a_seed_repeats_its_sample_and_every_table_and_act_is_in_it(tmp_path: Path) -> None:
    with tampered(build(tmp_path / "victim")) as sql:
        every = list(edits(sql, ALL))
    one, again, other = (_drawn(every, start, EACH) for start in (1, 1, 2))
    assert one == again != other


@pytest.mark.slow
def test_a_sample_of_the_edits_of_every_row(record_property: Callable[[str, object], None]) -> None:
    start = seed()
    print(f"{SEED}={start}")
    drawn: list[Edit] = []

    def choose(every: list[Edit]) -> list[Edit]:
        drawn.extend(_drawn(every, start, EACH))
        return drawn

    found = findings_at(ALL, choose)
    record_property("attempts", len(drawn))
    assert not _wrong(found), f"repeat it with {SEED}={start}"


@pytest.mark.slow
@pytest.mark.skipif(not NIGHTLY, reason="more than an hour: make attack-full")
@pytest.mark.parametrize("part", range(PARTS))
def test_the_same_at_every_row(part: int) -> None:
    assert not _wrong(findings_at(ALL, lambda every: every[part::PARTS]))
