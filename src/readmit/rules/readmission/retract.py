"""Retractions: the items that a returning agent held and should no longer rely on.

An agent that resumes with its transcript still believes what it read before. It held what it could see when it left,
and what a view handed it. Of that, facts and frontiers that fell are retracted, and those that are suspected or
disputed are in doubt. A constraint or a duty is retracted only if an act or its date ended it: an obstacle does not. A
statement that stands through a repetition is not retracted.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from readmit.records.acts.event import Close, Event, Supersede
from readmit.records.items import InterfaceConstraint, Item, Obligation, RoleConstraint
from readmit.records.reasons import Reason, State, state_of
from readmit.records.retractions import FALLEN, IN_DOUBT, Retraction, Retractions
from readmit.rules.readmission.known_before import KnownBefore, words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from readmit.records.decisions import Cause
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot
    from readmit.rules.gate.judge import Gated
    from readmit.rules.invalidate.resolve import Findings

_EVER = datetime.min.replace(tzinfo=UTC)
_REPLACED = frozenset({Reason.SUPERSEDED, Reason.SLOT_UPDATED, Reason.FRONTIER_MOVED})
# Acts and dates. Whatever else is against a duty or a constraint is an obstacle, and does not end it.
_ENDS_DUTY = frozenset({Reason.REVOKED, Reason.SUPERSEDED, Reason.SETTLED})
_ENDS_CONSTRAINT = frozenset(
    {Reason.REVOKED, Reason.DISPUTE_LOST, Reason.SUPERSEDED, Reason.SLOT_UPDATED, Reason.EXPIRED}
)
_OF_SOURCES = frozenset({Reason.SOURCE_CHANGED, Reason.SOURCE_UNCONFIRMED, Reason.SOURCE_UNSEEN})
# What does not keep a statement from standing.
_STANDS = frozenset({State.NOT_APPLICABLE, State.TOO_LARGE})


def out(snapshot: Snapshot, gated: Gated) -> dict[str, State]:
    """The items that the reader may see and should not rely on, each with its coarse state, in log order."""
    held = snapshot.state.held
    found: dict[str, State] = {}
    for name, one in gated.rejected.items():
        if (state := _coarse(held[name].item, one.state, one.reasons)) is not None:
            found[name] = state
    if not found:
        return found
    texts = {held[name].item.text for name in found}
    standing = {words_of(one.item) for one in gated.eligible.values() if one.item.text in texts}
    standing |= {
        words_of(held[name].item)
        for name, one in gated.rejected.items()
        if all(reason.state in _STANDS for reason in one.reasons)
    }
    return {name: state for name, state in found.items() if words_of(held[name].item) not in standing}


def _coarse(item: Item, state: State, reasons: Iterable[Reason]) -> State | None:
    if state is State.UNAUTHORIZED:
        return None
    if isinstance(item, Obligation | RoleConstraint | InterfaceConstraint):
        ends = _ENDS_DUTY if isinstance(item, Obligation) else _ENDS_CONSTRAINT
        ended = tuple(reason for reason in reasons if reason in ends)
        return state_of(ended) if ended else None
    return state if state in FALLEN or state in IN_DOUBT else None


def retract(
    snapshot: Snapshot, findings: Findings, gated: Gated, before: KnownBefore, *, shown: Collection[str], policy: Policy
) -> Retractions:
    """The retractions, newest first, within the policy's budget. ``shown`` are the items of the view.

    What it was handed comes first: that is in its transcript for certain.
    """
    held = {name: state for name, state in out(snapshot, gated).items() if before.has(name)}
    gone = before.fell_before(held)
    case = _Case(snapshot, findings, shown)
    points = {name: case.point(name, state) for name, state in held.items() if name not in gone}
    newest = sorted(points, key=lambda name: (name in snapshot.handed, *points[name].order), reverse=True)
    room = policy.budgets.retraction_chars
    listed: list[Retraction] = []
    for name in newest[: policy.budgets.retractions]:
        length = snapshot.state.held[name].item.length
        fits = length <= room
        room -= length if fits else 0
        listed.append(case.retraction(name, held[name], points[name], with_text=fits))
    return Retractions(
        fallen=tuple(one for one in listed if one.state in FALLEN),
        in_doubt=tuple(one for one in listed if one.state in IN_DOUBT),
        more=len(points) - len(listed),
        earlier=len(gone),
        without_text=sum(not one.with_text for one in listed) if policy.budgets.retraction_chars else 0,
    )


class _Point(NamedTuple):
    """The event of the log that a state rests on, and from when it counts."""

    epoch: int | None
    since: datetime | None
    ref: str

    @property
    def order(self) -> tuple[datetime, int]:
        return self.since or _EVER, self.epoch or 0


def _dated(event: Event) -> datetime:
    """When an event was true: its date if one was given, else when the log learnt it."""
    return event.at if event.given else event.learnt


def begins(item: Item, snapshot: Snapshot) -> datetime | None:
    """When an item begins: with its validity, or when its evidence was true."""
    sightings = (snapshot.evidence.get(receipt.evidence) for receipt in item.receipts)
    moments = [one.said for one in sightings if one is not None]
    return max(moments if item.valid.start is None else [*moments, item.valid.start], default=None)


class _Case:
    """One judged snapshot, and the items of the view."""

    def __init__(self, snapshot: Snapshot, findings: Findings, shown: Collection[str]) -> None:
        self.snapshot = snapshot
        self.against = findings.against
        self.known = {**snapshot.background.held, **snapshot.state.held}
        self.resolutions = {**snapshot.background.resolutions, **snapshot.state.resolutions}
        items = [snapshot.state.held[name].item for name in shown]
        self.shown = {words_of(item): item.id for item in items}
        self.ids = frozenset(shown)
        self.drafted = {item.drafted.instead_of: item.id for item in items if item.drafted is not None}

    def point(self, name: str, state: State) -> _Point:
        """The first event that the state of an item rests on."""
        held = self.snapshot.state.held[name]
        points = (self._point(held, cause) for cause in self.against[name] if cause.reason.state is state)
        return min(points, key=lambda point: (point.epoch or 0, point.order))

    def retraction(self, name: str, state: State, point: _Point, *, with_text: bool) -> Retraction:
        held = self.snapshot.state.held[name]
        return Retraction(
            id=name,
            digest=held.digest,
            kind=held.item.kind,
            state=state,
            slot=held.item.slot,
            epoch=point.epoch,
            since=point.since,
            cause=point.ref if self._may_see(point.ref) else None,
            instead=self._instead(name) if state in FALLEN else None,
            with_text=with_text,
        )

    def _point(self, held: Held, cause: Cause) -> _Point:
        if cause.root:
            # The premise that fell by itself, and what fell it.
            root = self.known.get(cause.root)
            below = () if root is None else self.against.get(root.item.id, ())
            own = [one for one in below if one.epoch == cause.epoch and not one.root]
            since = self._moment(root, own[0]) if root is not None and own else None
            return _Point(cause.epoch, since, cause.ref)
        return _Point(cause.epoch, self._moment(held, cause), cause.ref)

    def _moment(self, held: Held, cause: Cause) -> datetime | None:
        """From when a cause counts, if that is known."""
        if cause.epoch is None:
            return held.item.valid.end if cause.reason is Reason.EXPIRED else None
        named = self.known.get(cause.ref)
        for event in (*held.marks, *(named.marks if named else ()), *self.resolutions.get(cause.ref, ())):
            if event.epoch == cause.epoch:
                begins = self._begins(event.payload.successor) if isinstance(event.payload, Supersede) else None
                at = event.payload.end if isinstance(event.payload, Close) else _dated(event)
                return at if begins is None else max(at, begins)
        if cause.reason in _OF_SOURCES:
            own = (self.snapshot.sources.get(receipt.evidence) for receipt in held.item.receipts)
            return next((one.seen for one in own if one is not None and one.epoch == cause.epoch), None)
        return self._begins(cause.ref)

    def _begins(self, name: str) -> datetime | None:
        return begins(self.known[name].item, self.snapshot) if name in self.known else None

    def _may_see(self, name: str) -> bool:
        return name in self.known and self.snapshot.identity.may_see(self.known[name].item.scope)

    def _instead(self, name: str) -> str | None:
        """The item of the view that replaced an item, directly or over several steps."""
        if name in self.drafted:
            return self.drafted[name]
        met, ahead = {name}, [name]
        while ahead:
            for ref in self._replacing(ahead.pop(0)):
                if ref in self.ids:
                    return ref
                if (same := self.shown.get(words_of(self.known[ref].item))) is not None:
                    return same
                if ref not in met:
                    met.add(ref)
                    ahead.append(ref)
        return None

    def _replacing(self, name: str) -> Iterator[str]:
        return (
            cause.ref for cause in self.against.get(name, ()) if cause.reason in _REPLACED and cause.ref in self.known
        )
