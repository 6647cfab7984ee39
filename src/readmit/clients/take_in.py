"""Takes in what sessions of a project wrote into the spool while they worked, in one commit.

What the user said becomes observations by ``user``. Commands and other uses of tools become observations by the
session, of kind ``tool_result``, several in a row together; ``intake.retention`` ends their time. Files that a
session read or wrote become sources that can be looked at again. Nothing here becomes an item: what a tool printed is
handed over to nobody until somebody, or a probe, vouches for a statement that rests on it.

A line has the same id whenever it is taken in, and a spool file is deleted after the commit. So it does not matter when
a take-in is killed: the next one adds what is missing, and nothing twice.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from readmit.clients.intake.spool_content import content_of
from readmit.clients.intake.spool_files import claim, hand_on, read_claimed, replace_rest, spool_lines
from readmit.clients.intake.touched_files import fit_source, ignored_names, inside, observe_source
from readmit.clients.intake.transcripts import known_transcript, load_transcripts, new_transcript, save_transcripts
from readmit.clients.memory_import import USER
from readmit.clients.project import make_private, project_of
from readmit.clients.session import session_of
from readmit.records.acts.event import EventKind
from readmit.records.canonical import digest
from readmit.state.absence import swept
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.clients.intake.spool_content import LineContent, Touched
    from readmit.clients.intake.spool_files import SpoolLine
    from readmit.clients.intake.touched_files import FitSource
    from readmit.clients.intake.transcripts import Transcript
    from readmit.clients.project import Project
    from readmit.workspace.workspace import Workspace

SAID, DONE = "said-", "tool-"
"""Prefixes of the ids of observations: of the user's words, and of a session's work."""
MOST_TOGETHER = 8_000
"""Most characters of uses of tools that are one observation."""
MOST_LINES = 20_000
"""Most lines of the spool that one take-in reads. The next one reads the others."""
_SECONDS = 60.0


class TakenIn(NamedTuple):
    """A take-in in numbers. Each line that was read is counted once, or is one that has nothing to tell."""

    lines: int = 0
    said: int = 0
    """Prompts of the user that are observations now."""
    done: int = 0
    """Uses of tools within new observations."""
    observations: int = 0
    """New observations of the latter."""
    files: int = 0
    """New sources."""
    left_out: int = 0
    """Lines of texts that may hold a secret, and results of commands on files that may, or that git ignores."""
    ignored: int = 0
    """Files that git ignores, that may hold a secret, or that are outside of the checkout."""
    changed: int = 0
    """Files that are gone, or that changed after the session had read or written them."""
    malformed: int = 0
    """Lines that could not be read."""
    elsewhere: int = 0
    """Lines about another project: given to it, if it has a store."""
    waiting: int = 0
    """Lines that are left for the next take-in."""


def take_in(workspace: Workspace, project: Project, *, deadline: float | None = None) -> TakenIn:
    """Take in the spool of a project's sessions.

    ``deadline`` is a moment of ``time.monotonic``. What is not read by then stays in the spool.
    """
    until = time.monotonic() + _SECONDS if deadline is None else deadline
    make_private(project.folder)
    with alone(project.folder / "spool.lock") as only:
        if not only:
            return TakenIn()
        batch = _Batch(workspace, project)
        pieces = [(path, batch.read(path, until)) for path in claim(project)]
        batch.ask_git()
        batch.judge_files()
        with workspace.batch():
            batch.write()
        batch.note_transcripts()
        for path, rest in pieces:
            if rest is not None:
                replace_rest(path, rest)
        return TakenIn(**batch.counts)


@contextmanager
def alone(path: Path) -> Iterator[bool]:
    """Whether no other process has this lock."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


class _Group(NamedTuple):
    """Lines of a session, one after the other, that are one observation."""

    project: Project
    content: list[tuple[SpoolLine, LineContent]]


