"""Python modules and classes of a tree: whether they are there, and what they define."""

from __future__ import annotations

import ast
import re
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from readmit.check.declared.versions import declared
from readmit.check.working_tree import is_test
from readmit.records.error_types import CheckLimitError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from readmit.check.working_tree import WorkTree

_LAZY = re.compile(r"^from [\w.]+ import \*|def __getattr__|lazy|setattr\(|globals\(\)", re.MULTILINE)
_STAR = re.compile(r"^from ([\w.]+) import \*", re.MULTILINE)
_TAKEN = re.compile(r"^[ \t]*from ([\w.]+) import (?:\(([^)]{0,5000})\)|([^\n]{0,1000}))", re.MULTILINE)
_DEEPEST = 30
"""Longest chain of base classes that is followed. Attributes beyond it are unknown."""
_FAMILIAR = {"object", "Exception", "Protocol", "Generic", "ABC"}
_FIELDS = {"Struct", "NamedTuple", "BaseModel", "TypedDict", *_FAMILIAR}
"""Bases whose classes take their annotated fields as parameters."""
_PLAIN = {
    "staticmethod",
    "classmethod",
    "override",
    "overload",
    "abstractmethod",
    "cache",
    "lru_cache",
    "contextmanager",
}
"""Decorators that leave a function's parameters as they are."""


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
        own = {one.rpartition("/")[2] for one in packages if one.rpartition("/")[0] not in packages}
        # Below the root a folder is a package without saying so.
        plain = {path.partition("/")[0] for path in self._tree.paths if re.fullmatch(r"\w+/\w+\.py", path)}
        return frozenset(own | (plain - sys.stdlib_module_names - declared(self._tree).keys()))

    def is_own(self, module: str) -> bool:
        return module.partition(".")[0] in self.tops

    def file(self, module: str) -> str | None:
        """A module's file; of a package without one, its folder."""
        as_path = module.replace(".", "/")
        folder = next((one for one in self._tree.folders if one == as_path or one.endswith(f"/{as_path}")), None)
        return self._by_name.get(module) or folder

    def lacks(self, dotted: str, present: Collection[str] = ()) -> str:
        """The missing part of a dotted name of an own package; empty if all is there, or only running it would show.

        A module that makes its names when it runs has none that no code writes down: ``present`` are those it does.
        """
        parts = dotted.split(".")
        for size in range(len(parts) - 1, 0, -1):
            module = ".".join(parts[:size])
            if self.file(module) is not None:
                if self.defines(module, parts[size - 1]) is True:
                    # The name of a class, too, whose members these may be.
                    return ""
                if self._takes_all(module):
                    return ""
                has = self.defines(module, parts[size])
                is_missing = has is False or (has is None and bool(present) and parts[size] not in present)
                return f"{module} has no {parts[size]}" if is_missing else ""
        return ""

    def _takes_all(self, module: str) -> bool:
        """Whether a module takes every name of one that is not in the tree."""
        taken = _STAR.findall(self._tree.text(self._by_name.get(module, "")) or "")
        return any(not one.startswith(".") and not self.is_own(one) for one in taken)

    def is_here(self, module: str) -> bool:
        """Whether an imported module is in the tree as code."""
        bare = module.lstrip(".")
        return not bare or ((bare != module or self.is_own(module)) and self.file(bare) is not None)

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
    if (tree := parsed(path, text)) is None:
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


def with_method(tree: WorkTree, name: str) -> list[str]:
    """The files in which some class has a function of this name."""
    paths = tree.holding(rf"^[[:space:]]+(async )?def {name}\b", "*.py")
    return [path for path in paths if any(_methods(one, name) for one in _classes(path, tree.text(path) or ""))]


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


