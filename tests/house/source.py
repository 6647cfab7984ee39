"""Figures of a source tree that can be read without importing it: sizes, names, imports."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip
APPENDS = re.compile(r"\blog\.append$|_log\.append$")
"""A call that appends events. ``log.audit`` and ``log.derived`` take no events."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
HIDING = re.compile(r"\bwhat (?:is|was)\b|\bnobody\b|(?<!left )(?<!leaves )\bbehind\b", re.IGNORECASE)
"""Words of a docstring in the place of the noun that it is about. A key that a return leaves behind is named."""
NOUNLESS = re.compile(r"(?:What|Everything|The same|Of|They|There|Those|Where|Who)\b(?!.*\?$)")
"""Beginnings of a docstring that leave the noun to the reader. Questions may begin so."""


@dataclass(frozen=True)
class Module:
    """One file of Python."""

    path: Path
    name: str
    """As it is imported."""

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def room(self) -> str:
        """The folder directly below the package that holds it; empty for a module of the package itself."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 2 or (len(parts) == 2 and self.path.name == "__init__.py") else ""

    @property
    def package(self) -> str:
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @cached_property
    def lines_of_code(self) -> int:
        """Lines that hold a token, without comments, docstrings and the docstrings of fields."""
        held: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in LAYOUT:
                held.update(range(token.start[0], token.end[0] + 1))
        for node, _ in self._docstrings:
            held.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        return len(held)

    @property
    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, FUNCTIONS))

    @property
    def public_functions(self) -> set[str]:
        return {node.name for node in self.tree.body if isinstance(node, FUNCTIONS) and not node.name.startswith("_")}

    def constants(self, name: str) -> list[str]:
        """The texts in a list or tuple of the module."""
        return [
            one.value
            for node in self.tree.body
            if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]
            for one in ast.walk(node.value)
            if isinstance(one, ast.Constant) and isinstance(one.value, str)
        ]

    @property
    def hiding_docstrings(self) -> list[str]:
        """Docstrings of one line, those of fields included, that hide the noun."""
        texts = [(node.lineno, text) for node, text in self._docstrings]
        return [f"{self.name}:{line}: {text}" for line, text in texts if "\n" not in text and HIDING.search(text)]

    @property
    def nounless_docstrings(self) -> list[str]:
        """Docstrings, those of fields included, that begin without a noun."""
        firsts = [(node.lineno, text.strip().partition("\n")[0]) for node, text in self._docstrings]
        return [f"{self.name}:{line}: {first}" for line, first in firsts if NOUNLESS.match(first)]

    @property
    def _docstrings(self) -> Iterator[tuple[ast.Expr, str]]:
        """Texts that stand alone: of modules, classes, functions and fields."""
        for node in ast.walk(self.tree):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield node, node.value.value

    @property
    def imported(self) -> Iterator[tuple[str, str]]:
        """Every import, for types and inside functions too: the module, and the name taken from it or nothing."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                parts = self.package.split(".")
                base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
                source = ".".join(part for part in (base, node.module) if part)
                yield from ((source, alias.name) for alias in node.names)


class Source:
    """All modules of a package's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules = [Module(path, self._name(path)) for path in sorted(folder.rglob("*.py"))]

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.folder.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def lines_of_code(self) -> int:
        return sum(module.lines_of_code for module in self.modules)

    def by_room(self) -> dict[str, list[Module]]:
        rooms: defaultdict[str, list[Module]] = defaultdict(list)
        for module in self.modules:
            rooms[module.room].append(module)
        return dict(sorted(rooms.items()))

    def by_folder(self) -> dict[Path, list[Module]]:
        """Subfolders apart."""
        folders: defaultdict[Path, list[Module]] = defaultdict(list)
        for module in self.modules:
            folders[module.path.parent.relative_to(self.folder)].append(module)
        return dict(folders)

    def repeated_names(self) -> dict[str, list[str]]:
        """File names that stand for several modules, with these."""
        homes: defaultdict[str, list[str]] = defaultdict(list)
        for module in self.modules:
            if module.path.stem not in {"__init__", "__main__"}:
                homes[module.path.stem].append(module.name)
        return {name: places for name, places in homes.items() if len(places) > 1}

    def named_ing(self) -> list[str]:
        """Modules whose file is named after an activity. Folders are not counted."""
        return [module.name for module in self.modules if module.path.stem.endswith("ing")]

    def shared_functions(self, homes: int) -> dict[str, list[str]]:
        """Names of public functions that are defined in so many modules or more."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for module in self.modules:
            for name in module.public_functions:
                found[name].append(module.name)
        return {name: sorted(places) for name, places in sorted(found.items()) if len(places) >= homes}

    def long_functions(self, most: int) -> list[str]:
        return [
            f"{module.name}.{node.name}: {_length(node)} lines"
            for module in self.modules
            for node in module.functions
            if _length(node) > most
        ]

    def callers(self, function: str, home: str) -> list[str]:
        """Modules that take a function or class from a room, or define it there, and call it."""
        return sorted(
            module.name
            for module in self.modules
            if any(name == function and source.startswith(home) for source, name in module.imported)
            and any(
                isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function
                for node in ast.walk(module.tree)
            )
        )

    def appending(self) -> dict[str, list[str]]:
        """Rooms that append events to a log, each with its modules that do; the room of the log itself apart."""
        rooms: defaultdict[str, list[str]] = defaultdict(list)
        for module in self.modules:
            if module.room != "log" and any(
                isinstance(node, ast.Call) and APPENDS.search(ast.unparse(node.func)) for node in ast.walk(module.tree)
            ):
                rooms[module.room].append(module.name)
        return dict(rooms)

    def imports(self) -> dict[str, set[str]]:
        """Which modules each module imports, those for types included."""
        names = {module.name for module in self.modules}
        return {
            module.name: {
                taken
                for source, name in module.imported
                for taken in [f"{source}.{name}" if f"{source}.{name}" in names else source]
                if taken in names and taken != module.name
            }
            for module in self.modules
        }

    def knots(self) -> list[list[str]]:
        """Groups of modules that import each other in a circle, largest first."""
        return sorted(
            (sorted(one) for one in strongly_connected(self.imports()) if len(one) > 1), key=lambda one: -len(one)
        )

    def room_knots(self) -> list[list[str]]:
        """Groups of rooms that import each other in a circle."""
        rooms = {module.name: module.room or module.name for module in self.modules}
        graph: defaultdict[str, set[str]] = defaultdict(set)
        for module, taken in self.imports().items():
            # The package's own module gathers the public names.
            if "." in module:
                graph[rooms[module]] |= {rooms[one] for one in taken if "." in one} - {rooms[module]}
        return sorted(sorted(one) for one in strongly_connected(graph) if len(one) > 1)


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def strongly_connected(graph: dict[str, set[str]]) -> list[set[str]]:
    """Groups in which each reaches each other (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            at = stack.index(node)
            found.append(set(stack[at:]))
            del stack[at:]

    for node in graph:
        if node not in order:
            visit(node)
    return found


def private_imports(users: list[Module], public: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Names that modules take from readmit and that no public module exports: the module, and the name."""
    found = []
    for module in users:
        for source, name in module.imported:
            if source.partition(".")[0] != "readmit" or f"{source}.{name}" in public:
                continue
            if source not in public or (name and name not in public[source]):
                found.append((module.name, f"{source}.{name}".rstrip(".")))
    return found
