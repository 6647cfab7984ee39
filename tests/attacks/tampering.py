"""Every way to tamper with one row or two of a store, and what comes of it.

Tables and columns are read from the file, so that none can be forgotten. ``python -m tests.attacks.tampering`` writes
what came of it into docs/reliability.md; ``test_tampering`` fails when the page is behind.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tests.attacks.forger import recompute
from tests.attacks.victim import ACTS, attempt, build, fixed_salts, rows_of, tables, tampered
from tests.conftest import ROOT
from tests.in_memory import memory

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tests.attacks.victim import Seen, Victim

Row = tuple[object, ...]
Statement = tuple[str, Row]
T = TypeVar("T")
PAGE = ROOT / "docs" / "reliability.md"
MARKERS = "<!-- generated: tampering -->", "<!-- end: tampering -->"
MOST = 1
"""At how many rows of a table each edit is tried in an ordinary run."""
ALL = 1_000
"""More rows than any table of the store has."""


class Edit(NamedTuple):
    """One edit: statements on a table, in one transaction."""

    table: str
    act: str
    """``update``, ``delete``, ``insert`` or ``reorder``."""
    column: str
    """The column that it changes; empty if it removes a row."""
    statements: tuple[Statement, ...]

    def apply(self, victim: Victim, *, recomputed: bool) -> bool:
        """Whether the database takes it. If asked for, the file then agrees with itself again."""
        try:
            with tampered(victim) as sql:
                sql.execute("BEGIN")
                for statement, values in self.statements:
                    sql.execute(statement, values)
                sql.execute("COMMIT")
            if recomputed:
                recompute(victim.file)
        except Exception:  # noqa: BLE001 - the edit is impossible: there is nothing to detect
            return False
        return True


def edits(sql: sqlite3.Connection, most: int) -> Iterator[Edit]:
    """The edits of every table and column, at up to so many rows each, spread over the table."""
    for table, columns in tables(sql).items():
        rows: list[Row] = sql.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - our own names
        for row in _spread(rows, most):
            here, values = _where(columns, row)
            yield Edit(table, "delete", "", ((f"DELETE FROM {table} WHERE {here}", values),))  # noqa: S608
        for at, column in enumerate(columns):
            if column != "ws":  # a row under another number is none of this workspace
                yield from _inserts(table, column, at, _spread(rows, most))
            yield from _updates(table, columns, at, rows, most)
            yield from _swaps(table, columns, at, rows, most)


def _inserts(table: str, column: str, at: int, rows: Sequence[Row]) -> Iterator[Edit]:
    for row in rows:
        made = (*row[:at], _other(row[at]), *row[at + 1 :])
        marks = ", ".join("?" * len(row))
        yield Edit(table, "insert", column, ((f"INSERT INTO {table} VALUES ({marks})", made),))  # noqa: S608


def _updates(table: str, columns: Sequence[str], at: int, rows: Sequence[Row], most: int) -> Iterator[Edit]:
    known = list(dict.fromkeys(row[at] for row in rows))
    for row in _spread(rows, most):
        others = [value for value in (_other(row[at]), *_spread(known, most), None) if value != row[at]]
        for value in list(dict.fromkeys(others))[: most + 1]:
            yield Edit(table, "update", columns[at], (changed(table, columns, at, row, value),))


def _swaps(table: str, columns: Sequence[str], at: int, rows: Sequence[Row], most: int) -> Iterator[Edit]:
    for one, two in _spread([pair for pair in pairwise(rows) if pair[0][at] != pair[1][at]], most):
        # By way of a third value, since a key may not stand twice.
        between = _other(_other(one[at]))
        statements = (
            changed(table, columns, at, one, between),
            changed(table, columns, at, two, one[at]),
            changed(table, columns, at, (*one[:at], between, *one[at + 1 :]), two[at]),
        )
        yield Edit(table, "reorder", columns[at], statements)


def changed(table: str, columns: Sequence[str], at: int, row: Row, value: object) -> Statement:
    """One column of one row set to a value."""
    here, values = _where(columns, row)
    return f"UPDATE {table} SET {columns[at]} = ? WHERE {here}", (value, *values)  # noqa: S608 - our own names


def _where(columns: Sequence[str], row: Row) -> Statement:
    return " AND ".join(f"{column} IS ?" for column in columns), row


def _other(value: object) -> object:
    """Another value of the same type."""
    match value:
        case int():
            return value + 1
        case str() if value.endswith("+00:00"):
            return value.replace("2026", "2025")
        case str():
            return f"{value}x"
        case bytes() if b'"bob"' in value:
            return value.replace(b'"bob"', b'"eve"')
        case bytes() if value:
            return value[:-1] + bytes([value[-1] ^ 1])
    return b"x"


def _spread(rows: Sequence[T], most: int) -> Sequence[T]:
    """Some of them: the last, the first, and some between."""
    if len(rows) <= most:
        return rows
    return [rows[-1 - at * (len(rows) - 1) // max(most - 1, 1)] for at in range(most)]


class Finding(NamedTuple):
    """What came of one edit."""

    edit: Edit
    recomputed: bool
    """Whether everything that needs no key was computed again."""
    outcomes: Mapping[str, str]
    """By act."""
    seen: Mapping[str, Seen]


def outcome(before: Seen, after: Seen) -> str:
    """``same``, ``refused``, ``withheld``, ``CRASHED``, or ``UNDETECTED``: another result, and nothing said so."""
    if after == before:
        return "same"
    if after.crash:
        return "CRASHED"
    if after.refusal:
        return "refused"
    # Fewer of the same memories.
    if set(after.result.splitlines()) <= set(before.result.splitlines()):
        return "withheld"
    return "UNDETECTED"


def campaign(victim: Victim, folder: Path, chosen: Iterable[Edit]) -> Iterator[Finding]:
    """Try each edit, with and without computing again what needs no key, each act on a copy of its own."""
    before = {act: attempt(victim.copied(folder / "honest"), act) for act in ACTS}
    assert {act for act, seen in before.items() if seen.refusal or seen.crash} == {"expose again"}
    for edit in chosen:
        known = [rows_of(victim)]
        for recomputed in (False, True):
            altered = victim.copied(folder / "altered")
            if edit.apply(altered, recomputed=recomputed) and (rows := rows_of(altered)) not in known:
                known.append(rows)
                seen = {act: attempt(altered.copied(folder / "used"), act) for act in ACTS}
                outcomes = {act: outcome(before[act], seen[act]) for act in ACTS}
                yield Finding(edit, recomputed, outcomes, seen)


def table_of(findings: Iterable[Finding]) -> str:
    """What came of the edits, table by table."""
    counted: defaultdict[str, defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for one in findings:
        for act, came in one.outcomes.items():
            counted[one.edit.table][act][came] += 1
    head = ("table", "edits", *ACTS)
    lines = [head, ("---",) * len(head)]
    for table, acts in sorted(counted.items()):
        cells = [", ".join(f"{count} {_word(act, came)}" for came, count in sorted(acts[act].items())) for act in ACTS]
        lines.append((f"`{table}`", str(acts["return"].total()), *cells))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _word(act: str, came: str) -> str:
    return "reported" if (act, came) == ("verify", "refused") else came


def rewritten(table: str) -> str:
    """The page with this table in it."""
    start, end = MARKERS
    before, rest = PAGE.read_text(encoding="utf-8").split(start)
    return f"{before}{start}\n\n{table}\n\n{end}{rest.split(end)[1]}"


def findings_at(most: int, choose: Callable[[list[Edit]], Sequence[Edit]] = list) -> list[Finding]:
    """The findings at so many rows. In memory, where there is such a place: thousands of copies wait for no disk."""
    with fixed_salts(), tempfile.TemporaryDirectory(dir=memory()) as name:
        folder = Path(name)
        victim = build(folder / "victim")
        with tampered(victim.copied(folder / "listed")) as sql:
            every = list(edits(sql, most))
        return list(campaign(victim, folder, choose(every)))


if __name__ == "__main__":
    PAGE.write_text(rewritten(table_of(findings_at(MOST))), encoding="utf-8")
