"""Looks at files of git repositories.

A repository is data of a stranger. Git itself would follow links and borrowed objects out of the roots, and files that
were checked before it starts can be swapped while it runs. So git is not run: refs, commits, trees and files are read
from directories that are held open (``sources.objects``), and no setting, hook or helper of the repository applies.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from readmit.records.error_types import GoneError, ProbeError
from readmit.records.probes import Finding, GitProbe
from readmit.sources.files import below, opened_below, read_below
from readmit.sources.git_trees import MOST_BYTES, MOST_NAMES, KnownTrees, Tree
from readmit.sources.look import LookDeadline, quoted_at, unread
from readmit.sources.objects import MissingError, ObjectStore
from readmit.sources.quote_finder import found_again, quoted_part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.records.policy import LookRules
    from readmit.sources.places import Git
    from readmit.sources.prober import Captured, ProbeResult

# Where git looks for a short name, in this order.
_RULES = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
_PSEUDO = re.compile(r"refs/.+|[A-Z_]+")
_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHORT = re.compile(r"[0-9a-f]{4,63}")
_MOST_STEPS = 10
"""How many refs and tags may lead from one to the next."""
_MOST_BORROWED = 5
"""How deep git itself follows repositories that borrow from others."""
_LONGEST_POINTER = 50_000
_LARGEST_LIST = 64 << 20
"""Bytes of the packed refs."""
_LARGEST_TREE = 8 << 20
_MOST_OPEN = 16
_TREE, _LINKED_REPOSITORY = b"40000", b"160000"
_MOST_CANDIDATES = 400
_ALIKE = 0.5
"""Git's own limits for finding a renamed file."""


