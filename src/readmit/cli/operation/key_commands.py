"""``readmit keys``: the signing keys of a workspace, and the keys it trusts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from readmit.cli import options
from readmit.cli.command import CommandGroup, Invocation
from readmit.cli.output import emit, table
from readmit.cli.references import KEY, Reference
from readmit.log.location import accept_store
from readmit.records.acts.event import KeyChange
from readmit.records.error_types import SealError
from readmit.trust.private_keys import public_pem
from readmit.trust.trusted_keys import public_of, signing_keys
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from datetime import timedelta


@click.group("keys", cls=CommandGroup)
def keys() -> None:
    """Signing keys: list, rotate, revoke, export; and which store is at a path."""


@keys.command("list", examples=("readmit keys list",))
def list_keys(invocation: Invocation, /) -> None:
    """Every key the workspace ever trusted, the newest first."""
    with invocation.open() as workspace:
        found = _keys(workspace)
    rows = [
        (one["key"][:16], one["status"], (one["until"] or "")[:19], str(one["since"]), one["reason"]) for one in found
    ]
    # On lines of their own, to be copied whole to those who verify.
    active = (f"verifier key: {one['verifier']}" for one in found if one["status"] == "active")
    columns = ("key", "status", "until", "since epoch", "reason")
    invocation.say({"keys": found}, table(columns, rows, prose="reason"), *active)


def _keys(workspace: Workspace) -> list[dict[str, Any]]:
    from readmit.diagnosis.verification.head_proofs import verifier_key

    changes = workspace.admin.keys.changes()
    active, trusted = signing_keys(changes), workspace.admin.keys.trusted(desk_of(workspace).writer.clock())
    found: dict[str, dict[str, Any]] = {}
    for event in changes:
        if not isinstance(event.payload, KeyChange):
            continue
        change = event.payload
        one = found.setdefault(change.key, {"key": change.key, "since": event.epoch, "until": None, "reason": ""})
        if change.change == "trust":
            one["verifier"] = verifier_key(desk_of(workspace).log, public_of(change)).vkey
        one["reason"] = change.reason or one["reason"]
        if change.until is not None:
            one["until"] = change.until.isoformat()
        if change.change == "revoke":
            one["status"] = "revoked"
    for key, one in found.items():
        if key in trusted:
            one["status"] = "active" if key in active else "retiring"
        else:
            one.setdefault("status", "retired")
    return list(reversed(found.values()))


@keys.command("rotate", examples=("readmit keys rotate", "readmit keys rotate --overlap 1h"))
@click.option(
    "--overlap",
    type=options.DURATION,
    default="1d",
    show_default=True,
    metavar="DURATION",
    help="How long old views stay good.",
)
@click.option("--lost", is_flag=True, help="No old key is left to sign for the new one: take the log as it is found.")
@options.governor
def rotate_key(invocation: Invocation, /, *, overlap: timedelta, lost: bool, by: str | None) -> None:
    """Sign with a new key from now on.

    The old key signs for the new one, so verifiers elsewhere can follow. With --lost they cannot: give them the new
    key.
    """
    with invocation.acting(by) as workspace:
        made = workspace.admin.keys.rotate(by=by, overlap=overlap, lost=lost)
    invocation.say(
        {"key": made}, f"Signing with {made} from now on; views of older keys can be exposed for another {overlap}"
    )


@keys.command("revoke", examples=('readmit keys revoke 3f2a91 --reason "laptop stolen"',))
@click.argument("key", type=Reference(KEY))
@click.option("--reason", required=True, metavar="TEXT", help="Why; the log keeps it.")
@options.governor
def revoke_key(invocation: Invocation, /, *, key: str, reason: str, by: str | None) -> None:
    """Reject everything that a key signed, from now on."""
    with invocation.acting(by) as workspace:
        workspace.admin.keys.revoke(key, by=by, reason=reason)
        left = any(one["status"] == "active" for one in _keys(workspace))
    invocation.say(
        {"key": key, "active_left": left},
        f"Revoked {key}" + ("" if left else "; no key is left to sign with: run `readmit keys rotate`"),
    )


@keys.command("accept", examples=("readmit keys accept --db team.db",))
def accept_store_at(invocation: Invocation, /) -> None:
    """Accept the store that is at --db now, in place of the one that was seen there before.

    A store has a random id. Another id at a known path is refused, because anybody who can write the folder can
    put a store of their own there. Run this only if you replaced or removed it yourself.
    """
    store, before = accept_store(invocation.db)
    now = "a new store may begin there" if store is None else f"store {store} belongs there"
    invocation.say(
        {"db": invocation.store, "store": store, "before": before},
        f"{invocation.store}: {now}; before: {before or 'none'}.",
    )


@keys.command("export", examples=("readmit keys export --output team.pem",))
@click.argument("key", type=Reference(KEY), required=False)
@click.option("--verifier", is_flag=True, help="Print it as a verifier key, for `readmit witness --trust`.")
@options.output_file("Write the key to this file.")
def export_key(invocation: Invocation, /, *, key: str | None, verifier: bool, output: str | None) -> None:
    """Print a public key in PEM, for `readmit verify --key`. Default: the key that signs now."""
    from readmit.diagnosis.verification.head_proofs import verifier_key

    with invocation.open() as workspace:
        trusted = workspace.admin.keys.trusted(desk_of(workspace).writer.clock())
        name = desk_of(workspace).keys.signer().keyid if key is None else key
    if name not in trusted:
        raise SealError(f"key {name} is no longer trusted; `readmit keys list` shows which are")
    pem, vkey = public_pem(trusted[name]), verifier_key(desk_of(workspace).log, trusted[name]).vkey
    form = f"{vkey}\n" if verifier else pem
    if output is not None:
        Path(output).write_text(form, encoding="ascii")
    if invocation.json:
        emit({"key": name, "pem": pem, "verifier": vkey})
    elif output is None:
        click.echo(form, nl=False)
