"""What stands in a slot when something is written about it: what the writer expects, and what it has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.capture.checkpoint import checkpoint
from readmit.capture.fold import fold
from readmit.cycle import examine
from readmit.ports.presence import last_absence
from readmit.records.drafts import draft
from readmit.records.errors import ConflictError, RecordError
from readmit.records.events import Checkpoint, Dispute, EventKind
from readmit.records.identity import Identity
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.policy import AUTHOR
from readmit.records.reasons import Reason, State
from readmit.records.snapshot import Snapshot, WorkState
from readmit.records.statements import statement_of
from readmit.workspace.background import concerned
from readmit.workspace.loading import add_judged
from readmit.workspace.rights import known_to
from readmit.workspace.signatures import authority
from readmit.workspace.sources import add_sources
from readmit.workspace.vetting import vetted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from datetime import datetime

    from readmit.ports.store import Log
    from readmit.records.decisions import Cause
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held

_OF_THE_READER = frozenset({State.UNAUTHORIZED, State.NOT_APPLICABLE})
_CONTESTED = frozenset({State.DISPUTED, State.SUSPECTED})
_OF_THE_SLOT = frozenset({Reason.SLOT_UPDATED, Reason.SLOT_CONTESTED})


class SlotUse(NamedTuple):
    """A slot of a task, and what its statements are to be used for; anything if no purpose is named."""

    slot: str
    task: str | None
    purposes: Sequence[str] = ()


class SlotHolders(NamedTuple):
    """The items of a slot that stand for an uninvolved reader, and those that are contested."""

    standing: tuple[Held, ...]
    contested: tuple[Held, ...]


def holders(log: Log, use: SlotUse, policy: Policy, now: datetime) -> SlotHolders:
    """What stands in a slot of a task at the end of the log. Items without a task are about every task."""
    found: dict[bool, list[Held]] = {True: [], False: []}
    for held, causes in _judged(log, use, policy, now):
        states = {cause.reason.state for cause in causes}
        if states <= _CONTESTED:
            found[not states].append(held)
    return SlotHolders(tuple(found[True]), tuple(found[False]))


def _judged(log: Log, use: SlotUse, policy: Policy, now: datetime) -> Iterator[tuple[Held, tuple[Cause, ...]]]:
    """The statements about a slot, and what is against each for an uninvolved reader."""
    epoch, tasks = log.head, dict.fromkeys((None, use.task))
    names = [event.name for one in tasks for event in log.in_slot(one, use.slot, until=epoch)]
    if not names:
        return
    reader = Identity(workspace=log.workspace, principal="", role="", task=use.task or "")
    events = log.about(names, until=epoch)
    starts = [event for one in tasks if one is not None for event in log.milestones(EventKind.REBASE, one)]
    state = fold(WorkState(), sorted((*events, *starts), key=lambda event: event.epoch))
    background = concerned(log, reader, state, epoch)
    everything = (*state.held.values(), *background.held.values())
    evidence = log.evidence_for(held.epoch for held in everything)
    add_judged(log, everything, evidence)
    sources = add_sources(log, evidence, until=epoch)
    made = Snapshot(
        identity=reader, purpose=next(iter(use.purposes), None), now=now,
        checkpoint=checkpoint(reader, (), id="slot", epoch=epoch, at=now),
        intact=True, state=state, evidence=evidence, background=background, sources=sources,
    )  # fmt: skip
    signing = authority(log)
    if signing is not None and signing.was_required:
        made = vetted(made, log, signing)
    rejected = examine(made, policy).gated.rejected
    for name, held in state.held.items():
        item = held.item
        if type(item) in (Obligation, Frontier) or item.slot != use.slot:
            continue
        if _overlap(item.purposes, use.purposes):
            causes = rejected[name].causes if name in rejected else ()
            yield held, tuple(cause for cause in causes if cause.reason.state not in _OF_THE_READER)


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
    if not contested and [item.id for item in standing] == ([] if expects is None else [expects]):
        return
    named = next((item for item in standing if item.id == expects), None)
    if named is not None and not contested and all(_same(named, item) for item in standing):
        return
    found = [f"{item.id} stands" for item in standing] + [f"{item.id} is contested" for item in contested]
    wanted = f"expects: {expects!r} is not what stands" if expects else "expects_nothing: something stands"
    raise ConflictError(
        f"{wanted} in {use.slot!r}: {', '.join(found) or 'nothing stands'} there. "
        "Look at it, and say what you expect then"
    )


def _same(one: Item, other: Item) -> bool:
    return one.text == other.text and statement_of(one) == statement_of(other)


def unseen(
    log: Log, item: Item, named: Collection[str], policy: Callable[[], Policy], now: datetime
) -> tuple[int, tuple[str, ...]] | None:
    """What others have said in an item's slot that its writer has not seen and does not name.

    With it, the epoch up to which the writer has seen the log. None if it has seen everything.
    """
    if item.slot is None or isinstance(item, Obligation | Frontier):
        return None
    basis = _basis(log, item.by, item.scope.task)
    if basis is None:
        return None
    tasks = dict.fromkeys((None, item.scope.task))
    later = [event for task in tasks for event in log.in_slot(task, item.slot, until=log.head) if event.epoch > basis]
    if not any(_rivals(event.payload, item, named) for event in later):
        return None
    found = holders(log, SlotUse(item.slot, item.scope.task, item.purposes), policy(), now)
    rivals = [
        held.item.id
        for held in (*found.standing, *found.contested)
        if held.epoch > basis and _rivals(held.item, item, named)
    ]
    return (basis, tuple(rivals)) if rivals else None


def counts(log: Log, item: Item, policy: Policy, now: datetime) -> bool:
    """Whether nothing but other statements about its slot is against an item.

    What is unproven, or has not begun, replaces nothing, and so contests nothing.
    """
    judged = _judged(log, SlotUse(item.slot or "", item.scope.task, item.purposes), policy, now)
    causes = next((found for held, found in judged if held.item.id == item.id), None)
    return causes is not None and {cause.reason for cause in causes} <= _OF_THE_SLOT


def _rivals(other: object, item: Item, named: Collection[str]) -> bool:
    """Whether an item is another writer's, says something else to the same readers, and is not named."""
    return (
        isinstance(other, Item)
        and other.by != item.by
        and other.id not in (item.id, *named)
        and not _same(other, item)
        and _overlap(other.purposes, item.purposes)
        and _overlap(other.tasks, item.tasks)
        # A private statement replaces for those it names alone, and its id is not for others.
        and set(other.scope.principals) == set(item.scope.principals)
    )


def _overlap(some: Sequence[str], others: Sequence[str]) -> bool:
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
    name: str | None = f"concurrent-{item.id}"[:128]
    if log.named(EventKind.DISPUTE, f"concurrent-{item.id}"[:128]) is not None:
        # Somebody has taken the name, which must not keep the item out.
        name = None
    log.append([draft(EventKind.DISPUTE, said, id=name, by=AUTHOR, at=now)], now=now)
