"""Gathers the values of a slot's page: its events, which statement stood when, and why the others fell.

Which statement stands depends on the reader. Without a principal and a role, the page is about statements for everybody
on the task: items that name principals or roles are listed apart.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from readmit.pages.item_entries import Sight
from readmit.pages.page_values import Happening, Heading, Moment, ShownItem, SlotItem, SlotPage, Span, Times
from readmit.records.acts.event import Close, Event, EventKind, Overrule
from readmit.records.acts.voids import Voids
from readmit.records.decisions import Disposition
from readmit.records.error_types import UnknownError
from readmit.records.identity import Identity
from readmit.records.items import Item
from readmit.records.policy import Policy
from readmit.records.reasons import state_of
from readmit.records.snapshot import Held, Sighting, Snapshot, WorkState
from readmit.rules.capture.bindings import flaws
from readmit.rules.capture.checkpoint import checkpoint
from readmit.rules.capture.fold import fold
from readmit.rules.capture.voided import evidence_without, state_without
from readmit.rules.gate.judge import distinct
from readmit.rules.invalidate.resolve import resolve
from readmit.state.load import add_judged, concerned
from readmit.text.escapes import format_moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from readmit.log.log import Log

MOMENTS, LEAST = 200, 20
"""Most and least moments shown, the latest ones."""
KNOWN, ABOUT = 12, 8
"""Most moments of learning, and most times that they are about, on two axes."""
JUDGED = 60_000
"""About how many items are judged for one page: at each moment, all that were recorded by then."""


def slot_values(
    log: Log, slot: str, *, now: datetime, task: str | None = None, principal: str = "", role: str = ""
) -> SlotPage:
    """A slot on a task, for one reader or for everybody. The task may be left out where the slot is of one only."""
    with log.reading():
        on = _task(log, slot, task)
        reader = Identity(workspace=log.workspace, principal=principal, role=role, task=on)
        return _Life(log, slot, reader, now).page()


def _task(log: Log, slot: str, task: str | None) -> str:
    tasks = [on for on, name in log.slots() if name == slot]
    if not tasks:
        raise UnknownError(f"no item is about the slot {slot!r} in workspace {log.workspace!r}")
    if task is not None:
        if task not in tasks and "" not in tasks:
            raise UnknownError(
                f"task: no item is about the slot {slot!r} on task {task!r}; it is used on {', '.join(tasks)}"
            )
        return task
    named = [one for one in tasks if one]
    if len(named) > 1:
        raise UnknownError(f"task: the slot {slot!r} is used on {', '.join(named)}; name one of them")
    return named[0] if named else ""


class _Point(msgspec.Struct, frozen=True):
    """A moment at which another statement may come to stand."""

    now: datetime
    epoch: int
    happening: Happening
    recorded: str = ""
    elsewhere: bool = False
    """A policy, or an item of another slot: shown only if it changes which statement stands in this slot."""


class _Life:
    """The events of a slot, and the statements standing at each point."""

    def __init__(self, log: Log, slot: str, reader: Identity, now: datetime) -> None:
        self.log, self.slot, self.reader, self.now = log, slot, reader, now
        head = log.head
        entered = log.rivals((None, reader.task), (slot,), until=head, known=set())
        self.entered = {event.payload.id: event for event in entered if isinstance(event.payload, Item)}
        voids = Voids(log.milestones(EventKind.VOID, until=head))
        self.events = list(map(voids.event, log.about(self.entered, until=head)))
        self.state = fold(WorkState(), filter(self._visible, self.events))
        self.background = state_without(voids, concerned(log, reader, self.state, head))
        held = (*self.state.held.values(), *self.background.held.values())
        evidence = log.evidence_for(one.epoch for one in held)
        add_judged(log, held, evidence)
        self.evidence: dict[str, Sighting] = evidence_without(voids, evidence)
        self.policies = list(map(voids.event, log.milestones(EventKind.GOVERN, until=head)))
        self.sight = Sight(log, reader, self.state.held, self.evidence)

    def _visible(self, event: Event) -> bool:
        return not isinstance(event.payload, Item) or self.reader.may_see(event.payload.scope)

    def page(self) -> SlotPage:
        """Every point judged, and put together."""
        points = list(self._points())
        shown = points[-max(LEAST, min(MOMENTS, JUDGED // max(1, len(self.state.held)))) :]
        stood: set[str] = set()
        out: dict[str, Disposition] = {}
        moments: list[Moment] = []
        for point in shown:
            out = self._out(point)
            fell = [name for name in self.state.held if name in out and (name in stood or name == point.recorded)]
            stands = {name for name, held in self.state.held.items() if held.epoch <= point.epoch and name not in out}
            if not (moments and point.elsewhere and stands == stood):
                standing = tuple(name for name in self.state.held if name in stands)
                whys = tuple((name, why) for name in fell for why in self.sight.whys(out[name], out))
                moments.append(Moment(happening=point.happening, standing=standing, fell=whys))
            stood = stands
        since = shown[0].epoch
        standings = [self._standing(held, moments, out) for held in self.state.held.values()]
        items = tuple(one for one in standings if one.spans or one.entry.epoch >= since)
        return SlotPage(
            heading=Heading(
                workspace=self.log.workspace,
                title=f"Slot {self.slot}",
                facts=tuple(self._facts(points)),
                made=self.now,
            ),
            moments=tuple(moments),
            earlier=len(points) - len(shown),
            items=items,
            past=len(standings) - len(items),
            apart=tuple(self._apart(name) for name in self.entered if name not in self.state.held),
            times=self._times(points),
        )

    def _times(self, points: Sequence[_Point]) -> Times:
        """The statements for each time at which one starts or ends, by the knowledge of each moment."""
        latest = {point.epoch: point for point in points if not point.elsewhere}
        known = list(latest.values())[-KNOWN:]
        turns = {at for held in self.state.held.values() for at in (held.item.valid.start, held.item.valid.end)}
        about = sorted({self.now, *(at for at in turns if at is not None)})[-ABOUT:]
        return Times(
            tuple(point.happening for point in known),
            tuple((at, tuple(self._standing_at(point, at) for point in known)) for at in about),
        )

    def _standing_at(self, point: _Point, about: datetime) -> tuple[str, ...]:
        out = self._out(msgspec.structs.replace(point, now=about))
        return tuple(name for name, held in self.state.held.items() if held.epoch <= point.epoch and name not in out)

    def _facts(self, points: Sequence[_Point]) -> Iterator[tuple[str, str]]:
        who = self.reader
        yield "Task", who.task or "every task"
        reading = " as ".join(name for name in (who.principal, who.role) if name)
        yield "For", reading or "everybody: items for certain principals or roles are listed apart"
        yield "Items", str(len(self.entered))
        yield "First recorded", format_moment(points[0].now)

    def _points(self) -> Iterator[_Point]:
        """Every event about the slot, and every moment at which an item or event starts or stops to count."""
        hidden = {mark.epoch: mark for held in self.background.held.values() for mark in held.marks}
        first = min(event.epoch for event in self.entered.values())
        ruled = {event.epoch: event for event in self.policies if event.epoch > first}
        others = {held.epoch for name, held in self.background.held.items() if name not in self.entered}
        elsewhere = ruled | {epoch: self.log.event(epoch) for epoch in others if epoch > first}
        touching = hidden | elsewhere | {event.epoch: event for event in self.events}
        events = [touching[epoch] for epoch in sorted(touching)]
        turns = {turn for event in events for turn in _turns(event)}
        turns |= {turn for held in self.background.held.values() for turn in _bounds(held.item)}
        ahead = sorted(turns)
        last = 0
        for place, event in enumerate(events):
            until = events[place + 1].learnt if place + 1 < len(events) else self.now
            recorded = event.payload.id if isinstance(event.payload, Item) else ""
            words = self.sight.worded(event)
            yield _Point(event.learnt, event.epoch, words, recorded, elsewhere=event.epoch in elsewhere)
            for at, said in ahead[last:]:
                if at > until:
                    break
                last += 1
                if at > event.learnt:
                    turn = Happening(epoch=event.epoch, at=at, lane="looked into", words=said)
                    yield _Point(at, event.epoch, turn)

    def _out(self, point: _Point) -> dict[str, Disposition]:
        """The items that did not stand at a point, with their reasons."""
        snapshot = Snapshot(
            identity=self.reader,
            purpose=None,
            now=point.now,
            checkpoint=checkpoint(self.reader, (), id="slot", epoch=0, at=point.now),
            intact=True,
            state=_until(self.state, point.epoch),
            evidence=self.evidence,
            background=_until(self.background, point.epoch),
        )
        policy = self._policy(point.epoch)
        unbound = flaws(snapshot, policy)
        against = resolve(snapshot, unbound, policy).against
        out: dict[str, Disposition] = {}
        for name, held in snapshot.state.held.items():
            if causes := (*against.get(name, ()), *unbound.get(name, ())):
                reasons = distinct(causes)
                out[name] = Disposition(
                    item=name, digest=held.digest, state=state_of(reasons), reasons=reasons, causes=causes
                )
        return out

    def _policy(self, epoch: int) -> Policy:
        ruling = [event.payload for event in self.policies if event.epoch <= epoch]
        return ruling[-1] if ruling and isinstance(ruling[-1], Policy) else Policy()

    def _standing(self, held: Held, moments: Sequence[Moment], out: dict[str, Disposition]) -> SlotItem:
        name = held.item.id
        entry = self.sight.entry(held, {}, self.entered[name].at)
        falls = [tuple(why for fallen, why in one.fell if fallen == name) for one in moments]
        # The cause at the time: its replacement may have been replaced since.
        why = next((whys for whys in reversed(falls) if whys), ()) if name in out else ()
        stood = [name in one.standing for one in moments]
        return SlotItem(entry=msgspec.structs.replace(entry, whys=why), spans=tuple(_spans(stood)))

    def _apart(self, name: str) -> ShownItem:
        event = self.entered[name]
        item = event.payload
        assert isinstance(item, Item)  # noqa: S101 - only items were kept
        return self.sight.entry(Held(item, event.digest, event.epoch), {}, event.at)


def _turns(event: Event) -> Iterator[tuple[datetime, str]]:
    """Moments at which an event, or its item, starts or stops to count."""
    payload = event.payload
    if event.effective > event.learnt:
        yield event.effective, f"What was written at epoch {event.epoch} takes effect"
    match payload:
        case Item():
            yield from _bounds(payload)
        case Close():
            yield payload.end, f"{payload.target} ends"
        case Overrule():
            yield payload.expires, f"The overruling for {payload.target} lapses"


def _bounds(item: Item) -> Iterator[tuple[datetime, str]]:
    if item.valid.start is not None:
        yield item.valid.start, f"{item.id} becomes valid"
    if item.valid.end is not None:
        yield item.valid.end, f"{item.id} expires"


def _until(state: WorkState, epoch: int) -> WorkState:
    """The workspace state cut off at an epoch."""

    def before(events: Iterable[Event]) -> tuple[Event, ...]:
        return tuple(event for event in events if event.epoch <= epoch)

    return WorkState(
        epoch,
        {
            name: msgspec.structs.replace(held, marks=before(held.marks))
            for name, held in state.held.items()
            if held.epoch <= epoch
        },
        {name: kept for name, events in state.resolutions.items() if (kept := before(events))},
    )


def _spans(stood: Sequence[bool]) -> Iterator[Span]:
    first = None
    for place, stands in enumerate((*stood, False)):
        if stands and first is None:
            first = place
        elif not stands and first is not None:
            yield Span(first, place)
            first = None
