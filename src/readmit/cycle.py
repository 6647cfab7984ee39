"""The return cycle (paper, section 3), top to bottom: capture, invalidate, gate, cover, readmit, seal.

No storage, no clock, no model, no randomness: a request and a snapshot go in, one decision and one disposition
per candidate come out, and the same inputs give the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from readmit.capture.bindings import flaws
from readmit.cover.choose import choose
from readmit.cover.coverage import report
from readmit.gate.duties import Duties, duties
from readmit.gate.judge import Gated, judge
from readmit.invalidate.resolve import Findings, resolve
from readmit.readmission.match import match
from readmit.records.canonical import canonical, digest, digest_of
from readmit.records.decisions import Decision, Disposition, Outcome
from readmit.records.evidence import Experience
from readmit.records.items import Fact, Frontier, Obligation
from readmit.records.reasons import Reason, State
from readmit.seal.view import issue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.records.decisions import Request, Selection
    from readmit.records.items import Item
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Snapshot


class Examined(msgspec.Struct, frozen=True):
    """Every candidate past the gates: what is eligible, why the rest is not, and what the role owes."""

    gated: Gated
    findings: Findings
    owed: Duties


def decide(request: Request, snapshot: Snapshot, *, timed_out: bool = False) -> Outcome:
    """One return. ``timed_out`` repeats a past decision whose solver met its deadline."""
    if not snapshot.intact:
        return refuse(request, Reason.CHECKPOINT_ALTERED)
    examined = examine(snapshot, request.policy)
    owed = examined.owed
    selection = choose(
        evidence=_evidence(examined.gated),
        obligations=owed.obligations,
        mandatory=owed.mandatory,
        absent=owed.absent,
        policy=request.policy,
        timed_out=timed_out,
    )
    bank = [(event.payload, event.digest) for event in snapshot.state.bank if isinstance(event.payload, Experience)]
    notes, readmitted = match(bank, frozenset(selection.items), request.policy)
    admitted = selection.outcome == "found"
    view = None
    if admitted:
        view = issue(
            request,
            selection,
            examined.gated.eligible,
            readmitted,
            checkpoint=snapshot.checkpoint.digest,
            policy=digest(request.policy),
        )
    dispositions = tuple(_dispositions(snapshot, examined, selection))
    rows = tuple(map(canonical, dispositions))
    decision = Decision(
        kind="admitted" if admitted else _incomplete(request.policy),
        return_id=request.return_id,
        epoch=request.epoch,
        reasons=selection.reasons,
        report=selection.report,
        candidates=len(rows),
        dispositions=digest_of(b"\n".join(rows)),
        experiences=notes,
        view=view,
        solver=selection.solver,
        timed_out=selection.timed_out,
    )
    return Outcome(decision, dispositions, rows)


def examine(snapshot: Snapshot, policy: Policy) -> Examined:
    """The item-level half of the cycle. Exposure runs it again at its own moment."""
    unbound = flaws(snapshot, policy)
    findings = resolve(snapshot, unbound, policy)
    gated = judge(snapshot, findings, unbound, policy)
    return Examined(gated, findings, duties(snapshot, gated, policy))


def refuse(request: Request, reason: Reason, note: str = "") -> Outcome:
    """The decision when the cycle itself cannot be trusted or failed: nothing is handed over."""
    decision = Decision(
        kind=_incomplete(request.policy),
        return_id=request.return_id,
        epoch=request.epoch,
        reasons=(reason,),
        note=note,
        report=report((), frozenset()),
        dispositions=digest_of(b""),
    )
    return Outcome(decision)


def withhold(request: Request, outcome: Outcome, reason: Reason) -> Outcome:
    """The decision when a view was decided but cannot be handed over: what is out stays out for its own reasons."""
    dispositions = tuple(_withheld(one) if one.admitted else one for one in outcome.dispositions)
    rows = tuple(map(canonical, dispositions))
    decision = msgspec.structs.replace(
        refuse(request, reason).decision,
        candidates=len(rows),
        dispositions=digest_of(b"\n".join(rows)),
        experiences=tuple(
            msgspec.structs.replace(note, reason=Reason.SOURCE_NOT_IN_VIEW) for note in outcome.decision.experiences
        ),
    )
    return Outcome(decision, dispositions, rows)


def _withheld(one: Disposition) -> Disposition:
    return msgspec.structs.replace(one, state=State.NOT_NEEDED, reasons=(Reason.VIEW_WITHHELD,))


def _incomplete(policy: Policy) -> Literal["blocked", "reset"]:
    return "blocked" if policy.on_incomplete == "block" else "reset"


def _evidence(gated: Gated) -> list[Item]:
    """Eligible evidence: what is known first, then what must be respected, each in log order."""
    items = [held.item for held in gated.eligible.values() if not isinstance(held.item, Obligation | Frontier)]
    return sorted(items, key=lambda item: not isinstance(item, Fact))


def _dispositions(snapshot: Snapshot, examined: Examined, selection: Selection) -> Iterator[Disposition]:
    gated, overruled = examined.gated, examined.findings.overruled
    chosen = dict.fromkeys(selection.items, (Reason.COVERS,))
    chosen.update(dict.fromkeys(selection.fill, (Reason.FILLS,)))
    chosen.update(dict.fromkeys(selection.mandatory, (Reason.MANDATORY,)))
    left = (Reason.NOT_NEEDED if selection.outcome == "found" else Reason.VIEW_WITHHELD,)
    for name, held in snapshot.state.held.items():
        rejected = gated.rejected.get(name)
        if rejected is not None:
            yield rejected
            continue
        reasons = chosen.get(name)
        yield Disposition(
            item=name,
            digest=held.digest,
            state=State.NOT_NEEDED if reasons is None else State.ADMITTED,
            reasons=left if reasons is None else reasons,
            overruled=overruled.get(name, ()),
        )
