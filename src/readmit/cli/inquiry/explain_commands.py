"""``explain``, ``replay``: why an item was in or out of a past return, and whether it would be decided so again."""

from __future__ import annotations

import click

from readmit.cli.command import Invocation, command
from readmit.cli.operation.audit_commands import returns_of
from readmit.cli.output import emit, plain, progress, show
from readmit.cli.references import Reference
from readmit.cli.status import Status
from readmit.text.english import counted
from readmit.text.escapes import one_line


@command("explain", examples=("readmit explain RETURN h0", "readmit explain RETURN h0 --json"))
@click.argument("return_id", type=Reference("return"), metavar="RETURN")
@click.argument("item", type=Reference("item"))
def explain_item(invocation: Invocation, /, *, return_id: str, item: str) -> None:
    """Why an item was in or out of a past return. `readmit audit show` shows all of its candidates."""
    with invocation.open() as workspace:
        found = workspace.returned(return_id).explain(item)
    sight = "" if found.candidate else " (the agent could not see it)"
    said = f"{found.disposition.item}: {found.disposition.state}{sight}"
    invocation.say(found, said, *map(one_line, found.lines()))


@command("replay", examples=("readmit replay RETURN", "readmit replay --all"), ends_with=(Status.UNVERIFIED,))
@click.argument("return_id", type=Reference("return"), metavar="RETURN", required=False)
@click.option("--all", "every", is_flag=True, help="Replay every return of the workspace.")
def replay_return(invocation: Invocation, /, *, return_id: str | None, every: bool) -> Status:
    """Recompute a past decision from the log and the stored verdicts, and compare bytes."""
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
        emit({"replays": [{**plain(one), "matches": one.matches} for one in done]})
    else:
        for one in done:
            said = one.skipped or one.refused or f"differs: {', '.join(one.differences)}"
            said = "the same bytes" if one.matches else said
            show(f"{one.return_id}: {one.kind}, {counted(one.candidates, 'candidate')}, {said}")
    return Status.UNVERIFIED if any(one.differences or one.refused for one in done) else Status.OK
