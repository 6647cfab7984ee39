"""Items for others: the agent's name, role or task may have two spellings, or an item is filed elsewhere.

Private items are never read. Of the others, only ids and audiences are shown, not the text: the agent cannot see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from readmit.diagnosis.like_names import alike
from readmit.diagnosis.symptoms import MOST, Symptom, Trouble
from readmit.records.acts.event import Revoke, Settle, Supersede
from readmit.records.acts.forgotten import Forget
from readmit.records.acts.kinds import targets_of
from readmit.records.items import Frontier, Item, Kind, Obligation
from readmit.records.policy import OWNER
from readmit.records.remedies import BLANK, Remedy, come_back, depart, reassign, write
from readmit.text.english import counted
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from readmit.diagnosis.trial import Trial
    from readmit.log.log import Log
    from readmit.records.identity import Identity

AUDIENCES = 1_000
"""Most audiences whose names are compared. Each costs one index search."""
READ = 20
"""Most audiences whose events are read: the nearest to the agent."""
NEWEST = 50
"""Most events read of each."""

Row = tuple[str, str, str]
_PARTS = ("task", "principal", "role")


class Elsewhere(msgspec.Struct, frozen=True):
    """The newest items written for audiences that the agent does not belong to."""

    items: Mapping[Row, tuple[Item, ...]]
    tasks: tuple[str, ...] = ()
    """The tasks of all audiences, unread ones included."""
    left_out: tuple[str, ...] = ()
    """A sentence for each audience that was not read."""


def elsewhere(log: Log, identity: Identity, *, until: int) -> Elsewhere:
    """Read items written for others, within limits."""
    rows = list(islice(log.audiences(), AUDIENCES + 1))
    left_out = [f"audiences beyond the first {AUDIENCES:,}"] if len(rows) > AUDIENCES else []
    strangers = sorted((row for row in rows[:AUDIENCES] if not _reaches(row, identity)), key=_distance(identity))
    found: dict[Row, tuple[Item, ...]] = {}
    cut = 0
    for row in strangers[:READ]:
        events = log.newest_for(row, until=until, most=NEWEST)
        cut += len(events) == NEWEST
        items = [event.payload for event in reversed(events) if isinstance(event.payload, Item)]
        team = tuple(item for item in items if item.scope.visibility == "team" and not identity.may_see(item.scope))
        if team:
            found[row] = team
    if cut:
        left_out.append(f"all but the newest {NEWEST} events of {counted(cut, 'other audience')}")
    if len(strangers) > READ:
        left_out.append(f"{counted(len(strangers) - READ, 'further audience')}, save for the slots that lack")
    return Elsewhere(found, tuple(dict.fromkeys(row[0] for row in strangers)), tuple(left_out))


def _distance(who: Identity) -> Callable[[Row], tuple[bool, int]]:
    """How far an audience is from the agent: other spellings first, then the most similar."""
    own = [getattr(who, part) for part in _PARTS]
    return lambda row: (
        _meant(row, who) is None,
        sum(value not in ("", mine) for value, mine in zip(row, own, strict=True)),
    )


def agent_spelling(trial: Trial, others: Elsewhere) -> Iterator[Symptom]:
    """Items for a task, role or principal that differs from the agent's only in spelling."""
    who = trial.request.identity
    seen: set[Identity] = set()
    for row, items in others.items.items():
        meant = _meant(row, who)
        if meant is None or meant in seen:
            continue
        seen.add(meant)
        differing = [part for part in _PARTS if getattr(meant, part) != getattr(who, part)]
        spelled = " and ".join(f"{part} {one_line(getattr(meant, part))!r}" for part in differing)
        own = " and ".join(repr(one_line(getattr(who, part))) for part in differing)
        yield Symptom(
            Trouble.AGENT_SPELLING,
            f"{counted(len(items), 'item')} {'is' if len(items) == 1 else 'are'} for {spelled}; the agent's is {own}.",
            tuple(item.id for item in items[:MOST]),
            ("If the two are meant to be the same, the agent returns under the other spelling.",),
            tuple(_as(meant, who, trial.overseer or OWNER)),
        )


