"""Options that several commands share."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from click.core import ParameterSource

from readmit.cli.references import Reference
from readmit.records.base import Time
from readmit.records.error_types import RecordError
from readmit.records.policy import OWNER

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")
WHO = "--principal A1 --role planner --task trip"
"""An agent, for examples."""


class MomentType(click.ParamType[datetime]):
    """A moment with its time zone, as in 2026-05-04T09:00:00Z."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            return msgspec.convert(value, Time)
        except msgspec.ValidationError:
            self.fail(f"{value!r} is no moment with a time zone; write it as 2026-05-04T09:00:00Z", param, ctx)


class DurationType(click.ParamType[timedelta]):
    """A span of time, as in 90s, 2h or 1d12h."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        from readmit.scenario.durations import duration

        try:
            return duration(value, field="duration")
        except RecordError as error:
            self.fail(str(error).removeprefix("duration: "), param, ctx)


MOMENT = MomentType()
DURATION = DurationType()


def bundled(*added: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in this order."""

    def add(function: F) -> F:
        for one in reversed(added):
            function = one(function)
        return function

    return add


def agent_options(*, required: bool) -> Callable[[F], F]:
    """An agent: a principal in a role on a task. The caller has authenticated it."""
    meanings = {"principal": "The agent.", "role": "Role the agent acts in.", "task": "Task the agent works on."}
    return bundled(
        *(
            click.option(
                f"--{name}", required=required, envvar=f"READMIT_{name.upper()}", metavar="NAME",
                help=f"{meaning} [env: READMIT_{name.upper()}]",
            )
            for name, meaning in meanings.items()
        )
    )  # fmt: skip


identity = agent_options(required=True)


def signing() -> click.Option:
    """The key that signs the events of the command."""
    return click.Option(
        ["--signer"],
        type=click.Path(dir_okay=False),
        envvar="READMIT_SIGNER",
        metavar="FILE",
        help="Private key of the writer, which signs this. [env: READMIT_SIGNER]",
    )


def signer(function: F) -> F:
    """``--signer``, for commands that say otherwise who writes."""
    return _with(function, signing())


def _with(function: F, *added: click.Option) -> F:
    for option in reversed(added):
        # As click.option does: its decorators collect parameters in reverse.
        function.__dict__.setdefault("__click_params__", []).append(option)
    return function


def author(meaning: str = "Who writes this.", *, needed: bool = True) -> Callable[[F], F]:
    """The options for the writer: a principal, or the owner. ``needed``: whether one of the two must be given."""
    return lambda function: _with(function, *writer(meaning, needed=needed))


def writer(meaning: str = "Who writes this.", *, needed: bool = True) -> tuple[click.Option, ...]:
    """The options ``--by`` and ``--as-owner``, which the command gets as ``by``; and ``--signer``."""

    def chosen(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
        if ctx.params.get("as_owner"):
            if value is not None:
                raise click.UsageError("give either --by or --as-owner")
            return OWNER
        if value is None and needed:
            raise click.MissingParameter(ctx=ctx, param=param)
        return value

    return (
        click.Option(["--by"], metavar="NAME", callback=chosen, help=meaning),
        click.Option(["--as-owner"], is_flag=True, is_eager=True, help="Write as the owner, instead of --by."),
        signing(),
    )


def governor(function: F) -> F:
    """An overseer who acts, where the owner does by default."""
    return click.option("--by", metavar="NAME", help="Overseer who does this. Default: the owner.")(signer(function))


scope = bundled(
    click.option(
        "--task", envvar="READMIT_TASK", metavar="NAME", help="Only this task may see it. [env: READMIT_TASK]"
    ),
    click.option("--role", "roles", multiple=True, metavar="NAME", help="Only this role may. Repeatable."),
    click.option("--principal", "principals", multiple=True, metavar="NAME", help="Only they may. Repeatable."),
)
"""The readers of an event. Everybody by default."""

item_fields = bundled(
    click.option("--id", "id", metavar="ID", help="Name of the item; makes the write idempotent."),
    click.option(
        "--source", "sources", multiple=True, metavar="TEXT|@FILE|DIGEST",
        help="Evidence it rests on: what was observed, a file that holds it, or the digest or id of an "
        "observation; of a digest, 8 characters may be enough. Repeatable.",
    ),
    click.option("--slot", metavar="ID", help="What it is about; a later item about it replaces this one."),
    click.option(
        "--depends-on", type=Reference("item"), multiple=True, metavar="ITEM", help="Premise it rests on. Repeatable."
    ),
    scope,
    click.option("--private", is_flag=True, help="Private to the principals named."),
    click.option("--purpose", "purposes", multiple=True, metavar="NAME", help="Only for this. Repeatable."),
    click.option(
        "--applies-to", "applies_to", multiple=True, metavar="TASK", help="Only for this task. Repeatable."
    ),
    click.option(
        "--valid-from", type=MOMENT, metavar="TIME", help="True from this moment, as in 2026-05-04T09:00:00Z."
    ),
    click.option("--valid-until", type=MOMENT, metavar="TIME", help="True until this moment."),
)  # fmt: skip
"""The fields that every kind of item has."""


def is_typed(name: str) -> bool:
    """Whether a parameter of the running command was given on the command line, and not by the environment."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def output_file(help: str) -> Callable[[F], F]:  # noqa: A002 - click's own word for it
    """The option for a file to write to instead of standard output."""
    return click.option("--output", "-o", type=click.Path(dir_okay=False), metavar="FILE", help=help)


class GroupedOption(click.Option):
    """An option that ``--help`` shows under a heading, for commands with many."""

    def __init__(self, *args: Any, group: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


def grouped(heading: str) -> Callable[..., Callable[[F], F]]:
    """``click.option`` for the options under one heading."""
    return partial(click.option, cls=GroupedOption, group=heading)


_LARGEST_PORT = 65_535


def listen_address(listen: str) -> tuple[str, int]:
    """Host and port of ``--listen``."""
    host, colon, port = listen.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > _LARGEST_PORT:
        raise click.UsageError(f"--listen: {listen!r} is not HOST:PORT; for example 127.0.0.1:8420")
    return host.removeprefix("[").removesuffix("]"), int(port)
