"""Loads the inputs of one return: ``D_a``, ``Δ``, evidence, and invisible items.

Invisible items that a return is judged with: premises, successors, rivals and duties that the reader cannot see.

They are read from the log by item, by slot and by statement, not through the reader's audience: an item recorded today
may outdate one that was visible at departure, and an index row for it would alter the checkpoint's coverage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from readmit.records.acts.event import Checkpoint, Event, EventKind, Supersede, Suspect
from readmit.records.acts.voids import Voids
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.policy import AUTHOR
from readmit.records.snapshot import Held, SeenObservation, Sighting, Snapshot, WorkState
from readmit.records.verdicts import Verdict
from readmit.rules.capture.checkpoint import unchanged
from readmit.rules.capture.fold import fold
from readmit.rules.capture.voided import evidence_without, sources_without, state_without
from readmit.state.authority import authority, policy_in_force, vetted
from readmit.state.past_returns import handed_since, within_reach
from readmit.state.source_looks import add_sources, cited

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.decisions import Request
    from readmit.records.identity import Identity


def concerned(log: Log, identity: Identity, state: WorkState, epoch: int) -> WorkState:
    """Invisible items that decide, directly or not, whether a visible one stands, with their events."""
    events: dict[int, Event] = {}
    known = set(state.held)
    epochs = {held.epoch for held in state.held.values()}
    searched: dict[str, set[str]] = {}
    fresh: Collection[Held] = state.held.values()
    apart = _apart(state)
    while fresh:
        named, slots = _leads(fresh, identity.task)
        wanted = named - known
        found = log.about(wanted, until=epoch) if wanted else []
        rivals = log.kin(apart, until=epoch, known=epochs) if apart else []
        for task, new in slots.items():
            before = searched.setdefault(task, set())
            rivals += log.rivals((None, task), new - before, until=epoch, known=epochs)
            before |= new
        if rivals:
            found += log.about([rival.name for rival in rivals], until=epoch)
        events |= {event.epoch: event for event in found}
        fresh = [held for held in fold(WorkState(), _in_order(found)).held.values() if held.item.id not in known]
        known.update(held.item.id for held in fresh)
        epochs.update(held.epoch for held in fresh)
        apart = [held.item for held in fresh]
    return fold(WorkState(), _in_order(events.values()))


def with_frontiers(log: Log, identity: Identity, state: WorkState, epoch: int) -> WorkState:
    """A state in which frontiers that a reader sees only through their obligation have all their events.

    Their later events reach only readers in their own scope, for the same reason as above; whether a frontier was
    withdrawn or replaced must not depend on the reader's role.
    """
    names = [
        name
        for name, held in state.held.items()
        if type(held.item) is Frontier and not identity.may_see(held.item.scope)
    ]
    if not names:
        return state
    whole = fold(WorkState(), log.about(names, until=epoch))
    held = dict(state.held) | {name: whole.held[name] for name in names}
    return replace(state, held=held, resolutions={**state.resolutions, **whole.resolutions})


def _leads(fresh: Collection[Held], task: str) -> tuple[set[str], dict[str, set[str]]]:
    """Premises, successors and duties of some items, and their slots by task."""
    named: set[str] = set()
    slots: dict[str, set[str]] = {}
    for held in fresh:
        item = held.item
        if item.depends_on:
            named.update(item.depends_on)
        if type(item) is Frontier:
            named.add(item.obligation)
        if held.marks:
            named.update(mark.payload.successor for mark in held.marks if isinstance(mark.payload, Supersede))
        if item.slot is not None and type(item) is not Obligation:
            slots.setdefault(item.scope.task or task, set()).add(item.slot)
    return named, slots


def _apart(state: WorkState) -> list[Item]:
    """Visible items that may have invisible relatives: frontiers whose obligation is not visible.

    Other repetitions of a statement have the same scope, and so the same readers.
    """
    return [
        held.item
        for held in state.held.values()
        if type(held.item) is Frontier and held.item.obligation not in state.held
    ]


def _in_order(events: Iterable[Event]) -> list[Event]:
    distinct = {event.epoch: event for event in events}
    return [distinct[epoch] for epoch in sorted(distinct)]


def snapshot(
    log: Log,
    departed: Checkpoint,
    identity: Identity,
    *,
    epoch: int,
    purpose: str | None,
    now: datetime,
    fresh_at: datetime | None = None,
) -> Snapshot:
    """``C = D_a ⊕ Δ`` at an epoch.

    ``fresh_at`` is the moment at which looks at sources must be fresh, if their age counts.
    """
    # One transaction: what was proven for one of the reads is not read again for the next.
    with log.reading():
        events, evidence = log.sight(departed.identity, until=epoch)
        before = [event for event in events if event.epoch <= departed.epoch]
        if identity != departed.identity:
            # What another role could see before departure is new to the agent, but keeps its place in the log.
            others, behind = log.sight(identity, until=epoch)
            events = sorted(
                {event.epoch: event for event in (*others, *events)}.values(), key=lambda event: event.epoch
            )
            evidence |= behind
        state = fold(WorkState(), events)
        if state.bank:
            state = replace(state, bank=within_reach(log, identity, state.bank, until=epoch))
        state = with_frontiers(log, identity, state, epoch)
        background = concerned(log, identity, state, epoch)
        if background.held:
            evidence |= log.evidence_for(held.epoch for held in background.held.values())
        everything = (*state.held.values(), *background.held.values())
        add_judged(log, everything, evidence)
        sources = add_sources(log, evidence, until=epoch)
        voids = Voids(log.milestones(EventKind.VOID, until=epoch))
        if voids:
            state, background = state_without(voids, state), state_without(voids, background)
            evidence, sources = evidence_without(voids, evidence), sources_without(voids, sources)
        made = Snapshot(
            identity=identity,
            purpose=purpose,
            now=now,
            checkpoint=_as_learnt(log, departed, voids),
            intact=unchanged(departed, before),
            state=state,
            evidence=evidence,
            background=background,
            sources=sources,
            fresh_at=fresh_at,
            writers_then=policy_in_force(log, until=departed.epoch).evidence.writers,
            handed=handed_since(log, departed, until=epoch),
        )
        signing = authority(log, until=epoch)
        return made if signing is None or not signing.was_required else vetted(made, log, signing)


def _as_learnt(log: Log, departed: Checkpoint, voids: Voids) -> Checkpoint:
    """A departure dated no later than the log learnt it: a host's fast clock must not end items early."""
    event = log.named(EventKind.DEPART, departed.id)
    return departed if event is None else replace(departed, at=min(departed.at, voids.event(event).learnt))


