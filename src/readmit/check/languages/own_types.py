"""Types of a tree in JavaScript, TypeScript, Go and Rust, and whether they have a member."""

from __future__ import annotations

import re
import time
from functools import cached_property
from typing import TYPE_CHECKING

from readmit.check.languages.declared_types import DeclaredType, declared_types
from readmit.check.languages.grammars import grammar_of
from readmit.check.languages.task_runners import TaskRunners

if TYPE_CHECKING:
    from collections.abc import Collection

    from readmit.check.working_tree import WorkTree

_SECONDS = 30.0
"""Longest time for all files of a tree; those that are not read by then are not judged."""
_DEEPEST = 30
_FROM = re.compile(r"\bfrom\s{0,20}[\"'](?![.~]|@/)")


class OwnTypes:
    """The types that the code of a tree declares."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self._last = 0.0
        self._known: dict[str, DeclaredType] = {}
        self._read: set[str] = set()
        self._looked: set[str] = set()
        self._is_partial = False

    @cached_property
    def _code(self) -> dict[str, str]:
        """The files that a grammar reads, with their texts."""
        paths = (path for path in sorted(self._tree.files_of_code()) if grammar_of(path))
        return {path: text for path in paths if (text := self._tree.text(path)) is not None}

    def lacks(self, name: str, member: str) -> bool:
        """Whether a type is declared in the tree, with all its bases, and has no such member."""
        wanted, met = {name}, set[str]()
        for _ in range(_DEEPEST):
            if not (wanted := wanted - met):
                break
            met |= wanted
            self._look(wanted)
            wanted = {base for one in wanted if one in self._known for base in self._known[one].bases}
        if self._is_partial or wanted or not met <= self._known.keys() or self._is_imported(name):
            # A base that is not declared here may have the member.
            return False
        return all(self._known[one].lacks(member) for one in met)

    def _is_imported(self, name: str) -> bool:
        """Whether code takes a type of this name from another project: then a statement may mean that one."""
        word = re.compile(rf"\b{name}\b")
        used = re.compile(rf"^[ \t]*(?:pub )?use (?!crate\b|self\b|super\b{self._own})([^;]{{0,500}})", re.MULTILINE)
        for text in (text for text in self._code.values() if name in text):
            # What stands between an import and its module, which may be lines before.
            taken = (text[max(0, at.start() - 500) : at.start()].rpartition("import")[2] for at in _FROM.finditer(text))
            if any(map(word.search, (*taken, *used.findall(text)))):
                return True
        return False

    @cached_property
    def _own(self) -> str:
        """The own crates, as the rest of an alternative."""
        return "".join(rf"|{re.escape(name)}\b" for name in TaskRunners(self._tree).crate_folders())

    def declares(self, name: str) -> bool:
        """Whether some code declares a type, read or not."""
        self._look({name})
        return self._is_partial or name in self._known

    def members(self, name: str) -> frozenset[str]:
        """The members of a type that was looked for."""
        return frozenset(self._known[name].members if name in self._known else ())

    def _look(self, names: Collection[str]) -> None:
        """Read the files that hold some names."""
        wanted = [name for name in names if name not in self._looked]
        self._looked.update(wanted)
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, wanted))})\b") if wanted else None
        self._last = self._last or time.monotonic() + _SECONDS
        for path, text in self._code.items() if pattern else ():
            if path in self._read or not pattern or not pattern.search(text):
                continue
            self._read.add(path)
            found = declared_types(path, text) if time.monotonic() < self._last else None
            if found is None:
                self._is_partial = True
                return
            for name, declared in found:
                known = self._known.setdefault(name, DeclaredType())
                known.members |= declared.members
                known.bases |= declared.bases
                known.is_open = known.is_open or declared.is_open
