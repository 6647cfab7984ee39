"""``readmit witness``: a second machine that cosigns the heads of logs, and stops rollback and forks."""

from __future__ import annotations

import time
from pathlib import Path

import click

from readmit.cli.command import Invocation, command
from readmit.cli.options import listen_address
from readmit.records.error_types import WitnessError
from readmit.text.escapes import one_line
from readmit.trust.notes import NoteKey, read_vkeys


@command(
    "witness",
    store=False,
    examples=(
        "readmit witness --state witness.db --trust @logs.txt",
        "readmit witness --state witness.db --listen 127.0.0.1:8420 --trust KEY",
    ),
)
@click.option("--listen", default="127.0.0.1:8420", show_default=True, metavar="HOST:PORT", help="Where to listen.")
@click.option(
    "--state", required=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="What was cosigned, with the key beside it in FILE.keys. Made by the first start.",
)  # fmt: skip
@click.option(
    "--trust", "trusted", multiple=True, required=True, metavar="KEY|@FILE",
    help="Verifier key of a log to cosign, or a file with one on each line. Repeatable.",
)  # fmt: skip
@click.option("--name", metavar="NAME", help="Name in cosignatures. Default: witness/ and the start of the key's id.")
def serve_witness(
    invocation: Invocation, /, *, listen: str, state: Path, trusted: tuple[str, ...], name: str | None
) -> None:
    """Cosign the heads of logs, as long as each extends the one before (c2sp.org/tlog-witness).

    Speaks HTTP until it is stopped. Across machines, put HTTPS or a tunnel in front of it. Keep the state where
    nobody who can write the logs can write it.
    """
    from readmit.trust.witness.cosigner import WitnessServer, open_witness

    logs = [key for text in trusted for key in _keys(text)]
    host, port = listen_address(listen)
    made = open_witness(state, logs, lambda: int(time.time()), name)
    try:
        server = WitnessServer((host, port), made, lambda line: click.echo(one_line(line), err=True))
    except OSError as error:
        raise WitnessError(f"listen: cannot listen on {listen}: {error.strerror}; choose another address") from None
    with server:
        url = f"http://{f'[{host}]' if ':' in host else host}:{server.server_address[1]}"
        names = [key.name for key in logs]
        invocation.say(
            {"key": made.key.vkey, "url": url, "logs": names},
            f"Key: {made.key.vkey}",
            f"Listening on {url}. Logs: {', '.join(map(one_line, names))}.",
        )
        server.serve_forever()


def _keys(text: str) -> list[NoteKey]:
    """The key that an option gives, or those of a file."""
    if text.startswith("@"):
        return read_vkeys(Path(text[1:]).read_text(encoding="utf-8-sig"))
    return [NoteKey.from_vkey(text)]
