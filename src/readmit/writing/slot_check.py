"""The holders of a slot when something is written about it: what the writer expects, and what it has not seen.

Refuses an overruling that would set nothing aside: it would return normally and change no return.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from readmit.records.acts.event import Checkpoint, Dispute, EventKind, Overrule
from readmit.records.canonical import digest
from readmit.records.error_types import ConflictError, RecordError
from readmit.records.identity import Identity, own_id
from readmit.records.items import Frontier, Item, Kind, Obligation
from readmit.records.policy import AUTHOR, Policy
from readmit.records.reasons import Reason, State
from readmit.records.same_statement import same_statement
from readmit.records.snapshot import Held, Snapshot, WorkState
from readmit.rules.capture.checkpoint import checkpoint
from readmit.rules.capture.fold import fold
from readmit.rules.cycle import Examined, examine
from readmit.rules.invalidate.overrule import reaches
from readmit.state.absence import last_absence
from readmit.state.authority import authority, vetted
from readmit.state.load import add_judged, concerned
from readmit.state.source_looks import add_sources
from readmit.writing.new_event import append_own
from readmit.writing.rights import known_to
from readmit.writing.supersede_check import Replacements

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from readmit.log.log import Log
    from readmit.records.decisions import Cause


OF_THE_READER = frozenset({State.UNAUTHORIZED, State.NOT_APPLICABLE})
"""States that concern a particular reader, not the item."""
_CONTESTED = frozenset({State.DISPUTED, State.SUSPECTED})
_OF_THE_SLOT = frozenset({Reason.SLOT_UPDATED, Reason.SLOT_CONTESTED})


class SlotUse(NamedTuple):
    """A slot of a task, and what its statements are to be used for; anything if no purpose is named."""

    slot: str
    task: str | None
    purposes: Sequence[str] = ()
    kind: str = Kind.FACT
    """The kind of the new item."""
    principal: str = ""
    """The reader; by default somebody uninvolved."""


class SlotHolders(NamedTuple):
    """The items of a slot that stand for an uninvolved reader, and those that are contested."""

    standing: tuple[Held, ...]
    contested: tuple[Held, ...]


def holders(log: Log, use: SlotUse, policy: Policy, now: datetime) -> SlotHolders:
    """The holders of a slot of a task at the end of the log. Items without a task are about every task."""
    found: dict[bool, list[Held]] = {True: [], False: []}
    here = judged(log, use, policy, now)
    for name, causes in () if here is None else here.causes.items():
        states = {cause.reason.state for cause in causes}
        if here is not None and states <= _CONTESTED:
            found[not states].append(here.snapshot.state.held[name])
    return SlotHolders(tuple(found[True]), tuple(found[False]))


class JudgedSlot(NamedTuple):
    """The statements about a slot, and the causes against each that do not depend on reader and purpose."""

    snapshot: Snapshot
    causes: Mapping[str, tuple[Cause, ...]]

    def standing(self) -> Iterator[Held]:
        """The holders with nothing against them."""
        return (self.snapshot.state.held[name] for name, causes in self.causes.items() if not causes)


def judged(log: Log, use: SlotUse, policy: Policy, now: datetime, *, until: int | None = None) -> JudgedSlot | None:
    """The causes against the statements about a slot, at the end of the log or at an epoch. None without statements."""
    epoch, tasks = log.head if until is None else until, dict.fromkeys((None, use.task))
    names = [event.name for one in tasks for event in log.in_slot(one, use.slot, until=epoch)]
    if not names:
        return None
    reader = Identity(workspace=log.workspace, principal=use.principal, role="", task=use.task or "")
    purpose = next(iter(use.purposes), None)
    examined = examined_for(log, reader, names, purpose=purpose, policy=policy, now=now, until=epoch)
    state, rejected = examined.snapshot.state, examined.gated.rejected
    found: dict[str, tuple[Cause, ...]] = {}
    for name, held in state.held.items():
        item = held.item
        if type(item) in (Obligation, Frontier) or item.slot != use.slot:
            continue
        if overlap(item.purposes, use.purposes):
            causes = rejected[name].causes if name in rejected else ()
            found[name] = tuple(cause for cause in causes if cause.reason.state not in OF_THE_READER)
    return JudgedSlot(examined.snapshot, found)


def examined_for(
    log: Log,
    reader: Identity,
    names: Collection[str],
    *,
    purpose: str | None,
    policy: Policy,
    now: datetime,
    until: int | None = None,
) -> Examined:
    """Some items, judged for a reader as a return would judge them, at the end of the log or up to an epoch."""
    epoch = log.head if until is None else until
    state = fold(WorkState(), log.about(names, until=epoch))
    background = concerned(log, reader, state, epoch)
    everything = (*state.held.values(), *background.held.values())
    evidence = log.evidence_for(held.epoch for held in everything)
    add_judged(log, everything, evidence)
    sources = add_sources(log, evidence, until=epoch)
    made = Snapshot(
        identity=reader, purpose=purpose, now=now, checkpoint=checkpoint(reader, (), id="judged", epoch=epoch, at=now),
        intact=True, state=state, evidence=evidence, background=background, sources=sources,
    )  # fmt: skip
    signing = authority(log)
    return examine(vetted(made, log, signing) if signing is not None and signing.was_required else made, policy)


def check_expected(
    log: Log, use: SlotUse | None, *, expects: str | None, by: str, policy: Policy, now: datetime
) -> None:
    """Refuse unless the expected item stands in the slot, or nothing does if none is expected."""
    if use is None:
        raise RecordError("expects: only a statement about a slot can expect something there; add slot=…")
    standing, contested = (
        [held.item for held in some if known_to(held.item, by, lambda: policy)]
        for some in holders(log, use, policy, now)
    )
    if use.kind == Kind.FACT and expects is not None:
        standing, contested = (_replaceable(some, expects, policy) for some in (standing, contested))
    if not contested and [item.id for item in standing] == ([] if expects is None else [expects]):
        return
    named = next((item for item in standing if item.id == expects), None)
    if named is not None and not contested and all(same_statement(named, item) for item in standing):
        return
    found = [f"{item.id} stands" for item in standing] + [f"{item.id} is contested" for item in contested]
    wanted = f"expects: {expects!r} is not what stands" if expects else "expects_nothing: something stands"
    raise ConflictError(
        f"{wanted} in {use.slot!r}: {', '.join(found) or 'nothing stands'} there. "
        "Look at it, and say what you expect then"
    )


def _replaceable(items: Sequence[Item], expects: str, policy: Policy) -> list[Item]:
    """The statements that a fact can take the place of: constraints stand beside it."""
    if any(item.id == expects and policy.constrains(item) for item in items):
        raise RecordError(
            f"expects: {expects!r} is a constraint, and only another constraint takes the place of one: "
            "record it with the constraint's kind, or in a slot of its own"
        )
    return [item for item in items if not policy.constrains(item)]


def check_replaces(log: Log, item: Item, expects: str | None, policy: Policy, now: datetime) -> None:
    """Refuse a statement that was to replace what stands in its slot, and that does not stand there."""
    if item.valid.start is not None and item.valid.start > now:
        # It replaces it when it begins.
        return
    use = SlotUse(item.slot or "", item.scope.task, item.purposes, item.kind)
    found = judged(log, use, policy, now)
    against = () if found is None else found.causes.get(item.id, ())
    if {cause.reason.state for cause in against} <= _CONTESTED:
        return
    older = any(cause.reason in _OF_THE_SLOT for cause in against)
    why = "what stands there has later evidence" if older else against[0].reason.doc.rstrip(".").lower()
    field, replaced = ("expects", repr(expects)) if expects is not None else ("expects_nothing", "nothing")
    fix = f", or add supersedes={expects!r}" if older and expects is not None else ""
    raise ConflictError(
        f"{field}: this would replace {replaced} in {use.slot!r} and does not: {why}. "
        f"Observe what says so now and name it in sources{fix}"
    )


def unseen(
    log: Log, item: Item, named: Collection[str], policy: Callable[[], Policy], now: datetime
) -> tuple[int, tuple[str, ...]] | None:
    """Statements of others in an item's slot that its writer has not seen and does not name.

    With it, the epoch up to which the writer has seen the log. None if it has seen everything.
    """
    if item.slot is None or isinstance(item, Obligation | Frontier):
        return None
    basis = _basis(log, item.by, item.scope.task)
    if basis is None:
        return None
    tasks = dict.fromkeys((None, item.scope.task))
    there = [event for task in tasks for event in log.in_slot(task, item.slot, until=log.head)]
    if not any(event.epoch > basis and _rivals(event.payload, item, named) for event in there):
        return None
    if item.drafted is not None and all(_is_drafted(event.payload) for event in there):
        # A slot that only models wrote in is no one thing to contest.
        return None
    rules = policy()
    found = holders(log, SlotUse(item.slot, item.scope.task, item.purposes), rules, now)
    rivals = [
        held.item.id
        for held in (*found.standing, *found.contested)
        if held.epoch > basis
        and _rivals(held.item, item, named)
        # A fact stands beside a constraint.
        and (rules.constrains(item) or not rules.constrains(held.item))
    ]
    return (basis, tuple(rivals)) if rivals else None


def counts(log: Log, item: Item, policy: Policy, now: datetime) -> bool:
    """Whether nothing but other statements about its slot is against an item.

    What is unproven, or has not begun, replaces nothing, and so contests nothing.
    """
    found = judged(log, SlotUse(item.slot or "", item.scope.task, item.purposes), policy, now)
    causes = None if found is None else found.causes.get(item.id)
    return causes is not None and {cause.reason for cause in causes} <= _OF_THE_SLOT


def _rivals(other: object, item: Item, named: Collection[str]) -> bool:
    """Whether an item is another writer's, says something else to the same readers, and is not named."""
    return (
        isinstance(other, Item)
        and other.by != item.by
        and other.id not in (item.id, *named)
        and not same_statement(other, item)
        and overlap(other.purposes, item.purposes)
        and overlap(other.applies_to, item.applies_to)
        # A private statement replaces for those it names alone, and its id is not for others.
        and set(other.scope.principals) == set(item.scope.principals)
    )


