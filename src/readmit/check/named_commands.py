"""Commands that a statement names: targets of make, scripts of npm, Python modules, and the project's own programs."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from readmit.check.check_values import CommandAnswer
from readmit.check.command_lines import CARGO, CARGO_RUN, EXTRA
from readmit.check.languages.other_subcommands import other_subcommands
from readmit.check.languages.package_scripts import PackageScripts
from readmit.check.languages.task_runners import TaskRunners
from readmit.check.make_rules import targets_in
from readmit.check.subcommands import Subcommands, subcommands_of
from readmit.check.working_tree import as_table, is_test

if TYPE_CHECKING:
    from readmit.check.python import ProjectModules
    from readmit.check.working_tree import WorkTree

_ENDINGS = {
    "python": (".py",),
    "go": (".go",),
    "rust": (".rs",),
    "script": (".js", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".jsx"),
}
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")


class ProjectCommands:
    """The commands of a tree."""

    def __init__(self, tree: WorkTree, modules: ProjectModules) -> None:
        self._tree = tree
        self._modules = modules
        self._runners = TaskRunners(tree)
        self._scripts = PackageScripts(tree)
        self._subcommands: dict[str, Subcommands] = {}
        self._words: dict[str, frozenset[str]] = {}

    def answer(self, name: str, how: str) -> CommandAnswer:
        """Whether a command can be run. ``how`` is ``make``, ``npm``, ``python -m`` or a subcommand's name."""
        match how:
            case "make":
                return self._make(name)
            case "python -m":
                return self._module(name)
        if how.startswith("npm"):
            return self._scripts.answer(name, how)
        if how in {"just", "compose", "cargo"} or how.startswith(CARGO):
            return self._runners.answer(name, how)
        if how.startswith(EXTRA):
            return self._extra(name, how.removeprefix(EXTRA))
        return CommandAnswer("unknown", "a program outside of the tree")

    @cached_property
    def _projects(self) -> list[dict[str, Any]]:
        """The Python projects of the tree, that of the root first."""
        return [as_table(one.get("project")) for one in self._pyprojects]

    @cached_property
    def _pyprojects(self) -> list[dict[str, Any]]:
        return [self._tree.table(path) for path in sorted(self._tree.names.get("pyproject.toml", ()), key=len)]

    @cached_property
    def programs(self) -> dict[str, str]:
        """The project's own programs, each with its language."""
        crates = self._runners.cargo("bin") or frozenset()
        # The folder of a main package is what Go calls the program.
        mains = {path.split("/")[-2] for path in self._tree.names.get("main.go", ()) if path.startswith("cmd/")}
        poetry = [as_table(as_table(one.get("tool")).get("poetry")) for one in self._pyprojects]
        return {
            **dict.fromkeys(crates | ({CARGO_RUN} if crates else set()), "rust"),
            **dict.fromkeys(mains, "go"),
            **dict.fromkeys(self._scripts.programs, "script"),
            **dict.fromkeys(
                (name for project in (*self._projects, *poetry) for name in as_table(project.get("scripts"))), "python"
            ),
        }

    def words_of(self, program: str) -> frozenset[str]:
        """Every word and option in the code of an own program's language, tests apart."""
        language = self.programs[program]
        if language not in self._words:
            endings = _ENDINGS[language]
            self._words[language] = self._tree.words_of(
                path for path in self._tree.files_of_code() if path.endswith(endings) and not is_test(path)
            )
        return self._words[language]

    def subcommands(self, program: str) -> Subcommands:
        """First words that an own program takes."""
        language = self.programs[program]
        if language not in self._subcommands:
            self._subcommands[language] = self._declared(language)
        return self._subcommands[language]

    def _declared(self, language: str) -> Subcommands:
        if language == "python":
            return subcommands_of(self._tree, self.programs)
        found = dict(sorted(other_subcommands(self._tree, language)))
        return Subcommands(frozenset(found), frozenset(name for name, is_group in found.items() if is_group))

    def _extra(self, extra: str, package: str) -> CommandAnswer:
        for project in self._projects:
            if package in {".", project.get("name")}:
                extras = as_table(project.get("optional-dependencies"))
                if extra in extras:
                    return CommandAnswer("holds")
                known = ", ".join(extras) or "none"
                return CommandAnswer("gone", f"{project.get('name')} has no such extra; it has {known}"[:300])
        return CommandAnswer("unknown", "a package outside of the tree")

    def _make(self, target: str) -> CommandAnswer:
        """A target of any Makefile: a statement may be about a folder of the project."""
        files = [path for name in MAKEFILES for path in self._tree.names.get(name, ())]
        if not files:
            return self._absent("Makefile")
        targets = targets_in(self._tree.text(path) or "" for path in files)
        if target in targets.names:
            return CommandAnswer("holds")
        if targets.may_have(target):
            return CommandAnswer("unknown", "the Makefile has rules that only make can read")
        known = ", ".join(sorted(one for one in targets.names if not re.match(r"\.|.*/", one)))
        return CommandAnswer("gone", f"{', '.join(files[:3])} has no such target; it has {known}"[:300])

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
