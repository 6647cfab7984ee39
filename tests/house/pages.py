"""What docs/architecture.md says of the house, written from measurements and traces."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from tests.docs.imports import layers
from tests.house.figures import figures, source
from tests.house.walk import Walk, walks

if TYPE_CHECKING:
    from tests.house.source import Module

BEFORE = Path(__file__).with_name("before.json")
LISTED = ("records", "log", "trust", "text")
"""Rooms whose modules a walk names alone: they serve every verb alike. Of the others it says what each does."""


def figures_table() -> str:
    """Every figure before the redesign, now, and what it should come to."""
    before = json.loads(BEFORE.read_text(encoding="utf-8"))
    measured = figures()
    gone = [what for what in before if what not in {figure.what for figure in measured}]
    rows = [
        (figure.what, _number(before.get(figure.what)), _number(figure.value), _number(figure.goal))
        for figure in measured
    ]
    rows += [(what, _number(before[what]), "–", "") for what in gone]
    lines = ["| figure | before | now | at most |", "|---|--:|--:|--:|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def walk_of(verb: str) -> str:
    """The walk of one call of a verb, as a table of rooms in the order in which they are first entered."""
    return _told(walks()[verb])


def _told(walk: Walk) -> str:
    does = {module.name: _first_line(module) for module in source().modules}
    rooms: defaultdict[str, list[str]] = defaultdict(list)
    for module in walk.modules:
        rooms[module.split(".")[1]].append(module)
    rows = [f"| `{room}` | {_modules(room, modules, does)} |" for room, modules in rooms.items()]
    head = f"{len(walk.modules)} modules, {len(walk.counted)} of them outside `records` and `rules`."
    return "\n".join([head, "", "| room | modules in the order of the walk |", "|---|---|", *rows])


def _modules(room: str, modules: list[str], does: dict[str, str]) -> str:
    if room in LISTED:
        return ", ".join(f"`{_short(name)}`" for name in modules)
    return "<br>".join(f"`{_short(name)}`: {does[name]}" for name in modules)


def rooms_table() -> str:
    """Every room, from the faces down to the records, with the first line of its docstring and its size."""
    order = [room for layer in layers() for room in layer]
    found = {room: modules for room, modules in source().by_room().items() if room}
    rows = [
        f"| `{room}` | {_first_line(package)} |"
        for room in sorted(found, key=order.index)
        for package in found[room]
        if package.name == f"readmit.{room}"
    ]
    return "\n".join(["| room | holds |", "|---|---|", *rows])


def _first_line(module: Module) -> str:
    line = (ast.get_docstring(module.tree) or "").partition("\n")[0]
    return line.replace("|", "\\|").replace("``", "`")


def _short(module: str) -> str:
    """The module's place in its room."""
    return module.split(".", 2)[-1]
