"""Decisions in words, and as plain values for JSON."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.cli.item_words import disposition_table, draft_lines
from readmit.cli.output import table
from readmit.diagnosis.checkup import NOTES
from readmit.diagnosis.history import looked_in_words
from readmit.records.reasons import DutyState, Reason
from readmit.text.english import counted
from readmit.text.escapes import format_moment, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from fractions import Fraction

    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from readmit.diagnosis.symptoms import Diagnosis
    from readmit.records.decisions import ConstraintNote, Decision, Disposition, DutyNote
    from readmit.records.items import Drafted

COLORS = {"admitted": "bold green", "blocked": "bold red", "reset": "bold yellow"}
_NONE: Mapping[str, Drafted] = MappingProxyType({})
_AGENT_FACING = ("kind", "epoch", "reasons", "view", "retracting")
"""Fields of a decision that name no item left out, besides items that the agent held itself."""


def decision_json(decision: Decision, dispositions: Iterable[Disposition], why: Diagnosis | None) -> dict[str, Any]:
    """A decision with every candidate and why it fell short. For the operator: it names items that were left out."""
    said = msgspec.structs.asdict(decision) | {"dispositions": tuple(dispositions), "why": why}
    return {"return": said.pop("return_id"), **said}


def agent_json(decision: Decision) -> dict[str, Any]:
    """A decision as the returning agent may see it."""
    shared = {name: getattr(decision, name) for name in _AGENT_FACING}
    return {"return": decision.return_id, **shared, "missing": decision.missing}


def report_parts(
    decision: Decision,
    dispositions: Iterable[Disposition],
    why: Diagnosis | None,
    *,
    drafts: Mapping[str, Drafted] = _NONE,
    store: str = "",
) -> Iterator[RenderableType]:
    """A decision with every duty and candidate, and why it fell short. For the operator."""
    yield verdict_line(decision)
    yield from detail_lines(decision)
    yield from duty_tables(decision)
    yield from ("", disposition_table(dispositions))
    yield from draft_lines(drafts)
    if why is not None:
        yield from symptom_lines(why, store)


def verdict_line(decision: Decision) -> Text:
    """The decision in one line."""
    from rich.text import Text

    partial = decision.view is not None and decision.view.partial
    line = Text.assemble((f"{decision.kind.upper()}{' IN PART' if partial else ''}", COLORS[decision.kind]))
    if decision.faults:
        return line.append("  nothing was judged")
    report = decision.report
    if not report.obligations:
        return line.append("  nothing is owed")
    line.append(
        f"  coverage {_ratio(report.coverage)} ({report.covered} of {counted(report.obligations, 'obligation')})"
    )
    if report.critical:
        share = f"{report.critical_covered} of {counted(report.critical, 'dependency')}"
        line.append(f", critical {_ratio(report.critical_coverage)} ({share})")
    return line


def detail_lines(decision: Decision, *, private: bool = True) -> Iterator[str]:
    """Missing needs, reasons and the view; with ``private``, also withheld experiences and the examination."""
    if decision.missing:
        yield f"Missing: {', '.join(decision.missing)}"
    if decision.view is not None and decision.view.partial:
        yield f"Withheld: {', '.join(decision.view.withheld)}. The view holds whole duties only, not these."
    for reason in decision.reasons:
        yield f"Because: {reason}. {reason.doc}"
    if decision.view is not None and decision.view.items:
        yield f"View: {' '.join(item.id for item in decision.view.items)}"
    elif decision.view is not None:
        yield "The view is empty: no duty applies, and the policy's nothing_owed hands over nothing else."
    yield from _retractions(decision)
    for label, ids in experience_ids(decision).items():
        if ids and (private or label == "readmitted"):
            yield f"Experiences {label}: {', '.join(ids)}"
    if private and not decision.faults:
        yield f"Implicit changes: {one_line(looked_in_words(decision))}"


def _retractions(decision: Decision) -> Iterator[str]:
    """New items, items that were confirmed again, and retractions."""
    items = () if decision.view is None else decision.view.items
    for label, news in (("New since departure", "new"), ("Confirmed again since departure", "confirmed")):
        if names := [item.id for item in items if item.news == news]:
            yield f"{label}: {' '.join(names)}"
    made = decision.retractions
    for label, listed in (("No longer holds", made.fallen), ("In doubt", made.in_doubt)):
        for one in listed:
            about = f" about {one.slot}" if one.slot is not None else ""
            since = f" since {format_moment(one.since)}" if one.since is not None else ""
            instead = f"; instead: {one.instead}" if one.instead is not None else ""
            yield f"{label}: {one.id}{about}, {one.state}{since}{instead}"
    if made.more:
        yield f"Not listed for lack of room: {made.more} more"
    if made.earlier:
        yield f"Had fallen before departure: {made.earlier} more"


def duty_tables(decision: Decision) -> Iterator[Table | str]:
    """One row per duty and constraint that was considered, for the operator; nothing if none was."""
    yield from _bound("duty", [(note.obligation, note, _fate(note)) for note in decision.duties])
    yield from _bound("constraint", [(note.constraint, note, _outcome(note)) for note in decision.constraints])


def _bound(what: str, notes: Iterable[tuple[str, DutyNote | ConstraintNote, str]]) -> Iterator[Table | str]:
    from rich.text import Text

    rows = []
    for name, note, outcome in notes:
        style = "green" if note.handed_over else "red" if note.state.owed else "dim"
        rows.append((name, Text(str(note.state), style=style), Text(outcome)))
    if rows:
        yield from ("", table((what, "state", "outcome"), rows, prose="outcome"))


def _fate(note: DutyNote) -> str:
    """The outcome of a duty, in a sentence or two."""
    words = _outcome(note)
    if note.lacks:
        words += f" Lacks {', '.join(note.lacks)}."
    if note.questions:
        words += f" Open questions: {', '.join(note.questions)}."
    return words


def _outcome(note: DutyNote | ConstraintNote) -> str:
    words = "" if note.state is DutyState.OWED else f"{note.state.doc} "
    if note.state.owed:
        words += "Handed over." if note.handed_over else "Not handed over."
    return words.strip()


def symptom_lines(found: Diagnosis, store: str = "") -> Iterator[Text | str]:
    """The problems of a return or a workspace, with the commands that fix them. For the operator.

    ``store`` are the options that make the commands use the same store.
    """
    from rich.text import Text

    for number, one in enumerate(found.symptoms, 1):
        yield ""
        yield Text.assemble((f"{number}. ", "dim"), (one.says, "yellow" if one.trouble in NOTES else "bold red"))
        for ground in one.grounds:
            yield f"   {ground}"
        for remedy in one.remedies:
            yield Text(f"   {one_line(remedy.command)}{store}", style="cyan")
    for limit in found.not_looked_at:
        yield Text(f"Not looked at: {limit}.", style="dim")


def _ratio(value: Fraction) -> str:
    """A share as people write it."""
    return f"{float(value):g}"


def experience_ids(decision: Decision) -> dict[str, list[str]]:
    """Private experiences by outcome."""
    back = decision.admitted
    given = {note.experience for note in decision.experiences if back and note.reason is Reason.SOURCE_IN_VIEW}
    return {
        "readmitted": [note.experience for note in decision.experiences if note.experience in given],
        "withheld": [note.experience for note in decision.experiences if note.experience not in given],
    }
