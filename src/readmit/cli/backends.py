"""``readmit backends``: memory stores, Static against readmit on the same records."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import click

from readmit.cli import errors
from readmit.cli.command import command

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.cli.command import Invocation
    from readmit.ports.backend import MemoryBackend
    from readmit.scenario.paired import Compared, Opener, PairedReturn
    from readmit.workspace.workspace import Workspace

DEFAULT = "scopedmem"


def add_to(group: click.Group) -> None:
    """Add the commands."""

    @group.group("backends")
    def backends() -> None:
        """Memory stores behind readmit."""

    examples = (
        "readmit backends compare examples/travel.json",
        "readmit backends compare examples/travel.json --backend mem0 --embedder lexical",
    )
    command(backends, "compare", store=False, examples=examples)(compare)


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
def compare(
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
    from readmit.cli.output import emit, progress
    from readmit.scenario import paired
    from readmit.scenario.document import read

    scenario = read(file.read(), file=errors.name_of(file))
    openers = {kind: _opener(kind, embedder, model) for kind in kinds or (DEFAULT,)}
    with progress("Comparing", len(scenario.steps) * len(openers)) as watch:
        pairs = paired.compare(scenario, openers, limit=limit, verbatim=model is None, watch=watch)
    if invocation.json:
        emit({"scenario": scenario.name, "limit": limit, "pairs": [_shape(pair) for pair in pairs]})
        return
    for pair in pairs:
        _print(pair)


def _opener(kind: str, embedder: str | None, model: str | None) -> Opener:
    def opened(team: Workspace, folder: Path) -> MemoryBackend:
        from readmit.backends.opening import open_backend
        from readmit.models.embedders import open_embedder
        from readmit.models.open import open_model

        near = embedder or (None if kind == DEFAULT else "minilm")
        return open_backend(
            kind,
            team.log,
            folder=folder,
            embedder=open_embedder(near) if near else None,
            model=open_model(model) if model else None,
        )

    return opened


def _shape(pair: PairedReturn) -> dict[str, object]:
    return {
        "backend": pair.backend,
        "return": pair.label,
        "principal": pair.principal,
        "decision": pair.decision,
        "questions": list(pair.questions),
        "static": len(pair.static),
        "readmit": len(pair.readmit),
        "withheld": len(pair.withheld),
        "records": [
            {
                "record": one.standing.record,
                "text": one.text,
                "owner": one.owner,
                "static": one.static,
                "readmit": one.readmit,
                "state": one.standing.state,
                "reasons": list(one.standing.reasons),
                "sources": list(one.standing.sources),
                "binding": "conservative" if one.standing.conservative else "exact",
            }
            for one in pair.records
        ],
    }


def _print(pair: PairedReturn) -> None:
    from rich.text import Text

    from readmit.cli.output import show, shown, table
    from readmit.records.wording import counted

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
    show("", Text(shown(heading), style="bold"), counts, "", table(columns, rows, prose="record"))


def _because(one: Compared) -> str:
    """The most specific reason, and the items it is about."""
    reasons = [reason for reason in one.standing.reasons if reason != "source_not_admitted"] or one.standing.reasons
    sources = f" ({', '.join(one.standing.sources)})" if one.standing.sources else ""
    return f"{', '.join(reasons)}{sources}"
