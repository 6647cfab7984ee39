"""Checks statements against a tree.

A name counts against a statement if it is not in the tree now but in the repository's history: the statement held once.
A name that was never in the tree is an example, or of another project, and is not checked; a link, a target of make or
a script of npm that does not exist is wrong either way.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple

from readmit.check.check_values import CheckFinding, CheckReport, Mention, NameKind, Unchecked
from readmit.check.command_lines import EXTRA
from readmit.check.memory_files import MOST_NAMES, headings, read_memory
from readmit.check.named_commands import ProjectCommands
from readmit.check.named_things import mentions_in
from readmit.check.python import ProjectModules, missing_attributes
from readmit.check.versions import admits, declared, tool
from readmit.check.working_tree import LONGEST_PATH, WorkTree, repository_of
from readmit.records.error_types import CheckLimitError, RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from readmit.check.memory_files import MemorySpan

USUAL = (
    "CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".windsurfrules", ".clinerules", ".cursor/rules",
    ".github/copilot-instructions.md", "memory-bank",
)  # fmt: skip
"""Where coding agents keep their memory."""
_ENDINGS = {".md", ".mdc", ".markdown", ".json", ".txt"}
_LARGEST = 5_000_000
NEVER = "nothing of this name was ever here"


def memory_files(paths: Sequence[Path]) -> list[Path]:
    """The files that some paths name; of a folder, all below it that may be memory."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.is_file() and one.suffix in _ENDINGS)
            if not inside:
                raise RecordError(f"{path}: no memory files there; they end in {', '.join(sorted(_ENDINGS))}")
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise RecordError(f"{path}: no such file or folder")
    return list(dict.fromkeys(found))


class MemoryFiles(NamedTuple):
    """Memory files that were read, and the tree that they are about."""

    tree: WorkTree
    files: dict[str, Path]
    """By their names from the root."""
    spans: tuple[MemorySpan, ...]
    statements: int


def read_memories(paths: Sequence[Path], root: Path | None = None) -> MemoryFiles:
    """The memory files at some paths, and the tree below ``root``, by default the repository they are in."""
    files = memory_files(paths)
    top = (root or repository_of(files[0])).resolve()
    named_ = {_relative(file, top): file for file in files}
    spans: list[MemorySpan] = []
    statements = 0
    for name, file in named_.items():
        if file.stat().st_size > _LARGEST:
            raise RecordError(f"{file}: larger than {_LARGEST} bytes; this is no memory file")
        found, count = read_memory(name, file.read_bytes())
        spans += found
        statements += count
    return MemoryFiles(WorkTree(top, list(named_)), named_, tuple(spans), statements)


def check_memories(memories: MemoryFiles) -> CheckReport:
    """Check every name in the memory files against the tree."""
    outcomes = _Check(memories.tree).run(_bounded(memories))
    findings = tuple(one for one in outcomes if isinstance(one, CheckFinding))
    unchecked = tuple(one for one in outcomes if isinstance(one, Unchecked))
    return CheckReport(
        files=tuple(memories.files),
        statements=memories.statements,
        held=len(outcomes) - len(findings) - len(unchecked),
        findings=findings,
        unchecked=unchecked,
    )


def _bounded(memories: MemoryFiles) -> Iterator[Mention | Unchecked]:
    """The names in memory files; refused if there are more than people and agents write."""
    count = 0
    for span in memories.spans:
        for one in mentions_in(span):
            count += 1
            where = f"{one.place.file}, line {one.place.line}"
            if count > MOST_NAMES:
                raise CheckLimitError(f"{where}: more than {MOST_NAMES:,} names; check fewer files at once")
            if isinstance(one, Mention) and len(one.name) > LONGEST_PATH:
                raise CheckLimitError(f"{where}: a name of {len(one.name):,} characters; the most is {LONGEST_PATH:,}")
            yield one


def _relative(file: Path, root: Path) -> str:
    real = file.resolve()
    return real.relative_to(root).as_posix() if real.is_relative_to(root) else str(file)


Outcome = CheckFinding | Unchecked | Mention
"""A mention itself says that it holds."""


