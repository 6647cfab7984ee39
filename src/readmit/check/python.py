"""Python modules and classes of a tree: whether they are there, and what they define."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from readmit.records.error_types import CheckLimitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.check.working_tree import WorkTree

_LAZY = re.compile(r"^from [\w.]+ import \*|def __getattr__|lazy|setattr\(|globals\(\)", re.MULTILINE)
_DEEPEST = 30
"""Longest chain of base classes that is followed. Attributes beyond it are unknown."""
_FAMILIAR = {"object", "Exception", "Protocol", "Generic", "ABC"}


class ProjectModules:
    """The modules of a tree, wherever their packages are."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """Every way to write a module, from its last name up to its whole path → its file."""
        found: dict[str, str] = {}
        for path in sorted(self._tree.paths, key=len):
            if path.endswith(".py"):
                parts = path.removesuffix("/__init__.py").removesuffix(".py").split("/")
                for start in range(len(parts)):
                    found.setdefault(".".join(parts[start:]), path)
        return found

    @cached_property
    def tops(self) -> frozenset[str]:
        """Packages that are not inside another one."""
        packages = {path.removesuffix("/__init__.py") for path in self._tree.paths if path.endswith("/__init__.py")}
        return frozenset(one.rpartition("/")[2] for one in packages if one.rpartition("/")[0] not in packages)

    def is_own(self, module: str) -> bool:
        return module.partition(".")[0] in self.tops

    def file(self, module: str) -> str | None:
        """A module's file; of a package without one, its folder."""
        as_path = module.replace(".", "/")
        folder = next((one for one in self._tree.folders if one == as_path or one.endswith(f"/{as_path}")), None)
        return self._by_name.get(module) or folder

    def defines(self, module: str, name: str) -> bool | None:
        """Whether a name can be taken from a module; none if only running it would show."""
        if self.file(f"{module}.{name}") is not None:
            return True
        path = self._by_name.get(module, "")
        text = self._tree.text(path)
        names = None if text is None or _LAZY.search(text) else _top_names(path, text)
        return None if names is None else name in names


def _top_names(path: str, text: str) -> set[str] | None:
    """The top-level names that a module binds; None if the file cannot be parsed."""
    if (tree := _parsed(path, text)) is None:
        return None
    left: list[ast.AST] = [tree]
    found: set[str] = set()
    while left:
        node = left.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
                continue
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found.update((one.asname or one.name).partition(".")[0] for one in names)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
        left += ast.iter_child_nodes(node)
    return found


def missing_attributes(tree: WorkTree, names: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """The class and attribute pairs whose class, with all its bases, is defined in the tree without the attribute."""
    classes = {first for first, _ in names}
    known: dict[str, list[ast.ClassDef]] = {}
    looked: set[str] = set()
    for _ in range(_DEEPEST):
        if not (wanted := classes - looked):
            break
        looked |= wanted
        for path in tree.holding(rf"^[[:space:]]*class ({'|'.join(sorted(wanted))})\b", "*.py"):
            for found in _classes(path, tree.text(path) or ""):
                if found.name in wanted:
                    known.setdefault(found.name, []).append(found)
        classes |= {base for one in wanted for found in known.get(one, ()) for base in _bases(found)} - _FAMILIAR
    return {(name, attribute) for name, attribute in names if _lacks(name, attribute, known, {})}


def _lacks(name: str, attribute: str, known: dict[str, list[ast.ClassDef]], met: dict[str, bool]) -> bool:
    if name not in met:
        # A class that is its own base is not known well enough.
        met[name] = False
        met[name] = name in known and all(
            attribute not in set(_attributes(one))
            and all(base in _FAMILIAR or _lacks(base, attribute, known, met) for base in _bases(one))
            for one in known[name]
        )
    return met[name]


def _classes(path: str, text: str) -> Iterator[ast.ClassDef]:
    tree = _parsed(path, text)
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)) if tree else ()


def _parsed(path: str, text: str) -> ast.Module | None:
    """A module's code; none if it cannot be read."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    except (RecursionError, MemoryError):
        raise CheckLimitError(f"{path}: nested too deeply to be read; remove it, or name another --root") from None


def _bases(found: ast.ClassDef) -> list[str]:
    """The names of the bases. One that is computed has no name, and is not known."""
    bases = (one.value if isinstance(one, ast.Subscript) else one for one in found.bases)
    return [
        one.id if isinstance(one, ast.Name) else one.attr if isinstance(one, ast.Attribute) else "?" for one in bases
    ]


def _attributes(found: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(found):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.Constant(value=str(name)):
                # Names in __slots__, or handed to setattr.
                yield name
