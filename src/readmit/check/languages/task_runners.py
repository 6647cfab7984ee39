"""Recipes of just, services of compose, and the packages, targets, features and aliases of cargo."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from readmit.check.check_values import CommandAnswer
from readmit.check.command_lines import CARGO
from readmit.check.working_tree import as_table

if TYPE_CHECKING:
    from typing import Any

    from readmit.check.working_tree import WorkTree

JUSTFILES = ("justfile", "Justfile", ".justfile")
COMPOSE = re.compile(r"(?:docker-)?compose[\w.-]*\.ya?ml")
_RECIPE = re.compile(r"^@?([A-Za-z_][\w-]*)(?:[ \t][^:\n]*)?:(?!=)|^alias[ \t]+([\w-]+)", re.MULTILINE)
_IMPORT = re.compile(r"^(?:import|mod)\b", re.MULTILINE)
_SERVICES = re.compile(r"^services:[ \t]*\n((?:[ \t]+[^\n]*\n?|[ \t]*\n|#[^\n]*\n)*)", re.MULTILINE)
_KEY = re.compile(r"^(?:  |\t)[\"']?([\w.-]+)[\"']?:", re.MULTILINE)
_CARGO = {
    "add", "bench", "build", "b", "check", "c", "clean", "clippy", "doc", "d", "fetch", "fix", "fmt", "init", "install",
    "login", "metadata", "new", "owner", "package", "publish", "remove", "report", "run", "r", "search", "test", "t",
    "tree", "uninstall", "update", "vendor", "version", "yank", "help",
}  # fmt: skip
"""Commands of cargo without an alias."""
_FOLDERS = {"bin": "src/bin", "example": "examples", "test": "tests", "bench": "benches"}
"""Folders in which cargo finds targets that no file declares."""


class TaskRunners:
    """Names that the task runners of a tree can be given. None where there is no file of one, or it cannot be read."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree

    def answer(self, name: str, how: str) -> CommandAnswer:
        """Whether one of them knows a name. ``how`` is ``just``, ``compose``, ``cargo``, or an option of cargo."""
        match how:
            case "just":
                return _among(name, self.recipes, "the justfile", "recipe")
            case "compose":
                return _among(name, self.services, "the compose file", "service")
            case "cargo":
                return self._alias(name)
        what = how.removeprefix(CARGO)
        return _among(name.partition("/")[0] if what == "features" else name, self.cargo(what), "cargo", what)

    def _alias(self, name: str) -> CommandAnswer:
        if name in _CARGO or name in self.aliases:
            return CommandAnswer("holds")
        if past := self._tree.had(
            rf"^[\"']?{re.escape(name)}[\"']?[[:space:]]*=", ".cargo/config.toml", ".cargo/config"
        ):
            return CommandAnswer("gone", f"cargo has no such alias: {past}")
        return CommandAnswer("unknown", "a program outside of the tree")

    @cached_property
    def recipes(self) -> frozenset[str] | None:
        """Recipes of just."""
        texts = [self._tree.text(path) or "" for name in JUSTFILES for path in self._tree.names.get(name, ())]
        if not texts or any(map(_IMPORT.search, texts)):
            return None
        return frozenset(one or alias for text in texts for one, alias in _RECIPE.findall(text))

    @cached_property
    def services(self) -> frozenset[str] | None:
        """Services of compose files."""
        files = [path for path in self._tree.paths if COMPOSE.fullmatch(path.rpartition("/")[2])]
        texts = [self._tree.text(path) or "" for path in files]
        if not texts or any(re.search(r"^include:|^services:[ \t]*\S", text, re.MULTILINE) for text in texts):
            return None
        return frozenset(name for text in texts for part in _SERVICES.findall(text) for name in _KEY.findall(part))

    @cached_property
    def _crates(self) -> dict[str, dict[str, Any]]:
        """The Cargo.toml files, by their folders."""
        return {path.rpartition("/")[0]: self._tree.table(path) for path in self._tree.names.get("Cargo.toml", ())}

    @cached_property
    def aliases(self) -> frozenset[str]:
        """Aliases of cargo."""
        files = [path for path in (".cargo/config.toml", ".cargo/config") if path in self._tree.paths]
        return frozenset(name for path in files for name in as_table(self._tree.table(path).get("alias")))

    @cached_property
    def packages(self) -> frozenset[str]:
        """Names of the own crates."""
        names = (as_table(crate.get("package")).get("name") for crate in self._crates.values())
        return frozenset(name for name in names if isinstance(name, str))

    def crate_folders(self) -> dict[str, str]:
        """Own crates, as code spells them, with their folders."""
        named = ((as_table(crate.get("package")).get("name"), folder) for folder, crate in self._crates.items())
        return {name.replace("-", "_"): folder for name, folder in named if isinstance(name, str)}

    def cargo(self, what: str) -> frozenset[str] | None:
        """Names that cargo can be given as ``--package``, ``--features``, or the option of a kind of target."""
        if not self._crates:
            return None
        match what:
            case "package":
                return self.packages | self._dependencies
            case "features":
                named = {name for crate in self._crates.values() for name in as_table(crate.get("features"))}
                return frozenset(named) | self._dependencies | {"default"}
        return self._targets(what)

    @cached_property
    def _dependencies(self) -> frozenset[str]:
        tables = [table for crate in self._crates.values() for table in (crate, as_table(crate.get("workspace")))]
        kinds = ("dependencies", "dev-dependencies", "build-dependencies")
        return frozenset(name for table in tables for kind in kinds for name in as_table(table.get(kind)))

    def _targets(self, what: str) -> frozenset[str]:
        found: set[str] = set()
        for folder, crate in self._crates.items():
            listed = crate.get(what)
            found.update(str(as_table(one).get("name")) for one in (listed if isinstance(listed, list) else ()))
            base = f"{folder}/{_FOLDERS[what]}/".lstrip("/")
            for path in self._tree.paths:
                rest = PurePosixPath(path.removeprefix(base)) if path.startswith(base) else PurePosixPath()
                if rest.suffix == ".rs" and (len(rest.parts) == 1 or rest.name == "main.rs"):
                    found.add(rest.stem if len(rest.parts) == 1 else rest.parts[0])
            if what == "bin" and f"{folder}/src/main.rs".lstrip("/") in self._tree.paths:
                found.add(str(as_table(crate.get("package")).get("name")))
        return frozenset(found)


def _among(name: str, known: frozenset[str] | None, where: str, what: str) -> CommandAnswer:
    """Whether a name is in a list. The list of dependencies and the like may be long, so its end is cut."""
    if known is None:
        return CommandAnswer("unknown", f"{where} cannot be read")
    if name in known:
        return CommandAnswer("holds")
    return CommandAnswer("gone", f"{where} has no such {what}; it has {', '.join(sorted(known)) or 'none'}"[:300])
