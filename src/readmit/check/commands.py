"""Commands that a statement names: targets of make, scripts of npm, Python modules, and the project's own programs."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from readmit.check.python import ProjectModules
    from readmit.check.tree import WorkTree

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_TARGET = re.compile(r"^([\w./ -]+?)\s*::?(?!=)", re.MULTILINE)
_OPEN_ENDED = re.compile(r"^(?:-?include|sinclude)\b|^[^\t#\n]*%[^\n]*:|\$\(eval|^\$\(", re.MULTILINE)


class CommandAnswer(NamedTuple):
    """What became of a command."""

    outcome: Literal["holds", "gone", "unknown"]
    now: str = ""
    """What is there instead, or why nothing can be said."""


class ProjectCommands:
    """The commands of a tree."""

    def __init__(self, tree: WorkTree, modules: ProjectModules) -> None:
        self._tree = tree
        self._modules = modules

    def answer(self, name: str, how: str) -> CommandAnswer:
        """Whether a command can be run. ``how`` is ``make``, ``npm``, ``python -m`` or a subcommand's name."""
        match how:
            case "make":
                return self._make(name)
            case "npm":
                return self._npm(name)
            case "python -m":
                return self._module(name)
        return CommandAnswer("unknown", "a program outside of the tree")

    @cached_property
    def programs(self) -> frozenset[str]:
        """The project's own programs."""
        found: set[str] = set()
        for path in self._tree.names.get("pyproject.toml", ()):
            try:
                project = tomllib.loads(self._tree.text(path) or "").get("project", {})
            except tomllib.TOMLDecodeError:
                continue
            found |= set(project.get("scripts", {}))
        return frozenset(found)

    def _make(self, target: str) -> CommandAnswer:
        file = next((name for name in _MAKEFILES if name in self._tree.paths), None)
        text = None if file is None else self._tree.text(file)
        if text is None:
            return self._absent("Makefile")
        targets = {one for found in _TARGET.finditer(text) for one in found[1].split()}
        if target in targets:
            return CommandAnswer("holds")
        if _OPEN_ENDED.search(text):
            return CommandAnswer("unknown", f"{file} has rules that only make can read")
        known = ", ".join(sorted(one for one in targets if not one.startswith(".")))
        return CommandAnswer("gone", f"{file} has no such target; it has {known}"[:300])

    def _npm(self, script: str) -> CommandAnswer:
        try:
            data = json.loads(self._tree.text("package.json") or "{}")
        except json.JSONDecodeError:
            return CommandAnswer("unknown", "package.json cannot be read")
        if "package.json" not in self._tree.paths:
            return self._absent("package.json")
        scripts = data.get("scripts", {}) if isinstance(data, dict) else {}
        if script in scripts:
            return CommandAnswer("holds")
        known = ", ".join(sorted(scripts)) or "none"
        return CommandAnswer("gone", f"package.json has no such script; it has {known}"[:300])

    def _absent(self, file: str) -> CommandAnswer:
        if (past := self._tree.left.get(file)) is None:
            return CommandAnswer("unknown", f"there is no {file}")
        return CommandAnswer("gone", f"{file} was {past}")

    def _module(self, module: str) -> CommandAnswer:
        if self._modules.file(module) is not None:
            return CommandAnswer("holds")
        if not self._modules.is_own(module):
            return CommandAnswer("unknown", "a module outside of the tree")
        return CommandAnswer("gone", f"the package {module.partition('.')[0]} has no such module")
