"""Explicit supersessions on the log: which of them count, and which would form a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.errors import ConflictError
from readmit.records.events import Revoke, Settle, Supersede

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from readmit.ports.store import Log


class Replacements:
    """Which item replaced which. Between two items the latest supersession decides, so that one can be undone."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._said: dict[str, dict[str, int]] = {}

    def of(self, item: str) -> Iterator[str]:
        """The items that replaced an item, without undone supersessions."""
        said = self._successors([item])[item]
        back = self._successors(said)
        return (successor for successor, epoch in said.items() if epoch >= back[successor].get(item, 0))

    def check(self, target: str, successor: str) -> None:
        """Refuse a supersession that would form a cycle.

        One that reverses the last supersession between the same two items is an undo, not a cycle.
        """
        if target == successor:
            raise ConflictError(f"superseding {target!r} by itself would form a cycle: name what replaces it")
        seen, ahead = {successor}, {one for one in self.of(successor) if one != target}
        while ahead:
            if target in ahead:
                raise ConflictError(
                    f"superseding {target!r} by {successor!r} would form a cycle: "
                    f"{successor!r} was itself replaced by {target!r}, directly or through others"
                )
            seen |= ahead
            ahead = {one for item in ahead for one in self.of(item)} - seen

    def _successors(self, items: Iterable[str]) -> dict[str, dict[str, int]]:
        """For each item, all successors ever named, with the epoch of the last event."""
        wanted = [item for item in items if item not in self._said]
        self._said |= {item: {} for item in wanted}
        for event in self._log.about(wanted, until=self._log.head) if wanted else ():
            if isinstance(event.payload, Supersede):
                self._said[event.payload.target][event.payload.successor] = event.epoch
        return self._said


def is_over(log: Log, duty: str, now: datetime) -> bool:
    """Whether a duty was settled, withdrawn or replaced."""
    marks = [event for event in log.about([duty], until=log.head) if event.holds(now)]
    if any(isinstance(mark.payload, Settle | Revoke) for mark in marks):
        return True
    replaced = set(Replacements(log).of(duty))
    return any(isinstance(mark.payload, Supersede) and mark.payload.successor in replaced for mark in marks)
