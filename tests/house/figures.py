"""The figures of the house: how large it is, how it is named, and how far a reader walks in it.

Everything is measured on the package that is imported and on the tests and packages beside it.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import click
import msgspec

import readmit
from readmit import DutyState, Policy, Reason, State, Workspace
from tests.house.source import Module, Source, private_imports
from tests.house.walk import VERBS, walks

if TYPE_CHECKING:
    from collections.abc import Iterator

CORE = Path(readmit.__file__).parent
TREE = CORE.parent.parent


@dataclass(frozen=True)
class Figure:
    """One number, and what it should come to."""

    what: str
    value: int
    goal: int | None = None


@cache
def source() -> Source:
    """The modules of the core."""
    return Source(CORE)


def members(kind: type) -> list[str]:
    """Public names that can be called or read on a class."""
    return sorted(name for name in dir(kind) if not name.startswith("_"))


def leaves(kind: type) -> Iterator[str]:
    """Settings of a policy, those of its groups one by one."""
    hints = get_type_hints(kind)
    for name in kind.__struct_fields__:  # type: ignore[attr-defined]  # of every msgspec.Struct
        group = _group(hints[name])
        yield from ([name] if group is None else (f"{name}.{leaf}" for leaf in leaves(group)))


def settings() -> list[str]:
    """Settings of a policy that a person may have to choose, looks and the paper's apart."""
    return [leaf for leaf in leaves(Policy) if not leaf.startswith(("looks.", "paper."))]


def _group(hint: Any) -> type | None:
    kinds = [one for one in (hint, *get_args(hint)) if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    return kinds[0] if kinds and getattr(hint, "__origin__", None) is not tuple else None


def commands() -> list[str]:
    """Every command of the core, those of groups included. Other distributions add theirs."""
    from readmit.cli import main

    def below(command: click.Command, path: str) -> Iterator[str]:
        if not isinstance(command, click.Group):
            if inspect.unwrap(command.callback or below).__module__.startswith("readmit."):
                yield path
            return
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                yield from below(found, f"{path} {name}".strip())

    return list(below(main, ""))


@cache
def public() -> dict[str, set[str]]:
    """What each public module exports, read without importing it: some need an extra."""
    surface = Module(TREE / "tests" / "docs" / "surface.py", "tests.docs.surface")
    return {
        module.name: set(module.constants("__all__"))
        for module in source().modules
        if module.name in surface.constants("PUBLIC")
    }


def private(folder: Path) -> set[tuple[str, str]]:
    """Modules of a folder, each with the private modules of the core that it takes names from."""
    users: list[Module] = Source(folder).modules
    return {(module, name.rpartition(".")[0]) for module, name in private_imports(users, public())}


@cache
def figures() -> list[Figure]:
    """All of them, in the order of the table."""
    tree = source()
    repeated = tree.repeated_names()
    knots = tree.knots()
    walked = walks()
    sizes = [
        Figure(f"lines of code in `{room or 'readmit'}`", sum(module.lines_of_code for module in modules))
        for room, modules in tree.by_room().items()
    ]
    return [
        Figure("lines of code of the core, without comments and docstrings", tree.lines_of_code, 32_000),
        Figure("modules of the core", len(tree.modules)),
        Figure("file names that several modules have", len(repeated), 0),
        Figure("modules named -ing", len(tree.named_ing()), 0),
        Figure("names of public functions in two modules or more", len(tree.shared_functions(2))),
        Figure("names of public functions in three modules or more", len(tree.shared_functions(3)), 0),
        Figure("modules of the largest import circle, types included", len(knots[0]) if knots else 0),
        Figure("rooms in import circles, types included", sum(map(len, tree.room_knots())), 0),
        Figure("public names of `Workspace`", len(members(Workspace)), 25),
        Figure("names of `readmit`", len(readmit.__all__), 25),
        Figure("settings of a policy, looks and the paper's apart", len(settings()), 24),
        Figure("reason codes", len(Reason), 55),
        Figure("states of an item", len(State)),
        Figure("states of a duty", len(DutyState)),
        Figure("commands", len(commands())),
        Figure("imports of private modules in packages", len(private(TREE / "packages")), 0),
        Figure("imports of private modules in tests", len(private(TREE / "tests")), 602),
        *(Figure(f"modules that one `{verb}` crosses", len(walked[verb].modules)) for verb in VERBS),
        Figure("… one `come_back`, outside `records` and `rules`", len(walked["come_back"].counted), 22),
        Figure("… one `record`, outside `records` and `rules`", len(walked["record"].counted), 18),
        *(
            Figure(f"… one `{verb}`, above the log: outside `log` and `trust` too", len(walked[verb].above_the_log))
            for verb in ("come_back", "record")
        ),
        Figure("changes of module in one `come_back`", walked["come_back"].changes),
        Figure("changes of module in one `record`", walked["record"].changes),
        *sizes,
    ]
