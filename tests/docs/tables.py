"""The tables of docs/reference and docs/architecture.md that repeat what the code says, written from the code.

``python -m tests.docs.tables`` (``make docs``) rewrites them between their markers; ``test_tables`` fails
when a page is behind.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import click
import msgspec

from readmit import DutyState, Policy, Reason
from readmit.records.acts.kinds import KINDS, load_declared_elsewhere
from readmit.records.reasons import PRECEDENCE
from readmit.telemetry import MEASURES, SPANS
from readmit.types import Trouble
from tests.conftest import ROOT
from tests.docs.surface import PUBLIC, error_tree, table
from tests.docs.surface import main as write_surface
from tests.house.pages import figures_table, rooms_table, walk_of
from tests.house.walk import VERBS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from readmit.events import DeclaredKind

REFERENCE = ROOT / "docs" / "reference"
ARCHITECTURE = "../architecture.md"
TELEMETRY = "../guide/telemetry.md"
FIGURES = "figures"
"""The one table that may be a little behind: its figures change with every commit."""


def reasons() -> str:
    """Every reason code: its state, whether an overseer can restore the item, and what it makes of a duty."""
    rows = [
        (_code(reason), _code(reason.state), reason.doc, "yes" if reason.restorable else "", _code(reason.ends_duty))
        for reason in Reason
    ]
    return _table(("code", "state", "meaning", "an overseer restores it", "ends a duty as"), rows)


def states() -> str:
    """Every state in order of precedence, with the codes that lead to it."""
    rows = [
        (f"`{state}`", ", ".join(f"`{reason}`" for reason in Reason if reason.state is state)) for state in PRECEDENCE
    ]
    return _table(("state", "codes"), rows)


def duties() -> str:
    """Every state of a duty, and whether it is owed then."""
    rows = [(f"`{state}`", "yes" if state.owed else "no", state.doc) for state in DutyState]
    return _table(("state", "owed", "meaning"), rows)


def troubles() -> str:
    """Everything that a diagnosis can find."""
    return _table(("code", "meaning"), [(f"`{trouble}`", trouble.doc) for trouble in Trouble])


def statuses() -> str:
    """Every exit status of the command line."""
    from readmit.cli.status import MEANINGS

    return _table(("exit status", "meaning"), [(str(int(status)), meaning) for status, meaning in MEANINGS.items()])


def settings() -> str:
    """Every setting of a policy by group, with its default and who would change it."""
    defaults = msgspec.to_builtins(Policy(), builtin_types=())
    parts = []
    for name, group in get_type_hints(Policy).items():
        rows = list(_settings(group, name, defaults[name]))
        parts.append(f"## `{name}`\n\n{group.__doc__}\n\n{_table(('setting', 'type', 'default', 'meaning'), rows)}")
    return "\n\n".join(parts)


def _settings(group: type, within: str, defaults: dict[str, object]) -> Iterator[tuple[str, ...]]:
    [found] = ast.parse(inspect.getsource(group)).body
    assert isinstance(found, ast.ClassDef)
    for field, doc in zip(found.body, found.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            name = field.target.id
            assert isinstance(doc, ast.Expr), f"{group.__name__}.{name} has no docstring below it"
            meaning = inspect.cleandoc(ast.literal_eval(doc.value)).replace("\n", " ")
            yield f"`{within}.{name}`", f"`{ast.unparse(field.annotation)}`", f"`{json.dumps(defaults[name])}`", meaning


def commands() -> str:
    """Every command of the command line, with its arguments and options."""
    from readmit.cli import main

    return "\n".join(_command(context) for context in _contexts(click.Context(main, info_name="readmit"))).rstrip()


def _contexts(context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            if command is not None and not command.hidden:
                yield from _contexts(click.Context(command, info_name=name, parent=context))


def _command(context: click.Context) -> str:
    command = context.command
    usage = " ".join(command.collect_usage_pieces(context))
    text = (
        f"## `{context.command_path}`\n\n`{context.command_path} {usage}`\n\n{inspect.cleandoc(command.help or '')}\n"
    )
    options = [
        param.get_help_record(context)
        for param in command.get_params(context)
        if isinstance(param, click.Option) and "--help" not in param.opts
    ]
    rows = [(f"`{record[0]}`", record[1]) for record in options if record]
    return f"{text}\n{_table(('option', 'meaning'), rows)}\n" if rows else text


def events() -> str:
    """Every kind of event, with who writes it and how."""
    load_declared_elsewhere()
    return _table(
        ("kind", "what it says", "fields", "written by"),
        [(_code(name), kind.doc, ", ".join(map(_code, _fields(kind))), _writer(kind)) for name, kind in KINDS.items()],
    )


def _fields(kind: DeclaredKind) -> list[str]:
    # Of the several kinds of item that one kind of event brings in, the first is the plain one.
    payload = (get_args(kind.payload) or (kind.payload,))[0]
    return [field.encode_name for field in msgspec.structs.fields(payload)]


def _writer(kind: DeclaredKind) -> str:
    from readmit.cli import main
    from readmit.scenario.steps import every_step

    name = kind.verb.replace("_", "-")
    paths = [one.command_path for one in _contexts(click.Context(main, info_name="readmit")) if one.info_name == name]
    ours = [path for path in paths if path.split()[1] in {"admin", name}]
    step = any(one.__struct_config__.tag == kind.verb for one in every_step())
    found = [*(f"`{path}`" for path in ours), *([f"a step `{kind.verb}`"] if step else [])]
    return ", ".join(found) or "readmit itself"


def _code(value: str | None) -> str:
    return f"`{value}`" if value else ""


def _table(head: tuple[str, ...], rows: list[Any]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def spans() -> str:
    """Every span with its attributes."""
    rows = [(_code(name), kind.says, ", ".join(map(_code, kind.attributes))) for name, kind in SPANS.items()]
    return _table(("span", "meaning", "attributes"), rows)


def measures() -> str:
    """Every measure, with its name in both worlds."""
    rows = [
        (_code(one.name), _code(one.exposed), one.kind, one.says, ", ".join(map(_code, one.labels))) for one in MEASURES
    ]
    return _table(("OpenTelemetry", "`/metrics`", "kind", "meaning", "labels"), rows)


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "reasons": ("reasons.md", reasons),
    "states": ("reasons.md", states),
    "duties": ("reasons.md", duties),
    "troubles": ("reasons.md", troubles),
    "statuses": ("commands.md", statuses),
    "events": ("events.md", events),
    "settings": ("settings.md", settings),
    "commands": ("commands.md", commands),
    **{module: ("api.md", partial(table, module)) for module in PUBLIC[1:]},
    "readmit.errors": ("api.md", error_tree),
    "spans": (TELEMETRY, spans),
    "measures": (TELEMETRY, measures),
    "rooms": (ARCHITECTURE, rooms_table),
    **{f"walk of {verb}": (ARCHITECTURE, partial(walk_of, verb)) for verb in VERBS},
    FIGURES: (ARCHITECTURE, figures_table),
}


def rewritten(name: str) -> tuple[Path, str]:
    """The page that holds a table, and its text with the table as it should be."""
    file, table = TABLES[name]
    path = REFERENCE / file
    start, end = f"<!-- generated: {name} -->", f"<!-- end: {name} -->"
    region = re.compile(f"{re.escape(start)}\n.*?{re.escape(end)}", re.DOTALL)
    text, count = region.subn(lambda _: f"{start}\n\n{table()}\n\n{end}", path.read_text(encoding="utf-8"))
    assert count == 1, f"{path}: the markers of the table {name!r} must stand in it once"
    return path, text


if __name__ == "__main__":
    for each in TABLES:
        page, content = rewritten(each)
        page.write_text(content, encoding="utf-8")
    write_surface()
