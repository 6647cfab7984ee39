"""What may be written: references that exist, links without circles, principals within their rights.

Checked inside the transaction that appends, so that a refused event changes nothing and two writers cannot
pass each other.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from readmit.records.errors import ConflictError, NotAllowedError, RateError, RecordError, UnknownError
from readmit.records.events import (
    INVALIDATING,
    Checkpoint,
    Dispute,
    Draft,
    EventKind,
    Overrule,
    Resolve,
    Settle,
    Supersede,
    Suspect,
)
from readmit.records.evidence import Evidence, Experience
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.policy import AUTHOR, OWNER, Policy
from readmit.records.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from readmit.ports.store import Log
    from readmit.records.items import Scope


_OWN = frozenset({EventKind.RETURN, EventKind.EXPOSE, EventKind.ACKNOWLEDGE, EventKind.KEY})


def check(log: Log, draft: Draft, policy: Callable[[], Policy], now: datetime) -> None:
    """Raise unless the event may be appended."""
    if isinstance(draft.payload, Evidence):
        # It rests on nothing and touches nothing. Most of a large batch is this, so it comes first.
        _check_name(draft, draft.payload.by)
        _check_workspace(log, draft.payload.scope)
        return
    _check_author(draft)
    _check_writer(log, draft, policy, now)
    match draft.payload:
        case Item() as item:
            _check_item(log, item)
        case Supersede(target=target, successor=successor):
            log.item(successor)
            _check_circle(log, target, successor)
        case Settle(target=target):
            _check_obligation(log, "target", target)
        case Resolve() as resolve:
            _check_resolution(log, resolve)
        case Overrule(expires=expires):
            if expires <= now:
                raise RecordError(f"expires: {expires.isoformat()} has passed; give a moment in the future")
        case Verdict(pair=pair) | Suspect(pair=pair):
            _check_evidence(log, pair.evidence)
        case Experience() as experience:
            log.item(experience.bound_to)
    _check_targets(log, draft)


def _check_targets(log: Log, draft: Draft) -> None:
    if not isinstance(draft.payload, Item):
        for target in draft.about:
            log.item(target)


def _check_author(draft: Draft) -> None:
    """Nobody writes in another's name, under another's id, or what the cycle alone writes."""
    if draft.kind in _OWN:
        raise NotAllowedError(f"a {draft.kind} is written by readmit itself: use its verb")
    if isinstance(draft.payload, (Item, Experience, Checkpoint)):
        # The id is what makes a second, different account of the same thing a conflict.
        own = draft.id.partition(":")[2]
        if own != draft.payload.id:
            raise RecordError(f"id: the event has {own!r}, its content {draft.payload.id!r}; give both the same")
    match draft.payload:
        case Item(by=author) | Experience(owner=author):
            _check_name(draft, author)


def _check_name(draft: Draft, author: str) -> None:
    if author != draft.by:
        raise NotAllowedError(f"{draft.by!r} may not write in the name of {author!r}: let {author!r} write it")


def _check_workspace(log: Log, scope: Scope) -> None:
    if scope.workspace != log.workspace:
        raise RecordError(f"scope.workspace: {scope.workspace!r} is not this workspace, {log.workspace!r}")


def _check_writer(log: Log, draft: Draft, policy: Callable[[], Policy], now: datetime) -> None:
    if draft.kind is EventKind.OVERRULE and draft.by not in policy().overseers:
        raise NotAllowedError(f"{draft.by!r} may not overrule: add it to the policy's overseers")
    if draft.kind is EventKind.GOVERN:
        check_governor(draft.by, policy(), "govern")
    if draft.kind not in INVALIDATING or _is_own_finding(draft):
        return
    rules = policy()
    if rules.writers and draft.by not in rules.writers:
        raise NotAllowedError(f"{draft.by!r} may not {draft.kind} here: add it to the policy's writers")
    since = now - timedelta(seconds=rules.invalidation_window_seconds)
    if log.invalidations(draft.by, since=since) >= rules.invalidations_per_writer:
        raise RateError(
            f"{draft.by!r} wrote {rules.invalidations_per_writer} lifecycle events, suspicions and verdicts within "
            f"{rules.invalidation_window_seconds} s, the policy's limit (invalidations_per_writer); "
            "wait, or let an overseer raise it"
        )


def policy_in_force(log: Log) -> Policy:
    """The policy that the log was last given."""
    event = log.latest(EventKind.GOVERN)
    return event.payload if event is not None and isinstance(event.payload, Policy) else Policy()


def check_governor(by: str, policy: Policy, what: str) -> None:
    """Policy and keys are the owner's and the overseers' to change."""
    if by != OWNER and by not in policy.overseers:
        raise NotAllowedError(f"{by!r} may not {what}: act as {OWNER!r}, or add it to the policy's overseers")


def _is_own_finding(draft: Draft) -> bool:
    """What readmit itself finds for a return, which its settings limit.

    Under a writer's limit, whoever floods the log with observations would make it fail, and nobody could return.
    """
    return draft.by == AUTHOR and draft.kind in {EventKind.SUSPECT, EventKind.JUDGE}


def _check_obligation(log: Log, field: str, name: str) -> None:
    if not isinstance(log.item(name), Obligation):
        raise RecordError(f"{field}: {name!r} is not an obligation")


def _check_item(log: Log, item: Item) -> None:
    _check_workspace(log, item.scope)
    for premise in item.depends_on:
        if premise == item.id:
            raise ConflictError(f"depends_on: {item.id!r} cannot be its own premise")
        log.item(premise)
    references = {"item", *item.depends_on, *item.supports}
    for receipt in item.receipts:
        _check_evidence(log, receipt.evidence)
        for name in receipt.binds:
            if name not in references:
                raise RecordError(
                    f"receipts: {name!r} is neither 'item' nor a premise or dependency that {item.id!r} names"
                )
    if isinstance(item, Frontier):
        _check_obligation(log, "obligation", item.obligation)


def _check_evidence(log: Log, digest: str) -> None:
    if not log.has_evidence(digest):
        raise UnknownError(f"no evidence {digest!r} in workspace {log.workspace!r}; observe it first")


def _check_circle(log: Log, target: str, successor: str) -> None:
    """Follow replacements from the successor: none may lead back to the target."""
    seen: set[str] = set()
    ahead = {successor}
    while ahead:
        if target in ahead:
            raise ConflictError(
                f"superseding {target!r} by {successor!r} would close a circle: "
                f"{successor!r} was itself replaced, in the end, by {target!r}"
            )
        seen |= ahead
        events = log.about(ahead, until=log.head)
        ahead = {
            event.payload.successor
            for event in events
            if isinstance(event.payload, Supersede) and event.payload.target in ahead
        } - seen


def _check_resolution(log: Log, resolve: Resolve) -> None:
    dispute = disputed(log, resolve.dispute)
    strangers = sorted(set(resolve.keep) - set(dispute.items))
    if strangers:
        raise RecordError(f"keep: {', '.join(strangers)} not in dispute {resolve.dispute!r}")


def disputed(log: Log, name: str) -> Dispute:
    """A dispute by its id."""
    event = log.named(f"dispute:{name}")
    if event is None or not isinstance(event.payload, Dispute):
        raise UnknownError(f"no dispute {name!r} in workspace {log.workspace!r}; dispute the items first")
    return event.payload
