"""Loads the inputs of one return: ``D_a``, ``Δ``, evidence, and invisible items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from readmit.records.acts.event import Checkpoint, EventKind, Suspect
from readmit.records.acts.voids import Voids
from readmit.records.policy import AUTHOR
from readmit.records.snapshot import Held, SeenObservation, Sighting, Snapshot, WorkState
from readmit.records.verdicts import Verdict
from readmit.rules.capture.checkpoint import unchanged
from readmit.rules.capture.fold import fold
from readmit.rules.capture.voided import evidence_without, sources_without, state_without
from readmit.state.authority import authority, policy_in_force
from readmit.state.background import concerned, with_frontiers
from readmit.state.handed import handed_since
from readmit.state.private_bank import within_reach
from readmit.state.signed_only import vetted
from readmit.state.source_looks import add_sources, cited

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.decisions import Request
    from readmit.records.identity import Identity


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
        return _snapshot(log, departed, identity, epoch=epoch, purpose=purpose, now=now, fresh_at=fresh_at)


def _snapshot(
    log: Log,
    departed: Checkpoint,
    identity: Identity,
    *,
    epoch: int,
    purpose: str | None,
    now: datetime,
    fresh_at: datetime | None,
) -> Snapshot:
    events, evidence = log.sight(departed.identity, until=epoch)
    before = [event for event in events if event.epoch <= departed.epoch]
    if identity != departed.identity:
        # What another role could see before departure is new to the agent, but keeps its position: log order decides.
        others, behind = log.sight(identity, until=epoch)
        events = sorted({event.epoch: event for event in (*others, *events)}.values(), key=lambda event: event.epoch)
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
