"""Checks of writes: references exist, links have no cycles, principals have the right.

Checked inside the transaction that appends, so that a refused event changes nothing and two writers cannot
pass each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.acts.event import (
    Checkpoint,
    Close,
    Confirm,
    Dispute,
    EventKind,
    Link,
    Overrule,
    Resolve,
    Revoke,
    Settle,
    Supersede,
    Suspect,
)
from readmit.records.acts.forgotten import FORGOTTEN
from readmit.records.acts.looks import Resource
from readmit.records.acts.operation import Approve, Decline, Reassign, Void
from readmit.records.canonical import digest_of
from readmit.records.error_types import ConflictError, NotAllowedError, RecordError, UnknownError
from readmit.records.evidence import Evidence, Experience
from readmit.records.identity import Identity, own_id
from readmit.records.items import BINDING, CONSTRAINTS, Frontier, Item, Kind, Obligation, Scope
from readmit.records.policy import AUTHOR, OWNER, Policy
from readmit.records.verdicts import Examine, Verdict
from readmit.rules.capture.moment import later
from readmit.state.absence import is_away
from readmit.state.authority import check_void
from readmit.writing import rights
from readmit.writing.limits import check_limits
from readmit.writing.slot_check import check_needed
from readmit.writing.supersede_check import Replacements, ending, over

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.acts.draft import Draft

_GOVERNING = frozenset(
    {EventKind.GOVERN, EventKind.APPROVE, EventKind.DECLINE, EventKind.REASSIGN, EventKind.VOID, EventKind.FORGET}
)


def check(log: Log, draft: Draft, policy: Callable[[], Policy], now: datetime, *, limited: bool = True) -> None:
    """Raise unless the event may be appended.

    An approved one is not ``limited``, and whether its writer is away does not matter: an overseer decided.
    """
    if isinstance(draft.payload, Evidence):
        # Observations refer to nothing. They are most of a large batch, so they are checked first.
        _check_name(draft, draft.payload.by)
        _check_workspace(log, draft.payload.scope)
        rights.check_id(draft, hidden=draft.payload.scope.principals)
        if draft.payload.probe is not None or draft.payload.named_by is not None:
            _check_probe(draft.payload)
        return
    _check_author(draft)
    _check_writer(log, draft, policy)
    checks = _Checks(log, draft, policy, now)
    if limited and draft.kind.settles and draft.by not in (AUTHOR, OWNER):
        checks.presence()
    checks.run()
    if draft.kind.check is not None:
        draft.kind.check(log, draft)
    if limited and not _is_own_finding(draft):
        # After everything else: an overseer is asked only about what is allowed otherwise.
        check_limits(log, draft, policy, now)


class _Checks:
    """Checks one event against what its writer can see of the log."""

    def __init__(self, log: Log, draft: Draft, policy: Callable[[], Policy], now: datetime) -> None:
        self._log = log
        self._draft = draft
        self._policy = policy
        self._now = now

    def presence(self) -> None:
        """Refuse a writer that is away from what the event decides about."""
        for item in self._decided():
            rights.check_present(self._log, item, by=self._draft.by, verb=self._draft.kind)

    def run(self) -> None:
        match self._draft.payload:
            case Item() as item:
                self._item(item)
            case Resolve() as resolve:
                self._resolution(resolve)
            case Examine() as examined:
                self._examination(examined)
            case Experience(bound_to=source):
                self._named(source)
            case Link() as link:
                self._link(link, *self._touched())
            case Confirm():
                self._confirmation(*self._touched())
            case Resource() as found:
                self._resourcing(found, *self._touched())
            case Approve(waiting=name) | Decline(waiting=name):
                self._answer(name)
            case Void(event=event):
                check_void(self._log, event, self._now)
            case _:
                self._mark()

    def _named(self, name: str) -> Item:
        """An item that the event names, if its writer may see it."""
        return rights.item_for(self._log, name, self._draft.by, self._policy)

    def _touched(self) -> list[Item]:
        """The items that the event concerns, if its writer may change them."""
        targets = [self._named(name) for name in self._draft.about]
        self._check_may_touch(targets)
        return targets

    def _check_may_touch(self, items: list[Item]) -> None:
        for item in items:
            rights.check_may_touch(item, by=self._draft.by, verb=self._draft.kind, policy=self._policy)
        reaches = self._draft.kind.reaches
        one = reaches is not None and reaches(self._draft.payload)[1]
        rights.check_id(self._draft, hidden=one or any(item.scope.principals for item in items))

    def _decided(self) -> list[Item]:
        """The items that the event decides about, of those that its writer may know of.

        What only takes something out of use decides nothing: a fact is withdrawn or ended once it has begun, a link is
        taken back.
        """
        items = [self._log.item(name) for name in self._draft.about if self._log.named(EventKind.RECORD, name)]
        known = [item for item in items if rights.known_to(item, self._draft.by, self._policy)]
        match self._draft.payload:
            case Link(withdrawn=True):
                return []
            case Resolve() if len(known) < len(items):
                # It is refused as unknown, also if somebody is away.
                return []
            case Revoke() | Close():
                return [item for item in known if not _takes_out(item, later(self._now, self._log.learnt))]
        return known

    def _mark(self) -> None:
        targets = self._touched()
        match self._draft.payload:
            case Supersede(successor=successor):
                replaces = self._named(successor)
                rights.check_no_rival(self._log, replaces, by=self._draft.by, verb="supersede", other=targets[0])
                self._end(targets[0])
                _check_binds_instead(targets[0], replaces, self._policy)
                Replacements(self._log, self._now).check(targets[0].id, successor)
            case Revoke():
                self._end(targets[0])
            case Close() if not isinstance(targets[0], Obligation):
                self._end(targets[0])
            case Settle():
                self._end(_obligation("target", targets[0]))
            case Overrule(expires=expires) as overrule:
                if targets[0].text == FORGOTTEN:
                    raise ConflictError(f"target: the text of {targets[0].id!r} was forgotten: record it again instead")
                moment = later(self._now, self._log.learnt)
                if expires <= moment:
                    raise RecordError(f"expires: {expires.isoformat()} has passed; give a moment in the future")
                rights.check_no_rival(self._log, targets[0], by=self._draft.by, verb="overrule")
                check_needed(self._log, targets[0], overrule, self._policy(), moment)
            case Verdict(pair=pair) | Suspect(pair=pair):
                self._check_evidence(pair.evidence)

    def _link(self, link: Link, item: Item) -> None:
        if isinstance(item, Obligation | Frontier):
            raise RecordError(f"item: {item.id!r} is what needs evidence; link a fact or a constraint")
        if self._draft.by == AUTHOR and link.drafted is None:
            raise NotAllowedError(f"{AUTHOR!r} vouches for no link: say in drafted which model drew it")

    def _confirmation(self, item: Item) -> None:
        if item.drafted is None and not self._is_resourced(item):
            raise RecordError(f"target: {item.id!r} was not drafted by a model, so there is nothing to confirm")
        if self._draft.by == AUTHOR:
            raise NotAllowedError(f"{AUTHOR!r} may not confirm what a model drafted: a principal does")

    def _is_resourced(self, item: Item) -> bool:
        """Whether a model found that it still holds of what its source says now."""
        about = self._log.about([item.id], until=self._log.head)
        return any(event.kind is EventKind.RESOURCE for event in about)

    def _resourcing(self, found: Resource, item: Item) -> None:
        if self._draft.by != AUTHOR:
            raise NotAllowedError(
                f"{self._draft.by!r} may not source {item.id!r} again: record what its source says now"
            )
        if found.evidence not in {receipt.evidence for receipt in item.receipts}:
            raise RecordError(
                f"evidence: {found.evidence!r} is not a source of {item.id!r}; give one of its receipts' evidence"
            )
        self._check_evidence(found.now)

    def _answer(self, name: str) -> None:
        if self._draft.name != name:
            # The id makes a second, different answer a conflict.
            raise RecordError(f"id: {self._draft.name!r} is not {name!r}; an answer has the id of what waits")
        if self._log.named(EventKind.WAIT, name) is None:
            raise UnknownError(f"nothing waits as {name!r} in workspace {self._log.workspace!r}; see `readmit doctor`")

    def _check_evidence(self, digest: str) -> None:
        rights.check_evidence(self._log, digest, self._draft.by, self._policy)

    def _end(self, item: Item) -> None:
        """Refuse a principal that may not end the duty or constraint."""
        if type(item) in BINDING and (rules := self._policy()).binds(item):
            rights.check_may_end(self._log, item, by=self._draft.by, verb=self._draft.kind, policy=rules)

    def _item(self, item: Item) -> None:
        _check_workspace(self._log, item.scope)
        rights.check_id(self._draft, hidden=item.scope.principals)
        for premise in item.depends_on:
            if premise == item.id:
                raise ConflictError(f"depends_on: {item.id!r} cannot be its own premise; leave it out")
            self._named(premise)
        references = {"item", *item.depends_on, *item.supports}
        for receipt in item.receipts:
            self._check_evidence(receipt.evidence)
            for name in receipt.binds:
                if name not in references:
                    raise RecordError(
                        f"receipts: {name!r} is neither 'item' nor a premise or dependency that {item.id!r} names"
                    )
        if isinstance(item, Frontier):
            duty = _obligation("obligation", self._named(item.obligation))
            if (end := ending(self._log, duty.id, later(self._now, self._log.learnt))) is not None:
                raise ConflictError(f"obligation: {over(duty.id, end)}; oblige what is owed now")
        check_terms(self._log, item)

    def _resolution(self, resolve: Resolve) -> None:
        dispute = rights.dispute_for(self._log, resolve.dispute, self._draft.by, self._policy)
        items = [self._log.item(name) for name in dispute.items]
        self._check_may_touch(items)
        rights.check_no_party(dispute, items, resolve, by=self._draft.by)
        strangers = sorted(set(resolve.keep) - set(dispute.items))
        if strangers:
            raise RecordError(
                f"keep: {', '.join(strangers)} not in dispute {resolve.dispute!r}; give items that it names"
            )
        for item in items:
            if item.id not in resolve.keep and not isinstance(item, Obligation):
                # A duty that lost a dispute is still owed.
                self._end(item)

    def _examination(self, examined: Examine) -> None:
        if self._draft.by != AUTHOR:
            raise NotAllowedError(
                f"{self._draft.by!r} may not claim an examination: readmit itself writes it after a preparation"
            )
        departed = self._log.named(EventKind.DEPART, examined.checkpoint)
        if (
            departed is None
            or not isinstance(departed.payload, Checkpoint)
            or departed.payload.identity.principal != examined.identity.principal
        ):
            raise UnknownError(f"no departure {examined.checkpoint!r} in workspace {self._log.workspace!r}")
        if examined.until > self._log.head:
            raise RecordError(f"until: the log ends at {self._log.head}; an examination cannot go further")


def _check_author(draft: Draft) -> None:
    """Refuse writes in another's name, under another's id, or of kinds that only the cycle writes."""
    if draft.kind.is_reserved:
        raise NotAllowedError(f"a {draft.kind} is written by readmit itself: use its verb")
    if isinstance(draft.payload, (Item, Experience, Checkpoint)):
        # The id makes a second, different version of the same thing a conflict.
        own, said = draft.name, draft.payload.id
        if isinstance(draft.payload, Experience):
            # Each private bank has ids of its own.
            said = own_id(draft.payload.owner, said)
        if own != said:
            raise RecordError(f"id: the event has {own!r}, its content {said!r}; give both the same")
    if isinstance(draft.payload, Dispute) and draft.payload.basis is not None:
        raise NotAllowedError("basis: readmit itself finds what was written concurrently; leave it out")
    if isinstance(draft.payload, Dispute) and draft.payload.plan is not None:
        raise NotAllowedError("plan: readmit itself finds plans that later news passed over; leave it out")
    match draft.payload:
        case Item(by=author) | Experience(owner=author) | Checkpoint(identity=Identity(principal=author)):
            _check_name(draft, author)


def _check_name(draft: Draft, author: str) -> None:
    if author != draft.by:
        raise NotAllowedError(f"{draft.by!r} may not write in the name of {author!r}: let {author!r} write it")


def _check_probe(evidence: Evidence) -> None:
    """The text that was hashed is the text that is kept, and only a look by readmit reads for somebody else."""
    if evidence.probe is not None and evidence.probe.digest != digest_of(evidence.text.encode()):
        raise RecordError("probe: its digest is not that of the text; observe the source with observe(probe=…)")
    if evidence.named_by is not None:
        raise NotAllowedError("named_by: only a look by readmit itself reads a source for somebody else; leave it out")


def _check_workspace(log: Log, scope: Scope) -> None:
    if scope.workspace != log.workspace:
        raise RecordError(f"scope.workspace: {scope.workspace!r} is not this workspace; give {log.workspace!r}")


def _takes_out(item: Item, now: datetime) -> bool:
    """Whether ending an item takes it out of use, and lets nothing else through.

    Without a duty, its frontier or a constraint, more is admitted. What had not begun leaves in force what it was to
    replace.
    """
    return item.kind is Kind.FACT and (item.valid.start is None or item.valid.start <= now)


def _check_writer(log: Log, draft: Draft, policy: Callable[[], Policy]) -> None:
    if draft.kind is EventKind.OVERRULE and draft.by not in {*policy().evidence.overseers} - {AUTHOR}:
        raise NotAllowedError(f"{draft.by!r} may not overrule: add it to the policy's overseers")
    if draft.kind in _GOVERNING:
        check_governor(log, draft.by, policy(), draft.kind)
    if isinstance(draft.payload, Reassign) and draft.payload.principal == draft.by:
        raise NotAllowedError(f"by: {draft.by!r} may not reassign itself; let the owner or another overseer do it")
    if _is_own_finding(draft):
        return
    if draft.by == AUTHOR and draft.kind.is_act:
        raise NotAllowedError(
            f"{AUTHOR!r} may not {draft.kind}: a model's output is not a principal's act; name one of the writers"
        )
    if not (draft.kind.invalidates or draft.kind is EventKind.OPEN):
        return
    rules = policy()
    if rules.evidence.writers and draft.by not in rules.evidence.writers:
        raise NotAllowedError(f"{draft.by!r} may not {draft.kind.verb} here: add it to the policy's writers")


def check_governor(log: Log, by: str, policy: Policy, what: str) -> None:
    """Only the owner and overseers change the policy and keys, and none of them while away."""
    if by != OWNER and by not in policy.evidence.overseers:
        raise NotAllowedError(f"{by!r} may not {what}: act as {OWNER!r}, or add it to the policy's overseers")
    if by != OWNER and is_away(log, by, None):
        raise NotAllowedError(f"{by!r} may not {what} while it is away: come back first, or act as {OWNER!r}")


def _is_own_finding(draft: Draft) -> bool:
    """Events that readmit writes for a return; its settings limit them.

    With a writer's limit, a flood of observations could exhaust it, and no agent could return.
    """
    return draft.by == AUTHOR and draft.kind in {EventKind.SUSPECT, EventKind.JUDGE, EventKind.LINK}


def _obligation(field: str, item: Item) -> Obligation:
    if not isinstance(item, Obligation):
        raise RecordError(f"{field}: {item.id!r} is not an obligation; name a duty")
    return item


def _check_binds_instead(item: Item, successor: Item, policy: Callable[[], Policy]) -> None:
    if isinstance(item, Obligation) and not isinstance(successor, Obligation):
        raise RecordError(
            f"successor: {successor.id!r} is not an obligation, and only another duty takes the place of one: "
            f"oblige what is owed instead of {item.id!r}, or settle {item.id!r} if nothing is"
        )
    if type(item) in CONSTRAINTS and type(successor) not in CONSTRAINTS and policy().constrains(item):
        raise RecordError(
            f"successor: {successor.id!r} is not a constraint, and only another constraint takes the place of one: "
            f"record it with kind={str(item.kind)!r}, or revoke {item.id!r} if nothing takes its place"
        )


def check_terms(log: Log, item: Item) -> None:
    """A name has one meaning: a slot, or a dependency that items support.

    Private items are not checked and define nothing for others. If both meanings exist already, neither is refused.
    """
    if item.scope.visibility == "private":
        return
    slot = item.slot
    if slot is not None and (slot in item.supports or log.is_dependency(slot)) and not log.is_slot(slot):
        raise ConflictError(
            f"slot: {slot!r} is a dependency that items name in supports; choose another name for the slot. "
            f"Or use {slot!r} as a slot only: what stands in it meets required=[{slot!r}] without supports"
        )
    for name in item.supports:
        if (name == slot or log.is_slot(name)) and not log.is_dependency(name):
            raise ConflictError(
                f"supports: {name!r} is a slot, and what stands in it meets required=[{name!r}] by itself; "
                "leave it out of supports, or choose another name"
            )
