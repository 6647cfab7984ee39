"""Python modules and classes of a tree: whether they are there, and what they define."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.check.tree import WorkTree

_LAZY = re.compile(r"^from [\w.]+ import \*|def __getattr__|lazy|setattr\(|globals\(\)", re.MULTILINE)
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
        text = self._tree.text(self._by_name.get(module, ""))
        if text is None or _LAZY.search(text):
            return None
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def lacking(tree: WorkTree, names: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of the class and attribute pairs whose class is defined here, with all its bases, without the attribute."""
    classes = {first for first, _ in names}
    known: dict[str, list[ast.ClassDef]] = {}
    looked: set[str] = set()
    while wanted := classes - looked:
        looked |= wanted
        for path in tree.holding(rf"^[[:space:]]*class ({'|'.join(sorted(wanted))})\b", "*.py"):
            for found in _classes(tree.text(path) or ""):
                if found.name in wanted:
                    known.setdefault(found.name, []).append(found)
        classes |= {base for one in wanted for found in known.get(one, ()) for base in _bases(found)} - _FAMILIAR
    return {(name, attribute) for name, attribute in names if _lacks(name, attribute, known, frozenset())}


def _lacks(name: str, attribute: str, known: dict[str, list[ast.ClassDef]], met: frozenset[str]) -> bool:
    if name not in known or name in met:
        return False
    return all(
        attribute not in set(_attributes(one))
        and all(base in _FAMILIAR or _lacks(base, attribute, known, met | {name}) for base in _bases(one))
        for one in known[name]
    )


def _classes(text: str) -> Iterator[ast.ClassDef]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def _bases(found: ast.ClassDef) -> list[str]:
    """The names of the bases. One that is computed has no name, and is not known."""
    bases = (one.value if isinstance(one, ast.Subscript) else one for one in found.bases)
    return [ast.unparse(one).rpartition(".")[2] if isinstance(one, ast.Name | ast.Attribute) else "?" for one in bases]


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
