"""What a past return lacked, for whoever runs the workspace: which items last met it, why they are out, what to do.

None of this is for the returning agent, which learns the ids of missing dependencies and nothing more.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from readmit.capture.fold import fold
from readmit.capture.links import linked_needs
from readmit.records.decisions import Cause, Decision, Disposition, Request
from readmit.records.items import Frontier, Item, Kind, Obligation
from readmit.records.policy import OWNER
from readmit.records.reasons import DutyState, Reason, State
from readmit.records.snapshot import WorkState
from readmit.workspace.history import dispositions, in_words, recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from readmit.ports.store import Log

LAST = 3
"""Most items named that met a dependency before."""
BLANK = "…"
"""Stands in a call for what only the team knows."""

_FIT = frozenset({State.ADMITTED, State.NOT_NEEDED, State.WITHHELD})
_EVIDENCE = (Kind.FACT, Kind.ROLE_CONSTRAINT, Kind.INTERFACE_CONSTRAINT)
# How each field of a call is written on the command line.
_OPTIONS = {"sources": "source", "required": "requires", "depends_on": "depends-on"}


class Former(msgspec.Struct, frozen=True):
    """An item that bears on something lacking, and why it was not handed over."""

    item: str
    text: str
    state: State
    reasons: tuple[Reason, ...]
    why: tuple[str, ...]
    """A sentence for each reason."""


class Remedy(msgspec.Struct, frozen=True):
    """What to do, as a call and as a command. ``…`` stands for what only the team knows."""

    call: str
    command: str


class Lack(msgspec.Struct, frozen=True):
    """One thing that kept a return, or a duty of it, from being complete."""

    name: str
    """The dependency, or the record that could not be handed over."""
    kind: Literal["dependency", "duty", "frontier", "constraint"]
    duties: tuple[str, ...]
    """The duties that need it."""
    critical: bool
    last: tuple[Former, ...]
    """Candidates that bear on it, the newest first: what supported a dependency, or the record itself."""
    remedies: tuple[Remedy, ...]
    """What would meet it, to be done in this order."""
    instead: tuple[Former, ...] = ()
    """What later observations say that invalidated those: drafted, and evidence only once somebody links it."""


def lacking(log: Log, return_id: str) -> tuple[Lack, ...]:
    """Everything that a past return lacked; nothing if it was admitted whole or failed before it was judged."""
    returned, decision = recorded(log, return_id)
    withheld = () if decision.view is None else decision.view.withheld
    if not (decision.missing or decision.absent or withheld):
        return ()
    judged = {one.item: one for one in dispositions(log, return_id)}
    slots = frozenset(name for name in decision.missing if log.is_slot(name))
    items, links = _items(log, returned.request, judged)
    case = _Case(returned.request, decision, judged, items, links, slots)
    return (*case.dependencies(), *case.records(), *case.without_room())


def _items(log: Log, request: Request, judged: Iterable[str]) -> tuple[dict[str, Item], dict[str, tuple[str, ...]]]:
    """The candidates, read at once where that is possible, and what links made them evidence for."""
    state = fold(WorkState(), log.seen(request.identity, until=request.epoch))
    items = {name: state.held[name].item if name in state.held else log.item(name) for name in judged}
    return items, linked_needs(state.held, request.policy, request.moment)


class _Case(msgspec.Struct, frozen=True):
    """A past return: what was asked, what was decided, and its candidates in log order."""

    request: Request
    decision: Decision
    judged: Mapping[str, Disposition]
    items: Mapping[str, Item]
    links: Mapping[str, tuple[str, ...]] = {}
    slots: frozenset[str] = frozenset()
    """Those of the missing dependencies that are slots, of whichever items."""

    def dependencies(self) -> Iterator[Lack]:
        """Missing dependencies."""
        for name in self.decision.missing:
            duties = [duty for duty in self._owed() if name in duty.required]
            bearing = [one for one in reversed(tuple(self.items.values())) if self._meets(one, name)]
            fit = [one for one in bearing if self.judged[one.id].state in _FIT]
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
        """What lets evidence count that is there: somebody's word for a slot that a model chose, or room."""
        claims = [one for one in fit if one.drafted is not None and name == one.slot and name not in one.supports]
        if critical and claims and len(claims) == len(fit):
            yield _link(claims[0].id, name, self._writer(None if claims[0].by == self._reader else claims[0].by))
        else:
            yield self._room()

    def records(self) -> Iterator[Lack]:
        """Duties, frontiers and constraints that had to be handed over and could not be."""
        for name in self.decision.absent or self._obstructing():
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

    def without_room(self) -> Iterator[Lack]:
        """Duties of a partial view that lack nothing but room."""
        short = {note.obligation for note in self.decision.duties if note.lacks or note.state in _OBSTRUCTED}
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

    def _meets(self, item: Item, name: str) -> bool:
        return name in item.covers or name in self.links.get(item.id, ())

    def _in_place_of(self, bearing: Sequence[Item]) -> Iterator[str]:
        fallen = {item.id for item in bearing}
        for item in reversed(tuple(self.items.values())):
            if item.drafted is not None and item.drafted.instead_of in fallen:
                yield item.id

    def _owed(self) -> list[Obligation]:
        # Decisions under the first rules list no duties; they name those that are not covered.
        owed = {note.obligation for note in self.decision.duties if note.state.owed} or self.decision.report.uncovered
        return [item for item in self.items.values() if isinstance(item, Obligation) and item.id in owed]

    def _obstructing(self) -> Iterator[str]:
        """The records behind the obstructed duties of a partial view."""
        for note in self.decision.duties:
            if note.state in _OBSTRUCTED:
                own = self.judged[note.obligation]
                frontiers = [
                    item.id
                    for item in self.items.values()
                    if isinstance(item, Frontier)
                    and item.obligation == note.obligation
                    and self.judged[item.id].state in _OBSCURED
                ]
                yield from frontiers if own.state in _FIT and frontiers else [note.obligation]

    def _former(self, name: str) -> Former:
        one = self.judged[name]
        return Former(name, self.items[name].text, one.state, one.reasons, tuple(in_words(one)))

    def _recording(self, name: str, bearing: Sequence[Item], duties: Sequence[Obligation]) -> Iterator[Remedy]:
        """A new item in the place of the last one, or in the slot that is meant."""
        for one in bearing[:LAST]:
            if self.judged[one.id].reasons == (Reason.DRAFT_UNCONFIRMED,):
                # Whoever drafted it is known; somebody other than the agent that returns vouches for it.
                yield _confirm(one.id, self._writer(None if one.by == self._reader else one.by))
        last = bearing[0] if bearing else None
        slot = last.slot if last is not None else name if name in self.slots else None
        kinds = [kind for kind in _EVIDENCE if kind in self.request.policy.kinds]
        if not kinds:
            kinds = [Kind.FACT]
            yield _govern(f"kinds=(*workspace.policy.kinds, {_quoted(Kind.FACT)})", "fact among its kinds")
        kind = last.kind if last is not None and last.kind in kinds else kinds[0]
        near = (*bearing[:1], *duties)
        yield _write(
            "record",
            kind=None if kind is Kind.FACT else str(kind),
            by=self._writer(None if last is None else last.by),
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
                return "constraint", (self._room(),)

    def _progress(self, obligation: str, task: str | None) -> Remedy:
        return _write("progress", obligation=obligation, by=self._writer(None), sources=[BLANK], task=task)

    def _remedies(self, duty: Obligation, cause: Cause) -> Iterator[Remedy]:
        """What takes one obstacle away from a duty that is owed."""
        overseer = next((name for name in self.request.policy.overseers if name != self._reader), BLANK)
        match cause.reason:
            case Reason.WRITER_NOT_ALLOWED:
                # Its author may no longer write. Whoever may opens it in their own name and ends the old one.
                yield self._reopen(duty)
                yield _step("settle", "obligation", duty.id, by=overseer)
            case Reason.DISPUTED:
                yield _step("resolve", "dispute", cause.ref, keep=[duty.id], by=self._writer(None))
            case Reason.TOO_LARGE:
                yield _govern(f"max_item_chars={duty.length}", f"max_item_chars of at least {duty.length}")
            case Reason.DISPUTE_LOST:
                yield _overrule(duty.id, "settle", overseer)
            case _:
                yield _overrule(duty.id, "rejustify" if cause.chain else "restore", overseer)

    def _reopen(self, duty: Obligation) -> Remedy:
        return _write(
            "oblige",
            duty.text,
            required=list(duty.required),
            critical=list(duty.critical) or None,
            by=self._writer(None),
            task=duty.scope.task,
        )

    @property
    def _reader(self) -> str:
        return self.request.identity.principal

    def _writer(self, last: str | None) -> str:
        """Whoever wrote it last, if the policy lets them write."""
        allowed = self.request.policy.writers
        if last is not None and (not allowed or last in allowed):
            return last
        return next((name for name in allowed if name != self._reader), BLANK)

    def _room(self) -> Remedy:
        """Evidence is there, and did not fit; or the search for a set that fits was cut short."""
        if Reason.COVER_UNDECIDED in self.decision.reasons:
            return _govern(f"solver_milliseconds={BLANK}", "a larger solver_milliseconds")
        if self.decision.admitted and self.decision.view is not None and not self.decision.view.partial:
            return _govern("gamma=Decimal(1), rho=Decimal(1)", "gamma and rho of 1")
        return _govern(f"max_items={BLANK}, max_chars={BLANK}", "larger max_items and max_chars")


_OBSTRUCTED = frozenset({DutyState.OBSTRUCTED, DutyState.UNPROVEN})
# What keeps the current frontier from being handed over without ending it.
_OBSCURED = frozenset({State.PREMISE_CHANGED, State.SUSPECTED, State.DISPUTED, State.UNPROVEN, State.TOO_LARGE})


def _write(verb: Literal["record", "oblige", "progress"], text: str = BLANK, **fields: Any) -> Remedy:
    """An item to be written. Fields without a value are left out."""
    said = {name: value for name, value in fields.items() if value is not None}
    kind = {"oblige": "obligation", "progress": "frontier"}.get(verb)
    options = {"kind": kind, **said} if kind else said
    return Remedy(
        _call(verb, text, said),
        " ".join(("readmit record", _shell(text), *(word for item in options.items() for word in _option(*item)))),
    )


def _step(verb: str, field: str, target: str, **fields: Any) -> Remedy:
    """A lifecycle event, which the command line takes as a step of a file."""
    step = json.dumps([{"do": verb, field: target, **fields}], ensure_ascii=False)
    return Remedy(_call(verb, target, fields), f"echo {shlex.quote(step)} | readmit record --file -")


def _link(item: str, need: str, by: str) -> Remedy:
    call = f"workspace.link({_quoted(item)}, {_quoted(need)}, by={_quoted(by)})"
    return Remedy(call, f"readmit link {shlex.quote(item)} {shlex.quote(need)} --by {_shell(by)}")


def _confirm(item: str, by: str) -> Remedy:
    return Remedy(_call("confirm", item, {"by": by}), f"readmit confirm {shlex.quote(item)} --by {_shell(by)}")


def _overrule(item: str, grant: str, by: str) -> Remedy:
    said = {"grant": grant, "by": by, "reason": BLANK}
    call = _call("overrule", item, said).removesuffix(")") + ", expires=timedelta(hours=1))"
    options = " ".join(word for pair in said.items() for word in _option(*pair))
    return Remedy(call, f"readmit overrule {shlex.quote(item)} {options} --for 1h")


def _govern(change: str, meaning: str) -> Remedy:
    """A change of policy; the command line takes a whole policy from a file."""
    call = f"workspace.govern(msgspec.structs.replace(workspace.policy, {change}), by={_quoted(OWNER)})"
    return Remedy(call, f"readmit init --policy FILE  # a policy with {meaning}")


def _call(verb: str, first: str, fields: Mapping[str, Any]) -> str:
    said = [_quoted(first), *(f"{name}={_literal(value)}" for name, value in fields.items())]
    return f"workspace.{verb}({', '.join(said)})"


def _literal(value: str | list[str]) -> str:
    if isinstance(value, str):
        return _quoted(value)
    return f"[{', '.join(one if one == BLANK else _quoted(one) for one in value)}]"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _option(name: str, value: str | list[str]) -> Iterator[str]:
    for one in [value] if isinstance(value, str) else value:
        yield f"--{_OPTIONS.get(name, name)} {_shell(one)}"


def _shell(text: str) -> str:
    return f'"{BLANK}"' if text == BLANK else shlex.quote(text)
