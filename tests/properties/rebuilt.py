"""Indexes and the signed map rebuilt from the log, to be compared with the stored ones.

The signed map covers what was indexed. Appending every event to an empty store also finds what should have been indexed
and was not.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from readmit.log.engines.sql import PAGE
from readmit.log.engines.sqlite import SqliteConnection
from readmit.log.indexes.index_rows import INDEXES
from readmit.log.ledger import LEDGER
from readmit.log.log import Log
from readmit.log.log_end import insert
from readmit.log.tree.index_touched import draft_of
from readmit.log.tree.state_map import NAME_KEY
from readmit.text.english import counted
from tests.scene import indexed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.types import Event

_WRITTEN = tuple(f'["{use}",' for use in (LEDGER, NAME_KEY, "source", "derived"))
"""How keys begin whose values are written by themselves, not with an event."""


class Rebuilt:
    """A store in a temporary file, to which one workspace's log is appended from the start."""

    def __init__(self, workspace: str) -> None:
        self._connection = SqliteConnection("")
        self._log = Log(self._connection, workspace)

    def close(self) -> None:
        self._connection.close()

    def append(self, events: Iterable[Event]) -> Iterator[Event]:
        """Append events in order and pass them on."""
        with self._log.atomic():
            for event in events:
                self._log.append([draft_of(event, self._log)], now=event.learnt)
                yield event

    def differences(self, stored: Log) -> Iterator[str]:
        """How the stored rows, the last moment and the signed map differ from what the log implies."""
        if stored.learnt != self._log.learnt:
            yield f"the last moment of the log is stored as {stored.learnt}, but it has learnt up to {self._log.learnt}"
        implied, signed = _signed(self._log), _signed(stored)
        if implied != signed:
            keys = sorted(key for key in {*implied, *signed} if implied.get(key) != signed.get(key))
            yield f"the signed map differs at {', '.join(keys)}"
        for index, columns in INDEXES.items():
            self._keep(index, indexed(stored, index))
            for wanted, found, flaw in (
                (index, f"stored_{index}", "lacks"),
                (f"stored_{index}", index, "has, beyond what the log implies,"),
            ):
                names = ", ".join(columns)
                rows = self._connection.sql.execute(
                    f"SELECT {names} FROM {wanted} EXCEPT SELECT {names} FROM {found} ORDER BY {names}"  # noqa: S608
                ).fetchall()
                if rows:
                    first = ", ".join(f"{name} {value!r}" for name, value in zip(columns, rows[0], strict=True))
                    yield f"the index {index!r} {flaw} {counted(len(rows), 'row')}, the first with {first}"

    def _keep(self, index: str, stored: Iterator[tuple[Any, ...]]) -> None:
        names = ", ".join(INDEXES[index])
        sql = self._connection.sql
        sql.execute(f"CREATE TABLE stored_{index} AS SELECT {names} FROM {index} WHERE 0")  # noqa: S608 - our own names
        while page := list(islice(stored, PAGE)):
            insert(sql, f"stored_{index}", page)


def _signed(log: Log) -> dict[str, bytes]:
    """The entries of the signed map that follow from the log."""
    with log.reading():
        every = log.commits.beginning_with("")
    return {key: value for key, value in every.items() if not key.startswith(_WRITTEN)}