class Repository:
    """One repository during one look: its open directories, its refs, and the trees that the look knows."""

    def __init__(self, roots: tuple[str, ...], path: str, limit: int, trees: KnownTrees) -> None:
        self._path = path
        self._limit = limit
        self._trees = trees
        self._stack = ExitStack()
        self._commits: dict[str, str] = {}
        self._renames: dict[tuple[str, str, str], str | None] = {}
        try:
            layout = _Layout(roots, path, self._stack)
        except BaseException:
            self._stack.close()
            raise
        self._own, self._shared = layout.own, layout.shared
        self._objects = ObjectStore(layout.objects)

    def close(self) -> None:
        self._stack.close()

    def commit(self, ref: str, deadline: LookDeadline) -> str:
        """The commit that a ref names at the first question of this look."""
        if ref not in self._commits:
            self._commits[ref] = self._peeled(ref, deadline)
        return self._commits[ref]

    def file(self, commit: str, path: str, deadline: LookDeadline) -> bytes:
        """A file's content in a commit."""
        tree, entry = self._tree(commit, deadline), None
        *folders, last = path.encode("utf-8", "surrogateescape").split(b"/")
        for folder in folders:
            entry = self._entries(tree, deadline).get(folder)
            if entry is None or entry.mode != _TREE:
                raise GoneError(f"{commit[:12]} holds no {path}")
            tree = entry.object
        entry = self._entries(tree, deadline).get(last)
        if entry is None:
            raise GoneError(f"{commit[:12]} holds no {path}")
        if entry.mode in (_TREE, _LINKED_REPOSITORY):
            raise GoneError(f"{path} is not a file in {commit[:12]}")
        return self._blob(entry.object, deadline)

    def renamed(self, old: str, new: str, path: str, deadline: LookDeadline) -> str | None:
        """The name in a newer commit of a path that was renamed; None if it was not."""
        if (old, new, path) not in self._renames:
            try:
                self._renames[old, new, path] = self._renaming(old, new, path, deadline)
            except MissingError:
                # The captured commit may have been dropped since; then no rename can be found.
                self._renames[old, new, path] = None
        return self._renames[old, new, path]

    def _peeled(self, ref: str, deadline: LookDeadline) -> str:
        name = self._resolved(ref, deadline)
        for _ in range(_MOST_STEPS):
            try:
                kind, data = self._objects.read(name, _LARGEST_TREE, deadline)
            except MissingError:
                if name == ref:
                    raise GoneError(f"there is no {ref}") from None
                raise
            if kind == "commit":
                return name
            if kind != "tag":
                break
            name = _field(data, b"object")
        raise GoneError(f"there is no {ref}")

    def _resolved(self, ref: str, deadline: LookDeadline) -> str:
        """The name of the object that a ref names."""
        if _NAME.fullmatch(ref):
            return ref
        names = [name for rule in _RULES if _PSEUDO.fullmatch(name := rule.format(ref))]
        for _ in range(_MOST_STEPS):
            deadline.left()
            said = next(filter(None, map(self._said, names)), "")
            if _NAME.fullmatch(said):
                return said
            if not said:
                if _SHORT.fullmatch(ref):
                    raise ProbeError(f"ref: {ref} names no branch or tag; write a commit in full")
                raise GoneError(f"there is no {ref}")
            names = [said.removeprefix("ref:").strip()]
            if not said.startswith("ref:") or not names[0].startswith("refs/"):
                break
        raise ProbeError(f"what {ref} leads to is no ref of git")

    def _said(self, name: str) -> str:
        """The content of a ref: an object name, or ``ref:`` and another ref. Empty if it does not exist."""
        # Each worktree has its own HEAD; the branches are shared.
        directory = self._shared if name.startswith("refs/") else self._own
        with suppress(GoneError):
            return _start(directory, name)
        with suppress(GoneError):
            packed = read_below(self._shared, "packed-refs", _LARGEST_LIST)
            line = re.search(rb"^([0-9a-f]{40,64}) %s$" % re.escape(name.encode()), packed, re.MULTILINE)
            return line[1].decode() if line else ""
        return ""

    def _tree(self, commit: str, deadline: LookDeadline) -> str:
        return _field(self._objects.read(commit, _LARGEST_TREE, deadline).data, b"tree")

    def _entries(self, tree: str, deadline: LookDeadline) -> Tree:
        if (known := self._trees.get(self._path, tree)) is not None:
            return known
        try:
            kind, data = self._objects.read(tree, _LARGEST_TREE, deadline)
        except MissingError:
            raise MissingError("this clone lacks objects of the commit; fetch them") from None
        if kind != "tree":
            raise ProbeError("the repository may be damaged: a folder is no tree")
        return self._trees.keep(self._path, tree, data)

    def _blob(self, name: str, deadline: LookDeadline) -> bytes:
        try:
            kind, data = self._objects.read(name, self._limit, deadline)
        except MissingError:
            raise MissingError("this clone lacks the object of the file; fetch it") from None
        if kind != "blob":
            raise ProbeError("the repository may be damaged: a file is no blob")
        return data

    def _renaming(self, old: str, new: str, path: str, deadline: LookDeadline) -> str | None:
        """The added file that is most like the one that is gone, unless it is more like another one that is gone."""
        pairs = list(self._differences(self._tree(old, deadline), self._tree(new, deadline), deadline))
        gone = {name: was for name, was, now in pairs if was and not now}
        added = {name: now for name, was, now in pairs if now and not was}
        if path not in gone:
            return None
        for name in sorted(added, key=lambda one: (_last(one) != _last(path), one)):
            if added[name] == gone[path]:
                return name
        if len(gone) * len(added) > _MOST_CANDIDATES**2:
            return None
        taken = set(gone.values())
        found = self._most_alike(gone[path], {name: one for name, one in added.items() if one not in taken}, deadline)
        if found is None or self._most_alike(added[found], gone, deadline) != path:
            return None
        return found

    def _most_alike(self, wanted: str, others: dict[str, str], deadline: LookDeadline) -> str | None:
        lines = Counter(self._blob(wanted, deadline).splitlines(keepends=True))
        best: tuple[float, str] = (_ALIKE, "")
        for name, one in sorted(others.items()):
            deadline.left()
            with suppress(ProbeError):
                best = max(best, (_likeness(lines, self._blob(one, deadline)), name))
        return best[1] or None

    def _differences(self, old: str, new: str, deadline: LookDeadline) -> Iterator[tuple[str, str, str]]:
        """Paths of files that only one of two trees has, or that differ: path, object before, object after."""
        left: list[tuple[str, str, str]] = [(old, new, "")]
        count = size = 0
        while left:
            deadline.left()
            old, new, at = left.pop()
            before = self._entries(old, deadline) if old else {}
            after = self._entries(new, deadline) if new else {}
            for name in before.keys() | after.keys():
                was, now = before.get(name), after.get(name)
                if was == now:
                    continue
                # A few small trees can stand for more paths than there are atoms.
                count, size = count + 1, size + len(at) + len(name)
                if count > MOST_NAMES or size > MOST_BYTES:
                    raise ProbeError("the two commits differ too much to look for a renamed file")
                path = at + name.decode("utf-8", "surrogateescape")
                folders = [one.object if one and one.mode == _TREE else "" for one in (was, now)]
                files = [
                    one.object if one and one.mode not in (_TREE, _LINKED_REPOSITORY) else "" for one in (was, now)
                ]
                if any(folders):
                    left.append((folders[0], folders[1], f"{path}/"))
                if any(files):
                    yield path, files[0], files[1]


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _likeness(lines: Counter[bytes], data: bytes) -> float:
    """Which share of the longer of two texts both have, counted in whole lines."""
    shared = lines & Counter(data.splitlines(keepends=True))
    longest = max(sum(len(line) * count for line, count in lines.items()), len(data))
    return sum(len(line) * count for line, count in shared.items()) / longest if longest else 0