class _Batch:
    """The lines that one take-in has read, and the observations that it writes."""

    def __init__(self, workspace: Workspace, project: Project) -> None:
        self.counts: Counter[str] = Counter()
        self._workspace = workspace
        self._project = project
        self._log = desk_of(workspace).log
        self._projects: dict[str, Project] = {}
        self._said: list[tuple[SpoolLine, Project, str]] = []
        self._groups: list[_Group] = []
        self._touched: dict[tuple[Path, str, int, int], tuple[Project, Touched, str]] = {}
        self._ignored: dict[Path, set[str]] = {}
        self._named: dict[Path, set[str]] = {}
        self._sources: list[tuple[Project, FitSource, str]] = []
        self._transcripts: dict[str, Transcript] = {}

    def read(self, path: Path, until: float) -> list[SpoolLine] | None:
        """Read a claimed file. Returns the lines that are left; none if it could not be read at all."""
        try:
            data = read_claimed(path)
        except OSError:
            data = None
        if data is None:
            return None
        lines: list[SpoolLine] = []
        elsewhere: dict[str, list[SpoolLine]] = {}
        for line in spool_lines(data):
            if line is None:
                self.counts["malformed"] += 1
            elif (there := self._project_of(line)).key == self._project.key:
                lines.append(line)
            else:
                elsewhere.setdefault(there.key, []).append(line)
        for own in elsewhere.values():
            self.counts["elsewhere"] += len(own)
            name = f"{path.stem.rpartition('.')[0]}-{self._project.key}.{own[0].at}.jsonl"
            with suppress(OSError):
                hand_on(own, name, self._project_of(own[0]))
        read = self._read_lines(lines, until)
        self.counts["lines"] += read
        self.counts["waiting"] += len(lines) - read
        return lines[read:]

    def _read_lines(self, lines: Sequence[SpoolLine], until: float) -> int:
        """Read lines until the deadline, and return how many.

        Where observations begin depends on the lines alone, and it ends between two of them. So a process that reads
        the same lines again, or the rest of them, makes the same observations.
        """
        work: tuple[str, ...] | None = None
        size = 0
        for number, line in enumerate(lines):
            content, project = content_of(line), self._project_of(line)
            if _work(line) != work or (content.done and size and size + len(content.done) > MOST_TOGETHER):
                if number and (time.monotonic() > until or self.counts["lines"] + number >= MOST_LINES):
                    return number
                work, size = _work(line), 0
                self._groups.append(_Group(project, []))
            size += len(content.done)
            self._read_line(line, content, project)
        return len(lines)

    def _read_line(self, line: SpoolLine, content: LineContent, project: Project) -> None:
        self.counts["left_out"] += content.left_out
        if path := known_transcript(line.client, line.text("transcript_path")):
            session = session_of(line.client, line.fields).name
            self._transcripts.setdefault(path, new_transcript(line.client, session, project.task, line.at))
        if content.said:
            self._said.append((line, project, content.said))
        if content.done:
            self._groups[-1].content.append((line, content))
        for one in content.files:
            self._touch(project, one, session_of(line.client, line.fields).name)
        for word in content.named:
            self._name(project, line, word)

    def _project_of(self, line: SpoolLine) -> Project:
        cwd = line.text("cwd")
        if cwd not in self._projects:
            self._projects[cwd] = project_of(Path(cwd))
        return self._projects[cwd]

    def _touch(self, project: Project, touched: Touched, by: str) -> None:
        if name := inside(project, touched.path):
            self._touched[project.worktree, name, touched.first, touched.count] = (project, touched, by)
        else:
            self.counts["ignored"] += 1

    def _name(self, project: Project, line: SpoolLine, word: str) -> None:
        """Remember a word of a command that is the path of something in the checkout."""
        with suppress(OSError, ValueError):
            path = os.path.join(line.text("cwd"), word)  # noqa: PTH118 - a text from elsewhere
            if os.path.lexists(path) and (name := inside(project, path)):
                self._named.setdefault(project.worktree, set()).add(name)

    def ask_git(self) -> None:
        """Ask which of the files git ignores: once for each checkout."""
        tops = {project.worktree: project for project in self._projects.values() if project.key == self._project.key}
        for top, project in tops.items():
            names = {name for there, name, *_ in self._touched if there == top} | self._named.get(top, set())
            self._ignored[top] = ignored_names(project, sorted(names))

    def judge_files(self) -> None:
        """Find which files are sources: before the commit, because a session's start waits for that one."""
        for (top, name, *_), (project, touched, by) in self._touched.items():
            found = "ignored" if name in self._ignored[top] else fit_source(project, name, touched)
            if isinstance(found, str):
                self.counts["ignored" if found in ("ignored", "secret") else "changed"] += 1
            else:
                self._sources.append((project, found, by))

    def note_transcripts(self) -> None:
        """Keep where transcripts of these sessions are, for a model that the user may choose."""
        known = load_transcripts(self._project)
        if new := {path: one for path, one in self._transcripts.items() if path not in known.files}:
            known.files |= new
            save_transcripts(self._project, known)

    def write(self) -> None:
        """Write everything that is not on the log yet."""
        for line, project, text in self._said:
            name = _id(SAID, line)
            if self._log.named(EventKind.OBSERVE, name) is None:
                self.counts["said"] += 1
                self._workspace.principal(USER).observe(text, id=name, at=_moment(line), task=project.task)
        for group in self._groups:
            if group.content:
                self._write_group(group)
        for project, source, by in self._sources:
            self.counts["files"] += observe_source(self._workspace, project, source, self._writer(by))

    def _write_group(self, group: _Group) -> None:
        line = group.content[0][0]
        name = _id(DONE, line)
        if self._log.named(EventKind.OBSERVE, name) is not None:
            return
        texts = [self._shown(one, content, group.project) for one, content in group.content]
        session = session_of(line.client, line.fields).name
        self._workspace.principal(self._writer(session)).observe(
            "\n\n".join(texts), id=name, at=_moment(line), source="tool_result", task=group.project.task
        )
        self.counts["observations"] += 1
        self.counts["done"] += len(texts)

    def _shown(self, line: SpoolLine, content: LineContent, project: Project) -> str:
        """A use of a tool in words: without its result if it names a file that git ignores."""
        ignored = self._ignored.get(project.worktree, set())
        for word in content.named if ignored else ():
            path = os.path.join(line.text("cwd"), word)  # noqa: PTH118 - a text from elsewhere
            if inside(project, path) in ignored:
                self.counts["left_out"] += 1
                return content.without_result
        return content.done

    def _writer(self, session: str) -> str:
        """The observer of a line: the session, or its client if the session's lease ran out and it may not write."""
        return session if swept(self._log, session) is None else session.partition(":")[0]


def _work(line: SpoolLine) -> tuple[str, ...]:
    """Fields that all lines of one observation share."""
    return (line.client, *map(line.text, ("session_id", "agent_id", "cwd")))


def _id(beginning: str, line: SpoolLine) -> str:
    """The id of what a line tells: of the moment and the process that wrote it, and of no text."""
    return f"{beginning}{digest((session_of(line.client, line.fields).name, line.at, line.pid))[:32]}"


def _moment(line: SpoolLine) -> datetime:
    return datetime.fromtimestamp(line.at / 1e9, UTC)
