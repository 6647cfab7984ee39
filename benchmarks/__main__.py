"""Run every benchmark and write what it found: ``benchmarks/results.json`` and ``docs/performance.md``.

python -m benchmarks            all of them
python -m benchmarks returns    only some; nothing is written
"""

from __future__ import annotations

import importlib
import json
import platform
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from readmit.records.policy import Policy

if TYPE_CHECKING:
    from benchmarks.result import Result

ROOT = Path(__file__).parent.parent
SUITES = {
    "returns": "A return, against the floor and the size of the store",
    "appends": "Durable appends",
    "cover": "Greedy and exact cover, 500 items × 100 dependencies",
    "startup": "Start-up",
}


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(SUITES))
    if unknown:
        print(f"unknown benchmark {', '.join(unknown)}; there are {', '.join(SUITES)}", file=sys.stderr)
        return 2
    console = Console(stderr=True)
    found: dict[str, list[Result]] = {}
    with Progress(TextColumn("{task.description} {task.completed:,.0f}"), TimeElapsedColumn(), console=console) as bar:
        for name in names or SUITES:
            task = bar.add_task(name, total=None)
            module = importlib.import_module(f"benchmarks.{name}")
            found[name] = module.run(lambda done, task=task: bar.advance(task, done))
    for results in found.values():
        for result in results:
            print(_line(result))
    if not names:
        everything = [result for results in found.values() for result in results]
        (ROOT / "benchmarks" / "results.json").write_text(json.dumps(everything, indent=2, ensure_ascii=False) + "\n")
        (ROOT / "docs" / "performance.md").write_text(_page(found))
    return 0 if all(result["holds"] for results in found.values() for result in results) else 1


def _line(result: Result) -> str:
    bar = "" if result["bar"] is None else f"  (bar {result['bar']:g})"
    return f"{'ok  ' if result['holds'] else 'MISS'} {result['name']}: {result['value']:g} {result['unit']}{bar}"


def _page(found: dict[str, list[Result]]) -> str:
    lines = [
        "# Performance",
        "",
        "Written by `make bench`. Figures are ratios within one run where they can be: the machine cancels out.",
        (
            f"This run: Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
            f"{platform.machine()} {platform.system()}; the policy's solver deadline is "
            f"{Policy().solver_milliseconds:,} ms. Every figure is the best of several rounds."
        ),
    ]
    for name, results in found.items():
        lines += ["", f"## {SUITES[name]}", "", "| what | measured | bar | holds |", "|---|---|---|---|"]
        for result in results:
            bar = "" if result["bar"] is None else f"{result['bar']:g} {result['unit']}"
            holds = "" if result["bar"] is None else ("yes" if result["holds"] else "**no**")
            lines.append(f"| {result['name']} | {result['value']:g} {result['unit']} | {bar} | {holds} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
