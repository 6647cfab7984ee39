"""Explicit supersessions on the log: which of them count, and which would form a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.acts.event import Event, EventKind, Revoke, Settle, Supersede
from readmit.records.acts.forgotten import Forget
from readmit.records.error_types import ConflictError
from readmit.records.items import Item
from readmit.records.same_statement import same_statement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from readmit.log.log import Log

Statement = frozenset[str]
"""The ids of the items that make one statement."""


class Replacements:
    """Which statement replaced which. Between two the latest supersession decides, so that one can be undone."""

    def __init__(self, log: Log, now: datetime) -> None:
        self._log = log
        self._now = now
        self._known: dict[str, Statement] = {}
        self._said: dict[Statement, dict[Statement, tuple[int, int]]] = {}

    def of(self, statement: Statement) -> Iterator[Statement]:
        """The statements that replaced one, without undone supersessions. An undo counts once it is in effect."""
        for successor, (epoch, _) in self._successors(statement).items():
            _, undone = self._successors(successor).get(statement, (0, 0))
            if epoch >= undone:
                yield successor

    def check(self, target: str, successor: str) -> None:
        """Refuse a supersession that would form a cycle.

        One that reverses the last supersession between the same two statements is an undo, not a cycle.
        """
        if target == successor:
            raise ConflictError(f"superseding {target!r} by itself would form a cycle: name what replaces it")
        first, last = self.statement(successor), self.statement(target)
        if first == last:
            # Within one statement it is about the recordings.
            self._known = {name: frozenset((name,)) for name in first}
            first, last = self._known[successor], self._known[target]
        seen, ahead = {first}, {one for one in self.of(first) if one != last}
        while ahead:
            if last in ahead:
                raise ConflictError(
                    f"superseding {target!r} by {successor!r} would form a cycle: "
                    f"{successor!r} was itself replaced by {target!r}, directly or through others"
                )
            seen |= ahead
            ahead = {one for statement in ahead for one in self.of(statement)} - seen

    def statement(self, name: str) -> Statement:
        """The statement that an item makes."""
        if name not in self._known:
            found = frozenset(_recordings(self._log, name))
            self._known |= dict.fromkeys(found, found)
        return self._known[name]

    def _successors(self, statement: Statement) -> dict[Statement, tuple[int, int]]:
        """All successors ever named, with the epoch of the last event, and of the last one in effect."""
        if statement not in self._said:
            found = self._said[statement] = {}
            for event in self._log.about(statement, until=self._log.head):
                if isinstance(event.payload, Supersede):
                    successor = self.statement(event.payload.successor)
                    _, before = found.get(successor, (0, 0))
                    found[successor] = event.epoch, event.epoch if self._in_effect(event) else before
            found.pop(statement, None)
        return self._said[statement]

    def _in_effect(self, event: Event) -> bool:
        """Whether a supersession holds, and its successor has begun."""
        start = self._log.item(event.payload.successor).valid.start if isinstance(event.payload, Supersede) else None
        return event.holds(self._now) and (start is None or start <= self._now)


def _recordings(log: Log, name: str) -> Iterator[str]:
    """Every item that makes the statement of one, itself included."""
    item = log.item(name)
    yield name
    if item.slot is None:
        alike = log.kin([item], until=log.head, known=frozenset())
    else:
        alike = log.in_slot(item.scope.task, item.slot, until=log.head)
    for event in alike:
        if isinstance(event.payload, Item) and same_statement(event.payload, item):
            yield event.payload.id


def ending(log: Log, duty: str, now: datetime) -> Event | None:
    """The event that ended a duty: it was settled, withdrawn or replaced."""
    marks = [event for event in log.about([duty], until=log.head) if event.holds(now)]
    if ended := [mark for mark in marks if isinstance(mark.payload, Settle | Revoke | Forget)]:
        return ended[0]
    replaced = frozenset().union(*Replacements(log, now).of(frozenset((duty,))))
    named = (mark for mark in marks if isinstance(mark.payload, Supersede) and mark.payload.successor in replaced)
    return next(named, None)


def over(duty: str, end: Event) -> str:
    """The end of a duty in words."""
    how = {EventKind.SETTLE: "settled", EventKind.REVOKE: "withdrawn", EventKind.FORGET: "forgotten"}.get(
        end.kind, "replaced"
    )
    return f"duty {duty!r} is over: {end.by} {how} it at epoch {end.epoch}"
