"""``readmit credentials``: API keys of callers of ``readmit serve``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from readmit.cli import options
from readmit.cli.command import CommandGroup, Invocation
from readmit.cli.output import plain, table
from readmit.records.error_types import RecordError
from readmit.server.access.api_keys import ApiKeys
from readmit.server.caller import RIGHTS
from readmit.state.authority import host_time
from readmit.text.escapes import format_moment, one_line
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from datetime import timedelta

    from readmit.server.access.api_keys import ApiKey


@click.group("credentials", cls=CommandGroup)
def credentials() -> None:
    """API keys of those who call `readmit serve`: add, list, revoke."""


@credentials.command(
    "add",
    examples=(
        "readmit credentials add A1 --role planner",
        "readmit credentials add ops --right inspect --right admin --expires 1d",
    ),
)
@click.argument("principal", metavar="PRINCIPAL")
@click.option("--role", "roles", multiple=True, metavar="NAME", help="Role it may act in as an agent. Repeatable.")
@click.option(
    "--right", "rights", multiple=True, type=click.Choice(RIGHTS), default=("agent",), show_default=True,
    help="agent: depart, return, and read and draft as itself. write: record as itself. inspect: read everything. "
    "admin: act as the owner. Repeatable.",
)  # fmt: skip
@click.option(
    "--also", multiple=True, metavar="NAME", help="Workspace that it may reach besides --workspace. Repeatable."
)
@click.option(
    "--expires", type=options.DURATION, default="90d", show_default=True, metavar="DURATION", help="How long it counts."
)
@click.option(
    "--per-minute",
    type=click.IntRange(1, 10_000_000),
    metavar="N",
    help="Requests a minute. Default: the server's limit.",
)
@click.option("--note", default="", metavar="TEXT", help="What it is for; the list shows it.")
def add_credential(
    invocation: Invocation, /, *, principal: str, also: tuple[str, ...], expires: timedelta, **given: Any
) -> None:
    """Make an API key for a principal, and print it once. A running server knows it at once.

    The key is stored as a digest, in the folder of the store's signing keys. With it one acts as the principal, in
    the roles and with the rights that are named here.
    """
    with invocation.open() as workspace:
        now, keys = host_time(), api_keys_of(workspace)
        try:
            until = now + expires
        except OverflowError:
            raise RecordError("expires: that is longer than a date can reach; give a shorter time, as 90d") from None
        made, key = keys.add(principal, workspaces=(workspace.name, *also), now=now, expires=until, **given)
    invocation.say(
        {"key": key, **_said(made)},
        f"Key {made.id} of {one_line(made.principal)}, until {format_moment(made.expires)}. It is shown only now:",
        "",
        f"  {key}",
    )


@credentials.command("list", examples=("readmit credentials list",))
def list_credentials(invocation: Invocation, /) -> None:
    """Every key that was made, those that no longer count too. Never a secret."""
    with invocation.open() as workspace:
        found, now = api_keys_of(workspace).every(), host_time()
    columns = ("key", "principal", "rights", "roles", "workspaces", "counts", "note")
    rows = [
        tuple(map(one_line, (one.id, one.principal, *map(", ".join, (one.rights, one.roles, one.workspaces)),
                             _until(one, no_longer=one.is_over(now)), one.note)))
        for one in found
    ]  # fmt: skip
    none = f"No key was made yet. Make one: `readmit credentials add NAME --role ROLE{invocation.store_options}`"
    shown = table(columns, rows, prose="note") if found else none
    invocation.say({"credentials": [_said(one) for one in found]}, shown)


@credentials.command("revoke", examples=("readmit credentials revoke 3f2a91",))
@click.argument("key", metavar="KEY")
def revoke_credential(invocation: Invocation, /, *, key: str) -> None:
    """Revoke a key by its id, of which the beginning is enough. A running server refuses it at once."""
    with invocation.open() as workspace:
        revoked = api_keys_of(workspace).revoke(key, now=host_time())
    invocation.say(_said(revoked), f"Revoked {revoked.id} of {one_line(revoked.principal)}")


def api_keys_of(workspace: Workspace) -> ApiKeys:
    """The API keys of a workspace's store."""
    folder = desk_of(workspace).keys.folder
    if folder is None:
        raise RecordError("db: a store in memory has no keys; name a file or a server")
    return ApiKeys(folder)


def _said(key: ApiKey) -> dict[str, Any]:
    return {name: value for name, value in plain(key).items() if name != "sha256"}


def _until(key: ApiKey, *, no_longer: bool) -> str:
    if key.revoked is not None:
        return f"revoked {format_moment(key.revoked)}"
    return f"{'expired' if no_longer else 'until'} {format_moment(key.expires)}"
