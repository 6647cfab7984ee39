"""The options that choose study, methods and models: the same for a run and for its plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from readmit.lab import grouped
from readmit_bench.settings import PERIODS

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = click.Path(path_type=Path)
POSITIVE = click.IntRange(min=1)
ROLES = ("actor", "extractor", "verifier", "judge")
what, models = grouped("What to run"), grouped("Models")


def _methods(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip())


_OPTIONS = (
    click.argument("study"),
    what("--data", type=FOLDER, metavar="DIR", help="Folder of the benchmark's release. Not for smoke."),
    what("--fillers", type=FOLDER, metavar="DIR", help="Memora folder whose small talk fills a substitute haystack."),
    what("--methods", default="", callback=_methods, metavar="A,B", help="Which methods. Default: the study's."),
    what(
        "--period",
        "periods",
        type=click.Choice(PERIODS),
        multiple=True,
        help="Only questions of this period of Memora. Repeatable. Default: all that the folder holds.",
    ),
    what("--limit", type=POSITIVE, metavar="N", help="Only N cases (Memora: questions)."),
    what("--stratified", is_flag=True, help="Take N cases of every block instead."),
    what("--seed", default=0, show_default=True, help="Seed of --limit's choice and of the haystack's order."),
    what(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Change a setting, such as stale.retrieved_union=20 or judge.effort=high. Repeatable.",
    ),
    what(
        "--max-tokens",
        type=POSITIVE,
        metavar="N",
        help="Cut every answer at N tokens, below the paper's budgets, for trial runs.",
    ),
    models("--actor", default="", metavar="MODEL", help="Model that answers. Without one, views are made and scored."),
    models("--judge", default="", metavar="MODEL", help="Model that judges answers of Memora and STALE."),
    models("--extractor", default="", metavar="MODEL", help="Model that reads sessions. Default: the actor."),
    models("--verifier", default="", metavar="MODEL", help="Model that judges pairs. Default: the actor."),
)


def study_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add them to a command. Its keyword arguments are fields of an order, except the roles (``ROLES``)."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
