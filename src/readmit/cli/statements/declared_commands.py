"""A command for every kind of event whose declaration says how people write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from readmit.cli.command import Invocation, ReadmitCommand
from readmit.cli.options import MOMENT, writer
from readmit.cli.references import Reference
from readmit.records.acts.kinds import KINDS, DeclaredKind, SaidField, Wording, names_in, said_fields, sentence
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator


def declared_commands() -> Iterator[ReadmitCommand]:
    """The commands of all kinds that are declared so far."""
    return (_command_of(kind, kind.wording) for kind in KINDS.values() if kind.wording is not None)


def _command_of(kind: DeclaredKind, wording: Wording) -> ReadmitCommand:
    fields = {said.name: said for said in said_fields(kind)}
    options = [said for name, said in fields.items() if name not in wording.arguments]
    return ReadmitCommand(
        kind.verb.replace("_", "-"),
        params=[
            *(_argument(kind, fields[name]) for name in wording.arguments),
            *writer(),
            *(_option(kind, wording, said) for said in options),
            click.Option(["--at"], type=MOMENT, metavar="TIME", help="When it was true. Default: now."),
            click.Option(["--id", "id"], metavar="ID", help="Makes the write idempotent."),
        ],
        callback=lambda invocation, /, **given: _write(invocation, kind, given),
        help=wording.meaning,
        examples=wording.examples,
        fields=wording.names,
    )


def _argument(kind: DeclaredKind, said: SaidField) -> click.Argument:
    many = isinstance(said.info, msgspec.inspect.VarTupleType)
    shown = said.name.removesuffix("s").upper() if many else said.name.upper()
    return click.Argument(
        [said.name],
        nargs=-1 if many else 1,
        required=True,
        type=_type(kind, said),
        metavar=f"{shown}..." if many else shown,
    )


def _option(kind: DeclaredKind, wording: Wording, said: SaidField) -> click.Option:
    name = wording.options.get(said.field, said.name).replace("_", "-")
    if isinstance(said.info, msgspec.inspect.BoolType):
        return click.Option([f"--{name}", said.name], is_flag=True, help=said.meaning)
    env = "READMIT_TASK" if said.field == "task" else None
    return click.Option(
        [f"--{name}", said.name],
        envvar=env,
        multiple=isinstance(said.info, msgspec.inspect.VarTupleType),
        required=said.default is msgspec.NODEFAULT,
        type=_type(kind, said),
        metavar=_metavar(said),
        help=said.meaning if env is None else f"{said.meaning} [env: {env}]".strip(),
    )


def _type(kind: DeclaredKind, said: SaidField) -> click.ParamType[Any]:
    if isinstance(said.info, msgspec.inspect.LiteralType):
        return click.Choice([str(value) for value in said.info.values])
    if isinstance(said.info, msgspec.inspect.IntType):
        return click.INT
    if isinstance(said.info, msgspec.inspect.DateTimeType):
        return MOMENT
    space = names_in(kind.payload).get(said.field)
    return click.STRING if space is None else Reference(space)


def _metavar(said: SaidField) -> str | None:
    match said.info:
        case msgspec.inspect.LiteralType():
            return None
        case msgspec.inspect.DateTimeType():
            return "TIME"
        case msgspec.inspect.VarTupleType():
            return "ITEM"
        case _:
            return {"role": "NAME", "task": "NAME"}.get(said.field, "TEXT")


def _write(invocation: Invocation, kind: DeclaredKind, given: dict[str, Any]) -> None:
    from readmit.scenario.document import read_step
    from readmit.scenario.play import write_declared
    from readmit.scenario.steps import declared_step

    step = read_step(declared_step(kind), {name: value for name, value in given.items() if value not in (None, ())})
    with invocation.open() as workspace:
        event = write_declared(workspace, step)
    said = {said.name: getattr(step, said.name) for said in said_fields(kind)}
    invocation.say(
        {"id": event.name, "epoch": event.epoch, **said},
        one_line(f"{sentence(kind, event.payload)} at epoch {event.epoch} ({kind.verb} {event.name})"),
    )
