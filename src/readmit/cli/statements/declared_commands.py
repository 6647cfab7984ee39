"""A command for every kind of event whose declaration says how people write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from readmit.cli.command import Command
from readmit.cli.options import writer
from readmit.cli.references import Reference
from readmit.records.acts.kinds import names_in, said_fields, sentence

if TYPE_CHECKING:
    from readmit.cli.command import Invocation
    from readmit.records.acts.kinds import DeclaredKind, SaidField, Wording


def command_of(kind: DeclaredKind, wording: Wording) -> Command:
    """The command that writes an event of a kind."""
    fields = {said.name: said for said in said_fields(kind)}
    options = [said for name, said in fields.items() if name not in wording.arguments]
    return Command(
        str(kind),
        params=[
            *(_argument(kind, fields[name]) for name in wording.arguments),
            *writer(),
            *(_option(kind, wording, said) for said in options),
            click.Option(["--at"], metavar="TIME", help="When it was true. Default: now."),
            click.Option(["--id", "id"], metavar="ID", help="Makes the write idempotent."),
        ],
        callback=click.pass_obj(lambda invocation, /, **given: _write(invocation, kind, given)),
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
    from readmit.cli.output import emit, show, shown
    from readmit.cli.statements.written_sources import step_of, write_steps
    from readmit.scenario.steps import DeclaredStep, event_of

    step = step_of({"do": str(kind), **given})
    if not isinstance(step, DeclaredStep):
        raise TypeError(f"{kind} has no step that is made from its declaration")
    (name,), epoch = write_steps(invocation, [(step, str(kind))])
    said = {said.name: getattr(step, said.name) for said in said_fields(kind)}
    if invocation.json:
        emit({"id": name, "epoch": epoch, **msgspec.to_builtins(said)})
        return
    show(shown(f"{sentence(*event_of(step))} at epoch {epoch} ({kind} {name})"))