def _is_drafted(payload: object) -> bool:
    return isinstance(payload, Item) and payload.drafted is not None


def overlap(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two lists have a name in common. An empty one means every name."""
    return not some or not others or not set(some).isdisjoint(others)


def _basis(log: Log, principal: str, task: str | None) -> int | None:
    """The epoch that a writer has seen: of its view, or of its departure. None if it never left or was reset."""
    agent = Identity(workspace=log.workspace, principal=principal, role=principal, task=task or principal)
    if task is not None:
        return _seen_by(log, agent)
    departures = (event.payload for event in log.milestones(EventKind.DEPART, agent.bank))
    agents = {one.identity.agent: one.identity for one in departures if isinstance(one, Checkpoint)}
    seen = [_seen_by(log, one) for one in agents.values()]
    # Without a task, nobody knows which of its agents writes: the one that has seen most.
    return None if None in seen else max((one for one in seen if one is not None), default=None)


def _seen_by(log: Log, agent: Identity) -> int | None:
    absence = last_absence(log, agent)
    if absence is None or absence.started_anew:
        return None
    if absence.end is not None:
        return log.returned(absence.end.name).request.epoch
    return absence.departure.payload.epoch if isinstance(absence.departure.payload, Checkpoint) else None


def contest(log: Log, item: Item, basis: int, rivals: Sequence[str], now: datetime) -> None:
    """Put on record that an item was written without having seen others in its slot."""
    said = Dispute(
        items=(*rivals, item.id),
        basis=basis,
        reason=f"{item.by} wrote {item.id} having seen the log up to epoch {basis}, before {', '.join(rivals)}"[:2_000],
    )
    name = f"concurrent-{item.id}"[:128]
    if item.scope.principals or log.named(EventKind.DISPUTE, name) is not None:
        # It is not for everybody, or somebody has taken the name, which must not keep the item out.
        name = own_id(AUTHOR, digest(said)[:32])
    append_own(log, EventKind.DISPUTE, said, id=name, by=AUTHOR, at=now)


def check_needed(log: Log, item: Item, said: Overrule, policy: Policy, now: datetime) -> None:
    """Refuse an overruling that reaches no cause against the item for any agent who may return before it lapses."""
    found: list[Cause] = []
    # What is against one recording of a statement may count against the others.
    recordings = Replacements(log, now).statement(item.id)
    purpose, last = next(iter(item.purposes), None), said.expires - timedelta(microseconds=1)
    # Some doubts count only against what a duty calls critical, and nobody knows yet which duties a return will find.
    policy = policy.changed(paper={"on_unsure": "exclude"}, evidence={"invalid_at": policy.evidence.suspect_at})
    for reader, moment in product(_readers(log, item), (now, last)):
        examined = examined_for(log, reader, recordings, purpose=purpose, policy=policy, now=moment)
        rejected = examined.gated.rejected.get(item.id)
        against = () if rejected is None else rejected.causes
        if any(reaches(log.head + 1, cause) for cause in (*against, *examined.findings.overruled.get(item.id, ()))):
            return
        found += (cause for cause in against if cause.reason.state not in OF_THE_READER)
    if not found:
        raise ConflictError(
            f"target: nothing is against {item.id!r}, so there is nothing to overrule; see `readmit why`"
        )
    causes = ", ".join(dict.fromkeys(str(cause.reason) for cause in found))
    raise ConflictError(
        f"target: no overruling restores {item.id!r}, which is out for {causes}; record it again from later evidence"
    )


def _readers(log: Log, item: Item) -> Iterator[Identity]:
    """An uninvolved reader of the item's task, then the agents that have departed from it."""
    task = item.scope.task
    yield Identity(workspace=log.workspace, principal="", role="", task=task or "")
    for departed in log.agents():
        if task in (None, departed.identity.task):
            yield departed.identity
