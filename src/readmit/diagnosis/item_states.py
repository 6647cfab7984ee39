"""Every item of a workspace and its current state, for every reader. For operators.

An agent's return decides whether it may act on an item. Here, an item stands if there is no cause against it for an
uninvolved reader of its own task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.log.kept_events import bound_to
from readmit.records.acts.event import Checkpoint, Event, EventKind
from readmit.records.acts.operation import Exposed
from readmit.records.acts.voids import Voids
from readmit.records.canonical import canonical
from readmit.records.decisions import Cause, Returned
from readmit.records.identity import Identity
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.reasons import State, state_of
from readmit.records.snapshot import Sighting, Snapshot, WorkState
from readmit.rules.capture.checkpoint import checkpoint
from readmit.rules.capture.fold import fold
from readmit.rules.capture.voided import evidence_without
from readmit.rules.cycle import examine
from readmit.rules.gate.judge import distinct
from readmit.state.load import add_judged
from readmit.text.escapes import format_moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.policy import Policy

# Reasons that concern a particular reader, not the item.
_OF_THE_READER = frozenset({State.UNAUTHORIZED, State.NOT_APPLICABLE})


class ListedItem(msgspec.Struct, frozen=True):
    """An item, its epoch, and the causes against it."""

    item: Item
    epoch: int
    state: State | None
    """None if it stands."""
    causes: tuple[Cause, ...] = ()


def facets(item: Item) -> Iterator[tuple[str, str]]:
    """The fields of an item besides its text, as labels and words: for a terminal and for a page."""
    if item.slot is not None:
        yield "slot", item.slot
    if isinstance(item, Frontier):
        yield "frontier of", item.obligation
    named: tuple[tuple[str, tuple[str, ...]], ...] = ()
    if isinstance(item, Obligation):
        named = (("requires", item.required), ("critical", item.critical), ("lists", item.lists))
    for label, names in (*named, ("supports", item.supports), ("rests on", item.depends_on)):
        if names:
            yield label, ", ".join(names)
    ends = (("from", item.valid.start), ("until", item.valid.end))
    if valid := " ".join(f"{word} {format_moment(at)}" for word, at in ends if at is not None):
        yield "valid", valid
    scope = item.scope
    readers = [*(["private"] if scope.visibility == "private" else []), *scope.principals]
    readers += [*(f"role {name}" for name in scope.roles), *([] if scope.task is None else [f"task {scope.task}"])]
    if readers:
        yield "for", ", ".join(readers)


class Listing(msgspec.Struct, frozen=True):
    """The items of a workspace in log order."""

    items: dict[str, ListedItem]
    exposed: tuple[tuple[Identity, str], ...] = ()
    """The agents that work with a view that was handed over to them, each with its return."""

    def resting_on(self, item_id: str) -> tuple[str, ...]:
        """The items that name this one as a premise."""
        return tuple(name for name, one in self.items.items() if item_id in one.item.depends_on)

    def drawn_from(self, digest: str) -> tuple[str, ...]:
        """The items that an observation is evidence for."""
        return tuple(
            name for name, one in self.items.items() if any(digest == bound.evidence for bound in one.item.receipts)
        )


def read_items(log: Log, policy: Policy, now: datetime, *, watch: Callable[[], object] = lambda: None) -> Listing:
    """Read the whole log and judge every item."""
    events: list[Event] = []
    for event in log.tail():
        events.append(event)
        watch()
    voids = Voids([event for event in events if event.kind is EventKind.VOID])
    state = fold(WorkState(), map(voids.event, events))
    evidence = _evidence(events)
    add_judged(log, state.held.values(), evidence)
    evidence = evidence_without(voids, evidence)
    listed: dict[str, ListedItem] = {}
    for task in dict.fromkeys(held.item.scope.task for held in state.held.values()):
        reader = Identity(workspace=log.workspace, principal="", role="", task=task or "")
        against = _against(reader, state, evidence, policy, now)
        for name, held in state.held.items():
            if held.item.scope.task == task:
                causes = against.get(name, ())
                found = state_of(distinct(causes)) if causes else None
                listed[name] = ListedItem(held.item, held.epoch, found, causes)
    return Listing({name: listed[name] for name in state.held}, tuple(_exposed(events)))


def _exposed(events: Iterable[Event]) -> Iterable[tuple[Identity, str]]:
    asked: dict[str, Identity] = {}
    holding: dict[str, tuple[Identity, str]] = {}
    for event in events:
        match event.payload:
            case Checkpoint(identity=identity):
                holding.pop(identity.agent, None)
            case Returned(request=request):
                asked[request.return_id] = request.identity
            case Exposed(return_id=name, refused=()) if name in asked:
                holding[asked[name].agent] = asked[name], name
    return holding.values()


def _against(
    reader: Identity, state: WorkState, evidence: dict[str, Sighting], policy: Policy, now: datetime
) -> dict[str, tuple[Cause, ...]]:
    departed = checkpoint(reader, (), id="listing", epoch=state.epoch, at=now)
    snapshot = Snapshot(
        identity=reader, purpose=None, now=now, checkpoint=departed, intact=True, state=state, evidence=evidence
    )
    found = {
        name: tuple(cause for cause in one.causes if cause.reason.state not in _OF_THE_READER)
        for name, one in examine(snapshot, policy).gated.rejected.items()
    }
    return {name: causes for name, causes in found.items() if causes}


def _evidence(events: Iterable[Event]) -> dict[str, Sighting]:
    """The evidence of the items, from events that were proven by reading them."""
    observed: dict[str, Sighting] = {}
    for event in events:
        if event.kind is EventKind.OBSERVE and event.digest not in observed:
            body, moment = canonical(event.payload), event.said.isoformat()
            observed[event.digest] = Sighting(event.epoch, event.by, intact=True, body=body, moment=moment)
    return bound_to(events, observed)
