"""Packages that a statement names in words: whether the project still declares them.

"State is in zustand" says nothing that code has to hold, but a manifest declared that package once and does not now. A
name counts only if the history of a manifest knows it as a package, and if no code says it any more.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from readmit.check.check_values import CheckFinding, Unchecked
from readmit.check.declared.versions import manifests, tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.check.check_values import Mention
    from readmit.check.working_tree import Departed, WorkTree

_NAMES = ("pyproject.toml", "package.json", "go.mod", "Cargo.toml", "requirements*.txt", "requirements*.in")
_DECLARED = re.compile(
    r"^[ \t]*\"(@?[\w./-]+)\"[ \t]*:[ \t]*\"(?:[\^~<>=v]*[ ]?\d|workspace:|npm:|\*\")"  # package.json
    r"|[\"']([A-Za-z][\w.-]*)(?:\[[^\]\n]*\])?[ ]?(?:[<>=~!]=|[<>])"  # a requirement in a list
    r"|^([A-Za-z][\w.-]*)(?:\[[^\]\n]*\])?[ ]?(?:[<>=~!]=|[<>]|$)"  # requirements.txt
    r"|^([A-Za-z][\w-]*)[ ]?=[ ]?(?:[\"'][\^~<>=*]*\d|\{)"  # a table of Poetry, or of cargo
    r"|^(?:require)?[ \t]+\S*?([\w.-]+?)(?:/v\d+)?[ ]v\d",  # go.mod
    re.MULTILINE,
)
_INLINE = re.compile(r"[{,][ \t]*(\"@?[\w./-]+\"[ \t]*:[ \t]*\"[^\"\n]*\")")
"""A member of an object that stands on one line."""
_NO_PACKAGES = frozenset(
    {"version", "name", "node", "npm", "python", "requires-python", "edition", "rust-version", "go", "rust"}
)


class ProjectPackages:
    """The packages that a project declares, and those that it declared once."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree

    @cached_property
    def files(self) -> list[str]:
        """The manifests of the tree."""
        return [path for is_below in (False, True) for path in manifests(self._tree, is_below=is_below)]

    @cached_property
    def _now(self) -> frozenset[str]:
        return frozenset(name for path in self.files for name in _named(self._tree.text(path) or ""))

    @cached_property
    def _left(self) -> dict[str, Departed]:
        found: dict[str, Departed] = {}
        for past, line in self._tree.removed_lines(*_NAMES, *(f"**/{name}" for name in _NAMES)):
            for name in _named(line):
                found.setdefault(name, past)
        return found

    @cached_property
    def known(self) -> frozenset[str]:
        """Names of all these packages, as ``tool`` spells them."""
        return self._now | self._left.keys()

    @cached_property
    def _said(self) -> frozenset[str]:
        return frozenset(map(str.lower, self._tree.words))

    def outcomes(self, mentions: Iterable[Mention]) -> Iterator[Mention | CheckFinding | Unchecked]:
        """Whether packages that statements name are still declared."""
        for one in mentions:
            name = tool(one.name)
            if name in self._now:
                yield one
            elif self._is_said(name):
                yield Unchecked(one.place, one.name, "no file declares this package, and code says its name")
            else:
                yield CheckFinding(one.place, one.kind, one.name, f"no file declares it: {self._left[name]}")

    def _is_said(self, name: str) -> bool:
        """Whether code still has the name, whatever it means there."""
        spelled = name.replace("-", "_")
        return spelled in self._said if spelled.isidentifier() else self._tree.says(name)


def _named(text: str) -> Iterator[str]:
    """The packages that some lines of a manifest declare."""
    lines = _INLINE.sub(r"\n\1", text)
    for found in _DECLARED.finditer(lines):
        name = tool(next(filter(None, found.groups()), ""))
        if len(name) > 1 and name not in _NO_PACKAGES:
            yield name
