"""A week in a life of a repository: the stale lines in the first request of a session, with and without readmit.

Clients are played with payloads in the recorded forms; hooks, processes and the store are real. ``make test-clients``
plays the same week through the real clients. A line stands if its text is in the request and no context says that it no
longer holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.result import Result, at_most, scratch
from benchmarks.week.player import PlayedTeam, play

if TYPE_CHECKING:
    from collections.abc import Callable


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    results = []
    for title, installed in (("plain memory files", False), ("readmit, without a model", True)):
        with scratch() as folder:
            team = PlayedTeam(folder / "week", installed=installed)
            counts = play(team.top, team)
        step(1)
        results += [
            at_most(f"{title}, session {number}: stale lines that stand", len(one.standing), None, "lines")
            for number, one in enumerate(counts, 1)
        ]
        results.append(at_most(f"{title}, all sessions", sum(len(one.standing) for one in counts), None, "lines"))
        if installed:
            wronged = sum(len(one.wronged) for one in counts)
            results.append(at_most(f"{title}: true lines that are withdrawn", wronged, 0, "lines"))
            late = sum(one.late for one in counts)
            results.append(at_most(f"{title}: sessions with something that was not checked in time", late, 0, "of 5"))
            true = sum(one.true for one in counts)
            results.append(at_most(f"{title}: true lines in the requests", true, None, "lines"))
    return results
