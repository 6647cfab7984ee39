"""The tampering table: nothing that was edited without a key is acted on without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.attacks.tampering import MOST, PAGE, findings_at, rewritten, table_of
from tests.attacks.victim import build, tables, tampered
from tests.conftest import NIGHTLY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.attacks.tampering import Finding

# The built-in memory store is a store like any other: what it holds is checked against the signed ledger when it is
# read.
UNSIGNED = {"memory", "memory_store", "memory_term", "memory_version"}


@pytest.fixture(scope="module", params=[pytest.param(6, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)])
def findings(request: pytest.FixtureRequest) -> list[Finding]:
    """Those of every sixth edit, and of all."""
    return findings_at(MOST, every=request.param)


ALL = pytest.mark.parametrize("findings", [1], indirect=True, ids=["all"])


def _described(one: Finding, act: str) -> str:
    said = one.seen[act].crash or one.seen[act].result[:200]
    return f"{one.edit.act} {one.edit.table}.{one.edit.column}, recomputed {one.recomputed}, {act}: {said}"


def _check(findings: list[Finding]) -> None:
    loud = {"UNDETECTED", "CRASHED"}
    assert not [_described(one, act) for one in findings for act, came in one.outcomes.items() if came in loud]


def _check_verified(findings: list[Finding]) -> None:
    silent = [
        _described(one, "verify")
        for one in findings
        # A row under the number of another workspace is none of this one.
        if one.outcomes["verify"] == "same" and one.edit.table not in UNSIGNED and one.edit.column != "ws"
    ]
    assert not silent


def test_nothing_else_is_decided_or_handed_over_without_a_word(findings: list[Finding]) -> None:
    _check(findings)


def test_every_edit_of_what_is_signed_shows_in_the_audit(findings: list[Finding]) -> None:
    _check_verified(findings)


def test_only_memories_are_withheld(findings: list[Finding]) -> None:
    """A return and an exposure are the same or refused."""
    assert {act for one in findings for act, came in one.outcomes.items() if came == "withheld"} <= {"search"}


@pytest.mark.slow
@ALL
def test_every_table_and_column_is_tried(findings: list[Finding], tmp_path: Path) -> None:
    with tampered(build(tmp_path / "victim")) as sql:
        columns = {(table, column) for table, names in tables(sql).items() for column in names}
        empty = {table for table in tables(sql) if not sql.execute(f"SELECT 1 FROM {table}").fetchone()}  # noqa: S608
    assert not empty
    assert columns == {(one.edit.table, one.edit.column) for one in findings if one.edit.column}


@pytest.mark.slow
@ALL
def test_the_page_holds_what_came_of_it(findings: list[Finding]) -> None:
    assert PAGE.read_text(encoding="utf-8") == rewritten(table_of(findings)), "run `python -m tests.attacks.tampering`"


@pytest.mark.slow
def test_the_same_at_more_rows() -> None:
    """In a nightly run at every row."""
    every = findings_at(1_000 if NIGHTLY else 2)
    _check(every)
    _check_verified(every)
