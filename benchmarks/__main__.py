"""Run benchmarks and keep what they found: ``benchmarks/results.json`` and ``docs/performance.md``.

python -m benchmarks                    the core: what ``make bench`` runs
python -m benchmarks implicit tokens    those named; the others keep the figures of their last run

``READMIT_BENCH_PART=200`` runs every row at a small part of its size, and writes nothing.
"""

from __future__ import annotations

import importlib
import json
import platform
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from benchmarks.result import PART, shared_folder
from readmit import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.result import Result

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results.json"
PAGE = ROOT / "docs" / "performance.md"


class Suite(NamedTuple):
    """A benchmark: what it asks, whether `make bench` runs it, whether it reads the shared data."""

    title: str
    core: bool = True
    data: bool = False
    reason: str = ""
    """Why a bar is not reached, where a measurement says that it cannot be."""


SUITES = {
    # First, while the disk is quiet: the next one writes gigabytes.
    "appends": Suite(
        "Durable appends",
        reason="Of the processor time beyond a bare commit, SQLite's further statements take less than a tenth, the "
        "signature a tenth, and about 420 Python calls the rest. The bar leaves them 0.05 ms.",
    ),
    "returns": Suite(
        "A return, against the floor and the size of the store",
        reason="Half of a first return is reading the audience's list with its proof; the rest, deciding, is what a "
        "later return does too.",
    ),
    "growth": Suite(
        "What a return takes: memory and room, and a process that writes and returns",
        reason="An item that falls takes three to four times the work of one that stands: its cause is named. "
        "Ten times the items take less than ten times the calls. A call takes longer among more items, which no "
        "longer fit into the processor's cache; the garbage collector adds up to a quarter.",
    ),
    "year": Suite("A year of sessions of a coding agent", core=False),
    "cover": Suite("Greedy and exact cover, 500 items × 100 dependencies"),
    "hooks": Suite("Hooks of a coding agent: 2,000 items, 300 probed files"),
    "startup": Suite("Start-up"),
    "probes": Suite("Looking again at sources"),
    "sources": Suite(
        "A return with sources that can be looked at again",
        reason="Of the time for due files, the looks take half (six system calls for a file), the gates before them "
        "16 %, writing them down 11 %, and the search for earlier looks 11 %.",
    ),
    "subscriptions": Suite(
        "Learning that an item fell",
        reason="A look asks a server about 37 times. Nothing polls; on a busy machine each answer waits for its turn.",
    ),
    "verify": Suite(
        "Verifying a store",
        reason="A third of a first check is reading events and computing their leaves, a third the running digests of "
        "the indexes, an eighth the signed map: about six hashes and three encodings for each event.",
    ),
    "postgres": Suite(
        "A store on a PostgreSQL server beside one in a file",
        reason="An append waits twice for the server, which computes four times as long as for a plain insert, and "
        "the client longer than a whole plain insert takes on a fast disk. The ratio is better where a commit waits "
        "for a slow disk or a replica.",
    ),
    "server": Suite(
        "A server: what HTTP adds to a return, returns a second, and more than it can do",
        reason="Deciding a return is computed in one process, so more clients wait longer and get no more done.",
    ),
    "week": Suite("A week in a life: stale lines that stand in the first requests of five sessions"),
    "verifier": Suite("The verifier besides its model", core=False),
    "implicit": Suite("Proposing pairs: recall on STALE Type II, the hard haystack first", core=False, data=True),
    "tokens": Suite("What a return costs in tokens", core=False, data=True),
    "backends": Suite("Searching 10,000 records through a view", core=False),
}


def main(names: list[str]) -> int:
    if unknown := sorted(set(names) - set(SUITES)):
        print(f"unknown benchmark {', '.join(unknown)}; there are {', '.join(SUITES)}", file=sys.stderr)
        return 2
    chosen = names or [name for name, suite in SUITES.items() if suite.core]
    held = True
    # A run takes an hour, so each suite is kept as soon as it ends.
    for name, results in _run(chosen):
        print(*map(_line, results), sep="\n", flush=True)
        if PART == 1:
            _keep(_kept() | {name: results})
        held = held and all(result["holds"] for result in results)
    return 0 if held else 1


def _keep(found: dict[str, list[Result]]) -> None:
    everything = [{"suite": name, **result} for name in SUITES for result in found.get(name, ())]
    RESULTS.write_text(json.dumps(everything, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(_page(found), encoding="utf-8")


def _run(names: list[str]) -> Iterator[tuple[str, list[Result]]]:
    console = Console(stderr=True)
    with Progress(TextColumn("{task.description} {task.completed:,.0f}"), TimeElapsedColumn(), console=console) as bar:
        for name in names:
            task = bar.add_task(name, total=None)
            module = importlib.import_module(f"benchmarks.{name}")
            results: list[Result]
            if SUITES[name].data:
                results = module.run(shared_folder())
            else:
                results = module.run(lambda done, task=task: bar.advance(task, done))
            yield name, [{**result, "holds": result["holds"] is not False} for result in results]


def _kept() -> dict[str, list[Result]]:
    """The figures of earlier runs, by suite."""
    kept: dict[str, list[Result]] = {}
    if RESULTS.exists():
        for result in json.loads(RESULTS.read_text(encoding="utf-8")):
            kept.setdefault(result.pop("suite"), []).append(result)
    return kept


def _line(result: Result) -> str:
    bar = "" if result["bar"] is None else f"  (bar {result['bar']:g})"
    return f"{'ok  ' if result['holds'] else 'MISS'} {result['name']}: {result['value']:g} {result['unit']}{bar}"


def _page(found: dict[str, list[Result]]) -> str:
    lines = [
        "# Performance",
        "",
        (
            "Written by `make bench` (the core), `make bench-implicit` and `make bench-backends`. Figures are ratios "
            "within one run where they can be: the machine cancels out. Times are the best of several rounds."
        ),
        "",
        (
            f"Last run: Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {platform.machine()} "
            f"{platform.system()}; the policy's solver deadline is {Policy().budgets.solver_milliseconds:,} ms."
        ),
    ]
    for name, suite in SUITES.items():
        if name not in found:
            continue
        lines += ["", f"## {suite.title}", "", "| what | measured | bar | holds |", "|---|---|---|---|"]
        for result in found[name]:
            bar = "" if result["bar"] is None else f"{result['bar']:g} {result['unit']}"
            holds = "" if result["bar"] is None else ("yes" if result["holds"] else "**no**")
            lines.append(f"| {result['name']} | {result['value']:g} {result['unit']} | {bar} | {holds} |")
        if suite.reason and not all(result["holds"] for result in found[name]):
            lines += ["", f"{suite.reason} See [ADR 0059](adr/0059-what-is-left-of-the-cost.md)."]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
