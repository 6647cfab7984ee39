"""Imports memory files of coding agents: each statement becomes an item by ``user`` whose source is its line.

An item also rests on the places of the checkout that vouch for the names in it, so it falls by itself when one of them
is renamed. Whatever ``check`` finds wrong when it is read is recorded and revoked at once, with the finding as the
reason. An edited line supersedes, a deleted one revokes. A file that did not change costs its digest, and a checkout
that did not change the status of each file that vouches for something.

Files below the checkout, and notes that a client keeps about it, are checked and belong to the project's task. The
user's own files are about every project: they are read, not checked, and have no task.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from readmit.check.apart import statements_apart
from readmit.clients.memory_lines import (
    KnownFile,
    KnownLine,
    KnownLines,
    compared_lines,
    load_lines,
    save_lines,
    slot_of,
    thing_of,
)
from readmit.clients.memory_sources import MOST_BYTES, Unread, check_unchanged, is_about, memory_sources, tree_state
from readmit.clients.project import make_private
from readmit.clients.secret_filter import holds_secret
from readmit.records.acts.event import EventKind
from readmit.records.canonical import digest, digest_of
from readmit.records.error_types import CheckLimitError, ProbeError, ReadmitError, RecordError
from readmit.records.policy import LookRules
from readmit.records.probes import FileProbe, Finding
from readmit.sources import File, Looker
from readmit.sources.files import version
from readmit.workspace.workspace import as_readmit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from readmit.check.check_values import CheckedStatement, Voucher
    from readmit.clients.memory_sources import MemorySource
    from readmit.clients.project import Project
    from readmit.workspace.workspace import Workspace

USER = "user"
"""The principal that memory lines, and a person's words, are written by."""
PREFIX = "memory-"
"""Prefix of the ids of items from memory files."""
LATE = "not checked in time"
BUSY = "another import is under way"
"""Reasons for which a file is unread now and will be read soon."""
_MOST_STATEMENTS = 5_000
_MOST_ENDED = 400
"""Most items that one import ends. The policy limits how many a principal may end in an hour."""
_SECONDS = 60.0
_TICK = 2_000_000_000


class Imported(NamedTuple):
    """The outcome of an import in numbers, and everything that it did not read."""

    statements: int = 0
    """Statements with an item."""
    recorded: int = 0
    superseded: int = 0
    revoked: int = 0
    """Items of deleted lines."""
    refuted: int = 0
    """Items that ``check`` found wrong in this import."""
    unread: tuple[Unread, ...] = ()
    is_behind: bool = False
    """Whether the checkout changed since all lines were checked."""


def import_memory(
    workspace: Workspace, project: Project, files: Sequence[Path], *, deadline: float | None = None, whole: bool = False
) -> Imported:
    """Bring the items of memory files up to date, in one commit.

    ``deadline`` is a moment of ``time.monotonic``. What is not read by then is reported, and nothing of it is written.
    A line without a voucher is checked again only if it is edited, or by a ``whole`` import of a checkout that changed.
    """
    until = time.monotonic() + _SECONDS if deadline is None else deadline
    make_private(project.folder)
    with _alone(project.folder / "memory.lock") as alone:
        if not alone:
            return Imported(unread=(Unread("", BUSY),))
        unread: list[Unread] = []
        found = list(memory_sources(project, files, unread))
        sides = [_Side(workspace, project, task=task, whole=whole) for task in (project.task, None)]
        try:
            for side in sides:
                side.read([one for one in found if is_about(project, one.path) == (side.task is not None)], until)
            with workspace.batch():
                for side in sides:
                    side.write()
                check_unchanged(found)
        except ReadmitError as error:
            return Imported(unread=(*unread, Unread("", str(error))))
        for side in sides:
            side.save()
        return _summed(sides, unread)


def imported_lines(project: Project) -> dict[str, tuple[str, KnownLine]]:
    """The lines that have an item, by the item's id, each with its file's path."""
    known = (load_lines(_state_file(project, task)) for task in (project.task, None))
    return {line.item: (file.path, line) for one in known for file in one.files.values() for line in file.lines}


def imported_files(project: Project) -> tuple[Path, ...]:
    """The files about imported lines, which change when an import finds something."""
    return tuple(_state_file(project, task) for task in (project.task, None))


def _summed(sides: Sequence[_Side], unread: Sequence[Unread]) -> Imported:
    return Imported(
        statements=sum(len(file.lines) for side in sides for file in side.now.values()),
        recorded=sum(side.recorded for side in sides),
        superseded=sum(side.superseded for side in sides),
        revoked=sum(side.revoked for side in sides),
        refuted=sum(side.refuted for side in sides),
        unread=(
            *unread,
            *(one for side in sides for one in side.unread),
            *(Unread(name, why) for side in sides for name, file in side.now.items() for why in file.unread),
        ),
        is_behind=any(side.is_behind for side in sides),
    )


@contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Whether no other process imports into the same store."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _state_file(project: Project, task: str | None) -> Path:
    return project.folder / "memory" / f"{'user' if task is None else digest(task)[:16]}.json"