def missing_parameters(tree: WorkTree, names: list[tuple[str, str]]) -> dict[tuple[str, str], bool]:
    """Whether every definition of a callable in the tree lacks a parameter. Callables that are not known are left out.

    A method is named with its class, if the statement does.
    """
    called = {name.partition(".")[0] for name, _ in names}
    elsewhere = {name for name in called if is_imported(tree, name)}
    known: dict[str, list[ast.AST]] = {}
    looked: set[str] = set()
    for _ in range(_DEEPEST):
        if not (wanted := called - looked):
            break
        looked |= wanted
        pattern = rf"^[[:space:]]*(async )?(class|def) ({'|'.join(sorted(wanted))})\b"
        for path in (one for one in tree.holding(pattern, "*.py") if not is_test(one)):
            code = parsed(path, tree.text(path) or "")
            for node in ast.walk(code) if code else ():
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name in wanted:
                    known.setdefault(node.name, []).append(node)
        bases = {
            base
            for one in wanted
            for found in known.get(one, ())
            if isinstance(found, ast.ClassDef)
            for base in _bases(found)
        }
        called |= bases - _FIELDS
    answers: dict[tuple[str, str], bool] = {}
    for name, parameter in names:
        first, _, method = name.partition(".")
        found = (
            known.get(first, []) if not method else [one for of in known.get(first, ()) for one in _methods(of, method)]
        )
        taken = [_parameters(one, known, 0) for one in found]
        if first not in elsewhere and taken and None not in taken:
            answers[name, parameter] = all(parameter not in one for one in taken if one is not None)
    return answers


def is_imported(tree: WorkTree, name: str) -> bool:
    """Whether code takes a name from another project: then a statement may mean that one."""
    modules = ProjectModules(tree)
    word = re.compile(rf"\b{name}\b")
    texts = (tree.text(path) or "" for path in tree.holding(rf"\b{name}\b", "*.py"))
    taken = (found for text in texts for found in _TAKEN.finditer(text) if word.search(found[2] or found[3] or ""))
    return any(not modules.is_here(found[1]) for found in taken)


def _methods(of: ast.AST, name: str) -> list[ast.AST]:
    return [
        one
        for one in (of.body if isinstance(of, ast.ClassDef) else ())
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == name
    ]


def _parameters(found: ast.AST, known: dict[str, list[ast.AST]], depth: int) -> set[str] | None:
    """The parameters that a class or a function takes by name; none if they are not all known."""
    if isinstance(found, ast.ClassDef):
        own = next(
            (one for one in found.body if isinstance(one, ast.FunctionDef) and one.name in {"__init__", "__new__"}),
            None,
        )
        if own is not None:
            return _parameters(own, known, depth)
        if depth > _DEEPEST:
            return None
        fields = {
            one.target.id for one in found.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        }
        inherited = [
            set() if base in _FIELDS else _any_of(known.get(base, ()), known, depth + 1) for base in _bases(found)
        ]
        is_plain = not found.bases and not found.decorator_list
        return None if None in inherited or (is_plain and fields) else fields.union(*(one or () for one in inherited))
    assert isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101 - the callers choose
    decorators = {_last_name(one.func if isinstance(one, ast.Call) else one) for one in found.decorator_list}
    given = found.args
    if given.kwarg is not None or decorators - _PLAIN:
        return None
    return {one.arg for one in (*given.args, *given.kwonlyargs)}


def _any_of(found: Sequence[ast.AST], known: dict[str, list[ast.AST]], depth: int) -> set[str] | None:
    """The parameters of every class with the name of a base; none if one of them is not known."""
    taken = [_parameters(one, known, depth) for one in found]
    return None if not taken or None in taken else set().union(*(one or () for one in taken))


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "?")


def _classes(path: str, text: str) -> Iterator[ast.ClassDef]:
    tree = parsed(path, text)
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)) if tree else ()


def parsed(path: str, text: str) -> ast.Module | None:
    """A module's code; none if it cannot be read."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    except (RecursionError, MemoryError):
        raise CheckLimitError(f"{path}: nested too deeply to be read; remove it, or name another --root") from None


def _bases(found: ast.ClassDef) -> list[str]:
    """The names of the bases. One that is computed has no name, and is not known."""
    return [_last_name(one.value if isinstance(one, ast.Subscript) else one) for one in found.bases]


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