def out_of_sight(log: Log, trial: Trial, others: Elsewhere) -> Iterator[Symptom]:
    """Symptoms of items for other readers that would meet an unmet need."""
    who = trial.request.identity
    rows = {row: items for row, items in others.items.items() if _meant(row, who) is None}
    for need in trial.decision.missing:
        found = {item.id: item for items in rows.values() for item in items if _supplies(item, need)}
        if need in trial.slots:
            found |= {item.id: item for task in others.tasks for item in _in_slot(log, task, need, trial)}
        for item in _in_force(log, found.values(), trial)[:MOST]:
            yield Symptom(
                Trouble.OUT_OF_SIGHT,
                f"{item.id}, written by {one_line(item.by)}, supplies {need} for {_scope(item)} only.",
                (item.id, need),
                ("If the agent may know it, record it for the agent's task.",),
                (_widened(trial, item, need),),
            )


def duties_of_others(log: Log, trial: Trial, others: Elsewhere) -> Iterator[Symptom]:
    """Duties on the agent's own task that are for other roles."""
    who = trial.request.identity
    for (task, principal, role), items in others.items.items():
        near = task in ("", who.task) and principal in ("", who.principal) and not alike(role, who.role)
        duties = _in_force(log, (item for item in items if isinstance(item, Obligation)), trial) if near else []
        if duties:
            yield Symptom(
                Trouble.OUT_OF_SIGHT,
                f"{_listed(duties)} for role {one_line(role)!r}; the agent returned as {one_line(who.role)!r}.",
                tuple(duty.id for duty in duties[:MOST]),
                ("If that is the agent's role, it returns in it.",),
                (
                    reassign(who, role, trial.overseer or OWNER),
                    come_back(replace(who, role=role), purpose=trial.request.purpose),
                ),
            )


def _in_slot(log: Log, task: str, slot: str, trial: Trial) -> Iterator[Item]:
    for event in log.in_slot(task or None, slot, until=trial.request.epoch)[-MOST:]:
        item = event.payload
        seen = not isinstance(item, Item) or trial.request.identity.may_see(item.scope)
        if isinstance(item, Item) and not seen and item.scope.visibility == "team":
            yield item


def _in_force(log: Log, items: Iterable[Item], trial: Trial) -> list[Item]:
    """Items that were not withdrawn, replaced or settled."""
    named = {item.id: item for item in items}
    for event in log.about(tuple(named), until=trial.request.epoch) if named else ():
        if isinstance(event.payload, Revoke | Forget | Settle | Supersede):
            for name in targets_of(event.payload):
                named.pop(name, None)
    return list(named.values())


def _supplies(item: Item, need: str) -> bool:
    evidence = not isinstance(item, Obligation | Frontier)
    return evidence and any(name == need or alike(name, need) for name in item.covers)


def _widened(trial: Trial, item: Item, need: str) -> Remedy:
    # Evidence of what names roles or principals may be as restricted as the item: the team names its own.
    open_to_all = not (item.scope.roles or item.scope.principals)
    sources = [receipt.evidence for receipt in item.receipts] if open_to_all else []
    is_slot = need in trial.slots
    return write(
        "record",
        kind=None if item.kind is Kind.FACT else str(item.kind),
        by=trial.writer(item.by),
        slot=need if is_slot else None,
        supports=None if is_slot else [need],
        sources=sources or [BLANK],
        task=trial.request.identity.task,
    )


def _as(meant: Identity, who: Identity, overseer: str) -> Iterator[Remedy]:
    """The agent comes back under the other spelling. Its role is changed by a reassignment, the rest by departing."""
    if (meant.principal, meant.task) != (who.principal, who.task):
        yield depart(meant)
    else:
        yield reassign(who, meant.role, overseer)
    yield come_back(meant)


def _meant(row: Row, who: Identity) -> Identity | None:
    """The agent in the spelling of an audience, if only the spelling differs."""
    changed = {}
    for part, value in zip(_PARTS, row, strict=True):
        own = getattr(who, part)
        if value and value != own:
            if not alike(value, own):
                return None
            changed[part] = value
    return replace(who, **changed) if changed else None


def _reaches(row: Row, who: Identity) -> bool:
    return all(value in ("", getattr(who, part)) for part, value in zip(_PARTS, row, strict=True))


def _scope(item: Item) -> str:
    scope = item.scope
    parts = [f"task {one_line(scope.task)!r}"] if scope.task else []
    parts += [f"role {one_line(role)!r}" for role in scope.roles]
    parts += [f"principal {one_line(name)!r}" for name in scope.principals]
    return ", ".join(parts)


def _listed(duties: Sequence[Item]) -> str:
    ids = ", ".join(duty.id for duty in duties[:MOST])
    return f"Duty {ids} is" if len(duties) == 1 else f"Duties {ids}{' and others' if len(duties) > MOST else ''} are"
