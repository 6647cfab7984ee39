"""Which items a principal may name, and who may end what binds.

An item that a principal may not see does not exist for it: the error is exactly that of an unknown id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.acts.event import Dispute, EventKind, Resolve
from readmit.records.acts.kinds import targets_of
from readmit.records.error_types import NotAllowedError, RecordError, UnknownError
from readmit.records.evidence import Evidence
from readmit.records.identity import OWN, is_own, own_space
from readmit.records.items import Item, Obligation
from readmit.records.policy import AUTHOR, OWNER, Policy
from readmit.state.absence import is_away, roles_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from readmit.log.log import Log
    from readmit.records.acts.draft import Draft


def item_for(log: Log, name: str, by: str, policy: Callable[[], Policy]) -> Item:
    """An item by id, if the principal may know of it."""
    item = log.item(name)
    if not known_to(item, by, policy):
        raise UnknownError(f"no item {name!r} in workspace {log.workspace!r}; record it first")
    return item


def known_to(item: Item, by: str, policy: Callable[[], Policy]) -> bool:
    """Whether a principal may know of an item: a private one, or one that names principals, is not for everybody."""
    return _is_for(item, by, policy)


def concerned_by(log: Log, payload: object) -> tuple[str, ...]:
    """The items that an event concerns: a resolution, those of its dispute, if there is one."""
    event = log.named(EventKind.DISPUTE, payload.dispute) if isinstance(payload, Resolve) else None
    return targets_of(payload if event is None else event.payload)


def dispute_for(log: Log, name: str, by: str, policy: Callable[[], Policy]) -> Dispute:
    """A dispute by id, if the principal may know of all its items: resolving it would decide about each."""
    event = log.named(EventKind.DISPUTE, name)
    found = None if event is None else event.payload
    if isinstance(found, Dispute) and all(known_to(log.item(item), by, policy) for item in found.items):
        return found
    raise UnknownError(f"no dispute {name!r} in workspace {log.workspace!r}; dispute the items first")


def check_evidence(log: Log, digest: str, by: str, policy: Callable[[], Policy]) -> None:
    """Refuse evidence that is not on the log, or that the principal may not know of."""
    name = log.evidence_id(digest)
    # What is not for everybody has an id of its writer's own, so most evidence need not be read.
    if name is not None and name.startswith(EventKind.OBSERVE.event_id(OWN)):
        seen = log.evidence(digest).payload
        name = name if isinstance(seen, Evidence) and _is_for(seen, by, policy) else None
    if name is None:
        raise UnknownError(f"no evidence {digest!r} in workspace {log.workspace!r}; observe it first")


def check_id(draft: Draft, *, hidden: object) -> None:
    """Refuse an id by which others could learn that something exists which they may not know of."""
    if hidden and draft.named and not is_own(draft.name, draft.by):
        raise RecordError(
            f"id: this is not for everybody, and another writer who gives the id {draft.name!r} would learn that it "
            f"exists; leave id out, or give one that begins with {own_space(draft.by)!r}"
        )


def _is_for(what: Item | Evidence, by: str, policy: Callable[[], Policy]) -> bool:
    named = what.scope.principals
    return not named or by in {what.by, *named, OWNER, AUTHOR} or by in policy().evidence.overseers


def check_may_touch(item: Item, *, by: str, verb: str, policy: Callable[[], Policy]) -> None:
    """Refuse readers of a private item who are neither its author nor an overseer."""
    if item.scope.visibility != "private" or by in {item.by, OWNER, AUTHOR} or by in policy().evidence.overseers:
        return
    raise NotAllowedError(
        f"{by!r} may not {verb} {item.id!r}: a private item is for its author and the overseers; write as one of them"
    )


def check_present(log: Log, item: Item, *, by: str, verb: str) -> None:
    """Refuse principals who are away from an item's task: their own return may depend on what they decide."""
    task = item.scope.task
    if is_away(log, by, task):
        place = "a task" if task is None else repr(task)
        raise NotAllowedError(
            f"{by!r} may not {verb} {item.id!r} while it is away from {place}: come back first, or let another do it"
        )


def check_no_party(dispute: Dispute, items: Sequence[Item], resolve: Resolve, *, by: str) -> None:
    """Refuse a side of a contested slot that resolves it for itself. It may concede."""
    own = [item.id for item in items if item.by == by]
    others = [item.id for item in items if item.by != by]
    if not is_contest(dispute) or not own or not others or by == OWNER or set(resolve.keep) == set(others):
        return
    raise NotAllowedError(
        f"{by!r} may not resolve {resolve.dispute!r} for itself: it wrote {', '.join(own)}. "
        f"Concede with keep={others!r}, record what holds now having seen both sides, or let another resolve it"
    )


def check_no_rival(log: Log, own: Item, *, by: str, verb: str, other: Item | None = None) -> None:
    """Refuse a side of a contested slot that puts its own item in the place of the other side's."""
    if by != own.by or by == OWNER or own.slot is None or (other is not None and other.by == by):
        return
    for event in log.about([own.id], until=log.head):
        said = event.payload
        if isinstance(said, Dispute) and said.basis is not None and (other is None or other.id in said.items):
            raise NotAllowedError(
                f"{by!r} may not {verb} for {own.id!r}, which it wrote: {event.name!r} contests it. Concede with "
                "`resolve`, record what holds now having seen both sides, or let another resolve it"
            )


def is_contest(dispute: Dispute) -> bool:
    """Whether readmit itself found that statements about one slot contradict each other."""
    return dispute.basis is not None or dispute.plan is not None


def check_may_end(log: Log, item: Item, *, by: str, verb: str, policy: Policy) -> None:
    """Refuse principals who may not end a duty or a constraint."""
    if by != AUTHOR and (by == item.by or by in policy.evidence.overseers or _owes(log, item, by)):
        return
    if not isinstance(item, Obligation):
        raise NotAllowedError(
            f"{by!r} may not {verb} {item.id!r}: a constraint ends by its author, {item.by!r}, or by the overseers. "
            "Dispute it if it is wrong, or record the constraint that holds now in its slot"
        )
    hint = (
        f" in the role {item.scope.roles[0]!r}, which the owner or an overseer gives with `reassign`"
        if item.scope.roles
        else ""
    )
    raise NotAllowedError(
        f"{by!r} may not {verb} {item.id!r}: only its author, the overseers, and agents that owe it{hint} may"
    )


def _owes(log: Log, item: Item, by: str) -> bool:
    scope = item.scope
    return (
        isinstance(item, Obligation)
        and (not scope.principals or by in scope.principals)
        and (not scope.roles or not roles_of(log, by, scope.task).isdisjoint(scope.roles))
    )
