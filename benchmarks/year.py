"""How large does the store of a project become in a year of 20 sessions a day?

Two clients take turns in one repository. Each session starts, is handed what holds, hears three prompts, runs eight
commands, reads two files and writes two, ends, and is taken in. Each day a line of the memory file changes. Its clock
is played: a week of sessions takes some minutes. What is over is erased as ever, once a week.

A run plays ``DAYS`` and says what a year comes to: the size on the last day, what each further day adds, measured over
the last two weeks, and what may be erased and not yet cleared. ``READMIT_BENCH_DAYS=365`` plays all of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

from benchmarks.result import Result, at_most, scratch
from readmit import Workspace
from readmit.clients.intake.retention import EVERY, WORTH_REWRITING, retain
from readmit.clients.intake.secret_free_looks import SecretFreeLooker
from readmit.clients.memory_import import import_memory
from readmit.clients.moments.absence_of_session import begin_absence, leave
from readmit.clients.moments.session_handover import SessionHandover
from readmit.clients.project import client_policy, make_private, project_of, spool_folder
from readmit.clients.session import Session, session_agent
from readmit.clients.spool_line import append
from readmit.clients.take_in import take_in
from readmit.lab import desk_of
from readmit.testing import Clock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

YEAR, SESSIONS = 365, 20
DAYS = 35
"""Two weeks until the first observations are over, and three weeks of which the last two are measured."""
PROMPTS, COMMANDS, READ, WRITTEN = 3, 8, 2, 2
LINES, FILES = 60, 40
QUIET = 20
BAR, START_BAR = 200, 20


class Played(NamedTuple):
    """A store after some days."""

    sizes: list[int]
    """Bytes of the rewritten store at the end of each week, and of the last day."""
    largest: int
    """Most bytes that the store and its write-ahead log had at the end of a day."""
    quiet: int
    """Bytes of a start at which nothing had changed."""
    seconds: float
    """What it took."""


class Shop:
    """A repository, the store of its project, and the clock of both."""

    def __init__(self, folder: Path) -> None:
        self.top = folder / "shop"
        (self.top / "src").mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.top)], check=True)
        for number in range(FILES):
            self.edit(number, 0)
        self.remember(0)
        self.clock = Clock(datetime.now(UTC))
        self.project = project_of(self.top)
        make_private(self.project.folder)
        prober = partial(SecretFreeLooker, self.project.folder / "looks.json")
        self.workspace = Workspace.open(
            self.project.store, policy=client_policy(self.project), clock=self.clock, prober=prober
        )

    def edit(self, number: int, version: int) -> None:
        """Write a file of some 3 kB."""
        lines = (f"def part_{number}_{line}(x):\n    return x + {version * line}\n" for line in range(60))
        (self.top / "src" / f"part_{number}.py").write_text("".join(lines))

    def remember(self, day: int) -> None:
        """Write the memory file: one line differs each day."""
        days = [day if day % LINES == number else 0 for number in range(LINES)]
        lines = [f"- `src/part_{n % FILES}.py` has part {n}, as of day {then}.\n" for n, then in enumerate(days)]
        (self.top / "CLAUDE.md").write_text(f"# Shop\n\n{''.join(lines)}")

    def start(self, session: Session) -> None:
        """A start, as the hook has it."""
        files = [self.top / "CLAUDE.md"]
        imported = import_memory(self.workspace, self.project, files)
        agent = session_agent(self.workspace, self.project, session)
        begin_absence(self.workspace, self.project, session, agent)
        handover = SessionHandover(self.workspace, self.project, session, files, imported)
        handover.decide(agent)
        handover.text(is_new=True)
        handover.keep(agent, ())

    def end(self, session: Session) -> None:
        leave(self.workspace, session_agent(self.workspace, self.project, session))

    def work(self, session: Session, number: int) -> None:
        """The prompts and tool uses of a session, and their take-in."""
        for turn in range(PROMPTS):
            self._spool(session, turn, prompt=f"Prompt {number}.{turn}: {'please look into the parts. ' * 8}")
            for command in range(turn, COMMANDS, PROMPTS):
                result = "\n".join(f"{number}.{command} part {line} passed in {line}.{number} s" for line in range(25))
                self._tool(session, turn, "Bash", {"command": f"make test-{command}"}, {"stdout": result})
        for file in range(READ + WRITTEN):
            chosen = (number * 3 + file) % FILES
            if file >= READ:
                self.edit(chosen, number)
            path = str(self.top / "src" / f"part_{chosen}.py")
            self._tool(session, PROMPTS, "Write" if file >= READ else "Read", {"file_path": path}, {})
        take_in(self.workspace, self.project)

    def _tool(self, session: Session, turn: int, tool: str, given: dict[str, str], said: dict[str, str]) -> None:
        self._spool(session, turn, tool_name=tool, tool_input=given, tool_response=said)

    def _spool(self, session: Session, turn: int, **fields: object) -> None:
        shared = {"session_id": session.session, "cwd": str(self.top), "prompt_id": f"p{turn}"}
        append(str(spool_folder()), session.client, json.dumps({**shared, **fields}).encode())

    def size(self) -> int:
        return sum(path.stat().st_size for path in self.project.folder.glob("store.db*"))

    def rewritten(self) -> int:
        """The size without free pages and write-ahead log."""
        assert desk_of(self.workspace).log.connection.compact() == ""
        return self.size()


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    days = int(os.environ.get("READMIT_BENCH_DAYS", DAYS))
    with scratch() as folder, mock.patch.dict(os.environ, {"READMIT_DATA": str(folder / "data"), "HOME": str(folder)}):
        played = play(folder, days, SESSIONS, step)
    return results(played, days)


def play(folder: Path, days: int, sessions: int, step: Callable[[int], None] = lambda _: None) -> Played:
    """Play days of so many sessions each."""
    shop, sizes, largest = Shop(folder), [], 0
    for day in range(1, days + 1):
        shop.remember(day)
        for number in range(day * sessions, (day + 1) * sessions):
            session = Session("codex" if number % 2 else "claude-code", f"s{number}")
            shop.start(session)
            shop.work(session, number)
            shop.end(session)
            shop.clock.forward(timedelta(days=1) / sessions)
            step(1)
        retain(shop.workspace, shop.project, now=shop.clock())
        largest = max(largest, shop.size())
        if day % EVERY.days == 0 or day == days:
            sizes.append(shop.rewritten())
    started = time.perf_counter()
    for number in range(QUIET):
        shop.start(Session("codex", f"quiet{number}"))
    seconds = (time.perf_counter() - started) / QUIET
    quiet = (shop.rewritten() - sizes[-1]) // QUIET
    shop.workspace.close()
    return Played(sizes, largest, quiet, seconds)


def results(played: Played, days: int) -> list[Result]:
    """The figures, for a year: played, or what the last two weeks of a shorter time come to."""
    kept, largest, what = played.sizes[-1], played.largest, "played"
    if days < YEAR:
        weeks = played.sizes[: days // EVERY.days]
        each = (weeks[-1] - weeks[-3]) / (2 * EVERY.days)
        kept, what = round(weeks[-1] + each * (YEAR - len(weeks) * EVERY.days)), f"from {days} days"
        # Erased texts of so many characters lie in pages of their own until the file is rewritten.
        largest = max(kept + 2 * WORTH_REWRITING, largest)
    of = f"{SESSIONS} sessions a day"
    return [
        at_most(f"the store after a year of {of}, rewritten ({what})", kept / 1e6, None, "MB"),
        at_most(f"the largest that it and its write-ahead log are in that year ({what})", largest / 1e6, BAR, "MB"),
        at_most("a start of a new session at which nothing changed adds", played.quiet / 1000, START_BAR, "kB"),
        at_most(f"such a start takes, after {days} days", played.seconds, None, "s"),
    ]
