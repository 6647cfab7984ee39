"""Checks the index rows of new events, without looking at the rows of older ones.

The code that indexes a new event says which rows it adds, against the stored state. Each row must be there, and each
key that an event touches must hold all and only what is signed for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from readmit.log.engines.sql import SHIFT, Rows, SqlSession, blob, chunks
from readmit.log.indexes.index_rows import INDEXES, Indexes
from readmit.log.indexes.seen_observations import OBSERVED, block_of, covers, epochs_in
from readmit.log.tree.state_map import key_of, running
from readmit.records.acts.draft import Draft
from readmit.records.acts.event import Event, EventKind, KeyChange, Resolve
from readmit.records.acts.kinds import targets_of
from readmit.records.canonical import canonical
from readmit.records.error_types import TamperedError
from readmit.text.english import counted
from readmit.trust.merkle import HASH_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from readmit.log.log import Log
    from readmit.log.tree.commits import Commits
    from readmit.records.items import Item

_INSERT = re.compile(r"\s*INSERT INTO (\w+) ")
_OBSERVED = f'["{OBSERVED}",'
_MAPPED = {"about": "about", "audience": "audience", "kin": "kin", "milestone": "milestone", "slot_item": "slot"}


class _Rows:
    """Passes reads on, and collects writes."""

    def __init__(self, sql: SqlSession) -> None:
        self._sql = sql
        self.written: dict[tuple[str, tuple[Any, ...]], None] = {}

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Rows:
        if "INSERT" not in query:
            return self._sql.execute(query, values)
        if (found := _INSERT.match(query)) is not None:
            self.written[found[1], tuple(values[1:])] = None
        return _NO_ROWS

    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> None:
        for row in rows:
            self.execute(query, row)


class _NoRows:
    rowcount = 0

    def fetchone(self) -> None:
        return None

    def fetchall(self) -> list[Any]:
        return []

    def __iter__(self) -> Any:
        return iter(())


_NO_ROWS = _NoRows()


class _Values:
    """The signed values, read only."""

    def __init__(self, commits: Commits) -> None:
        self.value = commits.value
        self.names: dict[str, bytes] = {}
        self.observed: dict[str, bytes] = {}
        """The signed values of the blocks in which new observations lie."""

    def extend(self, key: str, leaf: bytes) -> None:
        if key.startswith('["name",'):
            self.names[key] = leaf

    def extend_each(self, keys: Iterable[str], leaf: bytes) -> None:
        for key in keys:
            self.extend(key, leaf)

    def assign(self, key: str, value: bytes) -> None:
        if key.startswith(_OBSERVED):
            signed = self.observed[key] = self.value(key)
            if signed[HASH_BYTES:] != value[HASH_BYTES:]:
                raise TamperedError(f"the signed map lacks an observation in {key}")

    def hand_over(self, change: KeyChange) -> None:
        pass


class TouchedCheck:
    """The index rows of some events of one workspace."""

    def __init__(
        self, sql: SqlSession, ws: int, commits: Commits, item: Callable[[str], Item], problems: list[str]
    ) -> None:
        self._sql = sql
        self._ws = ws
        self._commits = commits
        self._problems = problems
        self._rows = _Rows(sql)
        self._values = _Values(commits)
        self._indexes = Indexes(self._rows, ws, self._values, item)  # type: ignore[arg-type]

    def event(self, event: Event, draft: Draft, leaf: bytes) -> None:
        """Collect the rows that one event adds."""
        try:
            self._indexes.add(event.epoch, draft, event.learnt.isoformat(), leaf, {})
        except TamperedError as error:
            self._problems.append(str(error))

    def run(self) -> None:
        """Compare the rows of the events with the stored and signed ones."""
        keys: dict[tuple[str, tuple[Any, ...]], str] = {}
        lacking: dict[str, int] = {}
        for index, row in self._rows.written:
            if index in _MAPPED:
                keys[index, row[:-1]] = key_of(_MAPPED[index], *row[:-1])
            elif not self._has(index, row):
                lacking[index] = lacking.get(index, 0) + 1
        for index, count in lacking.items():
            self._problems.append(f"the index {index!r} lacks {counted(count, 'row')} of new events")
        for key, leaf in self._values.names.items():
            if self._commits.value(key) != running((leaf,)):
                self._problems.append(f"the index 'name' has other rows than signed for {key}")
        self._check_observed()
        for (index, parts), key in keys.items():
            if running(self._leaves(index, parts)) != self._commits.value(key):
                said = ", ".join(map(repr, parts))
                self._problems.append(f"the index {index!r} has other rows than signed for {said}")

    def _check_observed(self) -> None:
        for key, value in self._values.observed.items():
            if not covers(value, self._at(epochs_in(block_of(key), value))):
                self._problems.append(f"the observations are not those that are signed for {key}")

    def _has(self, index: str, row: Sequence[Any]) -> bool:
        query = f"SELECT 1 FROM {index} WHERE ws = ? AND {_equal(INDEXES[index])}"
        return self._sql.execute(query, (self._ws, *row)).fetchone() is not None

    def _at(self, epochs: Sequence[int]) -> Iterable[bytes]:
        base = self._ws << SHIFT
        for marks, part in chunks(base + epoch for epoch in epochs):
            for (leaf,) in self._sql.execute(f"SELECT leaf FROM event WHERE pos IN ({marks}) ORDER BY pos", part):
                yield blob(leaf)

    def _leaves(self, index: str, parts: Sequence[Any]) -> Iterable[bytes]:
        query = (
            f"WITH listed AS MATERIALIZED (SELECT ? + epoch AS place FROM {index} "
            f"WHERE ws = ? AND {_equal(INDEXES[index][:-1], index)}) "
            "SELECT event.leaf FROM listed LEFT JOIN event ON event.pos = place ORDER BY place"
        )
        for (leaf,) in self._sql.execute(query, (self._ws << SHIFT, self._ws, *parts)):
            yield bytes(leaf or b"")


def _equal(columns: Iterable[str], table: str = "") -> str:
    return " AND ".join(f"{table}.{column} = ?" if table else f"{column} = ?" for column in columns)


def draft_of(event: Event, log: Log) -> Draft:
    """The draft that was appended to a log as an event."""
    about = event.payload
    if isinstance(about, Resolve):
        # A resolution concerns the items of its dispute.
        dispute = log.named(EventKind.DISPUTE, about.dispute)
        about = about if dispute is None else dispute.payload
    return Draft(
        id=event.id,
        kind=event.kind,
        by=event.by,
        at=event.at,
        payload=event.payload,
        body=canonical(event.payload),
        salt=event.salt,
        digest=event.digest,
        given=event.given,
        signature=event.signature,
        about=targets_of(about),
    )
