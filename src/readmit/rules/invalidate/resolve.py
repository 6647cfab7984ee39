"""Combine the lifecycle evidence: every cause against every item that no longer stands.

First the causes that name an item, then which statement of each slot stands, then items whose premises fell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from readmit.records.acts.event import Dispute, Event, EventKind
from readmit.records.decisions import Cause
from readmit.records.items import Obligation
from readmit.records.reasons import Reason
from readmit.rules.capture.drafted import is_draft
from readmit.rules.invalidate import (
    changed_sources,
    concurrent,
    implicit,
    lifecycle,
    overrule,
    premises,
    replacement,
    supersession,
)
from readmit.rules.invalidate.order import Order, Placement
from readmit.rules.invalidate.repeated_statements import SameStatements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot
    from readmit.rules.invalidate.lifecycle import Charge

Causes = dict[str, list[Cause]]
MOST_CAUSES = 16
"""Causes of one reason that are listed against an item, the newest: thousands of acts may concern it."""
_ENDING = frozenset({Reason.REVOKED, Reason.SUPERSEDED, Reason.EXPIRED})
_OF_DISPUTES = frozenset({Reason.DISPUTED, Reason.DISPUTE_LOST, Reason.CONCURRENT_UPDATE})


class Findings(msgspec.Struct, frozen=True):
    """Per item: causes against it that stand, and causes an overseer set aside. Items without any are absent."""

    against: Mapping[str, tuple[Cause, ...]]
    overruled: Mapping[str, tuple[Cause, ...]]
    recovered: Mapping[str, tuple[Cause, ...]] = {}
    """Premises that fell and were re-established, for the items that rest on them."""
    open_pairs: int = 0
    """Suspicions about visible items that no verdict has settled."""
    unseen: Mapping[str, tuple[Cause, ...]] = {}
    """Sources of items that could not be looked at, where that does not take the items out."""
    doubted: frozenset[str] = frozenset()
    """Drafts with an open suspicion that does not take them out."""


def resolve(snapshot: Snapshot, flaws: Mapping[str, tuple[Cause, ...]], policy: Policy) -> Findings:
    """Every cause against every item, visible or not."""
    case = _Case(snapshot, flaws, policy)
    charges = case.charges()
    charged = (snapshot.state.held[name] for name in charges if name in snapshot.state.held)
    seen = [held for held in charged if snapshot.identity.may_see(held.item.scope)]
    open_pairs = sum(implicit.is_open(one, held, case.critical) for held in seen for one in charges[held.item.id])
    raised = case.with_inherited(charges)
    causes = case.counted(raised)
    firm: Causes = {}
    for name, cause, restorable in case.replaced(causes):
        (causes if restorable else firm).setdefault(name, []).append(cause)
    found = case.findings(case.concerning(causes), firm, open_pairs)
    if doubted := frozenset(name for name, own in raised.items() if case.doubts(name, own)):
        found = msgspec.structs.replace(found, doubted=doubted)
    if not case.troubled:
        return found
    return msgspec.structs.replace(
        found, unseen=changed_sources.set_aside(raised, causes), recovered=case.with_carrying(found.recovered)
    )


class _Case:
    """One snapshot under one policy, with values that several steps share."""

    def __init__(self, snapshot: Snapshot, flaws: Mapping[str, tuple[Cause, ...]], policy: Policy) -> None:
        self.snapshot = snapshot
        self.flaws = flaws
        self.policy = policy
        self.everything = _in_log_order(snapshot)
        self.known = {held.item.id: held for held in self.everything}
        self.marked = [held for held in self.everything if held.marks]
        self.order = Order(snapshot, policy)
        self.critical = implicit.critical_dependencies(snapshot)
        written = (held for held in self.everything if held.item.drafted is not None)
        self.drafts = frozenset(held.item.id for held in written if is_draft(held, snapshot, policy))
        self.same = SameStatements(self.everything)
        self.named = supersession.named(self.marked, self.known, self.same, snapshot.now)
        said = supersession.said(self.marked, snapshot.now)
        self.pairs = {self.same.between(one.target, one.successor) for one in said}
        resolved = {**snapshot.background.resolutions, **snapshot.state.resolutions}
        self.resolutions = lifecycle.deciding(resolved, snapshot.identity.principal, snapshot.now)
        self.overrules = {
            held.item.id: events for held in self.marked if (events := overrule.honored(held, snapshot, policy))
        }

        self.troubled = changed_sources.troubled(snapshot, policy) if snapshot.sources else {}
        self.needed: frozenset[str] = frozenset()
        if self.troubled:
            self.needed = changed_sources.needed(self.known, self.critical)

    def charges(self) -> dict[str, list[Charge]]:
        """The charges of events, verdicts and suspicions against the items they name."""
        snapshot = self.snapshot
        resolutions = self.resolutions
        found: dict[str, list[Charge]] = {}
        for held in self.marked:
            raised = [
                *lifecycle.marks(held, resolutions, snapshot.now),
                *concurrent.contest_charges(
                    held, resolutions, self.known, self._settled, policy=self.policy, now=snapshot.now
                ),
                *implicit.judged(held, snapshot, self.policy),
            ]
            if raised:
                found[held.item.id] = raised
        if causes := self.troubled:
            for held in self.everything:
                critical = held.item.id in self.needed
                for charge in changed_sources.charges(held, causes, snapshot, self.policy, critical=critical):
                    found.setdefault(held.item.id, []).append(charge)
        for target, charge in supersession.charges(self.named, self.known, self.flaws.keys(), self.policy):
            found.setdefault(target, []).append(charge)
        return found

    def _settled(self, one: str, other: str) -> bool:
        """Whether a supersession decides between two items."""
        return self.same.between(one, other) in self.pairs

    def passed_over(self) -> dict[str, list[concurrent.PassedOver]]:
        """Plans that later news passed over, where no resolution has settled that."""

        def decided(event: Event) -> bool:
            sides = event.payload.items if isinstance(event.payload, Dispute) else ()
            return event.name in self.resolutions or self._settled(sides[0], sides[-1])

        def preferred(name: str, cause: Cause) -> bool:
            return bool(self._split(name, [cause])[1])

        return concurrent.passed_over(
            self.marked, self.known, decided=decided, prefers=preferred, policy=self.policy, now=self.snapshot.now
        )

    def with_inherited(self, charges: dict[str, list[Charge]]) -> dict[str, list[Charge]]:
        """The charges, and those against the same statement that an item's own evidence does not answer."""
        found = dict(charges)
        for first, members in self.same.repeated.items():
            charged = [held.item.id for held in members if held.item.id in charges]
            if first != members[0].item.id or not charged:
                continue
            # Equal charges become one object, which thousands of repetitions are compared with.
            one_of: dict[Charge, Charge] = {}
            own = {name: [one_of.setdefault(one, one) for one in charges[name]] for name in charged}
            raised = [(name, one) for name in charged for one in self._standing(name, own[name])]
            for held in members:
                mine = own.get(held.item.id, [])
                found[held.item.id] = mine + self._inherited(held, raised, {id(one) for one in mine})
        return found

    def _standing(self, name: str, charges: Sequence[Charge]) -> Iterator[Charge]:
        """The charges against an item that no overseer set aside."""
        stand, _ = self._split(name, [one.cause for one in charges])
        standing = set(map(id, stand))
        return (one for one in charges if id(one.cause) in standing)

    def _inherited(self, held: Held, raised: Iterable[tuple[str, Charge]], known: set[int]) -> list[Charge]:
        """The charges against repetitions of a statement that count against one of them, each once."""
        name = held.item.id
        found = []
        for other, one in raised:
            if (
                other != name
                and id(one) not in known
                # A repetition that takes the place of another leaves the statement as it was.
                and not self._within(one.cause, name)
                and not self._names(one.cause, name)
                and self._reaches_again(one.cause, name)
                and not self.order.confirms(held, one.raised)
            ):
                known.add(id(one))
                found.append(one)
        return found

    def _within(self, cause: Cause, name: str) -> bool:
        """Whether an item was superseded by, or is, a repetition of its successor."""
        return cause.reason is Reason.SUPERSEDED and self.same.same(cause.ref, name)

    def _reaches_again(self, cause: Cause, name: str) -> bool:
        """Whether an act against a repetition counts against an item. A constraint ends by those who may end it."""
        item = self.known[name].item
        if cause.reason not in _ENDING | {Reason.DISPUTE_LOST} or not self.policy.constrains(item):
            return True
        return cause.by == item.by or cause.by in self.policy.evidence.overseers

    def _names(self, cause: Cause, name: str) -> bool:
        """Whether a dispute names an item itself: then its outcome for a repetition does not count against the item."""
        return cause.reason in _OF_DISPUTES and any(
            event.kind is EventKind.DISPUTE and event.name == cause.ref for event in self.known[name].marks
        )

    def counted(self, charges: Mapping[str, list[Charge]]) -> Causes:
        """The causes that take items out under this policy."""
        return {
            name: [
                one.cause
                for one in raised
                if self._counts(one, name) and (name in self.needed or one.cause.reason is not Reason.SOURCE_UNSEEN)
            ]
            for name, raised in charges.items()
        }

    def _counts(self, charge: Charge, name: str) -> bool:
        held = self.known[name]
        if name not in self.drafts:
            return implicit.counts(charge, held, self.policy, self.critical)
        vital = implicit.critical_dependencies(self.snapshot, to_people=True)
        return implicit.counts(charge, held, self.policy, vital, is_draft=True)

    def doubts(self, name: str, charges: list[Charge]) -> bool:
        """Whether a draft is suspected and stands all the same."""
        return name in self.drafts and any(
            one.cause.reason is Reason.SUSPECTED and not self._counts(one, name) for one in charges
        )

    def replaced(self, causes: Causes) -> list[replacement.Found]:
        """Items that another statement about the same thing replaced."""
        left = {name: self._split(name, found)[0] for name, found in causes.items()}
        standing = {name: {cause.reason for cause in found} for name, found in left.items()}
        # Repetitions of superseded items count too. Supersessions that an overseer set aside do not, unless they
        # concern others.
        after: dict[str, dict[str, Placement]] = {}
        for name, found in causes.items():
            for cause in found:
                if cause.reason is Reason.SUPERSEDED and (not self._concerns(name, cause) or cause in left[name]):
                    within = self._within(cause, name)
                    act = Placement(cause.epoch or 0, cause.by)
                    for successor in (cause.ref,) if within else self.same.recordings(cause.ref):
                        known = after.setdefault(successor, {})
                        known[name] = max(act, known.get(name, act))
        field = replacement.ReplacementField(
            reader=self.snapshot.identity,
            purpose=self.snapshot.purpose,
            now=self.snapshot.now,
            order=self.order,
            same=self.same,
            flawed=frozenset(self.flaws),
            lost=frozenset(name for name, found in standing.items() if Reason.DISPUTE_LOST in found),
            contested=frozenset(
                name
                for name, found in standing.items()
                if {Reason.DISPUTED, Reason.CONCURRENT_UPDATE, Reason.SUSPECTED} & found
            ),
            after=after,
            passed=self.passed_over(),
            restored={name: events[-1] for name, events in self.overrules.items()},
            policy=self.policy,
            drafts=self.drafts,
            ended=frozenset(
                name
                for name, found in left.items()
                if any(cause.reason in _ENDING and self._concerns(name, cause) for cause in found)
            ),
        )
        return [
            *replacement.slots(self.everything, field),
            *replacement.frontiers(self.everything, field),
        ]

    def concerning(self, causes: Causes) -> Causes:
        """The causes without supersessions that apply only to other principals."""
        return {name: [cause for cause in found if self._concerns(name, cause)] for name, found in causes.items()}

    def _concerns(self, name: str, cause: Cause) -> bool:
        if cause.reason is not Reason.SUPERSEDED or cause.ref not in self.known:
            return True
        target, successor = self.known[name].item, self.known[cause.ref].item
        return isinstance(target, Obligation) or supersession.concerns(successor, target, self.snapshot.identity)

    def findings(self, causes: Causes, firm: Causes, open_pairs: int) -> Findings:
        """Add intervals and fallen premises, and set aside what an overseer overruled.

        Repetitions of a statement are settled together: any of them can support a premise.
        """
        against: dict[str, tuple[Cause, ...]] = {}
        overruled: dict[str, tuple[Cause, ...]] = {}
        recovered: dict[str, tuple[Cause, ...]] = {}
        fallen: dict[str, tuple[Cause, ...]] = {}
        everything = self.everything
        if self.same.repeated:
            everything = sorted(everything, key=lambda held: (self.same.first(held), held.epoch))
        for held in everything:
            item, name = held.item, held.item.id
            found = causes.get(name, [])
            if item.valid.start is not None or item.valid.end is not None:
                found = [*lifecycle.interval(held, self.snapshot.now), *found]
            if item.depends_on:
                changed, again = premises.fallen(held, self.known, fallen, self.same)
                found = found + changed
                if again:
                    recovered[name] = tuple(again)
            if found or name in firm:
                stand, aside = self._split(name, found)
                stand += firm.get(name, [])
                if stand:
                    against[name] = _newest(stand)
                if aside:
                    overruled[name] = _newest(aside)
            # An unproven premise supports nothing either.
            if name in against or name in self.flaws:
                fallen[name] = (*against.get(name, ()), *self.flaws.get(name, ()))
        return Findings(against, overruled, recovered, open_pairs)

    def with_carrying(self, recovered: Mapping[str, tuple[Cause, ...]]) -> dict[str, tuple[Cause, ...]]:
        """The causes that recovered, and items that still hold of what their changed sources say now."""
        found = dict(recovered)
        for held in self.marked:
            if again := tuple(changed_sources.carrying(held, self.troubled, self.snapshot, self.policy)):
                found[held.item.id] = (*found.get(held.item.id, ()), *again)
        return found

    def _split(self, name: str, causes: list[Cause]) -> tuple[list[Cause], list[Cause]]:
        return overrule.split(causes, self.overrules.get(name, ()))


def _newest(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """Some causes in their order: of each reason the newest, and no more than a disposition lists."""
    if len(causes) <= MOST_CAUSES:
        return tuple(causes)
    newest = sorted(range(len(causes)), key=lambda at: causes[at].epoch or 0, reverse=True)
    kept: list[int] = []
    left: dict[Reason, int] = {}
    for at in newest:
        left[causes[at].reason] = room = left.get(causes[at].reason, MOST_CAUSES) - 1
        if room >= 0:
            kept.append(at)
    return tuple(causes[at] for at in sorted(kept))


def _in_log_order(snapshot: Snapshot) -> list[Held]:
    visible = list(snapshot.state.held.values())
    hidden = [held for name, held in snapshot.background.held.items() if name not in snapshot.state.held]
    return sorted((*hidden, *visible), key=lambda held: held.epoch) if hidden else visible
