"""``readmit verify``: a signed view, or the proof of an event, from a file."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from readmit.cli import error_lines
from readmit.cli.command import Invocation, command
from readmit.cli.output import emit
from readmit.cli.status import Status
from readmit.records.acts.forgotten import FORGOTTEN
from readmit.records.canonical import decode, without_mark
from readmit.records.decisions import Envelope, ReturnView
from readmit.records.error_types import RecordError, SealError
from readmit.text.escapes import json_text, one_line
from readmit.trust.notes import LogCheckpoint, NoteKey, note_text, read_vkeys
from readmit.trust.statement import open_either
from readmit.trust.trusted_keys import keyid_of
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from readmit.records.retractions import RetractionView
    from readmit.trust.proofs import ProvenEvent

# A file of such a name can be given as ./NAME.
_VKEY = re.compile(r"(?!\./)[^+]+\+[0-9a-f]{8}\+")


@command(
    "verify",
    examples=(
        "readmit verify view.json --key team.pem",
        "readmit verify view.json",
        "readmit verify proof.json --key team.pem --witness KEY",
    ),
    ends_with=(Status.UNVERIFIED,),
)
@click.argument("file", type=click.File("rb"))
@click.option(
    "--key", "keys", multiple=True, envvar="READMIT_TRUST", metavar="PEM|KEY",
    help="Public key to verify under, offline: a PEM file, a log's verifier key, or a file with one on each line. "
    "Repeatable. Default: the keys that the workspace trusts now. [env: READMIT_TRUST]",
)  # fmt: skip
@click.option(
    "--witness", "witnesses", multiple=True, metavar="KEY",
    help="Verifier key of a witness that must have cosigned the head of a proof. Repeatable.",
)  # fmt: skip
def verify_file(
    invocation: Invocation, /, *, file: BinaryIO, keys: tuple[str, ...], witnesses: tuple[str, ...]
) -> Status:
    """Check a signed view (a DSSE envelope) or the proof of an event, in a file, - for stdin.

    A view was issued in this form; `readmit expose` checks whether it may still be acted on. A proof says that an
    event is in the workspace's log. With --key, no store is opened.
    """
    from readmit.trust.proofs import is_proof

    data = without_mark(file.read())
    cosigners = [NoteKey.from_vkey(word) for word in witnesses]
    raw, logs = named_keys(keys) if keys else (_trusted(invocation), [])
    proof = is_proof(data)
    if cosigners and not proof:
        raise click.UsageError("--witness is for the proof of an event; a view has no cosignatures")
    try:
        if proof:
            said, described = "The proof holds.", _proven(data, raw, logs, cosigners)
        else:
            raw |= {keyid_of(key.public): key.public for key in logs}
            said, described = "The signature is valid.", _viewed(data, error_lines.name_of(file), raw)
    except (SealError, RecordError) as error:
        if invocation.json:
            emit({"verified": False, "problem": str(error)})
        else:
            click.echo(f"does not verify: {one_line(str(error))}", err=True)
        return Status.UNVERIFIED
    invocation.say(
        {"verified": True, **described}, said, *(f"{name}: {_words(value)}" for name, value in described.items())
    )
    return Status.OK


def _words(value: object) -> str:
    return one_line(json_text(value) if isinstance(value, dict) else str(value))


def named_keys(keys: tuple[str, ...]) -> tuple[dict[str, bytes], list[NoteKey]]:
    """Public keys by id from PEM files, and verifier keys with the names of their logs."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    raw, logs = {}, []
    for word in keys:
        if _VKEY.match(word):
            logs.append(NoteKey.from_vkey(word))
            continue
        data = without_mark(Path(word).read_bytes())
        try:
            key = load_pem_public_key(data)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if isinstance(key, Ed25519PublicKey):
            public = key.public_bytes_raw()
            raw[keyid_of(public)] = public
            continue
        try:
            logs += read_vkeys(data.decode())
        except (SealError, UnicodeDecodeError):
            raise SealError(
                f"--key: {word} is not an Ed25519 public key in PEM, and not a list of verifier keys; "
                "see `readmit keys export`"
            ) from None
    return raw, logs


def _trusted(invocation: Invocation) -> dict[str, bytes]:
    with invocation.open() as workspace:
        return dict(workspace.admin.keys.trusted(desk_of(workspace).writer.clock()))


def _proven(data: bytes, raw: dict[str, bytes], logs: list[NoteKey], witnesses: list[NoteKey]) -> dict[str, Any]:
    from readmit.trust.proofs import check_proof, read_proof

    # A bare key has no name: it counts for the log that the proof is about.
    origin = LogCheckpoint.from_text(note_text(read_proof(data).note.encode())).origin
    named = [NoteKey(origin, public) for public in raw.values()]
    return _of_event(check_proof(data, [*logs, *named], witnesses))


def _of_event(event: ProvenEvent) -> dict[str, Any]:
    said = ("commit", "epoch", "id", "kind", "by", "at", "given", "learnt")
    return {
        "log": event.origin,
        "commits": event.size,
        **{name: getattr(event, name) for name in said},
        "says": FORGOTTEN if event.body is None else decode(event.body, dict[str, Any], what="body"),
        "cosigned": {one.key.name: _moment(one.time) for one in event.signatures if one.time is not None},
    }


def _moment(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError):  # the format allows for times beyond the year 9999
        return f"{seconds} seconds after 1970"


def _viewed(data: bytes, name: str, keys: dict[str, bytes]) -> dict[str, Any]:
    return _described(open_either(decode(data, Envelope, what=name), keys))


def _described(view: ReturnView | RetractionView) -> dict[str, Any]:
    said = {
        "return": view.return_id,
        "workspace": view.identity.workspace,
        "principal": view.identity.principal,
        "role": view.identity.role,
        "task": view.identity.task,
        "instance": view.instance,
        "epoch": view.epoch,
        "issued": view.issued.isoformat(),
        "expires": view.expires.isoformat(),
        "expired": view.expires <= datetime.now(UTC),
        "admitted": isinstance(view, ReturnView),
        "retracted": [one.id for one in view.retractions.listed],
    }
    if isinstance(view, ReturnView):
        said |= {
            "partial": view.partial,
            "withheld": list(view.withheld),
            "items": [item.id for item in view.items],
        }
    return said
