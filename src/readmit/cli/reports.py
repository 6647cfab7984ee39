"""Decisions as a person reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readmit.cli import shapes
from readmit.cli.output import shown
from readmit.records.reasons import Reason, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from fractions import Fraction

    from rich.table import Table
    from rich.text import Text

    from readmit.records.decisions import Cause, Decision, Disposition

COLORS = {"admitted": "bold green", "blocked": "bold red", "reset": "bold yellow"}
DIGEST = re.compile(r"[0-9a-f]{64}")
DIGEST_CHARS = 12


def verdict(decision: Decision) -> Text:
    """The decision in one line."""
    from rich.text import Text

    line = Text.assemble((decision.kind.upper(), COLORS[decision.kind]))
    if decision.faults:
        return line.append("  nothing was judged")
    report = decision.report
    line.append(
        f"  coverage {ratio(report.coverage)} ({report.covered} of {report.obligations} obligations), "
        f"critical {ratio(report.critical_coverage)} ({report.critical_covered} of {report.critical} dependencies)"
    )
    return line


def details(decision: Decision, *, private: bool = True) -> Iterator[Text]:
    """What is missing, why, and what comes back; with ``private``, also what does not."""
    from rich.text import Text

    if decision.missing:
        yield Text(f"Missing: {', '.join(decision.missing)}")
    for reason in decision.reasons:
        yield Text(f"Because: {reason}. {reason.doc}")
    if decision.view is not None and decision.view.items:
        yield Text(f"View: {' '.join(item.id for item in decision.view.items)}")
    elif decision.view is not None:
        yield Text("The view is empty: nothing is owed, so nothing is needed.")
        yield Text("Open obligations, or let the policy fill the budget with what is eligible (fill).")
    for label, ids in shapes.experiences(decision).items():
        if ids and (private or label == "readmitted"):
            yield Text(f"Experiences {label}: {', '.join(ids)}")


def dispositions(entries: Iterable[Disposition]) -> Table:
    """One row per candidate, for the operator."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("item", overflow="fold")
    table.add_column("state", overflow="fold")
    table.add_column("why", overflow="fold", ratio=1)
    for one in entries:
        table.add_row(Text(one.item), Text(str(one.state), style=style_of(one.state)), Text("; ".join(why(one))))
    return table


def why(one: Disposition) -> Iterator[str]:
    """Each reason with what it rests on."""
    causes = {cause.reason for cause in one.causes}
    yield from (str(reason) for reason in one.reasons if reason not in causes)
    yield from map(ground, one.causes)
    yield from (f"set aside by an overseer: {ground(cause)}" for cause in one.overruled)


def ground(cause: Cause) -> str:
    """One reason, and what it rests on."""
    words = str(cause.reason)
    if cause.ref:
        words += f" by {short(cause.ref)}"
    if cause.chain:
        words += f", through {' ← '.join(cause.chain)}"
    place = ", ".join(part for part in (f"epoch {cause.epoch}" if cause.epoch else "", shown(cause.by)) if part)
    if place:
        words += f" ({place})"
    return f"{words}: {shown(cause.note)}" if cause.note else words


def short(name: str) -> str:
    """A digest by its beginning; anything else as it is."""
    return f"{name[:DIGEST_CHARS]}…" if DIGEST.fullmatch(name) else shown(name)


def style_of(state: State) -> str:
    """Green is in, dim is fit but not handed over, red is out."""
    return {State.ADMITTED: "green", State.NOT_NEEDED: "dim"}.get(state, "red")


def ratio(value: Fraction) -> str:
    """A share as people write it."""
    return f"{float(value):g}"


def fit(one: Disposition) -> bool:
    """Whether every gate let an item through, handed over or not."""
    return one.admitted or bool({Reason.NOT_NEEDED, Reason.VIEW_WITHHELD}.intersection(one.reasons))
