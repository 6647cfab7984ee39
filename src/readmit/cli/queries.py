"""``status``, ``explain``, ``replay``: contents, reasons, and checks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from readmit.cli.command import command
from readmit.cli.references import Reference
from readmit.cli.status import Status
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from readmit.cli.command import Invocation
    from readmit.records.identity import Identity


def add_to(group: click.Group) -> None:
    """Add the commands."""
    command(group, "explain", examples=("readmit explain RETURN h0", "readmit explain RETURN"))(explain)
    command(group, "replay", examples=("readmit replay RETURN", "readmit replay --all"))(replay)
    command(group, "status")(status)


@click.argument("return_id", type=Reference("return"), metavar="RETURN")
@click.argument("item", type=Reference("item"), required=False)
def explain(invocation: Invocation, /, *, return_id: str, item: str | None) -> None:
    """Why an item was in or out of a past return; without ITEM, all of its candidates, duties and what it lacked."""
    from readmit.cli import reports, shapes
    from readmit.cli.output import emit, show, shown

    with invocation.open() as workspace:
        if item is not None:
            found = workspace.returned(return_id).explain(item)
            if invocation.json:
                said = {"return": return_id, "decision": found.kind, "candidate": found.candidate}
                duty = {} if found.duty is None else {"duty": shapes.duty(found.duty)}
                drafted = {} if found.drafted is None else {"drafted": shapes.draft(found.drafted)}
                sources = {"sources": list(found.sources)} if found.sources else {}
                emit(said | shapes.disposition(found.disposition) | duty | drafted | sources)
            else:
                sight = "" if found.candidate else " (the agent could not see it)"
                show(f"{found.disposition.item}: {found.disposition.state}{sight}", *map(shown, found.lines()))
            return
        decision, entries = workspace.returned(return_id).decision, workspace.returned(return_id).dispositions
        lacks, drafts = workspace.returned(return_id).lacking(), workspace.returned(return_id).drafts()
    if invocation.json:
        emit(
            {
                "return": return_id,
                **shapes.summary(decision, ()),
                "lacking": shapes.lacking(lacks),
                "dispositions": list(map(shapes.disposition, entries)),
                "drafts": shapes.drafts(drafts),
            }
        )
    else:
        show(reports.verdict(decision), *reports.details(decision), *reports.duties(decision))
        show(*reports.lacking(lacks), "", reports.dispositions(entries), *reports.drafts(drafts))


@click.argument("return_id", type=Reference("return"), metavar="RETURN", required=False)
@click.option("--all", "every", is_flag=True, help="Replay every return of the workspace.")
def replay(invocation: Invocation, /, *, return_id: str | None, every: bool) -> Status:
    """Recompute a past decision from the log and the stored verdicts, and compare bytes."""
    from readmit.cli.audit import returns_of
    from readmit.cli.output import emit, progress, show
    from readmit.text.english import counted

    if (return_id is None) != every:
        raise click.UsageError("give either RETURN or --all")
    with invocation.open() as workspace:
        ids = [past.request.return_id for _, past in returns_of(workspace)] if return_id is None else [return_id]
        done = []
        with progress("Replaying", len(ids)) as watch:
            for name in ids:
                done.append(workspace.returned(name).replay())
                watch()
    if invocation.json:
        emit(
            {
                "replays": [
                    {
                        "return": one.return_id,
                        "decision": one.kind,
                        "candidates": one.candidates,
                        "matches": one.matches,
                        "differences": list(one.differences),
                        "skipped": one.skipped,
                        "refused": one.refused,
                    }
                    for one in done
                ]
            }
        )
    else:
        for one in done:
            said = one.skipped or one.refused or f"differs: {', '.join(one.differences)}"
            said = "the same bytes" if one.matches else said
            show(f"{one.return_id}: {one.kind}, {counted(one.candidates, 'candidate')}, {said}")
    return Status.UNVERIFIED if any(one.differences or one.refused for one in done) else Status.OK


def status(invocation: Invocation, /) -> None:
    """What a workspace holds: its log, its audit, its policy, its key, and who is away."""
    import msgspec

    from readmit.cli.output import emit, progress, show, shown
    from readmit.records.acts.event import Checkpoint
    from readmit.state.absence import last_absence
    from readmit.text.english import counted

    with invocation.open() as workspace, progress("Reading the log", workspace.epoch) as watch:
        kinds: Counter[str] = Counter()
        departed: dict[str, Identity] = {}
        for event in desk_of(workspace).log.tail():
            kinds[str(event.kind)] += 1
            if isinstance(event.payload, Checkpoint):
                departed[event.payload.identity.agent] = event.payload.identity
            watch()
        away = sorted(
            f"{who.principal} ({who.role}, {who.task})"
            for who in departed.values()
            if (absence := last_absence(desk_of(workspace).log, who)) is not None and absence.end is None
        )
        said = {
            "db": invocation.store,
            "workspace": workspace.name,
            "epoch": workspace.epoch,
            "events": dict(kinds),
            "audit_rows": desk_of(workspace).log.audit.last,
            "away": away,
            "policy": msgspec.to_builtins(workspace.admin.policy),
        }
    if invocation.json:
        emit(said)
        return
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    show(f"Workspace {shown(workspace.name)} in {invocation.store}, epoch {said['epoch']}: {counts}")
    show(f"Audit: {counted(said['audit_rows'], 'row')}", f"Away: {shown(', '.join(away)) or 'nobody'}")
    show("Policy:", *(f"  {name} = {shown(str(value))}" for name, value in said["policy"].items()))
