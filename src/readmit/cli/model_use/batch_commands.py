"""``readmit batch``: the progress of a directory of requests and answers, its problems, and a server over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from readmit.cli.command import CommandGroup, Invocation
from readmit.cli.options import listen_address
from readmit.cli.output import emit, plain, show
from readmit.cli.status import Status
from readmit.records.error_types import ModelError
from readmit.text.english import counted
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from readmit.models.batch import BatchStatus


@click.group("batch", cls=CommandGroup)
def batch() -> None:
    """Models that answer by file: requests.jsonl out, responses*.jsonl in."""


@batch.command("status", store=False, examples=("readmit batch status answers",), ends_with=(Status.WAITING,))
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.option("--waiting", is_flag=True, help="Print the request lines that have no answer, to send next.")
def count_answers(invocation: Invocation, /, *, directory: str, waiting: bool) -> Status:
    """Count requests, answers, failures and what still waits. Ends with 6 while something waits."""
    from readmit.models import batch as files

    found = files.batch_status(directory)
    if waiting:
        for line in files.unanswered_requests(directory):
            click.echo(line)
    else:
        invocation.say(found, _line(found))
    return Status.WAITING if found.waiting else Status.OK


@batch.command("check", store=False, examples=("readmit batch check answers --json",), ends_with=(Status.UNVERIFIED,))
@click.argument("directory", type=click.Path(), metavar="DIR")
def check_answers(invocation: Invocation, /, *, directory: str) -> Status:
    """Look at every line of every file: duplicates, unknown ids, errors, conflicts, half-written lines.

    Waiting is not a problem here. Ends with 5 if something needs attention.
    """
    from readmit.models import batch as files

    found = files.check_batch(directory)
    if invocation.json:
        emit({"ok": found.ok, **plain(found)})
    else:
        show(_line(found.status))
        for one in found.problems:
            named = f" {one.custom_id[:12]}…" if one.custom_id else ""
            show(one_line(f"{one.kind:10} {one.where}{named}: {one.message}"))
        if found.repeated:
            show(f"Given more than once with the same text, which is harmless: {counted(found.repeated, 'answer')}.")
        if found.ok:
            show("Nothing needs attention.")
    return Status.OK if found.ok else Status.UNVERIFIED


@batch.command(
    "serve",
    store=False,
    examples=(
        "readmit batch serve answers --model NAME",
        "readmit batch serve answers --model NAME --embedder none --listen 127.0.0.1:8430 --json",
    ),
)
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.option("--model", required=True, metavar="NAME", help="The model of the directory. Clients may name any.")
@click.option(
    "--embedder", default="minilm", show_default=True, metavar="NAME", help="Who embeds: minilm, lexical or none."
)
@click.option("--listen", default="127.0.0.1:8430", show_default=True, metavar="HOST:PORT", help="Where to listen.")
def serve_answers(invocation: Invocation, /, *, directory: str, model: str, embedder: str, listen: str) -> None:
    """Serve chat completions and embeddings to OpenAI's clients: answer what is on record, write down the rest.

    A client's API key names one play of a program. Its first request without an answer is written to
    DIR/requests.jsonl and ends the play: everything after it is refused, without a retry. Answer the requests, and
    play again with another key. It asks for no password: listen on this machine only.
    """
    from readmit.models.batch import Batch
    from readmit.models.embedders import CachedEmbedder, VectorsInMemory, open_embedder
    from readmit.models.model_server import ModelServer

    address = listen_address(listen)
    vectors = None if embedder == "none" else CachedEmbedder(open_embedder(embedder), VectorsInMemory())
    if vectors is not None:
        # A missing package is an error now, not at the first request.
        vectors.embed(["ready"])
    try:
        server = ModelServer(
            Batch(directory, model, shared=True),
            vectors,
            address=address,
            report=lambda line: click.echo(one_line(line), err=True),
        )
    except OSError as error:
        raise ModelError(f"listen: cannot listen on {listen}: {error.strerror}; choose another address") from None
    with server:
        said = {"url": server.url, "model": model, "embedder": "" if vectors is None else vectors.name}
        invocation.say(said, f"Serving {one_line(directory)} on {server.url}.")
        server.serve_forever()


def _line(found: BatchStatus) -> str:
    return (
        f"{counted(found.requests, 'request')}: {found.answered} answered, {found.failed} answered with an error, "
        f"{found.waiting} waiting."
    )
