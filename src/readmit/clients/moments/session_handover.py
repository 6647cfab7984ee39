"""The handover to a session at a return: decided, put into words, and kept for the prompts that follow."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import msgspec

from readmit.clients.known_clients import CLIENTS
from readmit.clients.memory_import import BUSY, LATE, imported_files, imported_lines
from readmit.clients.moments.absence_of_session import be_present
from readmit.clients.moments.hook_status import HookStatus
from readmit.clients.moments.session_file import SessionFile, file_versions, save_session
from readmit.clients.moments.session_return import MemoryLines, ReturnOfSession, decide
from readmit.clients.moments.session_text import SessionNews, session_text
from readmit.clients.project import spool_folder
from readmit.records.probes import FileProbe
from readmit.text.english import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from readmit.clients.memory_import import Imported
    from readmit.clients.moments.session_return import Sorted
    from readmit.clients.project import Project
    from readmit.clients.session import Session
    from readmit.workspace.agent import Agent
    from readmit.workspace.return_handle import Return
    from readmit.workspace.workspace import Workspace

LEASE = 24 * 3_600
"""Seconds for which a session counts as present after its last return. A prompt renews it."""
RENEWED = LEASE // 3
"""Seconds after which a prompt renews it."""
_MOST_UNREAD = 5
_MOST_WITHDRAWN = 500
"""Most withdrawn items that a session file remembers. What fell before those is not said again after a compaction."""


class SessionHandover:
    """The return of a session that is away, from the decision to the record for its prompts."""

    _returned: Return
    _judged: ReturnOfSession
    _sorted: Sorted

    def __init__(
        self, workspace: Workspace, project: Project, session: Session, files: Sequence[Path], imported: Imported
    ) -> None:
        """``files`` are those that the client loads by itself, ``imported`` the import of just now."""
        self._workspace = workspace
        self._project = project
        self._session = session
        self._imported = imported
        # Lines are also checked while the session goes on, and its prompts have to notice what that finds.
        self._imports = file_versions(map(str, imported_files(project)))
        known = imported_lines(project)
        loaded = {os.path.realpath(path) for path in files}
        own = {path for path in {path for path, _ in known.values()} if os.path.realpath(path) in loaded}
        self._lines = MemoryLines(
            {name: one for name, one in known.items() if one[0] in own},
            {name: one for name, one in known.items() if one[0] not in own},
        )
        # Before anything is judged: what changes from now on is found at the next prompt.
        places = {one.path for _, line in self._lines.loaded.values() for one in line.vouchers}
        self._files = file_versions(sorted(loaded.union(str(project.worktree / one) for one in places)))

    def decide(self, agent: Agent, *, also: Collection[str] = (), everything: bool = False) -> Sorted:
        """Decide the return. ``also`` names items that the session knows besides; or it may know everything."""
        self._returned, handed = decide(agent)
        self._judged = ReturnOfSession(self._workspace, self._returned, handed, self._lines)
        self._sorted = self._judged.sorted(also, everything=everything)
        return self._sorted

    def text(self, *, is_new: bool) -> str:
        """The text of a start. To a session that was never here before, nothing is news."""
        found = self._sorted
        news = SessionNews(
            return_id=self._returned.id,
            remarks=tuple(self._remarks()),
            out=found.out,
            doubted=found.doubted,
            owed=found.owed,
            holds=(*found.holds, *found.new) if is_new else found.holds,
            new=() if is_new else found.new,
            unseen=tuple(self._unseen()),
            unlisted=found.unlisted,
        )
        return session_text(news)

    def changes(self, withdrawn: Collection[str]) -> str:
        """The text of a prompt: what fell that the session has not read of before, or nothing."""
        found = self._sorted
        out, doubted = (tuple(one for one in some if one.item not in withdrawn) for some in (found.out, found.doubted))
        news = SessionNews(self._returned.id, out=out, doubted=doubted, unlisted=found.unlisted)
        return session_text(news) if out or doubted or found.unlisted else ""

    def status(self) -> HookStatus:
        """The return in numbers."""
        found = self._sorted
        items = len(found.owed) + len(found.holds) + len(found.new) + len(found.standing)
        out = len(found.out) + found.unlisted
        unseen = found.unseen + len(self._imported.unread)
        return HookStatus(self._returned.kind, items, out, len(found.doubted), unseen)

    def keep(self, agent: Agent, withdrawn: Collection[str]) -> None:
        """Say that it arrived, be present, and keep what the next prompt has to look at."""
        if self._returned.admitted:
            self._returned.acknowledge()
            be_present(self._workspace, agent, LEASE)
        probes: dict[str, list[dict[str, object]]] = {}
        for item in self._sorted.items:
            for one in self._judged.evidence(item):
                if isinstance(one.probe, FileProbe):
                    path = str(self._project.worktree / one.probe.path)
                    probes.setdefault(path, []).append(msgspec.to_builtins(one.probe))
        fell = (one.item for one in (*self._sorted.out, *self._sorted.doubted))
        held = SessionFile(
            cwd=str(self._project.worktree / self._project.package),
            lines=self._sorted.standing,
            files={**file_versions(sorted(probes)), **self._files, **self._imports},
            probes=probes,
            withdrawn=tuple(dict.fromkeys((*withdrawn, *fell)))[-_MOST_WITHDRAWN:],
            renew=time.time() + RENEWED,
        )
        save_session(self._session, held)

    def _remarks(self) -> Iterator[str]:
        if not self._returned.admitted:
            missing = f" Missing: {', '.join(self._returned.missing)}." if self._returned.missing else ""
            yield f"The return was {self._returned.kind}: nothing is handed over to act on.{missing}"
        if self._returned.partial:
            yield "Some duties are left out, because what they need is missing."
        if self._lines.loaded:
            known = counted(len(self._lines.loaded), "statement")
            yield f"Of the memory files that you have loaded, {known} are known here and not repeated."

    def _unseen(self) -> Iterator[str]:
        view, found, unread = self._returned.view, self._sorted, self._imported.unread
        has_prompts = self._session.client in CLIENTS and "prompt" in CLIENTS[self._session.client].events
        goes_on = f"; that goes on{', and a prompt will say what fell' if has_prompts else ''}"
        for one in unread[:_MOST_UNREAD]:
            yield f"{one.file or 'memory files'}: {one.why}{goes_on if one.why in (BUSY, LATE) else ''}"
        if len(unread) > _MOST_UNREAD:
            yield f"{len(unread) - _MOST_UNREAD} more parts of memory files"
        if found.unseen:
            yield f"{counted(found.unseen, 'statement')} whose source could not be looked at"
        if view is not None and view.unheeded:
            yield f"{counted(view.unheeded, 'observation')} on which nothing rests, for what they may have changed"
        if found.unvouched:
            yield f"{counted(found.unvouched, 'statement')} from tools or transcripts, which nobody has confirmed"
        if found.left_out:
            yield f"{counted(found.left_out, 'statement')} for which there was no room"
        if waiting := sum(1 for _ in spool_folder().glob("*.jsonl")):
            yield f"{counted(waiting, 'session')} whose latest work is not taken in yet"
