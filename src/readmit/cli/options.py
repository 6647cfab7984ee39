"""Options that several commands share."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def identity(function: F) -> F:
    """Who acts: a principal in a role on a task. Whoever runs the command has authenticated it."""
    for name, meaning in (
        ("task", "Task the agent works on."),
        ("role", "Role the agent acts in."),
        ("principal", "The agent."),
    ):
        env = f"READMIT_{name.upper()}"
        function = click.option(f"--{name}", required=True, envvar=env, metavar="NAME", help=f"{meaning} [env: {env}]")(
            function
        )
    return function


def author(default: str | None = None) -> Callable[[F], F]:
    """Who writes. Required where there is no default."""
    if default is None:
        return click.option("--by", required=True, metavar="NAME", help="Who writes this.")
    return click.option("--by", default=default, metavar="NAME", help=f"Who writes this. Default: {default}.")


def output_file(help: str) -> Callable[[F], F]:  # noqa: A002 - click's own word for it
    """Where to write instead of standard output."""
    return click.option("--output", "-o", type=click.Path(dir_okay=False), metavar="FILE", help=help)


class GroupedOption(click.Option):
    """An option that ``--help`` shows under a heading, for commands with many."""

    def __init__(self, *args: Any, group: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


def grouped(heading: str) -> Callable[..., Callable[[F], F]]:
    """``click.option`` for the options under one heading."""
    return partial(click.option, cls=GroupedOption, group=heading)
