"""Random bytes where the store keeps notes, commits and nodes: a return ends in a named error, or as if nothing was."""

from __future__ import annotations

import tempfile
from itertools import cycle, product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attacks.tampering import Edit, changed, outcome
from tests.attacks.victim import attempt, build, tables, tampered
from tests.conftest import examples
from tests.scene import audited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.attacks.victim import Seen, Victim

PLACES = {
    "the signed note": "UPDATE workspace SET note = ?",
    "the edge of the tree": "UPDATE workspace SET edge = ?",
    "how many commits there are": "UPDATE workspace SET size = ?",
    "the last moment": "UPDATE workspace SET learnt = ?",
    "the last commit": "UPDATE commit_record SET body = ? WHERE pos = (SELECT (ws << 40) + size FROM workspace)",
    "every commit": "UPDATE commit_record SET body = ?",
    "the nodes of the tree": "UPDATE commit_record SET nodes = ?",
    "the notes of key changes": "UPDATE commit_record SET note = ? WHERE note IS NOT NULL",
    "the map": "UPDATE node SET body = ?",
    "the top of the map": "UPDATE node SET body = ? WHERE level = (SELECT max(level) FROM node)",
    "the leaves": "UPDATE event SET leaf = ?",
    "the bodies of events": "UPDATE event SET body = ? WHERE kind IN ('record', 'govern', 'key')",
    "the moments of events": "UPDATE event SET at = ?",
    "the sources of memories": "UPDATE source SET body = ?",
    "a decision": "UPDATE audit SET body = ? WHERE kind = 'decision'",
    "the signature of a view": "UPDATE decision SET seal = ?",
    "where a decision is": "UPDATE decision SET last = ?",
}
# Whatever the column: SQLite keeps a value of any type in it.
VALUES = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=40),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.none(),
)
ACTS = ("return", "expose", "search")


class Store:
    """A store to be copied, and what is handed over from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.victim = build(folder / "victim")
        self.honest = {act: attempt(self.copied(), act) for act in ACTS}

    def copied(self) -> Victim:
        return self.victim.copied(self.folder / "used")


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        yield Store(Path(folder))


def _tried(store: Store, place: str, value: object, act: str) -> Seen:
    victim = store.copied()
    with tampered(victim) as sql:
        # An impossible value, such as none where there has to be one, is no attack.
        sql.execute(PLACES[place].replace("UPDATE", "UPDATE OR IGNORE"), (value,))
    return attempt(victim, act)


@pytest.mark.parametrize("place", PLACES)
@given(value=VALUES, act=st.sampled_from(ACTS))
@settings(max_examples=examples(40))
def test_whatever_is_stored_there_ends_in_a_named_error_or_changes_nothing(
    store: Store, place: str, value: object, act: str
) -> None:
    seen = _tried(store, place, value, act)
    assert not seen.crash
    assert seen.refusal or seen == store.honest[act]


@pytest.mark.parametrize("place", PLACES)
@given(data=st.data())
@settings(max_examples=examples(25))
def test_a_flipped_bit_ends_in_a_named_error_or_changes_nothing(store: Store, place: str, data: st.DataObject) -> None:
    """Nearly right is more dangerous than random."""
    table, rest = PLACES[place].removeprefix("UPDATE ").split(" SET ", 1)
    column, _, where = rest.partition(" = ?")
    victim = store.copied()
    with tampered(victim) as sql:
        rows = sql.execute(f"SELECT {column} FROM {table}{where}").fetchall()  # noqa: S608 - our own names
        stored = [row[0] for row in rows if isinstance(row[0], bytes) and row[0]]
        if not stored:
            return
        flipped = bytearray(data.draw(st.sampled_from(stored)))
        flipped[data.draw(st.integers(0, len(flipped) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        sql.execute(PLACES[place], (bytes(flipped),))
    act = data.draw(st.sampled_from(ACTS))
    seen = attempt(victim, act)
    assert not seen.crash
    assert seen.refusal or seen == store.honest[act]


@pytest.mark.parametrize("place", PLACES)
def test_the_audit_says_what_it_met(store: Store, place: str) -> None:
    victim = store.copied()
    with tampered(victim) as sql:
        sql.execute(PLACES[place], (b"\xff\x00nonsense",))
    with victim.open() as team:
        assert audited(team).problems


def _of_another_type(value: object) -> object:
    match value:
        case int():
            return str(value).encode()
        case str():
            return value.encode()
        case bytes():
            return value.hex()
    return 1.5


def _retyped(store: Store) -> Iterator[Edit]:
    """One row in the middle of each table and the last one, with one column each of another type."""
    with tampered(store.copied()) as sql:
        for table, columns in tables(sql).items():
            rows = sql.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - our own names
            for row in dict.fromkeys((rows[len(rows) // 2], rows[-1])):
                for at, column in enumerate(columns):
                    statement = changed(table, columns, at, row, _of_another_type(row[at]))
                    yield Edit(table, "update", column, (statement,))


READS = ("search", "expose again", "replay")


@pytest.mark.parametrize("each", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_value_of_another_type_ends_in_a_named_error_or_changes_nothing(
    store: Store, each: bool, record_property: Callable[[str, object], None]
) -> None:
    """Every edit with one of the acts, by turns; a slow run tries each edit with all of them."""
    honest = {act: attempt(store.copied(), act) for act in READS}
    edits = list(_retyped(store))
    wrong, tried = [], 0
    for edit, act in product(edits, READS) if each else zip(edits, cycle(READS), strict=False):
        victim = store.copied()
        if edit.apply(victim, recomputed=False):
            tried += 1
            seen = attempt(victim, act)
            if outcome(honest[act], seen) in {"CRASHED", "UNDETECTED"}:
                wrong.append(f"{act}, {edit.table}.{edit.column}: {seen.crash or seen.result[:200]}")
    record_property("attempts", tried)
    assert not wrong
