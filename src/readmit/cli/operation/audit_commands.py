"""``readmit audit``: past returns, whether the trail holds, and its export."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
import msgspec

from readmit.cli import options
from readmit.cli.command import CommandGroup, Invocation
from readmit.cli.decision_words import COLORS, decision_json, report_parts
from readmit.cli.inquiry.verify_command import named_keys
from readmit.cli.output import emit, progress, show, table
from readmit.cli.references import Reference
from readmit.cli.status import Status
from readmit.log.location import exists
from readmit.records.acts.event import Event, EventKind
from readmit.records.base import nfc
from readmit.records.canonical import canonical, without_mark
from readmit.records.decisions import Returned
from readmit.records.error_types import StoreError, UnknownError
from readmit.state.past_returns import recorded
from readmit.text.english import counted
from readmit.text.escapes import escaped_json, one_line
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from readmit.trust.notes import NoteKey


@click.group("audit", cls=CommandGroup)
def audit() -> None:
    """Past returns, whether the audit holds, and its export."""


def returns_of(workspace: Workspace) -> Iterator[tuple[Event, Returned]]:
    """Every return in the log, in order."""
    for event in desk_of(workspace).log.tail():
        if isinstance(event.payload, Returned):
            yield event, event.payload


@audit.command("list", examples=("readmit audit list", "readmit audit list --json"))
def list_returns(invocation: Invocation, /) -> None:
    """Every return of the workspace, in order."""
    from rich.text import Text

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
                "exposed": desk_of(workspace).log.named(EventKind.EXPOSE, one.request.return_id) is not None,
                "acknowledged": desk_of(workspace).log.named(EventKind.ACKNOWLEDGE, one.request.return_id) is not None,
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
    view = workspace.returned(return_id).decision.view
    return view is not None and view.partial


@audit.command("show", examples=("readmit audit show RETURN", "readmit audit show RETURN --json"))
@click.argument("return_id", type=Reference("return"), metavar="RETURN")
@click.option("--envelope", is_flag=True, help="Print the signed view and nothing else.")
def show_return(invocation: Invocation, /, *, return_id: str, envelope: bool) -> None:
    """One return: who asked, the decision, every duty and candidate, why it fell short, and the view's deliveries."""
    with invocation.open() as workspace:
        returned, decision = recorded(desk_of(workspace).log, return_id)
        stored = desk_of(workspace).log.audit.decision(return_id)
        past = workspace.returned(return_id)
        entries, drafts = past.dispositions, past.drafts()
        why = past.why() if past.falls_short else None
        handed = [
            {"seq": row.seq, "kind": row.kind, **msgspec.json.decode(row.body)}
            for row in desk_of(workspace).log.audit.rows(first=1 if stored is None else stored.last + 1)
            if row.return_id == return_id
        ]
    if envelope:
        if stored is None or stored.seal is None:
            raise UnknownError(f"return {return_id!r} was {decision.kind}: it has no signed view; leave out --envelope")
        click.echo(canonical(stored.envelope()))
    elif invocation.json:
        more = {"request": returned.request, "drafts": drafts, "exposures": handed}
        emit(decision_json(decision, entries, why) | more)
    else:
        who = returned.request.identity
        show(
            one_line(f"{who.principal} as {who.role} for {who.task}, epoch {decision.epoch}, {returned.request.now}"),
            *report_parts(decision, entries, why, drafts=drafts, store=invocation.store_options),
            "",
            *map(_handed, handed),
        )


def _handed(row: dict[str, Any]) -> str:
    """One delivery, refusal or acknowledgement of a view."""
    words = f"{row['kind']}{' once more' if row.get('again') else ''}: row {row['seq']}"
    return f"{words} {', '.join(row.get('refused', ()))}".rstrip()


