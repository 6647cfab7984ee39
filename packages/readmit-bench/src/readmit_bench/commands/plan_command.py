"""``readmit bench plan``: what a run would ask, take and cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from readmit.lab import grouped
from readmit_bench.commands.options import FOLDER, POSITIVE, ROLES, study_options

if TYPE_CHECKING:
    from readmit.lab import Invocation

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_how = grouped("How to estimate")
EXAMPLES = (
    "readmit bench plan stale --data stale --actor openai/NAME --judge openai/NAME --prices prices.json",
    "readmit bench plan memora --data memora --methods Static,readmit --recorded answers --json",
)


@study_options
@_how(
    "--prices", type=_FILE, metavar="FILE",
    help='JSON or TOML: {"currency": "USD", "models": {"openai/NAME": {"input": 0.25, "output": 2}}}, for a million '
    "tokens each, by model or by role.",
)  # fmt: skip
@_how(
    "--recorded", type=FOLDER, multiple=True, metavar="DIR",
    help="A run or a batch directory whose answers give the lengths. Repeatable.",
)  # fmt: skip
@_how("--per-block", type=POSITIVE, default=2, show_default=True, help="Episodes of every block to play.")
@_how("--chars-per-token", type=click.FloatRange(min=0.5), help="Default: as recorded, else 4.")
def plan(
    invocation: Invocation, /, *, study: str, prices: Path | None, recorded: tuple[Path, ...], per_block: int,
    chars_per_token: float | None, **asked: Any,
) -> None:  # fmt: skip
    """Estimate the calls, tokens and cost of a run, by method and role, before anything is asked.

    A few episodes of every block are played with a stand-in for the models, so that every request is the one that would
    be sent; what depends on answers is estimated, and the plan says how. No model is opened: models are named only for
    their prices, and without any all four roles are planned.
    """
    from readmit.lab import emit, one_line, progress, show
    from readmit_bench.plans.plan_tables import PricedPlan, as_json, notes, table
    from readmit_bench.plans.prices import read_prices
    from readmit_bench.study_runs import RunOrder, plan_of

    named = {role: asked.pop(role) for role in ROLES}
    models = named if any(named.values()) else {"actor": "actor", "judge": "judge"}
    order = RunOrder(study=study, models=models, **asked)
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
        show(one_line(said))
