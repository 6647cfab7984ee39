"""Decisions in words, and as plain values for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from readmit.cli.item_words import DIGEST, disposition_table, draft_lines, short_digest
from readmit.cli.output import shown, table
from readmit.diagnosis.history import looked_in_words
from readmit.records.reasons import DutyState, Reason
from readmit.text.english import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from fractions import Fraction

    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from readmit.diagnosis.missing_needs import Former, Lack
    from readmit.records.decisions import ConstraintNote, Decision, Disposition, DutyNote
    from readmit.records.items import Drafted

COLORS = {"admitted": "bold green", "blocked": "bold red", "reset": "bold yellow"}
_AGENT_FACING = ("kind", "epoch", "reasons", "view", "retracting")
"""Fields of a decision that name no item left out, besides what the agent held itself."""


def decision_json(decision: Decision, dispositions: Iterable[Disposition], lacks: Iterable[Lack]) -> dict[str, Any]:
    """A decision with every candidate and what it lacked. For the operator: it names items that were left out."""
    said = msgspec.structs.asdict(decision) | {"dispositions": tuple(dispositions), "lacking": tuple(lacks)}
    return {"return": said.pop("return_id"), **said}


def agent_json(decision: Decision) -> dict[str, Any]:
    """A decision as the returning agent may see it."""
    shared = {name: getattr(decision, name) for name in _AGENT_FACING}
    return {"return": decision.return_id, **shared, "missing": decision.missing}


def report_parts(
    decision: Decision, dispositions: Iterable[Disposition], lacks: Iterable[Lack], drafts: Mapping[str, Drafted]
) -> Iterator[RenderableType]:
    """A decision with every duty and candidate, and what it lacked. For the operator."""
    yield verdict_line(decision)
    yield from detail_lines(decision)
    yield from duty_tables(decision)
    yield from lack_lines(lacks)
    yield from ("", disposition_table(dispositions))
    yield from draft_lines(drafts)


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


def detail_lines(decision: Decision, *, private: bool = True) -> Iterator[Text]:
    """What is missing, why, and what comes back; with ``private``, also what does not and what was not examined."""
    from rich.text import Text

    if decision.missing:
        yield Text(f"Missing: {', '.join(decision.missing)}")
    if decision.view is not None and decision.view.partial:
        yield Text(f"Withheld: {', '.join(decision.view.withheld)}. The view holds whole duties only, not these.")
    for reason in decision.reasons:
        yield Text(f"Because: {reason}. {reason.doc}")
    if decision.view is not None and decision.view.items:
        yield Text(f"View: {' '.join(item.id for item in decision.view.items)}")
    elif decision.view is not None:
        yield Text("The view is empty: no duty applies, and the policy's nothing_owed hands over nothing else.")
    yield from _retractions(decision)
    for label, ids in experience_ids(decision).items():
        if ids and (private or label == "readmitted"):
            yield Text(f"Experiences {label}: {', '.join(ids)}")
    if private and not decision.faults:
        yield Text(f"Implicit changes: {shown(looked_in_words(decision))}")


def _retractions(decision: Decision) -> Iterator[Text]:
    """What is new to the agent, what was said again, and what it held and should no longer rely on."""
    from rich.text import Text

    items = () if decision.view is None else decision.view.items
    for label, news in (("New since departure", "new"), ("Confirmed again since departure", "confirmed")):
        if names := [item.id for item in items if item.news == news]:
            yield Text(f"{label}: {' '.join(names)}")
    made = decision.retractions
    for label, listed in (("No longer holds", made.fallen), ("In doubt", made.in_doubt)):
        for one in listed:
            about = f" about {one.slot}" if one.slot is not None else ""
            since = f" since {one.since:%Y-%m-%d %H:%M:%S} UTC" if one.since is not None else ""
            instead = f"; instead: {one.instead}" if one.instead is not None else ""
            yield Text(f"{label}: {one.id}{about}, {one.state}{since}{instead}")
    if made.more:
        yield Text(f"Not listed for lack of room: {made.more} more")
    if made.earlier:
        yield Text(f"Had fallen before departure: {made.earlier} more")


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


def lack_lines(lacks: Iterable[Lack]) -> Iterator[Text]:
    """What a return lacked, what met it last and why that is out, and what to do. For the operator."""
    from rich.text import Text

    for one in lacks:
        yield Text("")
        yield Text(_lack(one), style="bold")
        for former in one.last:
            yield Text(f"  {_former(former)}")
        for now in one.instead:
            yield Text(f"  Now: {now.item} “{shown(now.text)}”, drafted and evidence only once a principal links it")
        for remedy in one.remedies:
            yield Text(f"  Do: {shown(remedy.call)}")
            yield Text(f"   or {shown(remedy.command)}")


def _lack(one: Lack) -> str:
    if one.kind == "dependency":
        needing = f"needed by {', '.join(one.duties)}" if one.duties else "needed by no duty"
        never = "" if one.last else "; nothing has met it yet"
        return f"Lacking {one.name}{', critical' if one.critical else ''}: {needing}{never}"
    of = f" of {one.duties[0]}" if one.kind == "frontier" else ""
    return f"Not fit to be handed over: {one.kind}{of if one.duties != (one.name,) else ''} {one.name}"


def _former(one: Former) -> str:
    why = DIGEST.sub(lambda found: short_digest(found.group()), " ".join(one.why))
    return f"{one.item} “{shown(one.text)}” is {one.state}: {why}"


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