def _field(data: bytes, name: bytes) -> str:
    """An object that a commit or a tag names."""
    found = re.search(rb"^%s ([0-9a-f]{40,64})$" % name, data.partition(b"\n\n")[0], re.MULTILINE)
    if found is None or not _NAME.fullmatch(said := found[1].decode()):
        raise ProbeError("the repository may be damaged: a commit cannot be read")
    return said


class Repositories:
    """The repositories of one look."""

    def __init__(self, limits: LookRules) -> None:
        self._limits = limits
        self._open: dict[str, Repository] = {}
        self._trees = KnownTrees()

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def look(self, probe: GitProbe, deadline: LookDeadline) -> ProbeResult:
        return _looked(self._opened(probe.repository), probe, deadline)

    def capture(self, place: Git, deadline: LookDeadline) -> Captured:
        probe = unread(GitProbe, place, repository=str(place.repository), commit="0" * 40)
        git = self._opened(probe.repository)
        commit = git.commit(probe.ref, deadline)
        quote = quoted_part(probe.path, git.file(commit, probe.path, deadline), lines=place.lines, symbol=place.symbol)
        return quoted_at(probe, quote, commit=commit)

    def _opened(self, path: str) -> Repository:
        if path not in self._open:
            if len(self._open) >= _MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
            self._open[path] = Repository(self._limits.roots, path, self._limits.bytes, self._trees)
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


class _Layout:
    """The git, common and object directories of a repository: below a root, reached through no link, held open."""

    def __init__(self, roots: tuple[str, ...], path: str, stack: ExitStack) -> None:
        # Git writes down where a directory really is, also where a root is named through a link.
        self._roots = tuple(dict.fromkeys((*roots, *map(os.path.realpath, roots))))
        self._path = path
        self._stack = stack
        root, parts = below(roots, path, said=path)
        try:
            self._find(os.path.join(root, *parts))  # noqa: PTH118 - opened name by name
        except GoneError:
            raise ProbeError(f"{path} is not a git repository") from None

    def _find(self, work: str) -> None:
        directory = self._opened(work)
        place = f"{work}/.git"
        with suppress(GoneError):
            # A worktree or a submodule: the file names the directory.
            place = _joined(work, _start(directory, ".git").removeprefix("gitdir:").strip())
        try:
            self.own = self._opened(place)
        except GoneError:
            place, self.own = work, directory
        shared, self.shared = place, self.own
        with suppress(GoneError):
            shared = _joined(place, _start(self.own, "commondir"))
            self.shared = self._opened(shared)
        self.objects: list[int] = []
        self._borrow(f"{shared}/objects", 0)
        with suppress(FileNotFoundError):
            os.stat("reftable", dir_fd=self.shared, follow_symlinks=False)
            raise ProbeError(f"{self._path} keeps its refs in a reftable, which is not read")

    def _borrow(self, place: str, depth: int) -> None:
        """Open an object directory, and the alternates that it borrows from."""
        if depth > _MOST_BORROWED or len(self.objects) > _MOST_BORROWED**2:
            raise ProbeError("its objects are borrowed from too many repositories")
        objects = self._opened(place)
        self.objects.append(objects)
        lines: list[str] = []
        with suppress(GoneError):
            lines = _start(objects, "info/alternates").splitlines()
        for line in lines:
            if line.startswith('"'):
                raise ProbeError("its alternates name a directory in quotes")
            if line and not line.startswith("#"):
                self._borrow(_joined(place, line), depth + 1)

    def _opened(self, place: str) -> int:
        pure = PurePath(place)
        for root in self._roots:
            if pure.is_relative_to(root):
                directory = opened_below(root, pure.relative_to(root).parts)
                self._stack.callback(os.close, directory)
                return directory
        raise ProbeError(f"roots: {self._path} keeps objects in {place}, which is not below a root")


def _joined(base: str, said: str) -> str:
    """A directory that a file of git names. No name on the way is a link, so that .. can be taken back."""
    return os.path.normpath(os.path.join(base, said))  # noqa: PTH118


def _start(directory: int, path: str) -> str:
    """A small file of git's. One that is longer is not git's."""
    return read_below(directory, path, _LONGEST_POINTER).decode("utf-8", "surrogateescape").rstrip("\n")
