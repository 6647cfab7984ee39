"""Modules of JavaScript, TypeScript, Go and Rust that statements import or name."""

from __future__ import annotations

import posixpath
import re
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from readmit.check.check_values import CommandAnswer
from readmit.check.languages.grammars import SCRIPTS
from readmit.check.languages.task_runners import TaskRunners
from readmit.check.working_tree import as_table, as_texts

if TYPE_CHECKING:
    from readmit.check.working_tree import WorkTree

HOLDS = CommandAnswer("holds")
ELSEWHERE = CommandAnswer("unknown", "a module outside of the tree")
_GO_MODULE = re.compile(r"^module[ \t]+(\S+)", re.MULTILINE)
_GO_PACKAGE = re.compile(r"^package[ \t]+(\w+)", re.MULTILINE)
_GO_IMPORT = re.compile(r"^[ \t]*(?:import[ \t]+)?(?:[\w.]+[ \t]+)?\"([\w./~-]+)\"[ \t]*$", re.MULTILINE)
_WORD = re.compile(r"\w+")
_ALL = re.compile(r"\bpub use [\w:]+::\*|\bpub use [^;]*\{[^;]*\*|\bpaste!|\bexport \*|include!")
_DEEPEST = 30


class OtherModules:
    """The modules of a tree that are not written in Python."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree

    def answer(self, module: str, name: str) -> CommandAnswer:
        """Whether a module can be imported, and a name taken from it."""
        if "::" in module:
            parts = module.split("::")
            return self._rust(parts) if self.roots(parts[0]) else ELSEWHERE
        for own in self._go_modules:
            if module == own or module.startswith(f"{own}/"):
                return self._go(module, own)
        return self._script(module, name)

    def lacks(self, dotted: str) -> str:
        """The missing part of a name that begins with an own crate or an own package of Go; empty if nothing is."""
        parts = dotted.split(".")
        if len(parts) > 1 and self.roots(parts[0]):
            answer = self._rust(parts)
            return answer.now if answer.outcome == "gone" else ""
        package, name = parts[0], parts[1] if len(parts) > 1 else ""
        words = self._go_words.get(package)
        if words is None or not name[:1].isupper() or name in words:
            return ""
        return f"the package {package} has no {name}"

    @cached_property
    def _go_modules(self) -> list[str]:
        texts = (self._tree.text(path) or "" for path in self._tree.names.get("go.mod", ()))
        return [name for text in texts for name in _GO_MODULE.findall(text)]

    @cached_property
    def _go_words(self) -> dict[str, set[str]]:
        """The words of each own package of Go; those apart whose name another package has too."""
        found: dict[str, set[str]] = {}
        foreign: set[str] = set()
        for path in (one for one in self._tree.paths if one.endswith(".go")):
            text = self._tree.text(path) or ""
            if named := _GO_PACKAGE.search(text):
                found.setdefault(named[1], set()).update(_WORD.findall(text))
            imported = (one for one in _GO_IMPORT.findall(text) if not one.startswith(tuple(self._go_modules)))
            foreign.update(one.rpartition("/")[2] for one in imported)
        return {name: words for name, words in found.items() if name not in foreign | {"main"}}

    def _go(self, module: str, own: str) -> CommandAnswer:
        folders = {path.rpartition("/")[0] for path in self._tree.paths if path.endswith(".go")}
        rest = module.removeprefix(own).strip("/")
        if any(folder == rest or folder.endswith(f"/{rest}") or not rest for folder in folders):
            return HOLDS
        return CommandAnswer("gone", f"there is no package {rest}")

    @cached_property
    def _crates(self) -> dict[str, str]:
        return TaskRunners(self._tree).crate_folders()

    def roots(self, first: str) -> list[str]:
        """The folders of the crates that the first part of a path of Rust may mean."""
        if first == "crate":
            return list(self._crates.values())
        return [self._crates[first]] if first in self._crates else []

    def _rust(self, parts: list[str]) -> CommandAnswer:
        missing = [self._missing(folder, parts) for folder in self.roots(parts[0])]
        return CommandAnswer("gone", missing[0]) if missing and all(missing) else HOLDS

    def _missing(self, folder: str, parts: list[str]) -> str:
        """The first part of a path that a crate does not have; empty if it may have all."""
        base = f"{folder}/src".lstrip("/")
        files = [f"{base}/lib.rs", f"{base}/main.rs"]
        above = parts[0]
        for part in parts[1:_DEEPEST]:
            texts = [self._tree.text(path) or "" for path in files if path in self._tree.paths]
            inner = [path for path in (f"{base}/{part}.rs", f"{base}/{part}/mod.rs") if path in self._tree.paths]
            if not texts:
                return ""
            if not inner:
                # Something else than a module, which its own file has to name.
                known = any(part in set(_WORD.findall(text)) or _ALL.search(text) for text in texts)
                return "" if known else f"{above} has no {part}"
            files, base, above = inner, f"{base}/{part}", f"{above}::{part}"
        return ""

    @cached_property
    def _aliases(self) -> list[tuple[str, str]]:
        """Prefixes of imports that tsconfig.json maps to folders."""
        found = [("@/", "src/"), ("~/", "src/")]
        for path in (*self._tree.names.get("tsconfig.json", ()), *self._tree.names.get("jsconfig.json", ())):
            paths = as_table(as_table(self._tree.table(path).get("compilerOptions")).get("paths"))
            for alias, targets in paths.items():
                found += [(alias.removesuffix("*"), target.removesuffix("*")) for target in as_texts(targets)]
        return found

    def _script(self, module: str, name: str) -> CommandAnswer:
        if module.startswith("."):
            ends = [re.sub(r"^(?:\.{1,2}/)+", "", module)]
        else:
            # The longest prefix decides, as in TypeScript.
            fits = [pair for pair in self._aliases if pair[0] and module.startswith(pair[0])]
            longest = max((len(alias) for alias, _ in fits), default=0)
            ends = [
                posixpath.normpath(target + module[len(alias) :]) for alias, target in fits if len(alias) == longest
            ]
        if not ends or not all(ends):
            return ELSEWHERE
        files = [path for end in ends for path in self._modules.get(_stem(end), ())]
        if not files:
            is_own = not module.startswith(".") and any(end.split("/")[0] in self._tree.folders for end in ends)
            past = next((str(gone) for path, gone in self._tree.left.items() for end in ends if _fits(path, end)), "")
            if past or is_own:
                return CommandAnswer("gone", f"there is no module {module}{f': {past}' if past else ''}")
            return CommandAnswer("unknown", "nothing of this name was ever here")
        texts = [self._tree.text(path) or "" for path in files]
        if not name or any(name in set(_WORD.findall(text)) or _ALL.search(text) for text in texts):
            return HOLDS
        return CommandAnswer("gone", f"{files[0]} has no {name}")

    @cached_property
    def _modules(self) -> dict[str, list[str]]:
        """Every end of a module's path, without its ending, with the files that it may mean."""
        found: dict[str, list[str]] = {}
        for path in sorted(self._tree.paths):
            if path.endswith((*SCRIPTS, ".json", ".css", ".svelte", ".vue")):
                parts = _stem(path).split("/")
                for start in range(len(parts)):
                    found.setdefault("/".join(parts[start:]), []).append(path)
        return found


def _stem(path: str) -> str:
    """A module's path without its ending; of an index, its folder."""
    bare = path.removesuffix(PurePosixPath(path).suffix) if path.endswith(SCRIPTS) else path
    return bare.removesuffix(".d").removesuffix("/index")


def _fits(path: str, end: str) -> bool:
    return path.endswith(SCRIPTS) and (_stem(path) == _stem(end) or _stem(path).endswith(f"/{_stem(end)}"))
