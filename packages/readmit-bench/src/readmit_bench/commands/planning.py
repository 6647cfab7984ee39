"""``readmit bench plan``: what a run would ask, take and cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from readmit.cli.options import grouped

if TYPE_CHECKING:
    from readmit.cli.command import Invocation

_FOLDER = click.Path(path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_POSITIVE = click.IntRange(min=1)
_what, _models, _how = grouped("What to run"), grouped("Models"), grouped("How to estimate")
EXAMPLES = (
    "readmit bench plan stale --data stale --actor openai/NAME --judge openai/NAME --prices prices.json",
    "readmit bench plan memora --data memora --methods Static,readmit --recorded answers --json",
)


def _methods(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip())


@click.argument("study")
@_what("--data", type=_FOLDER, metavar="DIR", help="Folder of the benchmark's release. Not for smoke.")
@_what("--fillers", type=_FOLDER, metavar="DIR", help="Memora folder whose small talk fills a substitute haystack.")
@_what("--methods", default="", callback=_methods, metavar="A,B", help="Which methods. Default: the study's.")
@_what("--limit", type=_POSITIVE, metavar="N", help="Only N cases (Memora: questions).")
@_what("--stratified", is_flag=True, help="N cases of every block instead.")
@_what("--seed", default=0, show_default=True, help="Which cases --limit takes, and which are played.")
@_what(
    "--set", "settings", multiple=True, metavar="NAME=VALUE",
    help="Another value for a setting, as stale.retrieved_union=20 or judge.answer_tokens=8000. Repeatable.",
)  # fmt: skip
@_what("--max-tokens", type=_POSITIVE, metavar="N", help="Cut every answer there.")
@_models("--actor", default="", metavar="MODEL", help="Named only, for its price. Without any model: all four roles.")
@_models("--judge", default="", metavar="MODEL", help="Who judges answers of Memora and STALE.")
@_models("--extractor", default="", metavar="MODEL", help="Who reads sessions. Default: the actor.")
@_models("--verifier", default="", metavar="MODEL", help="Who judges pairs. Default: the actor.")
@_how(
    "--prices", type=_FILE, metavar="FILE",
    help='JSON or TOML: {"currency": "USD", "models": {"openai/NAME": {"input": 0.25, "output": 2}}}, for a million '
    "tokens each, by model or by role.",
)  # fmt: skip
@_how(
    "--recorded", type=_FOLDER, multiple=True, metavar="DIR",
    help="A run, or a batch directory with answers: how long answers were. Repeatable.",
)  # fmt: skip
@_how("--per-block", type=_POSITIVE, default=2, show_default=True, help="Episodes of every block that are played.")
@_how("--chars-per-token", type=click.FloatRange(min=0.5), help="Default: as recorded, else 4.")
def plan(
    invocation: Invocation, /, *, study: str, data: Path | None, fillers: Path | None, methods: tuple[str, ...],
    limit: int | None, stratified: bool, seed: int, settings: tuple[str, ...], max_tokens: int | None, actor: str,
    judge: str, extractor: str, verifier: str, prices: Path | None, recorded: tuple[Path, ...], per_block: int,
    chars_per_token: float | None,
) -> None:  # fmt: skip
    """Say what a run would take, by method and role, before anything is asked: calls, tokens and cost.

    A few episodes of every block are played with a stand-in for the models, so that every request is the one that would
    be sent; what follows from answers is estimated, and the plan says how. No model is opened.
    """
    from readmit.cli.output import emit, progress, show, shown
    from readmit_bench.planning.plan_tables import PricedPlan, as_json, notes, table
    from readmit_bench.planning.prices import read_prices
    from readmit_bench.running import RunOrder, plan_of

    named = {"actor": actor, "extractor": extractor, "verifier": verifier, "judge": judge}
    order = RunOrder(
        study=study,
        data=data,
        fillers=fillers,
        methods=methods,
        models=named if any(named.values()) else {"actor": "actor", "judge": "judge"},
        limit=limit,
        stratified=stratified,
        seed=seed,
        settings=settings,
        max_tokens=max_tokens,
    )
    priced = None if prices is None else read_prices(prices)
    with progress(f"Planning {study}") as advance:
        models, made = plan_of(
            order, recorded=recorded, per_block=per_block, chars_per_token=chars_per_token, watch=advance
        )
    whole = PricedPlan(study=study, models=models, made=made, prices=priced)
    if invocation.json:
        emit(as_json(whole))
        return
    show(table(whole), "")
    for said in notes(whole):
        show(shown(said))
