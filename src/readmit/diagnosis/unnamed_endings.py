"""Items that fell although no event names them: another item took their slot, or their source changed.

Which item stands depends on the reader. An item counts as fallen if it fell for everybody on its task, or for a
principal that its slot's items name.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import msgspec

from readmit.records.acts.event import Event, EventKind
from readmit.records.acts.voids import Voids
from readmit.records.decisions import Cause, Disposition, Returned
from readmit.records.identity import Identity
from readmit.records.items import Frontier, Obligation
from readmit.records.reasons import Reason
from readmit.records.snapshot import Held, Sighting, Snapshot, WorkState
from readmit.rules.capture.bindings import flaws
from readmit.rules.capture.checkpoint import checkpoint
from readmit.rules.capture.fold import fold
from readmit.rules.capture.voided import evidence_without
from readmit.rules.invalidate.repeated_statements import SameStatements
from readmit.rules.invalidate.resolve import resolve
from readmit.state.authority import authority, policy_in_force, vetted
from readmit.state.load import add_judged
from readmit.state.past_returns import dispositions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from readmit.log.log import Log

UNNAMED = frozenset(
    {
        Reason.SLOT_UPDATED,
        Reason.SLOT_CONTESTED,
        Reason.FRONTIER_MOVED,
        Reason.SOURCE_CHANGED,
    }
)
"""Reasons by which an event ends an item that it does not name."""
REPLACING = frozenset({Reason.SLOT_UPDATED, Reason.FRONTIER_MOVED})
"""Reasons that name the replacing item."""
Endings = dict[int, dict[str, "Cause"]]
"""Epoch → the items that fell with the event there, each with its cause."""


def endings_of_return(log: Log, return_id: str) -> Endings:
    """Endings that one return found."""
    found: Endings = {}
    _add(found, dispositions(log, return_id))
    return found


def all_endings(log: Log) -> Endings:
    """Endings in the whole log, and those that only its returns found."""
    voids = Voids(log.milestones(EventKind.VOID))
    events = [voids.event(event) for event in log.tail()]
    state = fold(WorkState(), (event for event in events if event.kind is not EventKind.OBSERVE))
    found: Endings = {}
    judge = _Judge(log, state, {event.epoch: event.learnt for event in events}, voids)
    for members in _groups(state):
        for epoch, name, cause in judge.fell(members):
            # A replacement that is disputed later contests the slot.
            found.setdefault(epoch, {})[name] = cause
    known = {(name, cause.reason) for fallen in found.values() for name, cause in fallen.items()}
    for event in events:
        if isinstance(event.payload, Returned):
            _add(found, dispositions(log, event.payload.request.return_id), known)
    return found


def _add(found: Endings, judged: Iterable[Disposition], known: Iterable[tuple[str, Reason]] = ()) -> None:
    for one in judged:
        for cause in one.causes:
            if cause.reason in UNNAMED and cause.epoch is not None and (one.item, cause.reason) not in known:
                found.setdefault(cause.epoch, {}).setdefault(one.item, cause)


def _groups(state: WorkState) -> Iterator[list[Held]]:
    """The items of each slot, and the frontiers of each obligation, where there are several."""
    groups: dict[tuple[str, str], list[Held]] = {}
    for held in state.held.values():
        item = held.item
        if isinstance(item, Frontier):
            groups.setdefault(("frontier", item.obligation), []).append(held)
        elif item.slot is not None and not isinstance(item, Obligation):
            groups.setdefault(("slot", item.slot), []).append(held)
    return (members for members in groups.values() if len(members) > 1)


class _Judge:
    """Judges groups of items at every event that may change what stands among them."""

    def __init__(self, log: Log, state: WorkState, learnt: dict[int, datetime], voids: Voids) -> None:
        self._log, self._state, self._learnt, self._voids = log, state, learnt, voids
        self._ruled = sorted(e.epoch for kind in (EventKind.GOVERN, EventKind.WRITER) for e in log.milestones(kind))
        self._rules = cache(lambda ruled: (policy_in_force(log, until=ruled), authority(log, until=ruled)))

    def fell(self, members: list[Held]) -> Iterator[tuple[int, str, Cause]]:
        """Each item that fell, with the epoch and the cause."""
        evidence = self._log.evidence_for(held.epoch for held in members)
        add_judged(self._log, members, evidence)
        evidence = evidence_without(self._voids, evidence)
        points = {held.epoch for held in members} | {mark.epoch for held in members for mark in held.marks}
        points.add(self._state.epoch)
        items = [held.item for held in members]
        repeated = SameStatements(members).repeated
        tasks = {item.scope.task for item in items if item.scope.task}.union(*(item.applies_to for item in items))
        principals = {"", *(name for item in items for name in item.scope.principals)}
        purposes = {None, *(name for item in items for name in item.purposes)}
        for task, principal, purpose in product(sorted(tasks or {""}), sorted(principals), sorted(purposes, key=str)):
            reader = Identity(workspace=self._log.workspace, principal=principal, role="", task=task)
            out: frozenset[tuple[str, Reason]] = frozenset()
            left = members
            for epoch in sorted(points):
                causes = dict(self._causes(left, reader, purpose, epoch, evidence))
                for (name, reason), cause in causes.items():
                    # Later events may name another cause of what has fallen already.
                    if (name, reason) not in out and cause.epoch is not None:
                        yield max(cause.epoch, self._state.held[name].epoch), name, cause
                out = frozenset(causes)
                if not repeated:
                    left = self._undecided(left, causes)

    def _undecided(self, members: list[Held], causes: dict[tuple[str, Reason], Cause]) -> list[Held]:
        """The members without those that are out for good, so that a long slot is not judged as a whole at each event.

        Nothing happens to them or to the item that replaced them, and whatever they would replace, that one does.
        """
        held = self._state.held
        done = {
            name
            for (name, reason), cause in causes.items()
            if reason in REPLACING and not held[name].marks and not held[cause.ref].marks
        }
        return [one for one in members if one.item.id not in done]

    def _causes(
        self, members: list[Held], reader: Identity, purpose: str | None, epoch: int, evidence: dict[str, Sighting]
    ) -> Iterator[tuple[tuple[str, Reason], Cause]]:
        now = self._learnt[epoch]
        snapshot = Snapshot(
            identity=reader,
            purpose=purpose,
            now=now,
            checkpoint=checkpoint(reader, (), id="export", epoch=0, at=now),
            intact=True,
            state=_until(self._state, members, epoch),
            evidence=evidence,
        )
        policy, signing = self._rules(self._ruled[place - 1] if (place := bisect_right(self._ruled, epoch)) else 0)
        if signing is not None and signing.was_required:
            snapshot = vetted(snapshot, self._log, signing)
        for name, causes in resolve(snapshot, flaws(snapshot, policy), policy).against.items():
            yield from (((name, cause.reason), cause) for cause in causes if cause.reason in UNNAMED)


def _until(state: WorkState, members: list[Held], epoch: int) -> WorkState:
    def before(events: Iterable[Event]) -> tuple[Event, ...]:
        return tuple(event for event in events if event.epoch <= epoch)

    held = {one.item.id: msgspec.structs.replace(one, marks=before(one.marks)) for one in members if one.epoch <= epoch}
    resolutions = {name: kept for name, events in state.resolutions.items() if (kept := before(events))}
    return WorkState(epoch, held, resolutions)
