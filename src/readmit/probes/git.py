"""Looks at files of git repositories through one ``git cat-file`` process per repository.

A repository is data of a stranger: its hooks, filters, replacements, remotes and helpers are switched off, and its
objects must be below a root. Git's own reading of its object files is trusted.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from readmit.ports.prober import Captured, ProbeResult
from readmit.probes.files import below
from readmit.probes.looking import text_of
from readmit.probes.quoting import found_again, quoted_part
from readmit.records.canonical import digest_of
from readmit.records.errors import GoneError, ProbeError
from readmit.records.probes import Finding, GitProbe

if TYPE_CHECKING:
    from readmit.ports.prober import LookLimits
    from readmit.probes.looking import LookDeadline

# Settings given here win over those of the repository.
_DISARMED = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.alternateRefsCommand": "false",
    "core.attributesFile": os.devnull,
    "core.pager": "cat",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "diff.external": "",
    "diff.renameLimit": "400",
    "trace2.normalTarget": "0",
    "trace2.perfTarget": "0",
    "trace2.eventTarget": "0",
}
ENVIRONMENT = {
    "PATH": os.defpath if sys.platform == "win32" else "/usr/local/bin:/usr/bin:/bin",
    "LC_ALL": "C.UTF-8",
    "HOME": os.devnull,
    "XDG_CONFIG_HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
}

_MOST_BORROWED = 5
"""How deep git itself follows repositories that borrow from others."""
_LONGEST_POINTER = 50_000
_MOST_OPEN = 16


def disarmed(directory: str, *arguments: str) -> list[str]:
    """The arguments of a disarmed git. With the directory given, git looks for no repository around it."""
    settings = [word for name, value in _DISARMED.items() for word in ("-c", f"{name}={value}")]
    return ["git", f"--git-dir={directory}", *settings, "--no-pager", *arguments]


class Repository:
    """One repository during one look: a running ``cat-file``, and what was found out about commits."""

    def __init__(self, directory: str, limit: int) -> None:
        self._directory = directory
        self._limit = limit
        self._commits: dict[str, str] = {}
        self._renames: dict[tuple[str, str], dict[str, str]] = {}
        self._received = b""
        try:
            self._process = subprocess.Popen(  # noqa: S603 - git alone, with names that were checked
                disarmed(directory, "cat-file", "--batch-command"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise ProbeError(f"git cannot be started: {error.strerror}") from None
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        assert self._process.stdout is not None  # noqa: S101
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._out, selectors.EVENT_READ)

    def close(self) -> None:
        self._ready.close()
        self._process.kill()
        with self._process:
            pass

    def commit(self, ref: str, deadline: LookDeadline) -> str:
        """The commit that a ref names at the first question of this look."""
        if ref not in self._commits:
            self._commits[ref] = self._info(f"{ref}^{{commit}}", deadline, gone=f"there is no {ref}")[0]
        return self._commits[ref]

    def file(self, commit: str, path: str, deadline: LookDeadline) -> bytes:
        """A file's content in a commit."""
        try:
            found, kind, size = self._info(f"{commit}:{path}", deadline, gone=f"{commit[:12]} holds no {path}")
        except GoneError:
            self._check_absent(commit, path, deadline)
            raise
        if kind != "blob":
            raise GoneError(f"{path} is not a file in {commit[:12]}")
        return self._contents(found, size, deadline)

    def _check_absent(self, commit: str, path: str, deadline: LookDeadline) -> None:
        """Refuse to call a file gone if the commit names it, and only its object is missing from this clone."""
        tree = f"{commit}^{{tree}}"
        for name in path.split("/"):
            try:
                found, kind, size = self._info(tree, deadline, gone="")
            except GoneError:
                raise ProbeError("this clone lacks objects of the commit; fetch them") from None
            if kind != "tree":
                return
            entries = _entries(self._contents(found, size, deadline), len(commit) // 2)
            tree = entries.get(name.encode("utf-8", "surrogateescape"), "")
            if not tree:
                return
        raise ProbeError("this clone lacks the object of the file; fetch it")

    def _contents(self, found: str, size: int, deadline: LookDeadline) -> bytes:
        if size > self._limit:
            raise ProbeError(f"it has {size} bytes; the limit is {self._limit}")
        self._ask(f"contents {found}")
        self._line(deadline)
        return self._take(size + 1, deadline)[:-1]

    def renamed(self, old: str, new: str, path: str, deadline: LookDeadline) -> str | None:
        """What a path of an older commit is called in a newer one, if git finds that it was renamed."""
        if (old, new) not in self._renames:
            self._renames[old, new] = self._compare(old, new, deadline)
        return self._renames[old, new].get(path)

    def _compare(self, old: str, new: str, deadline: LookDeadline) -> dict[str, str]:
        command = disarmed(
            self._directory, "diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status",
            "--no-ext-diff", "--no-textconv", old, new, "--",
        )  # fmt: skip
        try:
            done = subprocess.run(  # noqa: S603 - git alone, with names that were checked
                command,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=ENVIRONMENT, cwd="/", timeout=deadline.left(), check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ProbeError("git took too long to look for a renamed file") from None
        # The captured commit may have been dropped since; then no rename can be found.
        words = done.stdout.decode("utf-8", "surrogateescape").split("\0") if done.returncode == 0 else []
        return dict(zip(words[1::3], words[2::3], strict=False))

    def _info(self, name: str, deadline: LookDeadline, *, gone: str) -> tuple[str, str, int]:
        self._ask(f"info {name}")
        words = self._line(deadline).rsplit(b" ", 2)
        if len(words) == 3 and words[2].isdigit():  # noqa: PLR2004 - object, kind, size
            return words[0].decode("ascii"), words[1].decode("ascii"), int(words[2])
        raise GoneError(gone)

    def _ask(self, line: str) -> None:
        try:
            os.write(self._in, line.encode("utf-8", "surrogateescape") + b"\n")
        except OSError:
            raise ProbeError("git ended; the repository may be damaged") from None

    def _line(self, deadline: LookDeadline) -> bytes:
        while b"\n" not in self._received:
            self._receive(deadline)
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _take(self, size: int, deadline: LookDeadline) -> bytes:
        while len(self._received) < size:
            self._receive(deadline)
        data, self._received = self._received[:size], self._received[size:]
        return data

    def _receive(self, deadline: LookDeadline) -> None:
        if not self._ready.select(deadline.left()):
            raise ProbeError("git took too long")
        more = os.read(self._out, 1 << 20)
        if not more:
            raise ProbeError("git ended; the repository may be damaged, or git older than 2.36")
        self._received += more


def _entries(tree: bytes, length: int) -> dict[bytes, str]:
    """The names in a tree, each with the object that it stands for."""
    entries: dict[bytes, str] = {}
    start = 0
    while start < len(tree):
        end = tree.index(b"\0", start)
        _, _, name = tree[start:end].partition(b" ")
        start = end + 1 + length
        entries[name] = tree[end + 1 : start].hex()
    return entries


class Repositories:
    """The repositories of one look."""

    def __init__(self, limits: LookLimits) -> None:
        self._limits = limits
        self._open: dict[str, Repository] = {}

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def look(self, probe: GitProbe, deadline: LookDeadline) -> ProbeResult:
        repository = self._opened(probe.repository)
        try:
            return _looked(repository, probe, deadline)
        except GoneError:
            raise
        except ProbeError:
            # An answer may be left half read: the next question needs a fresh process.
            self._open.pop(probe.repository).close()
            raise

    def capture(
        self, path: str, deadline: LookDeadline, *, repository: str, ref: str, lines: str, symbol: str, lifetime: int
    ) -> Captured:
        stored = {"repository": repository, "ref": ref, "path": path, "lifetime": lifetime}
        # Checked before git sees any of it.
        msgspec.convert({**stored, "digest": "0" * 64, "commit": "0" * 40}, GitProbe)
        git = self._opened(repository)
        commit = git.commit(ref, deadline)
        quote = quoted_part(path, git.file(commit, path, deadline), lines=lines, symbol=symbol)
        probe = msgspec.convert({**stored, "digest": digest_of(quote.data), "commit": commit, **quote.place}, GitProbe)
        return Captured(text_of(quote.data), probe)

    def _opened(self, path: str) -> Repository:
        if path not in self._open:
            if len(self._open) >= _MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
            self._open[path] = Repository(git_directory(self._limits.roots, path), self._limits.bytes)
        return self._open[path]


def _looked(repository: Repository, probe: GitProbe, deadline: LookDeadline) -> ProbeResult:
    commit = repository.commit(probe.ref, deadline)
    try:
        data = repository.file(commit, probe.path, deadline)
    except GoneError:
        path = None if commit == probe.commit else repository.renamed(probe.commit, commit, probe.path, deadline)
        if path is None:
            raise
        moved = msgspec.structs.replace(probe, path=path, commit=commit)
        result = found_again(moved, repository.file(commit, path, deadline), deadline)
        return result._replace(outcome=Finding.MOVED) if result.outcome is Finding.UNCHANGED else result
    result = found_again(probe, data, deadline)
    if result.outcome is Finding.UNCHANGED:
        return result
    return result._replace(probe=msgspec.structs.replace(result.probe, commit=commit))


def git_directory(roots: tuple[str, ...], path: str) -> str:
    """The directory with a repository's objects, if it and everything it borrows from is below a root."""
    root, parts = below(roots, path, said=path)
    work = Path(root, *parts)
    directory = work / ".git"
    if directory.is_file():
        # A worktree or a submodule: the file names the directory.
        directory = work / _start(directory).removeprefix("gitdir:").strip()
    elif not directory.is_dir():
        directory = work
    common = directory / "commondir"
    shared = directory / _start(common) if common.is_file() else directory
    objects = shared / "objects"
    if not objects.is_dir():
        raise ProbeError(f"{path} is not a git repository")
    for place in [work, directory, shared, *_borrowed(objects, 0)]:
        real = place.resolve()
        if not any(real.is_relative_to(Path(allowed).resolve()) for allowed in roots):
            raise ProbeError(f"roots: {path} keeps objects in {real}, which is not below a root")
    return str(directory.resolve())


def _borrowed(objects: Path, depth: int) -> list[Path]:
    """An object directory, what its links lead to, and those that it borrows objects from."""
    if depth > _MOST_BORROWED:
        raise ProbeError("its objects are borrowed from too many repositories")
    links = [Path(entry) for place in (objects, objects / "pack") for entry in _links(place)]
    alternates = objects / "info" / "alternates"
    lines = _start(alternates).splitlines() if alternates.is_file() else []
    if any(line.startswith('"') for line in lines):
        raise ProbeError(f"{alternates} names a directory in quotes")
    further = [objects / line for line in lines if line and not line.startswith("#")]
    return [objects, alternates, *links, *(one for place in further for one in _borrowed(place, depth + 1))]


def _links(directory: Path) -> list[str]:
    if not directory.is_dir():
        return []
    with os.scandir(directory) as entries:
        return [entry.path for entry in entries if entry.is_symlink()]


def _start(file: Path) -> str:
    """A small file of git's. One that is longer is not git's."""
    with file.open("rb") as opened:
        data = opened.read(_LONGEST_POINTER + 1)
    if len(data) > _LONGEST_POINTER:
        raise ProbeError(f"{file} is too long for a file of git")
    return data.decode("utf-8", "surrogateescape").rstrip("\n")