class _Check:
    """One check of some mentions. Each git command serves all of them."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self._modules = ProjectModules(tree)
        self._commands = ProjectCommands(tree, self._modules)

    def run(self, mentions: Iterable[Mention | Unchecked]) -> list[Outcome]:
        """The outcome of each distinct mention, in order."""
        everything = list(dict.fromkeys(mentions))
        decided: dict[Mention | Unchecked, Outcome] = {one: one for one in everything}
        asked = [one for one in everything if isinstance(one, Mention)]
        for kinds, decide in (
            ({NameKind.PATH, NameKind.LINK}, self._paths),
            ({NameKind.ANCHOR}, self._anchors),
            ({NameKind.SYMBOL, NameKind.OPTION}, self._symbols),
            ({NameKind.MODULE}, self._imports),
            ({NameKind.COMMAND}, self._runs),
            ({NameKind.VERSION}, self._versions),
        ):
            chosen = [one for one in asked if one.kind in kinds]
            decided.update(zip(chosen, decide(chosen), strict=True))
        return [decided[one] for one in everything]

    def _paths(self, mentions: list[Mention]) -> Iterator[Outcome]:
        absent = [one for one in mentions if not self._is_there(one)]
        ignored = self._tree.ignored({path for one in absent for path in self._places(one)})
        missing = set(absent)
        for one in mentions:
            if one not in missing:
                yield one
            elif one.name.startswith(("/", "~")):
                yield Unchecked(one.place, one.name, "outside of the tree")
            elif ignored.intersection(self._places(one)):
                yield Unchecked(one.place, one.name, "git ignores it: made by a build, or private")
            elif now := self._whereabouts(one):
                yield CheckFinding(one.place, one.kind, one.name, now)
            else:
                yield Unchecked(one.place, one.name, NEVER)

    def _places(self, one: Mention) -> list[str]:
        """Where a path may be: from the root, and from the file that names it."""
        name = one.name.removeprefix("@").rstrip("/")
        if one.kind is NameKind.LINK:
            return [name]
        near = posixpath.normpath(posixpath.join(posixpath.dirname(one.place.file), name))
        return [place for place in dict.fromkeys((posixpath.normpath(name), near)) if not place.startswith(("..", "/"))]

    def _is_there(self, one: Mention) -> bool:
        places = self._places(one)
        if any(self._tree.has(place) for place in places):
            return True
        if one.kind is NameKind.LINK or not places:
            return False
        # People leave out where a file is.
        end = f"/{places[0]}"
        known = self._tree.names.get(places[0].rpartition("/")[2], ())
        return any(path.endswith(end) for path in known) or any(path.endswith(end) for path in self._tree.folders)

    def _whereabouts(self, one: Mention) -> str:
        """When a missing path was deleted or renamed; empty if it never existed."""
        left, places = self._tree.left, self._places(one)
        for place in places:
            inside = f"{place}/"
            end = f"/{place}"
            for path, past in left.items():
                if path == place or (one.kind is not NameKind.LINK and path.endswith(end)):
                    return f"{past}{'' if past.to else self._namesake(place)}"
                if path.startswith(inside) or (one.kind is not NameKind.LINK and f"/{inside}" in path):
                    return f"a folder whose last file was {past}"
        if one.kind is NameKind.LINK:
            return f"there is no such file{self._namesake(places[0])}"
        if not self._tree.has_history or any("/" in place and self._is_own(place) for place in places):
            return f"there is no such file{self._namesake(places[0])}" if places and self._is_own(places[0]) else ""
        return ""

    def _is_own(self, place: str) -> bool:
        """Whether a path that never existed belongs to this tree: its folder does."""
        return posixpath.dirname(place) in self._tree.folders

    def _namesake(self, place: str) -> str:
        known = self._tree.names.get(place.rpartition("/")[2], [])
        return f"; of the same name: {', '.join(known[:3])}" if known else ""

    def _anchors(self, mentions: list[Mention]) -> Iterator[Outcome]:
        texts = {file: self._tree.text(file) for file in {one.more for one in mentions}}
        known = {file: headings(text) for file, text in texts.items() if text is not None}
        for one in mentions:
            said = f"{one.more}#{one.name}"
            if one.more not in known:
                # A file that is not there is a finding of its own.
                yield Unchecked(one.place, said, f"{one.more} cannot be read")
            elif one.name in known[one.more]:
                yield one
            else:
                yield CheckFinding(one.place, one.kind, said, f"{one.more} has no such heading")

    def _symbols(self, mentions: list[Mention]) -> Iterator[Outcome]:
        pairs = [(parts[-2], parts[-1]) for one in mentions if len(parts := one.name.split(".")) > 1]
        present = self._tree.words if mentions else frozenset()
        removed = self._tree.removed({part for one in mentions for part in _parts(one)} - present)
        without = missing_attributes(
            self._tree, [pair for pair in pairs if pair[0][:1].isupper() and pair[0] in present]
        )
        for one in mentions:
            parts = _parts(one)
            absent = [part for part in parts if part not in present and _bare(part) not in present]
            if self._modules.is_own(one.name) and self._modules.file(one.name) is not None:
                yield one
            elif past := next(((part, removed[part]) for part in absent if part in removed), None):
                yield CheckFinding(one.place, one.kind, one.name, f"no code holds {past[0]}: {past[1]}")
            elif parts[-1] in absent:
                yield Unchecked(one.place, one.name, NEVER)
            elif len(parts) > 1 and (parts[-2], parts[-1]) in without:
                yield CheckFinding(one.place, one.kind, one.name, f"the class {parts[-2]} has no {parts[-1]}")
            else:
                yield one

    def _imports(self, mentions: list[Mention]) -> Iterator[Outcome]:
        for one in mentions:
            said = f"from {one.name} import {one.more}" if one.more else f"import {one.name}"
            if not self._modules.is_own(one.name):
                yield Unchecked(one.place, said, "a module outside of the tree")
            elif self._modules.file(one.name) is None:
                yield CheckFinding(one.place, one.kind, said, f"there is no module {one.name}")
            elif one.more and self._modules.defines(one.name, one.more) is False:
                yield CheckFinding(one.place, one.kind, said, f"{self._modules.file(one.name)} has no {one.more}")
            else:
                yield one

    def _runs(self, mentions: list[Mention]) -> Iterator[Outcome]:
        own = [one for one in mentions if one.name in self._commands.programs]
        words = {one.more for one in own}
        present = self._tree.words if words else frozenset()
        removed = self._tree.removed(words - present)
        for one in mentions:
            if one in own:
                said = f"{one.name} {one.more}"
                gone = one.more not in present and one.more.replace("-", "_") not in present and one.more in removed
                yield (
                    CheckFinding(one.place, one.kind, said, f"no code holds {one.more}: {removed[one.more]}")
                    if gone
                    else one
                )
                continue
            answer = self._commands.answer(one.name, one.more)
            said = _said(one)
            if answer.outcome == "unknown":
                yield Unchecked(one.place, said, answer.now)
            else:
                yield one if answer.outcome == "holds" else CheckFinding(one.place, one.kind, said, answer.now)

    def _versions(self, mentions: list[Mention]) -> Iterator[Outcome]:
        known = declared(self._tree)
        for one in mentions:
            specs = known.get(tool(one.more), [])
            answers = [admits(spec, one.name) for spec, _ in specs]
            if not specs or None in answers:
                yield Unchecked(one.place, f"{one.more} {one.name}", "no version of it is declared at the root")
            elif any(answers):
                yield one
            else:
                spec, file = specs[0]
                yield CheckFinding(one.place, one.kind, f"{one.more} {one.name}", f"{file} declares {spec}")


def _parts(one: Mention) -> list[str]:
    return [one.name] if one.kind is NameKind.OPTION else one.name.split(".")


def _said(one: Mention) -> str:
    """A command as it was written."""
    if one.more.startswith(EXTRA):
        return f"{one.more.removeprefix(EXTRA)}[{one.name}]"
    how = {"make": "make", "npm": "npm run", "python -m": "python -m"}.get(one.more)
    return f"{how} {one.name}" if how else f"{one.name} {one.more}"


def _bare(name: str) -> str:
    """An option as a parameter of a program may be called."""
    return name.lstrip("-").replace("-", "_")
