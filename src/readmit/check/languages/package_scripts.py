"""Scripts and programs of package.json files."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from readmit.check.check_values import CommandAnswer
from readmit.check.command_lines import BARE, OF
from readmit.check.working_tree import as_table

if TYPE_CHECKING:
    from typing import Any

    from readmit.check.working_tree import WorkTree

_OWN = {
    "add", "audit", "ci", "config", "create", "dedupe", "deploy", "env", "exec", "fetch", "help", "import",
    "info", "init", "install", "link", "list", "login", "ls", "outdated", "pack", "patch", "plugin", "prune", "publish",
    "rebuild", "remove", "root", "run", "set", "setup", "store", "test", "unlink", "up", "update", "upgrade", "version",
    "why", "workspace", "workspaces", "x", "i", "rm", "licenses", "recursive", "repl", "pm", "node", "changeset",
}  # fmt: skip
"""Commands of the package managers themselves."""


class PackageScripts:
    """The package.json files of a tree."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree

    @cached_property
    def _packages(self) -> list[dict[str, Any]]:
        return [self._tree.table(path) for path in self._tree.names.get("package.json", ())]

    @cached_property
    def programs(self) -> frozenset[str]:
        """The programs that the packages install."""
        found: set[str] = set()
        for package in self._packages:
            name = str(package.get("name", "")).rpartition("/")[2]
            found.update({name} if isinstance(package.get("bin"), str) else as_table(package.get("bin")))
        return frozenset(found - {""})

    @cached_property
    def _dependencies(self) -> frozenset[str]:
        kinds = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
        return frozenset(name for one in self._packages for kind in kinds for name in as_table(one.get(kind)))

    def answer(self, script: str, how: str) -> CommandAnswer:
        """Whether a script can be run. ``how`` says if the word may be a program, and which package it is of."""
        kind, _, package = how.partition(OF)
        if not self._packages:
            past = self._tree.left.get("package.json")
            return (
                CommandAnswer("gone", f"package.json was {past}")
                if past
                else CommandAnswer("unknown", "there is no package.json")
            )
        named = [one for one in self._packages if package in {one.get("name"), str(one.get("name")).rpartition("/")[2]}]
        if package and not named:
            return CommandAnswer("unknown", f"no package.json is that of {package}")
        scripts = {name for one in (named or self._packages) for name in as_table(one.get("scripts"))}
        if script in scripts:
            return CommandAnswer("holds")
        known = f"package.json has no such script; it has {', '.join(sorted(scripts)) or 'none'}"[:300]
        if not kind.endswith(BARE):
            return CommandAnswer("gone", known)
        if script in _OWN or script in self._dependencies:
            return CommandAnswer("holds")
        # What was a script, or is spelled like one, is no program. A dependency has a version there.
        line = rf"\"{re.escape(script)}\"[[:space:]]*:[[:space:]]*\"[A-Za-z.]"
        if past := self._tree.had(line, ":(glob)**/package.json"):
            return CommandAnswer("gone", f"{known}: {past}")
        if ":" in script:
            return CommandAnswer("gone", known)
        return CommandAnswer("unknown", "a program, or a script that was never here")
