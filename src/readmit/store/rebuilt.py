"""Indexes rebuilt from the log, to be compared with the stored ones.

The signed map covers what was indexed, by the code of its time. Appending every event to an empty store, with the code
of now, also finds what should have been indexed and was not.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from readmit.records.canonical import canonical
from readmit.records.drafts import Draft
from readmit.records.events import EventKind, Resolve
from readmit.records.kinds import targets_of
from readmit.records.wording import counted
from readmit.store.bulk import insert
from readmit.store.connection import SqliteConnection
from readmit.store.indexes import INDEXES
from readmit.store.log import SqlLog
from readmit.store.sql import PAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.ports.store import Log
    from readmit.records.events import Event


class Rebuilt:
    """A store in a temporary file, to which one workspace's log is appended from the start."""

    def __init__(self, workspace: str) -> None:
        self._connection = SqliteConnection("")
        self._log = SqlLog(self._connection, workspace)

    def close(self) -> None:
        self._connection.close()

    def append(self, events: Iterable[Event]) -> Iterator[Event]:
        """Append events in order and pass them on."""
        with self._log.atomic():
            for event in events:
                self._log.append([draft_of(event, self._log)], now=event.learnt)
                yield event

    def differences(self, stored: Log) -> Iterator[str]:
        """How the stored index rows, and the stored last moment, differ from what the log implies."""
        if stored.learnt != self._log.learnt:
            yield f"the last moment of the log is stored as {stored.learnt}, but it has learnt up to {self._log.learnt}"
        for index, columns in INDEXES.items():
            self._keep(index, stored.indexed(index))
            for wanted, found, flaw in (
                (index, f"stored_{index}", "lacks"),
                (f"stored_{index}", index, "has, beyond what the log implies,"),
            ):
                names = ", ".join(columns)
                rows = self._connection.sql.execute(
                    f"SELECT {names} FROM {wanted} EXCEPT SELECT {names} FROM {found} ORDER BY {names}"
                ).fetchall()
                if rows:
                    first = ", ".join(f"{name} {value!r}" for name, value in zip(columns, rows[0], strict=True))
                    yield f"the index {index!r} {flaw} {counted(len(rows), 'row')}, the first with {first}"

    def _keep(self, index: str, stored: Iterator[tuple[Any, ...]]) -> None:
        names = ", ".join(INDEXES[index])
        sql = self._connection.sql
        sql.execute(f"CREATE TABLE stored_{index} AS SELECT {names} FROM {index} WHERE 0")
        while page := list(islice(stored, PAGE)):
            insert(sql, f"stored_{index}", page)


def draft_of(event: Event, log: Log) -> Draft:
    """What was appended as an event to a log."""
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
        digest=event.digest,
        given=event.given,
        signature=event.signature,
        about=targets_of(about),
    )
