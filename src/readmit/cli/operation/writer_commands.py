"""``readmit writers``: keys of principals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from readmit.cli import options
from readmit.cli.command import CommandGroup, Invocation
from readmit.cli.output import table
from readmit.records.error_types import SealError
from readmit.text.escapes import one_line
from readmit.trust.private_keys import public_pem
from readmit.trust.signer import make_signer


@click.group("writers", cls=CommandGroup)
def writers() -> None:
    """Keys that principals sign with: make, enrol, rotate, revoke, list."""


@writers.command("new", store=False, examples=("readmit writers new bob.pem",))
@click.argument("file", type=click.Path(dir_okay=False), metavar="FILE")
def new_writer_key(invocation: Invocation, /, *, file: str) -> None:
    """Make a key in a new file, for --signer, and write its public half to FILE.pub, for `enrol`."""
    made = make_signer(file)
    public = Path(file).with_suffix(".pub")
    public.write_text(public_pem(made.public), encoding="ascii")
    invocation.say(
        {"key": made.keyid, "file": file, "public": str(public)},
        f"Made key {made.keyid} in {file}; let the owner enrol {public}",
    )


@writers.command("list", examples=("readmit writers list",))
def list_writers(invocation: Invocation, /) -> None:
    """Every key that was ever enrolled, and the epochs at which its signatures count."""
    with invocation.open() as workspace:
        found = workspace.admin.writers.enrolled()
    said = [{"principal": one.principal, "key": one.key, "first": one.first + 1, "end": one.end} for one in found]
    rows = [(one.principal, one.key[:16], str(one.first + 1), "" if one.end is None else str(one.end)) for one in found]
    invocation.say({"writers": said}, table(("principal", "key", "from epoch", "before epoch"), rows))


@writers.command(
    "enrol",
    examples=("readmit writers enrol owner owner.pub --signer owner.pem", "readmit writers enrol bob bob.pub"),
)
@click.argument("principal", metavar="NAME")
@click.argument("public", type=click.Path(), metavar="PUBLIC_KEY")
@click.option("--reason", default="", metavar="TEXT", help="Why; the log keeps it.")
@options.governor
def enrol_writer(invocation: Invocation, /, *, principal: str, public: str, **given: Any) -> None:
    """Let a principal sign with a key, besides those it has. PUBLIC_KEY is a PEM file.

    The owner enrols its own first key with --signer and that key. From then on, the owner and overseers sign every
    change of policy and keys.
    """
    _let_sign(invocation, principal, public, given, rotate=False)


@writers.command("rotate", examples=("readmit writers rotate bob new.pub",))
@click.argument("principal", metavar="NAME")
@click.argument("public", type=click.Path(), metavar="PUBLIC_KEY")
@click.option("--reason", default="rotated", metavar="TEXT", help="Why; the log keeps it.")
@options.governor
def rotate_writer(invocation: Invocation, /, *, principal: str, public: str, **given: Any) -> None:
    """Let a principal sign with a new key instead of those it has. What they signed so far still counts."""
    _let_sign(invocation, principal, public, given, rotate=True)


def _let_sign(invocation: Invocation, principal: str, public: str, given: dict[str, Any], *, rotate: bool) -> None:
    with invocation.acting(given["by"]) as workspace:
        writers = workspace.admin.writers
        key = (writers.rotate if rotate else writers.enrol)(principal, public, **given)
        epoch = workspace.epoch
    alone = ", and with no other key," if rotate else ""
    invocation.say(
        {"principal": principal, "key": key, "epoch": epoch},
        one_line(f"{principal} signs with {key}{alone} from epoch {epoch + 1} on"),
    )


@writers.command("revoke", examples=('readmit writers revoke 3f2a91 --since 412 --reason "laptop stolen"',))
@click.argument("key", metavar="KEY")
@click.option("--since", type=click.IntRange(1), metavar="EPOCH", help="First epoch that does not count. Default: now.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; the log keeps it.")
@options.governor
def revoke_writer(invocation: Invocation, /, *, key: str, **given: Any) -> None:
    """Count no signature of a key from an epoch on. The beginning of the key's id is enough."""
    with invocation.acting(given["by"]) as workspace:
        found = [one.key for one in workspace.admin.writers.enrolled() if one.key.startswith(key)]
        if len(found) > 1:
            raise SealError(f"{key} is the beginning of {len(found)} keys; give more of it")
        workspace.admin.writers.revoke(found[0] if found else key, **given)
        epoch = workspace.epoch
    invocation.say(
        {"key": found[0], "since": given["since"] or epoch, "epoch": epoch},
        f"Signatures of {found[0]} count only before epoch {given['since'] or epoch}",
    )