class _Side:
    """The import into one scope: the project's task, or every task for the user's own files."""

    def __init__(self, workspace: Workspace, project: Project, *, task: str | None, whole: bool) -> None:
        self.task = task
        self._whole = whole
        self._project = project
        self._path = _state_file(project, task)
        self._known = load_lines(self._path)
        self.now = dict(self._known.files)
        """Files after the import."""
        self._user = workspace.principal(USER)
        self._readmit = as_readmit(workspace)
        self._log = workspace.admin.log
        self._statements: dict[str, list[CheckedStatement]] = {}
        self._sources: dict[str, MemorySource] = {}
        self._fallen: set[Voucher] = set()
        self._evidence: dict[Voucher, str | None] = {}
        self._tree = tree_state(project) if task is not None else ""
        self._seen: dict[str, tuple[int, ...]] = {}
        self.unread: list[Unread] = []
        self._ended = 0
        self.recorded = self.superseded = self.revoked = self.refuted = 0

    def read(self, sources: Sequence[MemorySource], until: float) -> None:
        """Read and check the files that changed, and those with a line that may hold no longer, or again."""
        self._sources = {one.name: one for one in sources}
        self._look()
        if todo := [one for one in sources if self._is_due(one)]:
            self._check(todo, until)

    def _check(self, todo: Sequence[MemorySource], until: float) -> None:
        try:
            self._read(todo, until)
        except (CheckLimitError, RecordError) as error:
            if time.monotonic() >= until:
                self.unread += [Unread(one.name, LATE) for one in todo]
            elif len(todo) == 1:
                self.unread.append(Unread(todo[0].name, str(error)))
            else:
                # One of them is malformed, or too much. The others are read without it.
                for one in todo:
                    self._check([one], until)

    def _read(self, todo: Sequence[MemorySource], until: float) -> None:
        left = until - time.monotonic()
        if left <= 0:
            raise CheckLimitError(LATE)
        paths = [one.path for one in todo]
        about, own = (paths, []) if self.task is not None else ([], paths)
        said = statements_apart(about, self._project.worktree, unchecked=own, seconds=left)
        self._statements |= {one.name: [] for one in todo}
        for one in said:
            self._statements[one.file].append(one)

    def _look(self) -> None:
        """Find the vouchers that fell. Files that are as they were are not read again."""
        for path in {one.path for one in self._known.vouchers}:
            try:
                self._seen[path] = version(os.lstat(self._project.worktree / path))
            except OSError:
                continue
        due = [one for one in self._known.vouchers if self._known.seen.get(one.path) != self._seen.get(one.path, ())]
        probes = [self._probe(one) for one in due]
        looker = Looker(LookRules(roots=(str(self._project.worktree),), bytes=2 * MOST_BYTES))
        for one, result in zip(due, looker.look(probes), strict=True):
            if result.outcome is Finding.GONE:
                self._fallen.add(one)

    def _probe(self, one: Voucher) -> FileProbe:
        path = str(self._project.worktree / one.path)
        return FileProbe(path=path, quote=one.quote, exists=not one.quote, digest=digest_of(one.quote.encode()))

    def _is_due(self, source: MemorySource) -> bool:
        before = self._known.files.get(source.name)
        if before is None or before.digest != source.digest:
            return True
        if any(not self._fallen.isdisjoint(line.vouchers) for line in before.lines if not line.finding):
            return True
        return self._tree != self._known.tree and (self._whole or any(line.finding for line in before.lines))

    @property
    def is_behind(self) -> bool:
        """Whether some line was not checked in the checkout as it is."""
        return self._tree != self._known.tree and not self._sources.keys() <= self._statements.keys()

    def write(self) -> None:
        """Write what changed."""
        for name, said in self._statements.items():
            self._file(self._sources[name], said)
        for name, file in self._known.files.items():
            if name not in self._sources and not os.path.lexists(file.path):
                left = tuple(line for line in file.lines if not self._end(line, f"the file {name} was deleted"))
                self.now[name] = replace(file, lines=left, digest="")
                if not left:
                    del self.now[name]

    def save(self) -> None:
        """Save the lines that have an item, if any of them changed."""
        young = time.time_ns() - _TICK
        # A file that was written just now may be written again within one tick of its clock.
        seen = {path: one for path, one in self._seen.items() if max(one[-2:]) < young}
        tree = self._known.tree if self.is_behind else self._tree
        known = self._known
        if self._statements or (self.now, tree) != (known.files, known.tree) or not seen.items() <= known.seen.items():
            save_lines(self._path, KnownLines(files=self.now, tree=tree, seen=seen))

    def _file(self, source: MemorySource, said: list[CheckedStatement]) -> None:
        before = self._known.files.get(source.name)
        fit, unread = self._fit(source, said)
        changes = compared_lines(before.lines if before else (), fit)
        lines = [self._kept(source, line, one) for line, one in changes.kept]
        for line, one in changes.edited:
            self.superseded += 1
            lines.append(self._record(source, one, line.slot))
        taken = {line.slot for file in self.now.values() for line in file.lines} | {line.slot for line in lines}
        for one in changes.added:
            slot = slot_of(self.task, one, taken)
            taken.add(slot)
            lines.append(self._record(source, one, slot))
        gone = f"the line was deleted from {source.name}"
        lines += [line for line in changes.deleted if not self._end(line, gone)]
        if self._ended > _MOST_ENDED:
            unread.append(f"more than {_MOST_ENDED} lines changed; the next import does the rest")
        # A file that is not done has no digest, so that it is read again.
        read = source.digest if self._ended <= _MOST_ENDED else ""
        self.now[source.name] = KnownFile(path=str(source.path), digest=read, lines=tuple(lines), unread=tuple(unread))

    def _fit(self, source: MemorySource, said: list[CheckedStatement]) -> tuple[list[CheckedStatement], list[str]]:
        """The statements that become items, and the others with the reason."""
        longest = self._user.admin.policy.budgets.item_chars
        fit: list[CheckedStatement] = []
        unread: list[str] = []
        for one in said:
            if len(fit) >= _MOST_STATEMENTS:
                unread.append(f"line {one.first}: more than {_MOST_STATEMENTS:,} statements")
                break
            if one.findings and sum(bool(other.findings) for other in fit) >= _MOST_ENDED:
                unread.append(f"line {one.first}: more than {_MOST_ENDED} statements do not hold")
            elif len(one.text) > longest:
                unread.append(f"line {one.first}: longer than {longest} characters")
            elif holds_secret(source.lines(one)):
                unread.append(f"line {one.first}: it may hold a secret")
            else:
                fit.append(one)
        return fit, unread

    def _kept(self, source: MemorySource, line: KnownLine, said: CheckedStatement) -> KnownLine:
        """Decide about a line whose text is unchanged: keep its item, withdraw it, or record it again."""
        finding = "; ".join(said.findings)
        line = replace(line, first=said.first, heading=said.heading)
        if finding and not line.finding:
            return self._refute(line, finding)
        same = line.source == _digest(source.lines(said)) and self._fallen.isdisjoint(line.vouchers)
        if finding or (not line.finding and same):
            return replace(line, finding=finding)
        # It holds again, or by another place, or its lines are written in another way. The same text in the same slot
        # shares the fate of what stood there, so that is superseded by name.
        if line.finding:
            return self._record(source, said, line.slot)
        return self._record(source, said, line.slot, instead=line.item) if self._may_end() else line

    def _record(
        self, source: MemorySource, said: CheckedStatement, slot: str, *, instead: str | None = None
    ) -> KnownLine:
        """Record a line. Whatever else its slot said before is superseded."""
        vouched = [(one, seen) for one in said.vouchers if (seen := self._voucher(one)) is not None]
        number = 0
        while self._log.named(EventKind.RECORD, name := self._name(said, slot, number)) is not None:
            number += 1
        self._user.record(
            said.text,
            id=name,
            slot=slot,
            task=self.task,
            sources=[self._line(source, said), *dict.fromkeys(seen for _, seen in vouched)],
            supersedes=instead,
        )
        self.recorded += 1
        line = KnownLine(
            item=name, slot=slot, first=said.first, heading=said.heading, thing=thing_of(said), text=said.text,
            source=_digest(source.lines(said)), vouchers=tuple(one for one, _ in vouched),
        )  # fmt: skip
        return self._refute(line, "; ".join(said.findings)) if said.findings else line

    def _name(self, said: CheckedStatement, slot: str, number: int) -> str:
        return f"{PREFIX}{digest((self.task, slot, said.text, number))[:24]}"

    def _line(self, source: MemorySource, said: CheckedStatement) -> str:
        """The evidence of a line: with a probe of it where the policy lets it be looked at again."""
        try:
            return self._user.observe(probe=File(source.path, lines=f"{said.first}-{said.last}"), task=self.task)
        except ProbeError:
            quoted = f"{source.name}:{said.first}\n{source.lines(said)}"
            return self._user.observe(quoted, source="document", task=self.task)

    def _voucher(self, one: Voucher) -> str | None:
        """The evidence of a place that vouches for a name; none if it cannot be looked at."""
        if one not in self._evidence:
            place = File(self._project.worktree / one.path, quote=one.quote, exists=not one.quote)
            try:
                self._evidence[one] = self._user.observe(probe=place, task=self.task)
            except ReadmitError:
                self._evidence[one] = None
        return self._evidence[one]

    def _refute(self, line: KnownLine, finding: str) -> KnownLine:
        """Withdraw the item of a line that does not hold, with the finding as the reason."""
        self._readmit.revoke(line.item, reason=finding[:2_000])
        self.refuted += 1
        return replace(line, finding=finding)

    def _may_end(self) -> bool:
        """Count an item that is ended; false if this import has ended as many as it may."""
        self._ended += 1
        return self._ended <= _MOST_ENDED

    def _end(self, line: KnownLine, reason: str) -> bool:
        """Withdraw the item of a deleted line; false if that has to wait for the next import."""
        if line.finding:
            return True
        if not self._may_end():
            return False
        self._user.revoke(line.item, reason=reason)
        self.revoked += 1
        return True


def _digest(text: str) -> str:
    return digest_of(text.encode())[:16]