@audit.command(
    "verify",
    examples=("readmit audit verify", "readmit audit verify --head kept.head", "readmit audit verify --full"),
    ends_with=(Status.UNVERIFIED,),
)
@click.option("--head", "kept", type=click.File("rb"), metavar="FILE", help="A signed head that was kept elsewhere.")
@click.option(
    "--key", "keys", multiple=True, envvar="READMIT_TRUST", metavar="PEM|KEY|FILE",
    help="Key of the log: a PEM file, a verifier key as `readmit keys list` shows it, or a file with one on each line. "
    "Repeatable. Default: what is pinned with the signing keys. [env: READMIT_TRUST, separated by spaces]",
)  # fmt: skip
@click.option("--full", is_flag=True, help="Look at everything again, and decide again what was handed over.")
def verify_log(invocation: Invocation, /, *, kept: BinaryIO | None, keys: tuple[str, ...], full: bool) -> Status:
    """Check that events, audit rows and indexes are those that were signed, and that nothing was rolled back.

    The store is only read. The check goes on from where the last one ended, if that is kept with the signing keys.
    A head that was kept elsewhere (`readmit audit head`) also shows a store that was set back together with its keys.
    """
    from readmit.diagnosis.verification.log_verifier import LogVerifier

    if not exists(invocation.db):
        raise StoreError(f"--db: {invocation.store} does not exist; run `readmit init --db {invocation.store}`")
    outside = None if kept is None else without_mark(kept.read())
    name = nfc(invocation.workspace)
    with (
        closing(LogVerifier(invocation.db, name, trusted=_named(keys))) as verifier,
        progress("Verifying", verifier.total(full=full)) as watch,
    ):
        report = verifier.verify(kept=outside, full=full, watch=watch)
    if invocation.json:
        said = msgspec.to_builtins(report)
        del said["reached"]
        emit({"intact": report.intact, **said})
    else:
        show(
            f"Commits: {report.commits}. Events: {report.events}. Rows: {report.rows}. Returns: {report.returns}.",
            *(f"note: {one_line(note)}" for note in report.notes),
            *(f"broken: {one_line(problem)}" for problem in report.problems),
        )
        if report.kept is not None:
            show(f"The log extends the head that was kept, of {counted(report.kept, 'commit')}.")
        if report.intact:
            show("The log and its audit are intact.")
    return Status.OK if report.intact else Status.UNVERIFIED


def _named(words: tuple[str, ...]) -> list[bytes | NoteKey]:
    raw, logs = named_keys(words)
    return [*raw.values(), *logs]


@audit.command(
    "export",
    examples=("readmit audit export --output audit.jsonl", "readmit audit export --format prov --return RETURN"),
)
@click.option(
    "--format", "form", type=click.Choice(("jsonl", "prov")), default="jsonl", show_default=True, help="Format."
)
@click.option("--return", "return_id", type=Reference("return"), metavar="RETURN", help="Only this return.")
@options.output_file("Write to this file.")
def export_audit(invocation: Invocation, /, *, form: str, return_id: str | None, output: str | None) -> None:
    """Export the audit as JSON lines, or log and audit as W3C PROV (PROV-JSON)."""
    from readmit.diagnosis.export import json_lines, prov_document

    with invocation.open() as workspace, progress("Exporting", alone=output is not None) as watch:
        if form == "prov":
            document = prov_document(desk_of(workspace).log, return_id, watch=watch)
            _write([str(document.serialize(format="json", indent=2)).encode()], output, invocation)
        else:
            # A pipe that closes early leaves the lines half read, within one state of the store.
            with closing(json_lines(desk_of(workspace).log, return_id)) as lines:
                _write(_watched(lines, watch), output, invocation)


def _watched(lines: Iterable[bytes], watch: Callable[[], object]) -> Iterator[bytes]:
    for line in lines:
        yield line
        watch()


def _write(lines: Iterable[bytes], output: str | None, invocation: Invocation) -> None:
    """To a file, or to standard output with every character visible: rows may quote user text."""
    if output is not None:
        with Path(output).open("wb") as file:
            file.writelines(line + b"\n" for line in lines)
        if invocation.json:
            emit({"output": output})
        return
    for line in lines:
        click.echo(escaped_json(line.decode()), file=sys.stdout)
