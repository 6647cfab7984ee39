"""Plays the week, and counts what stands in the first request of each session.

A first request holds the memory that the client loads by itself, what the conversation held before if it is resumed,
and the hook's context. A line stands in it if its text is there and no context in it says that it no longer holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from tests.clients.played import PlayedClient
from tests.clients.told import NOT_CHECKED, withdrawn_in

from benchmarks.week.commits import COMMITS, start_repository
from benchmarks.week.sessions import BECOME_FALSE, SESSIONS
from readmit.clients.memory_import import LATE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from benchmarks.week.sessions import Session

MEMORY = {"claude-code": ("CLAUDE.md", ".claude/rules/tests.md"), "codex": ("AGENTS.md",)}
"""The memory files in the checkout that each client loads by itself."""


class Count(NamedTuple):
    """The remembered lines of one first request."""

    stale: tuple[str, ...]
    """Lines in it that are false by then."""
    standing: tuple[str, ...]
    """Those of them that it does not withdraw."""
    wronged: tuple[str, ...]
    """Lines that it withdraws although they are true."""
    true: int
    """Lines in it that are true."""
    late: bool = False
    """Whether it says that something was not checked in time, as on a busy machine."""


class Team(Protocol):
    """The two agents of the week on one machine."""

    def first_request(self, session: Session) -> list[str]:
        """The texts of the first request of a session, hook contexts among them."""

    def work(self, session: Session) -> None:
        """The rest of the session, to its end."""


def play(top: Path, team: Team) -> list[Count]:
    """The counts of the sessions, in order."""
    counts, lines = [], set[str]()
    done = 0
    for number, session in enumerate(SESSIONS, 1):
        for commit in COMMITS[done : session.commits]:
            commit.apply(top)
            lines |= remembered(top)
        done = session.commits
        counts.append(_count(number, team.first_request(session), lines))
        team.work(session)
        lines |= set(session.notes)
    return counts


def remembered(top: Path) -> set[str]:
    """The statements of the memory files in a checkout."""
    files = (top / name for names in MEMORY.values() for name in names)
    texts = (path.read_text(encoding="utf-8") for path in files if path.exists())
    return {line[2:] for text in texts for line in text.splitlines() if line.startswith("- ")}


def _count(number: int, request: list[str], lines: Iterable[str]) -> Count:
    whole = "\n".join(request)
    there = [line for line in sorted(lines) if line in whole]
    false = {line.text for line in BECOME_FALSE if line.is_stale(number)}
    withdrawn = withdrawn_in(request)
    return Count(
        stale=tuple(line for line in there if line in false),
        standing=tuple(line for line in there if line in false and line not in withdrawn),
        wronged=tuple(line for line in there if line not in false and line in withdrawn),
        true=sum(line not in false for line in there),
        late=any(NOT_CHECKED in text or f": {LATE}" in text for text in request[-1:]),
    )


class PlayedTeam:
    """Both clients played, with payloads in the recorded forms; ``installed``: with readmit's hooks."""

    def __init__(self, folder: Path, *, installed: bool) -> None:
        folder.mkdir()
        self.top = folder / "ferry"
        start_repository(self.top)
        self.installed = installed
        self.clients = {name: PlayedClient(name, folder / "home", self.top) for name in MEMORY}
        self._held: dict[str, list[str]] = {}

    def install(self) -> None:
        for client in self.clients.values():
            client.install()

    def first_request(self, session: Session) -> list[str]:
        client = self.clients[session.client]
        if self.installed and not self._held:
            self.install()
        before = self._held.get(session.name, [])
        memory = [path.read_text(encoding="utf-8") for path in self._memory(client)]
        context = self._context(client, session, resumes=bool(before))
        # Codex keeps the memory that a conversation began with; Claude Code loads it anew.
        self._held[session.name] = [*before, *memory, context] if session.client == "codex" else [*before, context]
        return [*before, *memory, context]

    def _context(self, client: PlayedClient, session: Session, *, resumes: bool) -> str:
        if not self.installed:
            return ""
        start = client.start(session.name, "resume" if resumes else "startup")
        return f"{start.context}\n{client.prompt(session.name, session.prompts[0]).context}"

    def work(self, session: Session) -> None:
        client = self.clients[session.client]
        if session.notes:
            self._notes(client).parent.mkdir(parents=True, exist_ok=True)
            with self._notes(client).open("a", encoding="utf-8") as file:
                file.writelines(f"- {note}\n" for note in session.notes)
        if not self.installed:
            return
        for path in session.reads:
            client.read(session.name, path)
        for command, output in session.commands:
            client.ran(session.name, command, output)
        for prompt in session.prompts[1:]:
            client.prompt(session.name, prompt)
        if not session.killed:
            client.end(session.name)
        client.settle()

    def _memory(self, client: PlayedClient) -> list[Path]:
        files = [self.top / name for name in MEMORY[client.client.name]]
        return [path for path in (*files, self._notes(client)) if path.exists()]

    def _notes(self, client: PlayedClient) -> Path:
        """The notes that Claude Code's agent keeps about the checkout. Codex's has none."""
        return client.transcript("x").parent / "memory" / "MEMORY.md"
