"""The unmet needs of a past return, for operators: the last item that met each, why it is out, and the remedy.

The returning agent must not see this: it learns only the ids of missing dependencies.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Literal

import msgspec

from readmit.diagnosis.fixes import again, against, mended, reopened
from readmit.diagnosis.symptoms import Former, Lack
from readmit.diagnosis.trial import FIT, Trial
from readmit.records.items import Frontier, Item, Kind, Obligation
from readmit.records.reasons import Reason, State
from readmit.records.remedies import BLANK, Remedy, act, confirm, govern, link, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.records.decisions import Cause

LAST = 3
"""Most items named that met a dependency before."""

EVIDENCE = (Kind.FACT, Kind.ROLE_CONSTRAINT, Kind.INTERFACE_CONSTRAINT)


def past_lacks(trial: Trial) -> tuple[Lack, ...]:
    """The obstacles of a past return; none if it was admitted whole or failed before it was judged."""
    decision = trial.decision
    withheld = () if decision.view is None else decision.view.withheld
    return lacks_of(trial) if decision.missing or decision.absent or withheld else ()


def lacks_of(trial: Trial) -> tuple[Lack, ...]:
    """The obstacles of a past or trial return."""
    case = _Case(trial)
    return (*case.dependencies(), *case.records(), *case.without_room())


def is_claim(item: Item, need: str) -> bool:
    """Whether a model alone says that the item is about the slot that is needed."""
    return item.drafted is not None and item.slot == need and need not in item.supports


class _Case:
    """A return that was not complete."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.request = trial.request
        self.decision = trial.decision
        self.judged = trial.judged
        self.items = trial.items

    def dependencies(self) -> Iterator[Lack]:
        """Missing dependencies."""
        for name in self.decision.missing:
            duties = [duty for duty in self._owed() if name in duty.required]
            bearing = [one for one in reversed(tuple(self.items.values())) if self.trial.meets(one, name)]
            # First what has to be handed over and does not fit.
            bearing.sort(key=lambda one: one.id not in self.decision.absent)
            fit = [one for one in bearing if self.trial.fit(one.id)]
            critical = any(name in duty.critical for duty in duties)
            yield Lack(
                name=name,
                kind="dependency",
                duties=tuple(duty.id for duty in duties),
                critical=critical,
                last=tuple(self._former(one.id) for one in bearing[:LAST]),
                instead=tuple(self._former(name) for name in self._in_place_of(bearing)),
                remedies=tuple(self._meeting(name, fit, critical=critical))
                if fit
                else tuple(self._recording(name, bearing, duties)),
            )

    def _meeting(self, name: str, fit: Sequence[Item], *, critical: bool) -> Iterator[Remedy]:
        """Remedies that make existing evidence count: a principal's link for a model's slot, or a larger budget."""
        claims = [one for one in fit if is_claim(one, name)]
        if critical and claims and len(claims) == len(fit):
            yield link(claims[0].id, name, self.trial.other_writer(claims[0].by))
        else:
            yield self._room()

    def records(self) -> Iterator[Lack]:
        """Duties, frontiers and constraints that had to be handed over and could not be."""
        for name in self._without_need() or self._obstructing():
            item = self.items[name]
            kind, remedies = self._handing_over(item)
            duty = item.obligation if isinstance(item, Frontier) else name
            yield Lack(
                name=name,
                kind=kind,
                duties=() if kind == "constraint" else (duty,),
                critical=isinstance(of := self.items.get(duty), Obligation) and bool(of.critical),
                last=(self._former(name),),
                remedies=remedies,
            )

    def _without_need(self) -> tuple[str, ...]:
        """Absent records, except evidence that did not fit: it is listed under the dependency that it meets."""
        if Reason.BUDGET_SHORT not in self.decision.reasons:
            return self.decision.absent
        missing = self.decision.missing
        return tuple(
            name
            for name in self.decision.absent
            if not any(self.trial.meets(self.items[name], need) for need in missing)
        )

    def without_room(self) -> Iterator[Lack]:
        """Duties of a partial view that only lack budget."""
        short = {note.obligation for note in self.decision.duties if note.lacks or note.state.obstructs}
        for name in () if self.decision.view is None else self.decision.view.withheld:
            duty = self.items[name]
            if name not in short and isinstance(duty, Obligation):
                yield Lack(
                    name=name,
                    kind="duty",
                    duties=(name,),
                    critical=bool(duty.critical),
                    last=(self._former(name),),
                    remedies=(self._room(),),
                )

    def _in_place_of(self, bearing: Sequence[Item]) -> Iterator[str]:
        fallen = {item.id for item in bearing}
        for item in reversed(tuple(self.items.values())):
            if item.drafted is not None and item.drafted.instead_of in fallen:
                yield item.id

    def _owed(self) -> list[Obligation]:
        owed = {note.obligation for note in self.decision.duties if note.state.owed}
        return [item for item in self.items.values() if isinstance(item, Obligation) and item.id in owed]

    def _obstructing(self) -> Iterator[str]:
        """The records that obstruct duties of a partial view."""
        for note in self.decision.duties:
            if note.state.obstructs:
                own = self.judged[note.obligation]
                frontiers = [
                    item.id
                    for item in self.items.values()
                    if isinstance(item, Frontier)
                    and item.obligation == note.obligation
                    and self.judged[item.id].state in _OBSCURED
                ]
                yield from frontiers if own.state in FIT and frontiers else [note.obligation]

    def _former(self, name: str) -> Former:
        one = self.judged[name]
        return Former(name, self.items[name].text, one.state, one.reasons, self.trial.why(name))

    def _recording(self, name: str, bearing: Sequence[Item], duties: Sequence[Obligation]) -> Iterator[Remedy]:
        """A new item in the place of the last one, or in the slot that is meant."""
        for one in bearing[:LAST]:
            if self.judged[one.id].reasons == (Reason.DRAFT_UNCONFIRMED,):
                # The returning agent cannot confirm it in its own return.
                yield confirm(one.id, self.trial.other_writer(one.by))
        last = bearing[0] if bearing else None
        if last is not None and Reason.CONCURRENT_UPDATE in self.judged[last.id].reasons:
            # Its writer has not seen the other side: to record it again would be another dispute.
            causes = self.judged[last.id].causes
            open_ = next(cause for cause in causes if cause.reason is Reason.CONCURRENT_UPDATE)
            yield from against(self.trial, last, open_)
            return
        slot = last.slot if last is not None else name if name in self.trial.slots else None
        kinds = [kind for kind in EVIDENCE if kind in self.request.policy.paper.kinds]
        if not kinds:
            kinds = [Kind.FACT]
            yield govern(self.request.policy, paper={"kinds": (*self.request.policy.paper.kinds, Kind.FACT)})
        kind = last.kind if last is not None and last.kind in kinds else kinds[0]
        near = (*bearing[:1], *duties)
        yield write(
            "record",
            kind=None if kind is Kind.FACT else str(kind),
            by=self.trial.writer(None if last is None else last.by),
            slot=slot,
            supports=None if name == slot else [name],
            sources=[BLANK],
            task=self.request.identity.task if any(one.scope.task for one in near) else None,
        )

    def _handing_over(self, item: Item) -> tuple[Literal["duty", "frontier", "constraint"], tuple[Remedy, ...]]:
        match item:
            case Obligation():
                causes = self.judged[item.id].causes
                # Nothing against the duty itself: the policy requires a frontier, and there is none.
                if not causes:
                    return "frontier", (self._progress(item.id, item.scope.task),)
                found = (self._remedies(item, cause) for cause in causes)
                return "duty", tuple(dict.fromkeys(remedy for several in found for remedy in several))
            case Frontier():
                return "frontier", (self._progress(item.obligation, item.scope.task),)
            case _:
                return "constraint", self._constraining(item)

    def _constraining(self, item: Item) -> tuple[Remedy, ...]:
        """Remedies that make a constraint fit to be handed over, or end it."""
        reasons = {cause.reason for cause in self.judged[item.id].causes}
        if not reasons:
            return (self._room(),)
        if self.trial.overseer is None and reasons & _OVERRULED:
            # Nobody can set that aside. Said again from later evidence, it stands.
            return (again(self.trial, msgspec.structs.replace(item, depends_on=())),)
        ends = item.by if self.trial.writer(item.by) == item.by != self.trial.reader else self.trial.overseer or BLANK
        return mended(self.trial, item) or (act("revoke", item.id, by=ends),)

    def _progress(self, obligation: str, task: str | None) -> Remedy:
        return write("progress", obligation=obligation, by=self.trial.writer(), sources=[BLANK], task=task)

    def _remedies(self, duty: Obligation, cause: Cause) -> Iterator[Remedy]:
        """Remedies against one obstacle of an owed duty."""
        # Its author may no longer write. An allowed writer opens it again and ends the old one.
        own = cause.reason is Reason.WRITER_NOT_ALLOWED
        return reopened(self.trial, duty) if own else against(self.trial, duty, cause)

    def _room(self) -> Remedy:
        """Evidence is there, and did not fit; or the search for a set that fits was cut short."""
        policy = self.request.policy
        if Reason.COVER_UNDECIDED in self.decision.reasons:
            return govern(policy, budgets={"solver_milliseconds": policy.budgets.solver_milliseconds * 10})
        if self.decision.admitted and self.decision.view is not None and not self.decision.view.partial:
            return govern(policy, paper={"gamma": Decimal(1), "rho": Decimal(1)})
        named = self.decision.absent
        fit = [item for item in self.items.values() if self.trial.fit(item.id) or item.id in named]
        needed = {"items": len(fit), "chars": sum(item.length for item in fit)}
        longest = max((item.length for item in fit), default=0)
        if longest > policy.budgets.item_chars:
            needed["item_chars"] = longest
        return govern(
            policy, budgets={name: max(getattr(policy.budgets, name), least) for name, least in needed.items()}
        )


# What only an overseer sets aside.
_OVERRULED = frozenset({Reason.PREMISE_CHANGED, Reason.SUSPECTED, Reason.SLOT_CONTESTED})
# Reasons that withhold the current frontier without ending it.
_OBSCURED = frozenset(
    {
        State.SOURCE_CHANGED,
        State.PREMISE_CHANGED,
        State.SUSPECTED,
        State.DISPUTED,
        State.UNPROVEN,
        State.TOO_LARGE,
    }
)
