"""The working tree that statements are checked against, read through git where there is a repository.

A repository is data of a stranger, so git runs disarmed (``check.git_runner``): no hooks, filters, helpers or network.
Files are read as probes read them: regular files below the root, no links, bounded.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.check.git_runner import TreeGit
from readmit.records.error_types import CheckLimitError, ProbeError
from readmit.records.policy import LookRules
from readmit.sources.files import Files, Unchanged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

PROSE = ("*.md", "*.mdc", "*.rst", "*.txt", "*.adoc", "*.svg", "*.lock", "*.ipynb")
"""Prose: its words are no evidence that a name exists, because it may repeat outdated statements."""
LONGEST_PATH = 4_096
_MOST_WALKED = 200_000
_MOST_WORDS = 300
"""Most words in one question to git's history."""
_WORD = re.compile(r"[^\W\d]\w*")
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*\w")
_DASHED = re.compile(r"[\"'`]([a-z]\w*(?:-\w+)+)[\"'`]")
_NUMBER = re.compile(r"(?<![\w.])\d{4,5}(?![\w.])")
_MEMBER = re.compile(
    r"(?:\.|::|\b(?:def|fn|func|function|get|set)\s+)([^\W\d]\w*)"
    r"|^[ \t]*(?:(?:pub|public|private|protected|readonly|static|async|const|export)\s+)*([^\W\d]\w*)\s*[?]?[:=(]",
    re.MULTILINE,
)
_OWN_MEMBER = re.compile(r"\.([^\W\d]\w*)|^[ \t]+([^\W\d]\w*)\s*(?::|=(?!=))", re.MULTILINE)
_BOUND = re.compile(
    r"^[ \t]*(?:(?:const|let|var)\s+)?([^\W\d]\w*)\s*(?::[^=\n]{1,80})?=(?!=)|\b(?:as|for|const|let|var)\s+([^\W\d]\w*)"
    r"|[(,]\s*([^\W\d]\w*)\s*(?=[:,)=])",
    re.MULTILINE,
)
_CONFIGURATION = (".toml", ".json", ".yaml", ".yml", ".ini", ".cfg", ".env", ".properties", ".config.ts",
                  ".config.js", ".config.mjs", ".config.cjs", ".config.mts")  # fmt: skip
_INLINE = re.compile(
    r"[{,]()\s*[\"']?([^\W\d][\w-]*)[\"']?\s*[=:]\s*(-?[\w.]{1,40}|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}')()(?=\s*[,}])"
)
_SETTING = re.compile(
    r"^[ \t]*((?:(?:export|const|let|var|pub|static)\s+)*)[\"']?([^\W\d][\w.-]*)[\"']?\s*"
    r"(?::[ \t]*[\w\[\].| ]{1,40}=|[=:])[ \t]*([^\n]{1,200}?)[ \t]*([,;]?)[ \t]*(?:\s#[^\n]*|//[^\n]*)?$",
    re.MULTILINE,
)


class Departed(NamedTuple):
    """The commit that deleted or renamed a file, or removed a word."""

    commit: str = ""
    day: str = ""
    to: str = ""
    """The new name of a renamed file."""

    def __str__(self) -> str:
        if not self.commit:
            return "removed, which is not committed yet"
        return f"{f'renamed to {self.to}' if self.to else 'removed'} in {self.commit} on {self.day}"