def requested(log: Log, departed: Checkpoint, request: Request, *, rehearsed: bool = False) -> Snapshot:
    """The input of a return: the state that its request names.

    One that is only rehearsed looks at no source, so it does not count how old the last looks are.
    """
    made = snapshot(
        log,
        departed,
        request.identity,
        epoch=request.epoch,
        purpose=request.purpose,
        now=request.moment,
        fresh_at=None if rehearsed else request.moment,
    )
    return replace(made, observed=_observed(log, departed, request))


def _observed(log: Log, departed: Checkpoint, request: Request) -> tuple[SeenObservation, ...]:
    """The observations of the absence that the departed or the returning identity can see, by allowed writers."""
    eyes, writers = {departed.identity, request.identity}, request.policy.evidence.writers
    seen = {one for who in eyes for one in log.observed(who, since=departed.epoch, until=request.epoch)}
    # What readmit saw when it looked at a source is judged as that source.
    return tuple(sorted(one for one in seen if one.by != AUTHOR and (not writers or one.by in writers)))


def current(log: Log, request: Request, now: datetime, *, identity: Identity | None = None) -> Snapshot:
    """The input of a past return if it were decided now, for its own or another identity.

    Looks must have been fresh at the return's time, because it looks at its sources itself; later findings count.
    """
    departed, seen = log.departure(request.checkpoint), identity or request.identity
    return snapshot(log, departed, seen, epoch=log.head, purpose=request.purpose, now=now, fresh_at=request.moment)


def add_judged(log: Log, held: Iterable[Held], evidence: dict[str, Sighting]) -> None:
    """The observations of verdicts and suspicions, needed to check their quotes."""
    for entry in held:
        for mark in entry.marks:
            if isinstance(mark.payload, Verdict | Suspect):
                digest = mark.payload.pair.evidence
                if digest not in evidence:
                    evidence |= cited(log, digest)
