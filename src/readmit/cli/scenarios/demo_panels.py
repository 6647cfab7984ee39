"""The demo's five panels (paper, "Case study: returning to a changed travel plan"), from what was played.

Every line comes out of the log, the decisions and the bundle. The two returns are the scenario's first and last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from readmit.cli.decision_words import detail_lines, experience_ids, symptom_lines, verdict_line
from readmit.diagnosis.history import in_words
from readmit.diagnosis.trial import FIT
from readmit.records.acts.event import Checkpoint, Event, Supersede
from readmit.records.evidence import Evidence, Experience
from readmit.records.items import Item, Obligation
from readmit.records.reasons import State
from readmit.records.verdicts import Answer, Verdict
from readmit.text.english import counted
from readmit.text.escapes import one_line, shorten_digests
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from readmit.records.decisions import Disposition
    from readmit.scenario.play import Play, PlayedReturn

MARKS = {True: ("✓ ", "green"), False: ("✗ ", "red")}


def panels(done: Play) -> Iterator[RenderableType]:
    """The five panels, in order."""
    before, after = done.returns[0], done.returns[-1]
    log = list(desk_of(done.workspace).log.tail())
    departure, departed = next((event, event.payload) for event in log if isinstance(event.payload, Checkpoint))
    absence = [event for event in log if departure.epoch < event.epoch <= before.outcome.request.epoch]
    news = [event for event in log if before.outcome.request.epoch < event.epoch <= after.outcome.request.epoch]
    texts = {event.payload.id: event.payload for event in log if isinstance(event.payload, Item)}
    yield _departure([event for event in log if event.epoch < departure.epoch], departed)
    yield _absence(absence)
    yield _admissible(before, texts, log)
    yield _incomplete(before, texts)
    yield _sufficient(after, texts, news)


def _departure(known: Sequence[Event], departed: Checkpoint) -> Panel:
    bank = [event.payload.id for event in known if isinstance(event.payload, Experience)]
    return _panel(
        "1. Before departure: a coherent stored plan",
        _statements(event.payload for event in known if isinstance(event.payload, Item)),
        f"{departed.identity.principal} departs as {departed.identity.role}. The checkpoint seals "
        f"{counted(departed.events, 'event')} up to epoch {departed.epoch} under {departed.digest[:12]}…. "
        f"Quarantined with it: {', '.join(bank)}.",
    )


def _absence(events: Sequence[Event]) -> Panel:
    table = _grid()
    items = 0
    for event in events:
        match event.payload:
            case Evidence(text=text):
                table.add_row(Text(f"{event.by} observes", style="cyan"), Text(one_line(text)))
            case Item() as item:
                items += 1
                proof = "" if item.receipts else " (without a source)"
                table.add_row(Text(f"{event.by} records {item.id}"), Text(f"{one_line(item.text)}{proof}"))
            case Supersede(target=target, successor=successor):
                table.add_row(Text(f"{event.by} replaces {target}"), Text(f"by {successor}"))
    return _panel(
        "2. During absence: the team changes the plan",
        table,
        f"{counted(len(events), 'event')} join what was sealed at departure; new statements among them: {items}.",
    )


def _admissible(returned: PlayedReturn, texts: Mapping[str, Item], log: Sequence[Event]) -> Panel:
    table = _grid()
    for title, states in (
        ("Explicit invalidation", {State.SUPERSEDED, State.REVOKED, State.EXPIRED}),
        ("Implicit invalidation", {State.SOURCE_CHANGED, State.PREMISE_CHANGED, State.SUSPECTED}),
        ("Without proof", {State.UNPROVEN}),
    ):
        out = [one for one in returned.dispositions if one.state in states]
        if out:
            table.add_row(Text(title, style="bold"), "")
        for one in out:
            table.add_row(_name(one.item, fit=False), Text(one_line(texts[one.item].text), style="strike"))
            for line in _grounds(one, log):
                table.add_row("", Text(line, style="red" if line.startswith("out") else "dim"))
    table.add_row(Text("Surviving", style="bold"), "")
    survivors = [one.item for one in returned.dispositions if one.state in FIT]
    for item in survivors:
        table.add_row(_name(item, fit=True), Text(one_line(texts[item].text)))
    rejected = [one.item for one in returned.dispositions if one.state not in FIT]
    return _panel(
        "3. At return: which records remain admissible",
        table,
        f"Retained: {', '.join(survivors)}. Excluded: {', '.join(rejected)}.",
    )


def _grounds(one: Disposition, log: Sequence[Event]) -> Iterator[str]:
    """Why an item is out; for a verdict, with its quotes; and which suspicions a verdict settled."""
    yield from (f"out: {shorten_digests(reason)}" for reason in in_words(one))
    for event in log:
        match event.payload:
            case Verdict(pair=pair, answer=Answer.INVALIDATES) as verdict if pair.item == one.item:
                yield f"“{one_line(verdict.item_quote)}” against “{one_line(verdict.evidence_quote)}”"
            case Verdict(pair=pair, answer=Answer.COMPATIBLE) as verdict if pair.item == one.item:
                yield f"not because of “{one_line(verdict.evidence_quote)}”: {one_line(verdict.premise)}"


def _incomplete(returned: PlayedReturn, texts: Mapping[str, Item]) -> Panel:
    decision = returned.outcome.decision
    return _panel(
        "4. Before confirmation: valid evidence is still incomplete",
        _needs(returned, texts),
        Group(
            verdict_line(decision),
            *detail_lines(decision),
            *(symptom_lines(returned.why) if returned.why is not None else ()),
            Text("\nNothing is handed over."),
        ),
    )


def _sufficient(returned: PlayedReturn, texts: Mapping[str, Item], news: Sequence[Event]) -> Panel:
    decision, bundle = returned.outcome.decision, returned.bundle
    parts: list[RenderableType] = [
        Text(f"{event.by} observes: {one_line(event.payload.text)}", style="cyan")
        for event in news
        if isinstance(event.payload, Evidence)
    ]
    parts += ["", _needs(returned, texts)]
    if bundle is not None:
        who = bundle.view.identity
        parts += ["", Text("The Return View, signed and exposed", style="bold"), _statements(bundle.items)]
        parts += [_statements(bundle.experiences)] if bundle.experiences else []
        parts += [
            Text(
                f"Bound to {who.principal}, {who.role}, {who.task}, epoch {bundle.view.epoch}; "
                f"{counted(len(bundle.view.items), 'item')}, {counted(bundle.view.chars, 'character')}; "
                f"key {bundle.envelope.signatures[0].keyid[:12]}…",
                style="dim",
            )
        ]
    private = experience_ids(decision)
    return _panel(
        "5. After confirmation: a sufficient Return View",
        Group(*parts),
        Group(
            verdict_line(decision),
            Text(f"Private experience back: {', '.join(private['readmitted']) or 'none'}; ")
            + Text(f"withheld: {', '.join(private['withheld']) or 'none'}."),
        ),
    )


def _needs(returned: PlayedReturn, texts: Mapping[str, Item]) -> Table:
    """The dependencies of each obligation, marked as supplied or missing."""
    missing = set(returned.outcome.missing)
    table = _grid()
    for one in returned.dispositions:
        item = texts[one.item]
        if isinstance(item, Obligation) and one.state in FIT:
            marks = [Text.assemble(MARKS[need not in missing], f"{need}  ") for need in item.required]
            table.add_row(Text(item.id), Text.assemble(one_line(item.text), "\n", *marks))
    return table


def _statements(records: Iterable[Item | Experience]) -> Table:
    table = _grid()
    for one in records:
        table.add_row(Text(one.id), Text(one_line(one.text)))
    return table


def _name(item: str, *, fit: bool) -> Text:
    return Text.assemble(MARKS[fit], item)


def _grid() -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="fold", min_width=12)
    table.add_column(overflow="fold", ratio=1)
    return table


def _panel(title: str, content: RenderableType, outcome: RenderableType) -> Panel:
    return Panel(Group(content, "", outcome), title=Text(title, style="bold"), title_align="left", padding=(1, 2))
