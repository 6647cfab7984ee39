"""Decisions as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readmit.cli import shapes
from readmit.cli.output import shown, table
from readmit.diagnosis.history import chain, draft_in_words, looked_in_words
from readmit.records.reasons import DutyState, State
from readmit.text.english import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from fractions import Fraction

    from rich.table import Table
    from rich.text import Text

    from readmit.diagnosis.missing_needs import Former, Lack
    from readmit.records.decisions import Cause, ConstraintNote, Decision, Disposition, DutyNote
    from readmit.records.items import Drafted

COLORS = {"admitted": "bold green", "blocked": "bold red", "reset": "bold yellow"}
DIGEST = re.compile(r"[0-9a-f]{64}")
DIGEST_CHARS = 12


def verdict(decision: Decision) -> Text:
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
        f"  coverage {ratio(report.coverage)} ({report.covered} of {counted(report.obligations, 'obligation')})"
    )
    if report.critical:
        share = f"{report.critical_covered} of {counted(report.critical, 'dependency')}"
        line.append(f", critical {ratio(report.critical_coverage)} ({share})")
    return line


def details(decision: Decision, *, private: bool = True) -> Iterator[Text]:
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
    yield from retractions(decision)
    for label, ids in shapes.experiences(decision).items():
        if ids and (private or label == "readmitted"):
            yield Text(f"Experiences {label}: {', '.join(ids)}")
    if private and not decision.faults:
        yield Text(f"Implicit changes: {shown(looked_in_words(decision))}")


def retractions(decision: Decision) -> Iterator[Text]:
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


def duties(decision: Decision) -> Iterator[Table | str]:
    """One row per duty and constraint that was considered, for the operator; nothing if none was."""
    yield from _bound("duty", [(note.obligation, note, fate(note)) for note in decision.duties])
    yield from _bound("constraint", [(note.constraint, note, _outcome(note)) for note in decision.constraints])


def _bound(what: str, notes: Iterable[tuple[str, DutyNote | ConstraintNote, str]]) -> Iterator[Table | str]:
    from rich.text import Text

    rows = []
    for name, note, outcome in notes:
        style = "green" if note.handed_over else "red" if note.state.owed else "dim"
        rows.append((name, Text(str(note.state), style=style), Text(outcome)))
    if rows:
        yield from ("", table((what, "state", "outcome"), rows, prose="outcome"))


def fate(note: DutyNote) -> str:
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


def lacking(lacks: Iterable[Lack]) -> Iterator[Text]:
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
    why = DIGEST.sub(lambda found: short(found.group()), " ".join(one.why))
    return f"{one.item} “{shown(one.text)}” is {one.state}: {why}"


def dispositions(entries: Iterable[Disposition]) -> Table:
    """One row per candidate, for the operator."""
    from rich.text import Text

    rows = [(one.item, Text(str(one.state), style=style_of(one.state)), Text("; ".join(why(one)))) for one in entries]
    return table(("item", "state", "why"), rows, prose="why")


def drafts(found: Mapping[str, Drafted]) -> Iterator[Text]:
    """One line for each candidate that a model drafted, for the operator."""
    from rich.text import Text

    if found:
        yield Text("")
    for name, one in found.items():
        yield Text(f"{name}: {shown(draft_in_words(one))}")


def why(one: Disposition) -> Iterator[str]:
    """Each reason with its basis."""
    causes = {cause.reason for cause in one.causes}
    yield from (str(reason) for reason in one.reasons if reason not in causes)
    yield from map(ground, one.causes)
    yield from (f"set aside by an overseer: {ground(cause)}" for cause in one.overruled)
    yield from (f"stands again through {cause.ref} in place of {cause.root}" for cause in one.recovered)


def ground(cause: Cause) -> str:
    """One reason with its basis."""
    words = str(cause.reason)
    if cause.ref:
        words += f" by {short(cause.ref)}"
    if cause.root:
        words += f", through {' ← '.join(chain(cause))}"
    place = ", ".join(part for part in (f"epoch {cause.epoch}" if cause.epoch else "", shown(cause.by)) if part)
    if place:
        words += f" ({place})"
    return f"{words}: {shown(cause.note)}" if cause.note else words


def short(name: str) -> str:
    """A digest by its beginning; anything else as it is."""
    return f"{name[:DIGEST_CHARS]}…" if DIGEST.fullmatch(name) else shown(name)


def style_of(state: State) -> str:
    """Green is in, dim is fit but not handed over, red is out."""
    return {State.ADMITTED: "green", State.NOT_NEEDED: "dim", State.WITHHELD: "dim"}.get(state, "red")


def ratio(value: Fraction) -> str:
    """A share as people write it."""
    return f"{float(value):g}"


def fit(one: Disposition) -> bool:
    """Whether every gate let an item through, handed over or not."""
    return one.state in (State.ADMITTED, State.NOT_NEEDED, State.WITHHELD)
