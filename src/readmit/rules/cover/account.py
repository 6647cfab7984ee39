"""The disposition of every candidate and every duty, once a set is chosen or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.decisions import ConstraintNote, Disposition, DutyNote, Selection
from readmit.records.items import CONSTRAINTS, Frontier, Item, Obligation
from readmit.records.reasons import Reason, State
from readmit.rules.cover.coverage import required, supported
from readmit.rules.gate.constraints import statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from readmit.records.policy import Policy
    from readmit.records.snapshot import Snapshot
    from readmit.rules.gate.duties import Duties
    from readmit.rules.gate.judge import Gated
    from readmit.rules.invalidate.resolve import Findings


def dispositions(
    snapshot: Snapshot, findings: Findings, gated: Gated, left_out: Callable[[Item], Reason], selection: Selection
) -> Iterator[Disposition]:
    """One for each candidate, in log order. ``left_out`` says why an eligible one is not handed over."""
    chosen: dict[str, Reason] = {}
    if selection.outcome == "found":
        chosen |= dict.fromkeys(selection.items, Reason.COVERS)
        chosen |= dict.fromkeys(selection.constraints, Reason.MANDATORY)
        chosen |= dict.fromkeys(selection.instead, Reason.COVERS)
        chosen |= dict.fromkeys(selection.fill, Reason.FILLS)
        chosen |= dict.fromkeys(selection.mandatory, Reason.MANDATORY)
    is_plain = not (findings.overruled or findings.recovered or findings.unseen)
    # Most candidates share a reason, and so its tuple.
    alone = {reason: (reason.state or State.NOT_NEEDED, (reason,)) for reason in Reason}
    rejections = gated.rejected
    for name, held in snapshot.state.held.items():
        if name in rejections:
            yield rejections[name]
            continue
        state, reasons = alone[chosen.get(name) or left_out(held.item)]
        if is_plain:
            yield Disposition(item=name, digest=held.digest, state=state, reasons=reasons)
            continue
        yield Disposition(
            item=name,
            digest=held.digest,
            state=state,
            reasons=reasons,
            overruled=findings.overruled.get(name, ()),
            recovered=findings.recovered.get(name, ()),
            unseen=findings.unseen.get(name, ()),
        )


def leaving_out(duties: Duties, selection: Selection, policy: Policy) -> Callable[[Item], Reason]:
    """Why an eligible item is not handed over: what needs it is not handed over either, or nothing needs it."""
    whole = selection.outcome == "found"
    waiting = [duty.obligation for duty in duties.owed if not whole or duty.obligation.id in selection.withheld]
    named, dependencies = {duty.id for duty in waiting}, required(waiting)
    always = not whole and policy.paper.constraints == "always"
    if not named and not always:
        return lambda _: Reason.NOT_NEEDED

    def left_out(item: Item) -> Reason:
        match item:
            case Obligation():
                needed = item.id in named
            case Frontier():
                needed = item.obligation in named
            case _ if always and type(item) in CONSTRAINTS:
                needed = True
            case _:
                needed = not dependencies.isdisjoint(item.covers)
        return Reason.WITHHELD if needed else Reason.NOT_NEEDED

    return left_out


def duty_notes(duties: Duties, gated: Gated, selection: Selection) -> Iterator[DutyNote]:
    """One for each duty that was considered, in log order."""
    handed = frozenset(selection.mandatory) - frozenset(selection.report.uncovered)
    shown = [held.item for name in selection.items if (held := gated.eligible.get(name)) is not None]
    unmet = required(duties.obligations) - supported(shown)
    if unmet:
        unmet -= supported(held.item for held in gated.eligible.values())
    for duty in duties.considered:
        lacks = [name for name in dict.fromkeys(duty.obligation.required) if name in unmet]
        yield DutyNote(
            obligation=duty.obligation.id,
            state=duty.state,
            handed_over=selection.outcome == "found" and duty.obligation.id in handed,
            lacks=tuple(lacks) if duty.state.owed else (),
            questions=duty.questions,
        )


def constraint_notes(duties: Duties, selection: Selection) -> Iterator[ConstraintNote]:
    """One for each constraint that was considered, in log order."""
    shown = frozenset(selection.items)
    said = {statement(one.constraint) for one in duties.limits if one.constraint.id in shown}
    for one in duties.limits:
        handed = one.state.owed and statement(one.constraint) in said
        yield ConstraintNote(constraint=one.constraint.id, state=one.state, handed_over=handed)
