"""Subcommands of the project's own programs, read from the Python code that declares them and never run."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from readmit.check.python import parsed
from readmit.check.working_tree import is_test

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from readmit.check.working_tree import WorkTree

# As click, typer and argparse declare them, and most libraries that are built on these.
_DECORATORS = {"command", "group", "subcommand"}
_CALLS = {"add_parser", "add_command", "add_typer", "Command", "Group", "Typer", *_DECORATORS}
_GROUPS = {"group", "Group", "add_typer", "Typer"}
_TAKERS = {"add_command", "add_typer", "Typer"}
"""Calls that take the command itself."""
_COMPUTED = (ast.Name, ast.JoinedStr, ast.Subscript, ast.Attribute)
_TEXT = re.compile(r"[\"']([a-z][\w-]*)[\"']")
_ENDINGS = ("_command", "_cmd", "_group", "_grp")
_ASIDE = {"benchmarks", "bench", "examples", "example", "scripts", "tools", "docs"}
_FEWEST = 2
"""Names below which code declares no set of subcommands: one may be an example."""


class Subcommands(NamedTuple):
    """Names that programs take as their first word, and those that take a second one."""

    names: frozenset[str]
    groups: frozenset[str]
    possible: frozenset[str] = frozenset()
    """Texts of the code that may be names too, where names are computed."""
    below: frozenset[str] = frozenset()
    """Names that stand in a group alone, and are no first words."""

    def lacking(self, words: str) -> str:
        """The first of two words that is no subcommand; empty if both may be, or none is known."""
        first, _, second = words.partition(" ")
        if first.startswith("-") or len(self.names) < _FEWEST:
            return ""
        known = self.names | self.possible
        if first not in known or first in self.below:
            return first
        return second if first in self.groups and second and second not in known else ""


def subcommands_of(tree: WorkTree, programs: Collection[str]) -> Subcommands:
    """The subcommands that the code of a tree declares, tests apart."""
    top: set[str] = set()
    below: set[str] = set()
    groups: set[str] = set()
    for path in tree.holding(r"\b(command|group|subcommand|add_parser|add_typer)\(", "*.py"):
        if _is_aside(path):
            continue
        for name, how, is_below in _declared(parsed(path, tree.text(path) or ""), programs):
            (below if is_below else top).add(name)
            if how in _GROUPS:
                groups.add(name)
    # Made in a loop: any short text of the code may be a name.
    paths = [path for path in tree.paths if path.endswith(".py") and not _is_aside(path)] if "" in top | below else []
    said = Counter(one.replace("_", "-") for path in paths for one in _TEXT.findall(tree.text(path) or ""))
    # A text that code has once more than declarations need may be a name that is computed.
    alone = frozenset(name for name in below - top if said[name] <= 1)
    return Subcommands(frozenset(top | below) - {""}, frozenset(groups), frozenset(said), alone)


def _is_aside(path: str) -> bool:
    """Whether a file is beside the programs that the project installs, and may have one of its own."""
    return is_test(path) or path.partition("/")[0] in _ASIDE


def _declared(code: ast.Module | None, programs: Collection[str]) -> Iterator[tuple[str, str, bool]]:
    """Names of subcommands in a module, each with the call or the decorator that declares it; empty if computed.

    The last value says if it stands in a group that has a name of its own.
    """
    named = {node.name for node in ast.walk(code) if _is_named_group(node, programs)} if code else set()
    for node in ast.walk(code) if code else ():
        if isinstance(node, ast.Call) and (how := _last(node.func)) in _CALLS:
            is_below = isinstance(node.func, ast.Attribute) and _last(node.func.value) in named
            if name := _name(node):
                yield name, how, is_below
            elif node.args and how not in _TAKERS and isinstance(node.args[0], _COMPUTED):
                yield "", how, False
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                call = decorator if isinstance(decorator, ast.Call) else None
                made = call.func if call else decorator
                if (how := _last(made)) in _DECORATORS and not (call and _name(call)):
                    is_below = isinstance(made, ast.Attribute) and _last(made.value) in named
                    yield from ((spelled, how, is_below) for spelled in _spellings(node.name))


def _is_named_group(node: ast.AST, programs: Collection[str]) -> TypeGuard[ast.FunctionDef]:
    """Whether a function is a group below a program: it is given a name, or another group makes it."""
    for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
        made = decorator.func if isinstance(decorator, ast.Call) else decorator
        if _last(made) == "group":
            name = _name(decorator) if isinstance(decorator, ast.Call) else ""
            of = _last(made.value) if isinstance(made, ast.Attribute) else ""
            return name not in programs if name else of not in {"click", "rich_click", "asyncclick", ""}
    return False


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _last(function: ast.AST) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _name(call: ast.Call) -> str:
    """The name that a call gives as its first word or as ``name``."""
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "name")]
    return next((str(one.value) for one in given if _is_text(one)), "")  # type: ignore[attr-defined]


def _spellings(function: str) -> Iterator[str]:
    """The names that libraries make of a function's name."""
    yield function.replace("_", "-")
    for ending in _ENDINGS:
        if function.endswith(ending):
            yield function.removesuffix(ending).replace("_", "-")
