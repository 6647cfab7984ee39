"""Decisions as plain values for JSON output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from readmit.diagnosis.missing_needs import Lack
    from readmit.records.decisions import Cause, ConstraintNote, Decision, Disposition, DutyNote
    from readmit.records.items import Drafted
    from readmit.records.retractions import Retractions
    from readmit.scenario.play import PlayedReturn


def summary(decision: Decision, dispositions: Iterable[Disposition]) -> dict[str, Any]:
    """What ``readmit demo --json`` says of a return."""
    return {
        **outcome(decision),
        **account(decision),
        "dispositions": [
            {"item": one.item, "admitted": one.admitted, "reasons": list(one.reasons)} for one in dispositions
        ],
        "experiences": experiences(decision),
    }


def account(decision: Decision) -> dict[str, Any]:
    """The outcome of duties and constraints, what was not examined, and what is absent. For operators only."""
    looked = decision.examination
    return {
        "duties": [duty(note) for note in decision.duties],
        "constraints": [constraint(note) for note in decision.constraints],
        "absent": list(decision.absent),
        "examination": {
            "examined": looked is not None,
            **({} if looked is None else msgspec.to_builtins(looked)),
            "open_pairs": decision.open_pairs,
            "unheeded": decision.unheeded,
        },
    }


def duty(note: DutyNote) -> dict[str, Any]:
    """One duty that a return considered."""
    return {
        "obligation": note.obligation,
        "state": str(note.state),
        "owed": note.state.owed,
        "handed_over": note.handed_over,
        "lacks": list(note.lacks),
        "questions": list(note.questions),
    }


def constraint(note: ConstraintNote) -> dict[str, Any]:
    """One constraint that a return considered."""
    return {
        "constraint": note.constraint,
        "state": str(note.state),
        "binds": note.state.owed,
        "handed_over": note.handed_over,
    }


def lacking(lacks: Iterable[Lack]) -> list[dict[str, Any]]:
    """What a return lacked. For operators only: it mentions items that were left out."""
    return [msgspec.to_builtins(one) for one in lacks]


def outcome(decision: Decision) -> dict[str, Any]:
    """The decision without the text of any item that was left out.

    Of those, the duties that a partial view withholds and what the agent held and fell are named.
    """
    return {
        "decision": decision.kind,
        "coverage": None if decision.faults else float(decision.report.coverage),
        "critical_coverage": None if decision.faults else float(decision.report.critical_coverage),
        "missing": list(decision.missing),
        "partial": decision.view is not None and decision.view.partial,
        "withheld": [] if decision.view is None else list(decision.view.withheld),
        "view_items": [] if decision.view is None else [item.id for item in decision.view.items],
        "sources": [] if decision.view is None else [msgspec.to_builtins(one) for one in decision.view.sources],
        "new": [] if decision.view is None else [item.id for item in decision.view.items if item.news == "new"],
        "confirmed": []
        if decision.view is None
        else [item.id for item in decision.view.items if item.news == "confirmed"],
        "retractions": retractions(decision.retractions),
    }


def retractions(made: Retractions) -> dict[str, Any]:
    """What the agent held and should no longer rely on, by id."""
    return {
        "fallen": [msgspec.to_builtins(one) for one in made.fallen],
        "in_doubt": [msgspec.to_builtins(one) for one in made.in_doubt],
        "more": made.more,
        "earlier": made.earlier,
        "without_text": made.without_text,
    }


def experiences(decision: Decision) -> dict[str, list[str]]:
    """Private experiences by outcome."""
    back = decision.admitted
    given = {note.experience for note in decision.experiences if back and note.reason is Reason.SOURCE_IN_VIEW}
    return {
        "readmitted": [note.experience for note in decision.experiences if note.experience in given],
        "withheld": [note.experience for note in decision.experiences if note.experience not in given],
    }


def played(one: PlayedReturn) -> dict[str, Any]:
    """What ``readmit play --json`` says of a return."""
    return {
        "as": one.label,
        "step": one.step,
        "return": one.outcome.id,
        "secret": one.outcome.secret,
        "epoch": one.outcome.request.epoch,
        "reasons": list(one.outcome.reasons),
        **summary(one.outcome.decision, one.dispositions),
        "dispositions": [disposition(entry) for entry in one.dispositions],
        "lacking": lacking(one.outcome.lacking()),
        "exposed": one.bundle is not None,
        "refused": list(one.refused),
    }


def drafts(found: Mapping[str, Drafted]) -> dict[str, dict[str, str]]:
    """Candidates that a model drafted, by id."""
    return {name: draft(one) for name, one in found.items()}


def draft(one: Drafted) -> dict[str, str]:
    """Which model drafted an item, and the words it quotes."""
    return {"model": one.model, "quote": one.quote}


def disposition(one: Disposition) -> dict[str, Any]:
    """Everything the audit knows about one candidate."""
    return {
        "item": one.item,
        "admitted": one.admitted,
        "state": str(one.state),
        "reasons": list(one.reasons),
        "causes": [_cause(cause) for cause in one.causes],
        "overruled": [_cause(cause) for cause in one.overruled],
        "recovered": [_cause(cause) for cause in one.recovered],
        "unseen": [_cause(cause) for cause in one.unseen],
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(cause).items() if value}
