"""Subcommands of the project's own programs, read from the Python code that declares them and never run."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from readmit.check.python import is_test, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.check.working_tree import WorkTree

# As click, typer and argparse declare them, and most libraries that are built on these.
_DECORATORS = {"command", "group", "subcommand"}
_CALLS = {"add_parser", "add_command", "add_typer", "Command", "Group", "Typer", *_DECORATORS}
_GROUPS = {"group", "Group", "add_typer", "Typer"}
_TAKERS = {"add_command", "add_typer", "Typer"}
"""They take the command itself."""
_COMPUTED = (ast.Name, ast.JoinedStr, ast.Subscript, ast.Attribute)
_TEXT = re.compile(r"[\"']([a-z][\w-]*)[\"']")
_ENDINGS = ("_command", "_cmd", "_group", "_grp")
_FEWEST = 2
"""Names below which code declares no set of subcommands: one may be an example."""


class Subcommands(NamedTuple):
    """Names that programs take as their first word, and those that take a second one."""

    names: frozenset[str]
    groups: frozenset[str]
    possible: frozenset[str] = frozenset()
    """Texts of the code that may be names too, where names are computed."""

    def lacking(self, words: str) -> str:
        """The first of two words that is no subcommand; empty if both may be, or none is known."""
        first, _, second = words.partition(" ")
        if first.startswith("-") or len(self.names) < _FEWEST:
            return ""
        known = self.names | self.possible
        if first not in known:
            return first
        return second if first in self.groups and second and second not in known else ""


def subcommands_of(tree: WorkTree) -> Subcommands:
    """The subcommands that the code of a tree declares, tests apart."""
    names: set[str] = set()
    groups: set[str] = set()
    for path in tree.holding(r"\b(command|group|subcommand|add_parser|add_typer)\(", "*.py"):
        if is_test(path):
            continue
        for name, how in _declared(parsed(path, tree.text(path) or "")):
            names.add(name)
            if how in _GROUPS:
                groups.add(name)
    # Made in a loop: any short text of the code may be a name.
    paths = [path for path in tree.paths if path.endswith(".py") and not is_test(path)] if "" in names else []
    possible = frozenset(one.replace("_", "-") for path in paths for one in _TEXT.findall(tree.text(path) or ""))
    return Subcommands(frozenset(names - {""}), frozenset(groups), possible)


def _declared(code: ast.Module | None) -> Iterator[tuple[str, str]]:
    """Names of subcommands in a module, each with the call or the decorator that declares it; empty if computed."""
    for node in ast.walk(code) if code else ():
        if isinstance(node, ast.Call) and (how := _last(node.func)) in _CALLS:
            if name := _name(node):
                yield name, how
            elif node.args and how not in _TAKERS and isinstance(node.args[0], _COMPUTED):
                yield "", how
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                call = decorator if isinstance(decorator, ast.Call) else None
                how = _last(call.func if call else decorator)
                if how in _DECORATORS and not (call and _name(call)):
                    yield from ((spelled, how) for spelled in _spellings(node.name))


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
