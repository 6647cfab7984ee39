"""``readmit audit``: past returns, whether the trail holds, and its export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from readmit.cli import errors, options
from readmit.cli.command import command
from readmit.cli.references import Reference
from readmit.cli.status import Status
from readmit.records.events import EventKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from readmit.cli.command import Invocation
    from readmit.records.decisions import Returned
    from readmit.records.events import Event
    from readmit.workspace.workspace import Workspace


@click.group("audit")
def audit() -> None:
    """Past returns, whether the audit holds, and its export."""


def add_to(group: click.Group) -> None:
    """Add the group and its commands."""
    group.add_command(audit)
    command(audit, "list")(list_returns)
    command(audit, "show", examples=("readmit audit show RETURN --json",))(show_return)
    command(audit, "verify", examples=("readmit audit verify", "readmit audit verify --head kept-head.json"))(verify)
    command(audit, "head", examples=("readmit audit head --output kept-head.json",))(head)
    exporting = ("readmit audit export --output audit.jsonl", "readmit audit export --format prov --return RETURN")
    command(audit, "export", examples=exporting)(export)


def returns_of(workspace: Workspace) -> Iterator[tuple[Event, Returned]]:
    """Every return in the log, in order."""
    from readmit.records.decisions import Returned

    for event in workspace.log.tail():
        if isinstance(event.payload, Returned):
            yield event, event.payload


def list_returns(invocation: Invocation, /) -> None:
    """Every return of the workspace, in order."""
    from rich.text import Text

    from readmit.cli.output import emit, show, table
    from readmit.cli.reports import COLORS

    with invocation.open() as workspace:
        found = [
            {
                "return": one.request.return_id,
                "epoch": event.epoch,
                "at": event.at.isoformat(),
                "principal": one.request.identity.principal,
                "role": one.request.identity.role,
                "task": one.request.identity.task,
                "decision": one.kind,
                "partial": one.kind == "admitted" and _is_partial(workspace, one.request.return_id),
                "exposed": workspace.log.named(EventKind.EXPOSE, one.request.return_id) is not None,
                "acknowledged": workspace.log.named(EventKind.ACKNOWLEDGE, one.request.return_id) is not None,
            }
            for event, one in returns_of(workspace)
        ]
    if invocation.json:
        emit({"returns": found})
        return
    if not found:
        show("Nobody has returned yet.")
        return
    columns = [name for name in found[0] if name not in {"partial", "acknowledged"}]
    rows = []
    for one in found:
        decision = Text("partial" if one["partial"] else str(one["decision"]), style=COLORS[str(one["decision"])])
        said = {**one, "at": str(one["at"])[:19], "exposed": "yes" if one["exposed"] else ""}
        rows.append([decision if name == "decision" else str(said[name]) for name in columns])
    show(table(columns, rows))


def _is_partial(workspace: Workspace, return_id: str) -> bool:
    view = workspace.decision(return_id).view
    return view is not None and view.partial


@click.argument("return_id", type=Reference("return"), metavar="RETURN")
@click.option("--envelope", is_flag=True, help="Print the signed view and nothing else.")
def show_return(invocation: Invocation, /, *, return_id: str, envelope: bool) -> None:
    """One return: who asked, the decision, every duty and candidate, what is missing, and what happened to the view."""
    import msgspec

    from readmit.cli import reports, shapes
    from readmit.cli.output import emit, show, shown
    from readmit.records.errors import UnknownError
    from readmit.workspace.history import recorded

    with invocation.open() as workspace:
        returned, decision = recorded(workspace.log, return_id)
        stored = workspace.log.audit.decision(return_id)
        entries, lacks = workspace.dispositions(return_id), workspace.lacking(return_id)
        drafts = workspace.drafts(return_id)
        handed = [
            {"seq": row.seq, "kind": row.kind, **msgspec.json.decode(row.body)}
            for row in workspace.log.audit.rows(first=1 if stored is None else stored.last + 1)
            if row.return_id == return_id
        ]
    if envelope:
        if stored is None or stored.envelope is None:
            raise UnknownError(f"return {return_id!r} was {decision.kind}: it has no signed view")
        click.echo(stored.envelope)
    elif invocation.json:
        said = {**shapes.summary(decision, ()), "lacking": shapes.lacking(lacks)}
        said["dispositions"] = list(map(shapes.disposition, entries))
        said["drafts"] = shapes.drafts(drafts)
        emit({"return": return_id, "request": msgspec.to_builtins(returned.request), **said, "exposures": handed})
    else:
        who = returned.request.identity
        show(
            shown(f"{who.principal} as {who.role} for {who.task}, epoch {decision.epoch}, {returned.request.now}"),
            reports.verdict(decision),
            *reports.details(decision),
            *reports.duties(decision),
            *reports.lacking(lacks),
            *map(_handed, handed),
            "",
            reports.dispositions(entries),
            *reports.drafts(drafts),
        )


def _handed(row: dict[str, Any]) -> str:
    """One delivery, refusal or acknowledgement of a view."""
    words = f"{row['kind']}{' once more' if row.get('again') else ''}: row {row['seq']}"
    return f"{words} {', '.join(row.get('refused', ()))}".rstrip()


@click.option("--head", "kept", type=click.File("rb"), metavar="FILE", help="A signed head that was kept elsewhere.")
def verify(invocation: Invocation, /, *, kept: BinaryIO | None) -> Status:
    """Check the audit's chain and signatures, and that every return and exposure has its rows.

    A user who can rewrite the whole file can also cut both log and audit; a head kept elsewhere (`readmit audit head`)
    shows that too.
    """
    import msgspec

    from readmit.cli.output import emit, progress, show, shown
    from readmit.records.canonical import decode
    from readmit.records.decisions import Envelope
    from readmit.workspace.auditing import audit as check

    outside = None if kept is None else decode(kept.read(), Envelope, what=f"--head: {errors.name_of(kept)}")
    with invocation.open() as workspace:
        total = workspace.epoch + workspace.log.audit.head.seq
        with progress("Verifying", total) as watch:
            report = check(workspace.log, kept=outside, watch=watch)
    if invocation.json:
        emit({"intact": report.intact, **msgspec.to_builtins(report)})
    else:
        show(f"Rows: {report.rows}, signed up to {report.signed}. Returns: {report.returns}. Events: {report.events}.")
        show(
            *(f"broken: {shown(problem)}" for problem in report.problems)
            if report.problems
            else ("The audit is intact.",)
        )
    return Status.OK if report.intact else Status.UNVERIFIED


@options.output_file("Write the head to this file.")
def head(invocation: Invocation, /, *, output: str | None) -> None:
    """Print the newest signed head of the audit, to be kept outside the store."""
    from readmit.records.errors import UnknownError

    with invocation.open() as workspace:
        signed = workspace.log.audit.signed_head()
    if signed is None:
        raise UnknownError(f"workspace {invocation.workspace!r} has no signed head yet: the first return makes one")
    _write([signed[1]], output, invocation)


@click.option(
    "--format", "form", type=click.Choice(("jsonl", "prov")), default="jsonl", show_default=True, help="Format."
)
@click.option("--return", "return_id", type=Reference("return"), metavar="RETURN", help="Only this return.")
@options.output_file("Write to this file.")
def export(invocation: Invocation, /, *, form: str, return_id: str | None, output: str | None) -> None:
    """Export the audit as JSON lines, or log and audit as W3C PROV (PROV-JSON)."""
    from readmit.cli.output import progress
    from readmit.workspace.export import json_lines, prov_document

    with invocation.open() as workspace, progress("Exporting", alone=output is not None) as watch:
        if form == "prov":
            document = prov_document(workspace.log, return_id, watch=watch)
            _write([str(document.serialize(format="json", indent=2)).encode()], output, invocation)
        else:
            _write(_watched(json_lines(workspace.log, return_id), watch), output, invocation)


def _watched(lines: Iterable[bytes], watch: Callable[[], object]) -> Iterator[bytes]:
    for line in lines:
        yield line
        watch()


def _write(lines: Iterable[bytes], output: str | None, invocation: Invocation) -> None:
    """To a file, or to standard output with every character visible: rows may quote user text."""
    from readmit.cli.output import emit
    from readmit.seal.render import escaped_json

    if output is not None:
        with Path(output).open("wb") as file:
            file.writelines(line + b"\n" for line in lines)
        if invocation.json:
            emit({"output": output})
        return
    for line in lines:
        click.echo(escaped_json(line.decode()), file=sys.stdout)