class WorkTree:
    """A root folder with its files and their git history."""

    def __init__(self, root: Path, memories: Collection[str] = ()) -> None:
        """``memories`` are the checked files. Their own words are no evidence that a name exists."""
        self.root = root.resolve()
        self._memories = memories
        self._is_repository = (self.root / ".git").exists()
        self._git = TreeGit(self.root)
        self._files = Files(LookRules(roots=(str(self.root),), bytes=2_000_000), Unchanged())

    @property
    def has_history(self) -> bool:
        return self._has_commits

    @cached_property
    def _has_commits(self) -> bool:
        return self._is_repository and bool(self._git.ask("rev-parse", "--verify", "--quiet", "HEAD"))

    @cached_property
    def paths(self) -> frozenset[str]:
        """Every file that is tracked or not ignored, and is there."""
        if not self._is_repository:
            return frozenset(self._walked())
        listed = self._git.ask("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
        # Git can name paths that no file has.
        fit = (path for path in listed.split("\0") if 0 < len(path) <= LONGEST_PATH)
        return frozenset(path for path in fit if os.path.isfile(self.root / path))  # noqa: PTH113 - false if too long

    @cached_property
    def folders(self) -> frozenset[str]:
        found: set[str] = set()
        for path in self.paths:
            folder = path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """Files by their last name."""
        found: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found

    def has(self, path: str) -> bool:
        """Whether a file or folder is there, tracked or not. Links on the way are not followed out of the root."""
        if path in self.paths or path in self.folders:
            return True
        place = self.root / path
        return os.path.lexists(place) and place.parent.resolve().is_relative_to(self.root)

    def text(self, path: str) -> str | None:
        """A file's text, if it can be read."""
        try:
            text = self._files.read(path).decode("utf-8")
        except (ProbeError, UnicodeDecodeError):
            return None
        return None if "\0" in text else text

    def table(self, path: str) -> dict[str, Any]:
        """The top-level table of a JSON or TOML file; empty if it is malformed or no table."""
        text = self.text(path) or ""
        try:
            found = tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
        except ValueError:
            return {}
        except RecursionError:
            raise CheckLimitError(f"{path}: nested too deeply to be read; remove it, or name another --root") from None
        return as_table(found)

    def ignored(self, paths: Iterable[str]) -> set[str]:
        """The paths that git ignores: made by a build, or private."""
        # What lies behind a link is not in the repository, and git refuses to say anything about it.
        wanted = "\0".join(path for path in paths if not any((self.root / one).is_symlink() for one in _above(path)))
        if not self._is_repository or not wanted:
            return set()
        return set(filter(None, self._git.ask("check-ignore", "-z", "--no-index", "--stdin", given=wanted).split("\0")))

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word, and every option of a command line, in files that are not prose.

        A thousand patterns in one ``git grep`` take much longer than reading everything once.
        """
        return self.words_of(self.files_of_code())

    def words_of(self, paths: Iterable[str]) -> frozenset[str]:
        """Every word, and every option of a command line, in some files."""
        found: set[str] = set()
        for text in (self.text(path) or "" for path in paths):
            found.update(_WORD.findall(text))
            found.update(_OPTION.findall(text))
            # Libraries are given the name of an option without its dashes.
            found.update(f"--{name}" for name in _DASHED.findall(text))
        return frozenset(found)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Numbers that may be ports."""
        return frozenset(number for text in self._code() for number in _NUMBER.findall(text))

    def says(self, words: str) -> bool:
        """Whether some code holds these words as they are."""
        return any(words in text for text in self._code())

    @cached_property
    def members(self) -> dict[str, bool]:
        """Words that code uses or defines as a member: after a dot, as a function, or at the beginning of a line.

        Each says if that is in tests alone. A function of Python is none by itself: it may be inside of another one.
        """
        found: dict[str, bool] = {}
        for path in sorted(self.files_of_code()):
            pattern, in_tests = _OWN_MEMBER if path.endswith(".py") else _MEMBER, is_test(path)
            for match in pattern.finditer(self.text(path) or ""):
                for word in filter(None, match.groups()):
                    found[word] = found.get(word, True) and in_tests
        return found

    @cached_property
    def variables(self) -> frozenset[str]:
        """Words that code binds to a value: assigned, taken as a parameter, or bound by a loop or a block."""
        return frozenset(
            word for text in self._code() for found in _BOUND.finditer(text) for word in found.groups() if word
        )

    def settings(self, names: Collection[str]) -> dict[str, list[tuple[str, str]]]:
        """Lines that begin with one of the names and give it a value: value and file of each."""
        found: dict[str, list[tuple[str, str]]] = {}
        for path in sorted(self.files_of_code()) if names else ():
            text, is_configuration = self.text(path) or "", path.endswith(_CONFIGURATION)
            inline = _INLINE.findall(text) if is_configuration else ()
            for how, name, value, comma in (*_SETTING.findall(text), *inline):
                # In Python a comma ends a parameter, and a small name may be one of many variables.
                is_plain = is_configuration or (name.isupper() and not (comma and path.endswith(".py")))
                # A constant with a capital is one that others use.
                is_plain |= "const" in how and name[:1].isupper()
                if name in names and is_plain:
                    found.setdefault(name, []).append((value, path))
        return found

    def files_of_code(self) -> Iterator[str]:
        """Every file that is neither prose nor one of the memory files."""
        for path in self.paths:
            if path not in self._memories and not any(PurePosixPath(path).match(glob) for glob in PROSE):
                yield path

    def _code(self) -> Iterator[str]:
        return (self.text(path) or "" for path in self.files_of_code())

    def holding(self, pattern: str, *globs: str) -> list[str]:
        """The files in which a pattern matches (of extended regular expressions)."""
        if not self._is_repository:
            wanted = re.compile(pattern.replace("[:space:]", r"\s").replace("[:alnum:]", r"\w"), re.MULTILINE)
            chosen = (path for path in sorted(self.paths) if any(PurePosixPath(path).match(glob) for glob in globs))
            return [path for path in chosen if wanted.search(self.text(path) or "")]
        found = self._git.ask("grep", "-I", "-l", "-z", "-E", "--untracked", "-e", pattern, "--", *globs)
        return [path for path in found.split("\0") if path]

    @cached_property
    def left(self) -> dict[str, Departed]:
        """Files that were deleted or renamed and are not there now, with the last time that happened."""
        if not self._has_commits:
            return {}
        committed = self._git.ask("ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")
        found = {path: Departed() for path in committed if path and path not in self.paths}
        said = self._git.ask(
            "log", "-M", "--diff-filter=DR", "--name-status", "-z", "--format=%x01%h %cs", "HEAD", "--"
        )
        for part in said.split("\1")[1:]:
            head, _, rest = part.partition("\0")
            commit, day = head.split()
            words = iter(rest.lstrip("\n").split("\0"))
            for status in words:
                if not status.strip():
                    continue
                path = next(words, "")
                to = next(words, "") if status.lstrip("\n").startswith("R") else ""
                if path not in self.paths:
                    found.setdefault(path, Departed(commit, day, to))
        return {path: self._followed(past, found) for path, past in found.items()}

    def _followed(self, past: Departed, left: dict[str, Departed]) -> Departed:
        """The present name of a file that was renamed several times; none if it is gone."""
        to, met = past.to, set[str]()
        while to and to not in self.paths and to not in met:
            met.add(to)
            to = left[to].to if to in left else ""
        return past._replace(to=to if to in self.paths else "")

    def removed(self, words: Collection[str]) -> dict[str, Departed]:
        """When words were last removed from files that are not prose. Words that never stood there are absent."""
        found: dict[str, Departed] = {}
        apart = [
            *(f":(exclude){glob}" for glob in PROSE),
            *(f":(exclude,literal){name}" for name in self._memories if not name.startswith("/")),
        ]
        for some in _batched(sorted(words), _MOST_WORDS) if self._has_commits else ():
            either = "|".join(re.escape(word).replace("\\-", "-") for word in some)
            committed = self._git.ask("grep", "-I", "-h", "-o", "-w", "-E", "-e", either, "HEAD", "--", ".", *apart)
            found |= dict.fromkeys(committed.split(), Departed())
            wanted = re.compile(rf"(?<!\w)(?:{either})(?!\w)")
            for past, line in self._removals("--extended-regexp", f"-G{either}", "HEAD", "--", ".", *apart):
                for word in wanted.findall(line):
                    found.setdefault(word, past)
        return found

    def removed_lines(self, *globs: str) -> Iterator[tuple[Departed, str]]:
        """Lines that were removed from some files, the last first, each with the commit that did so."""
        if self._has_commits:
            yield from self._removals("HEAD", "--", *globs)

    def _removals(self, *asked: str) -> Iterator[tuple[Departed, str]]:
        said = self._git.ask(
            "log", "-p", "-U0", "--no-ext-diff", "--no-textconv", "--no-color", "--format=%x01%h %cs", *asked
        )
        for part in said.split("\1")[1:]:
            head, _, patch = part.partition("\n")
            past = Departed(*head.split())
            yield from (
                (past, line[1:]) for line in patch.splitlines() if line.startswith("-") and not line.startswith("---")
            )

    def had(self, pattern: str, *globs: str) -> Departed | None:
        """When a pattern (of extended regular expressions) last matched a line of some files; none if it never did."""
        if not self._has_commits:
            return None
        if self._git.ask("grep", "-I", "-l", "-E", "-e", pattern, "HEAD", "--", *globs):
            return Departed()
        said = self._git.ask(
            "log", "-1", "--no-ext-diff", "--no-textconv", "--format=%h %cs", "--extended-regexp", f"-G{pattern}",
            "HEAD", "--", *globs,
        )  # fmt: skip
        return Departed(*said.split()) if said.strip() else None

    def written(self, file: str) -> dict[str, str]:
        """The commit of each line of a file, by the line's text; lines that are not committed yet are absent.

        Committed files alone are compared: for files of the working tree, git would run the repository's filters.
        """
        if not self._has_commits:
            return {}
        said = self._git.ask("blame", "--line-porcelain", "HEAD", "--", file, check=False)
        found: dict[str, str] = {}
        commit = ""
        for line in said.splitlines():
            if line.startswith("\t"):
                found[line[1:].strip()] = commit
            elif re.match(r"[0-9a-f]{40,64} \d", line):
                commit = line.partition(" ")[0]
        return found

    def changes(self, since: str, path: str) -> str:
        """The diff of a file since a commit."""
        return self._git.ask(
            "diff", "--no-ext-diff", "--no-textconv", "--no-color", "-U2", since, "HEAD", "--", path, check=False
        )

    def _walked(self) -> Iterable[str]:
        count = 0
        for folder, inner, files in os.walk(self.root):
            inner[:] = sorted(name for name in inner if not name.startswith(".") and name != "node_modules")
            for name in files:
                count += 1
                if count > _MOST_WALKED:
                    raise ProbeError(f"{self.root} has more than {_MOST_WALKED} files; use a git repository")
                yield (Path(folder) / name).relative_to(self.root).as_posix()


def is_test(path: str) -> bool:
    """Whether a file belongs to the tests: what it defines may stand in for something."""
    return "tests/" in f"/{path}" or "test/" in f"/{path}" or path.rpartition("/")[2].startswith(("test_", "conftest"))


def as_table(value: object) -> dict[str, Any]:
    """A value of a parsed file as a table; empty if it is of another type."""
    return value if isinstance(value, dict) else {}


def as_texts(value: object) -> list[str]:
    """A value of a parsed file as a list of texts; empty if it is of another type."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _batched(words: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Words in lists of a size."""
    return (words[start : start + size] for start in range(0, len(words), size))


def _above(path: str) -> Sequence[PurePosixPath]:
    return PurePosixPath(path).parents[:-1]


def repository_of(path: Path) -> Path:
    """The repository that a file is in, or its folder."""
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)
