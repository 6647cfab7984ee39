"""``readmit backends``: memory stores, Static against readmit on the same records."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import click
from msgspec import to_builtins

from readmit.cli import error_lines, options
from readmit.cli.command import CommandGroup, Invocation
from readmit.cli.output import emit, progress, show, table
from readmit.records.reasons import Reason
from readmit.text.english import counted
from readmit.text.escapes import one_line
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from readmit.backends.port import MemoryBackend
    from readmit.scenario.paired import Compared, Opener, PairedReturn
    from readmit.workspace.memory_handle import Memory

DEFAULT = "scopedmem"


@click.group("backends", cls=CommandGroup)
def backends() -> None:
    """Memory stores that readmit governs."""


_EMBEDDER = click.option("--embedder", metavar="NAME", help="Embedder that the store was made with, if it needs one.")


@backends.command(
    "adopt",
    examples=(
        "readmit backends adopt mem0:memories --by A2 --embedder minilm",
        "readmit backends adopt mem0:memories --by A2 --embedder minilm --claim 1f3c…=h0,h1",
        "readmit backends adopt memobase:http://localhost:8019 --by A2 --embedder minilm --gone",
    ),
)
@click.argument("spec", metavar="STORE")
@options.author("Who claims it.")
@click.option(
    "--claim",
    "claims",
    multiple=True,
    metavar="RECORD=ITEM,ITEM",
    help="Items that a record may come from. Repeatable.",
)
@click.option("--gone", is_flag=True, help="Accept that bound records are gone: forget their sources.")
@_EMBEDDER
def adopt_records(
    invocation: Invocation, /, *, spec: str, by: str, claims: tuple[str, ...], gone: bool, embedder: str | None
) -> None:
    """Bind existing records of a store by claims, and list those without a source, altered or gone.

    STORE names it, as mem0:FOLDER, amem:FOLDER or memobase:URL. Without a claim, nothing is bound.
    """
    named = dict(_claimed(claim) for claim in claims)
    with _memory(invocation, spec, embedder) as memory:
        found = to_builtins(memory.adopt(named, by=by, gone=gone))
    if invocation.json:
        emit({**found, "accepted": gone})
        return
    meaning = {**_MEANING, "gone": "gone, and forgotten"} if gone else _MEANING
    for name, words in meaning.items():
        show(f"{len(found[name])} {words}", *(f"  {one_line(record)}" for record in found[name]))


_MEANING = {
    "bound": "bound by these claims",
    "unproven": "without a source: out of every view until they are claimed",
    "altered": "bound, with another text now: out of every view until they are claimed again",
    "gone": "bound, and no longer in the store: accept that with --gone",
}


def _claimed(claim: str) -> tuple[str, tuple[str, ...]]:
    record, equals, items = claim.rpartition("=")
    if not equals or not record or not items:
        raise click.UsageError(f"--claim: {claim!r} is not RECORD=ITEM,ITEM")
    return record, tuple(one.strip() for one in items.split(",") if one.strip())


@backends.command("mend", examples=("readmit backends mend memobase:http://localhost:8019 --embedder minilm",))
@click.argument("spec", metavar="STORE")
@click.option("--owner", "owners", multiple=True, metavar="NAME", help="Also mend this private bank. Repeatable.")
@_EMBEDDER
def mend_store(invocation: Invocation, /, *, spec: str, owners: tuple[str, ...], embedder: str | None) -> None:
    """Remove leftovers of an unfinished call from a store, which stop later calls.

    In Memobase: chats whose flush died with the server. Run it when no flush is running.
    """
    with _memory(invocation, spec, embedder) as memory:
        done = memory.mend(owners)
    invocation.say({"mended": list(done)}, *(one_line(one) for one in done or ("Nothing to mend.",)))


@contextmanager
def _memory(invocation: Invocation, spec: str, embedder: str | None) -> Iterator[Memory]:
    from readmit.models.embedders import open_embedder
    from readmit.workspace.memory_handle import Memory

    with invocation.open() as workspace:
        memory = Memory.open(workspace, spec, embedder=open_embedder(embedder) if embedder else None)
        try:
            yield memory
        finally:
            memory.close()


@backends.command(
    "compare",
    store=False,
    examples=(
        "readmit backends compare examples/travel.json",
        "readmit backends compare examples/travel.json --backend mem0 --embedder lexical",
    ),
)
@click.argument("file", type=click.File("rb"))
@click.option(
    "--backend",
    "kinds",
    metavar="NAME",
    multiple=True,
    help="A store to compare: scopedmem, mem0, amem, or one that a package registers. [default: scopedmem]",
)
@click.option("--embedder", metavar="NAME", help="Embedder for stores that need one. [default: minilm]")
@click.option("--model", metavar="SPEC", help="Let the stores form memories with this model. Default: unchanged texts.")
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="Records per question.")
def compare_backends(
    invocation: Invocation,
    /,
    *,
    file: BinaryIO,
    kinds: tuple[str, ...],
    embedder: str | None,
    model: str | None,
    limit: int,
) -> None:
    """What would each way of coming back hand over?

    The scenario's observations are formed once per store. At each return, Static asks the store as usual; readmit
    asks the same questions of the same records through the view.
    """
    from readmit.scenario import paired
    from readmit.scenario.document import read_scenario

    scenario = read_scenario(file.read(), file=error_lines.name_of(file))
    openers = {kind: _opener(kind, embedder, model) for kind in kinds or (DEFAULT,)}
    with progress("Comparing", len(scenario.steps) * len(openers)) as watch:
        pairs = paired.compare(scenario, openers, limit=limit, verbatim=model is None, watch=watch)
    if invocation.json:
        emit({"scenario": scenario.name, "limit": limit, "pairs": pairs})
        return
    for pair in pairs:
        _print(pair)


def _opener(kind: str, embedder: str | None, model: str | None) -> Opener:
    def opened(team: Workspace, folder: Path) -> MemoryBackend:
        from readmit.backends.store_lines import open_backend
        from readmit.models.embedders import open_embedder
        from readmit.models.model_lines import open_model

        near = embedder or (None if kind == DEFAULT else "minilm")
        return open_backend(
            kind,
            desk_of(team).log,
            folder=folder,
            embedder=open_embedder(near) if near else None,
            model=open_model(model) if model else None,
        )

    return opened


def _print(pair: PairedReturn) -> None:
    from rich.text import Text

    heading = f"{pair.backend}, {pair.label}: {pair.principal} is {pair.decision}"
    counts = (
        f"Static hands over {len(pair.static)} of {counted(len(pair.records), 'record')}, readmit {len(pair.readmit)}; "
        f"withheld of Static's: {len(pair.withheld)}."
    )
    rows = [
        ("yes" if one.static else "", "yes" if one.readmit else "", str(one.standing.state), _because(one), one.text)
        for one in pair.records
        if one.static or one.readmit
    ]
    columns = ("static", "readmit", "state", "because", "record")
    show("", Text(one_line(heading), style="bold"), counts, "", table(columns, rows, prose="record"))


def _because(one: Compared) -> str:
    """The most specific reason, and the items it is about."""
    reasons = [
        reason for reason in one.standing.reasons if reason is not Reason.SOURCE_NOT_IN_VIEW
    ] or one.standing.reasons
    sources = f" ({', '.join(one.standing.sources)})" if one.standing.sources else ""
    return f"{', '.join(reasons)}{sources}"
