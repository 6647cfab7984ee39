"""A team of a chosen size on disk: what the benchmarks measure on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from benchmarks.result import sized
from readmit import Policy, Workspace
from readmit.events import EventKind
from readmit.lab import desk_of, digest
from readmit.records.acts.draft import draft
from readmit.records.evidence import Evidence
from readmit.records.items import Fact
from readmit.types import Receipt, Scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TASK = "trip"
VISIBLE = sized(10_000, 600)
EVENTS_SINCE = sized(1_000, 60)
DEPENDENCIES = 40
DEPARTURE = "bench"
POLICY = Policy(budgets={"items": 64})


def build(path: Path | str, step: Callable[[int], None]) -> None:
    """A task with 10,000 visible items, a departure, and 1,000 events since: items, replacements, revocations."""
    with Workspace.open(path, policy=POLICY) as team, team.batch():
        start(team, VISIBLE - EVENTS_SINCE // 2, step)
        for number in range(EVENTS_SINCE // 2):
            _record(team, f"n{number}", f"s.{number}", number)
            if number % 2:
                team.supersede(f"i{number}", f"n{number}", by="A2")
            else:
                team.revoke(f"i{number + EVENTS_SINCE}", by="A2", reason="no longer offered")


def start(team: Workspace, items: int, step: Callable[[int], None]) -> None:
    """Items and five duties on a task, and a departure."""
    for number in range(items - 5):
        _record(team, f"i{number}", f"s.{number}", number)
        step(1)
    for number in range(5):
        source = team.observe(f"Duty {number} was assigned.", by="lead", task=TASK)
        needed = [f"d{name}" for name in range(number * 8, number * 8 + 8)]
        team.oblige(f"Do {number}", required=needed, critical=needed[:1], sources=[source], by="lead", task=TASK)
    team.agent("A1", role="planner", task=TASK).depart(id=DEPARTURE)


def _record(team: Workspace, name: str, slot: str, number: int) -> None:
    text = f"Statement {name} about the part of the plan that somebody looked into and wrote down for the others."
    source = team.observe(f"Observed for {name}: {text}", by=f"A{number % 7}", task=TASK)
    supports = [f"d{number % DEPENDENCIES}"]
    team.record(text, id=name, slot=slot, supports=supports, sources=[source], by=f"A{number % 7}", task=TASK)


def fill(path: Path | str, start: int, upto: int, step: Callable[[int], None]) -> None:
    """Items of other tasks: a workspace of ``start`` items grows to ``upto``."""
    with Workspace.open(path) as team:
        grow(team, start, upto, step)


def grow(team: Workspace, start: int, upto: int, step: Callable[[int], None]) -> None:
    """The same, in a workspace that is open."""
    now = datetime.now(UTC)
    log = desk_of(team).log
    scope = Scope(workspace=team.name, task="other")
    evidence = Evidence(text="The other task's own observation.", by="B1", at=now, scope=scope)
    receipt = Receipt(evidence=digest(evidence), binds=("item",))
    log.append([draft(EventKind.OBSERVE, evidence, id=f"other{start}", by="B1", at=now)], now=now)
    for low in range(start, upto, 10_000):
        drafts = []
        for number in range(low, min(low + 10_000, upto)):
            other = Scope(workspace=team.name, task=f"other{number % 100}")
            item = Fact(
                id=f"o{number}", text=f"Statement {number} of another task of the same team, of no concern here.",
                by="B1", scope=other, slot=f"o.{number}", receipts=(receipt,),
            )  # fmt: skip
            drafts.append(draft(EventKind.RECORD, item, id=item.id, by="B1", at=now))
        log.append(drafts, now=now)
        step(len(drafts))
