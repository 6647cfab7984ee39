"""The return cycle (paper, section 3), top to bottom: capture, invalidate, gate, cover, readmit, seal.

No storage, no clock, no model, no randomness: a request and a snapshot go in, one decision and one disposition
per candidate come out, and the same inputs give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Literal

import msgspec

from readmit.records.canonical import cut, digest
from readmit.records.decisions import (
    NO_CANDIDATES,
    Cause,
    Decision,
    Disposition,
    Outcome,
    Request,
    ReturnView,
    Selection,
)
from readmit.records.evidence import Experience
from readmit.records.reasons import DutyState, Reason, State
from readmit.records.snapshot import Snapshot
from readmit.rules.capture.bindings import flaws
from readmit.rules.capture.links import linked, vouched
from readmit.rules.capture.moment import lag
from readmit.rules.capture.unheeded import unheeded
from readmit.rules.cover.account import constraint_notes, dispositions, duty_notes, leaving_out
from readmit.rules.cover.coverage import report
from readmit.rules.cover.find import Deadline
from readmit.rules.cover.select import select
from readmit.rules.gate.duties import Duties, duties
from readmit.rules.gate.judge import Gated, judge
from readmit.rules.invalidate.changed_sources import freshness
from readmit.rules.invalidate.resolve import Findings, resolve
from readmit.rules.readmission.known_before import KnownBefore
from readmit.rules.readmission.match import Banked, match
from readmit.rules.readmission.news import news
from readmit.rules.readmission.retract import begins, retract
from readmit.rules.readmission.view import issue, issue_retractions

if TYPE_CHECKING:
    from readmit.records.policy import Policy
    from readmit.records.retractions import RetractionView

RULES = 1
"""The version of the rules in this module. A request names the version that decides it."""
Stages = Callable[[str], AbstractContextManager[object]]
"""Surrounds a stage by its name. What it does there changes no result."""


class Examined(msgspec.Struct, frozen=True):
    """The result of the gates: eligible items, why the rest are not, and what the role owes."""

    snapshot: Snapshot
    """The snapshot that was judged: each item with the dependencies that links make it support."""
    gated: Gated
    findings: Findings
    duties: Duties
    flaws: Mapping[str, tuple[Cause, ...]] = {}
    """The faults of source bindings, for items that have any."""


def decide(
    request: Request,
    snapshot: Snapshot,
    *,
    deadline: Deadline = Deadline.AHEAD,
    examined: Examined | None = None,
    stage: Stages = nullcontext,
) -> Outcome:
    """Decide one return. ``deadline`` repeats a past decision in which a solver ran into its deadline.

    ``examined`` is what the gates say about this snapshot under the request's policy, if they were asked before.
    """
    if (refused := unfit(request, snapshot)) is not None:
        return refused
    examined = examined or examine(snapshot, request.policy, stage)
    snapshot = examined.snapshot
    with stage("cover"):
        selection = select(request, snapshot, examined.gated, examined.duties, deadline)
    with stage("readmission"):
        return _readmitted(request, examined, selection)


def _readmitted(request: Request, examined: Examined, selection: Selection) -> Outcome:
    """The decision on a selection, with an account of every candidate."""
    snapshot = examined.snapshot
    bank = [(event.payload, event.digest) for event in snapshot.state.bank if isinstance(event.payload, Experience)]
    notes, readmitted = match(bank, frozenset(selection.items), request.policy)
    kind = _kind(selection, request.policy)
    view, retracting = _handed(request, examined, selection, readmitted, kind)
    left_out = leaving_out(examined.duties, selection, request.policy)
    judged = tuple(dispositions(snapshot, examined.findings, examined.gated, left_out, selection))
    pieces = cut(judged, [one.digest for one in judged])
    decision = Decision(
        kind=kind,
        return_id=request.return_id,
        epoch=request.epoch,
        reasons=selection.reasons,
        report=selection.report,
        candidates=len(judged),
        dispositions=pieces.root,
        experiences=notes,
        view=view,
        retracting=retracting,
        solver=selection.solver,
        timed_out=selection.timed_out,
        duties=tuple(duty_notes(examined.duties, examined.gated, selection)),
        constraints=tuple(constraint_notes(examined.duties, selection)),
        absent=selection.absent,
        examination=request.examination,
        open_pairs=examined.findings.open_pairs,
        unheeded=unheeded(snapshot, request.examination),
    )
    return Outcome(decision, judged, pieces)


def _handed(
    request: Request, examined: Examined, selection: Selection, readmitted: Sequence[Banked], kind: str
) -> tuple[ReturnView | None, RetractionView | None]:
    """The view that the agent receives, or the retractions alone of a return that is blocked for what it lacks."""
    snapshot = examined.snapshot
    before = KnownBefore(snapshot, examined.findings, examined.flaws, request.policy)
    shown = selection.items if kind == "admitted" else ()
    retracted = retract(snapshot, examined.findings, examined.gated, before, shown=shown, policy=request.policy)
    bound = {"checkpoint": snapshot.checkpoint.digest, "policy": digest(request.policy)}
    if kind == "blocked":
        return None, issue_retractions(request, retracted, **bound)
    if kind != "admitted":
        return None, None
    view = issue(
        request,
        selection,
        examined.gated.eligible,
        readmitted,
        **bound,
        retractions=retracted,
        news=news(shown, examined.gated.eligible, snapshot, before),
        since={name: begins(snapshot.state.held[name].item, snapshot) for name in shown},
        open_pairs=examined.findings.open_pairs,
        doubted=examined.gated.doubted,
        overdue=(duty.obligation.id for duty in examined.duties.owed if duty.state is DutyState.OVERDUE),
        questions=_questions(examined.duties, selection),
        sources=freshness(selection.items, snapshot),
        unheeded=unheeded(snapshot, request.examination),
    )
    return view, None


def unfit(request: Request, snapshot: Snapshot) -> Outcome | None:
    """The refusal of a return whose inputs cannot be trusted."""
    if not snapshot.intact:
        return refuse(request, Reason.CHECKPOINT_ALTERED)
    behind = lag(request.now, request.learnt, request.policy, request.jump)
    return refuse(request, Reason.CLOCK_SKEW, behind) if behind else None


def examine(snapshot: Snapshot, policy: Policy, stage: Stages = nullcontext) -> Examined:
    """The item-level half of the cycle. Exposure runs it again at its own moment."""
    with stage("capture"):
        unbound = flaws(snapshot, policy)
        snapshot = linked(snapshot, policy)
    with stage("invalidate"):
        findings = resolve(snapshot, unbound, policy)
    with stage("gate"):
        gated = judge(snapshot, findings, unbound, policy)
        if gated.drafted:
            gated = msgspec.structs.replace(gated, eligible=vouched(gated.eligible, gated.drafted, snapshot, policy))
        return Examined(snapshot, gated, findings, duties(snapshot, gated, policy), unbound)


def _questions(duties: Duties, selection: Selection) -> Iterator[str]:
    """Open questions of the duties that are handed over."""
    handed = frozenset(selection.mandatory)
    return (name for duty in duties.owed if duty.obligation.id in handed for name in duty.questions)


def refuse(request: Request, reason: Reason, note: str = "") -> Outcome:
    """The decision if the cycle failed or its inputs cannot be trusted: it blocks, whatever the policy says."""
    decision = Decision(
        kind="blocked",
        return_id=request.return_id,
        epoch=request.epoch,
        reasons=(reason,),
        note=note,
        report=report((), frozenset()),
        dispositions=NO_CANDIDATES.root,
        examination=request.examination,
    )
    return Outcome(decision)


def withhold(request: Request, outcome: Outcome, reason: Reason) -> Outcome:
    """The decision if the view cannot be handed over. Rejected items keep their reasons."""
    if outcome.decision.view is None:
        reasons = (*outcome.decision.reasons, reason)
        decision = msgspec.structs.replace(outcome.decision, reasons=reasons, retracting=None)
        return Outcome(decision, outcome.dispositions, outcome.pieces)
    judged = tuple(_withheld(one) if one.admitted else one for one in outcome.dispositions)
    pieces = cut(judged, [one.digest for one in judged])
    decision = msgspec.structs.replace(
        refuse(request, reason).decision,
        candidates=len(judged),
        dispositions=pieces.root,
        experiences=tuple(
            msgspec.structs.replace(note, reason=Reason.SOURCE_NOT_IN_VIEW) for note in outcome.decision.experiences
        ),
        duties=tuple(msgspec.structs.replace(note, handed_over=False) for note in outcome.decision.duties),
        constraints=tuple(msgspec.structs.replace(note, handed_over=False) for note in outcome.decision.constraints),
        open_pairs=outcome.decision.open_pairs,
        unheeded=outcome.decision.unheeded,
    )
    return Outcome(decision, judged, pieces)


def _withheld(one: Disposition) -> Disposition:
    return msgspec.structs.replace(one, state=State.WITHHELD, reasons=(Reason.WITHHELD,))


def _kind(selection: Selection, policy: Policy) -> Literal["admitted", "blocked", "reset"]:
    if selection.outcome == "found":
        return "admitted"
    # A reset replaces an incomplete admission, not one that was never due or not examined.
    incomplete = not {Reason.NOTHING_OWED, Reason.NOT_EXAMINED}.intersection(selection.reasons)
    return "reset" if incomplete and policy.returns.on_incomplete == "reset" else "blocked"
