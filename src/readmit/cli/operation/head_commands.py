"""``readmit audit head`` and ``prove``: what leaves the store to be kept and checked elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import click

from readmit.cli import options
from readmit.cli.command import Invocation, command
from readmit.cli.output import emit
from readmit.cli.references import resolve_id
from readmit.records.acts.event import EventKind
from readmit.records.acts.kinds import KINDS
from readmit.records.canonical import without_mark
from readmit.records.error_types import UnknownError
from readmit.trust.notes import NoteKey
from readmit.workspace.workspace import Workspace, desk_of

_LONGEST_EPOCH = 15
_SPACES = ("item", "evidence", "observe", "return")


_witness = options.bundled(
    click.option("--witness", metavar="URL", help="Have this witness cosign the head."),
    click.option(
        "--witness-key", "witness_keys", multiple=True, metavar="KEY",
        help="Verifier key of the witness: keep only its cosignature. Repeatable.",
    ),
)  # fmt: skip


@command(
    "head",
    examples=("readmit audit head --output kept-head.txt", "readmit audit head --witness https://witness.example"),
)
@_witness
@options.output_file("Write the head to this file.")
def sign_head(
    invocation: Invocation, /, *, witness: str | None, witness_keys: tuple[str, ...], output: str | None
) -> None:
    """Print the newest signed head of the log, to be kept outside the store (c2sp.org/tlog-checkpoint).

    A witness cosigns it only if the log extends what the witness saw: a rollback or a fork is refused.
    """
    with invocation.open() as workspace:
        note = _head(workspace, witness, witness_keys)
        # A head that leaves the store must not be newer than what this machine remembers of it.
        workspace.admin.keys.pin.flush()
    _write(note, output, invocation, "head")


@command(
    "prove",
    examples=("readmit audit prove h0 --output proof.json", "readmit audit prove 12 --head kept-head.txt"),
)
@click.argument("event", metavar="EVENT")
@click.option(
    "--head",
    "kept",
    type=click.File("rb"),
    metavar="FILE",
    help="Prove under this head, which was kept. Default: the newest.",
)
@_witness
@options.output_file("Write the proof to this file.")
def prove_event(
    invocation: Invocation, /, *, event: str, kept: BinaryIO | None, witness: str | None,
    witness_keys: tuple[str, ...], output: str | None,
) -> None:  # fmt: skip
    """Prove that an event is in the log: one file, which `readmit verify` checks without the store.

    EVENT is an epoch, or the id of an item, an observation or a return.
    """
    from readmit.diagnosis.verification.head_proofs import proof_of

    if kept is not None and witness is not None:
        raise click.UsageError("give either --head or --witness")
    with invocation.open() as workspace:
        epoch = _epoch(workspace, event)
        note = _head(workspace, witness, witness_keys) if kept is None else without_mark(kept.read())
        proof = proof_of(desk_of(workspace).log, epoch, note)
    _write(proof, output, invocation, "proof")


def _head(workspace: Workspace, witness: str | None, witness_keys: tuple[str, ...]) -> bytes:
    from readmit.diagnosis.verification.head_proofs import signed_head, witnessed_head

    if witness is None:
        if witness_keys:
            raise click.UsageError("--witness-key has no use without --witness")
        return signed_head(desk_of(workspace).log)
    return witnessed_head(desk_of(workspace).log, witness, keys=[NoteKey.from_vkey(word) for word in witness_keys])


def _epoch(workspace: Workspace, event: str) -> int:
    """The epoch that a user means. A number is an epoch, unless an item is named exactly so."""
    named = desk_of(workspace).log.named(EventKind.RECORD, event)
    if named is None and event.isascii() and event.isdigit() and len(event) <= _LONGEST_EPOCH:
        return int(event)
    found = None if named is not None else resolve_id(workspace, _SPACES, event, label="EVENT")
    if found is not None and found.space == "evidence":
        named = desk_of(workspace).log.evidence(found.name)
    elif found is not None:
        kind = next(kind for kind in KINDS.values() if kind.prefix == found.space)
        named = desk_of(workspace).log.named(kind, found.name)
    if named is None:
        raise UnknownError(f"EVENT: no epoch and no item, observation or return {event!r}; `readmit log` lists them")
    return named.epoch


def _write(data: bytes, output: str | None, invocation: Invocation, what: str) -> None:
    if output is not None:
        Path(output).write_bytes(data)
        if invocation.json:
            emit({"output": output})
    elif invocation.json:
        emit({what: data.decode()})
    else:
        click.echo(data.decode(), nl=False)
