"""Run every attack, campaign by campaign, and write into SECURITY.md what came of it: ``make attack``.

An attempt is one test case, or each edit, sentence or try of a test that counts them. The table holds figures that are
the same in every run; the seed of this run's edits is printed, and ``READMIT_ATTACK_SEED`` repeats it.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections import Counter, defaultdict
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tests.attacks.promises import CAMPAIGNS, PAGE, PROMISES, Tried, promise_of, rewritten, shares, table
from tests.attacks.sampling import SEED, seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.attacks.promises import Share

# Each process has a database server of its own, and a file's tests share what they prepare.
AT_ONCE = ("-n", "auto", "--maxprocesses", "4", "--dist", "loadfile")
# Those marked slow too, but for the edits of every row, which have a target of their own.
LONG = "tests/attacks/test_tampering.py::test_the_same_at_every_row"
WHICH = ("-m", "not backends", "--deselect", LONG, "-p", "no:cacheprovider", "-q", "--no-header")
_SAID = 100
"""After so many tests a campaign says how far it is, where no bar can be drawn."""


class Tally:
    """Counts what the processes report, and shows how far each campaign is."""

    def __init__(self, console: Console, campaigns: Sequence[str]) -> None:
        columns = (TextColumn("{task.description:<10}"), BarColumn(), TextColumn("{task.fields[said]}"))
        self.progress = Progress(*columns, TimeElapsedColumn(), console=console)
        self.bars: dict[str, TaskID] = {
            name: self.progress.add_task(name, total=None, said=CAMPAIGNS[name]) for name in campaigns
        }
        self.tried: defaultdict[str, Tried] = defaultdict(Tried)
        self.shares: dict[str, Share] = {}
        self.broken: list[str] = []
        self.skipped: list[str] = []
        self._seen: set[str] = set()
        self._totals: Counter[str] = Counter()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:
        """Every process collects the same; the first one says how much there is."""
        del node
        if not self._totals:
            self._totals.update(map(_campaign, ids))
            for name, bar in self.bars.items():
                self.progress.update(bar, total=self._totals[name])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One step of one test: a test that fails before or after its call has broken, too."""
        if _campaign(report.nodeid) not in self.bars:
            return  # it shares a file with those that were asked for
        if report.failed:
            self._count(report, broke=True)
        elif report.skipped:
            self.skipped.append(report.nodeid)
        elif report.when == "call":
            self._count(report, broke=False)

    def _count(self, report: pytest.TestReport, *, broke: bool) -> None:
        if report.nodeid in self._seen:
            return
        self._seen.add(report.nodeid)
        said: dict[str, Any] = dict(report.user_properties)
        made, key = int(said.get("attempts", 1)), promise_of(report.nodeid)
        before = self.tried[key]
        on_server = made if "postgres" in report.nodeid.partition("[")[2] else 0
        self.tried[key] = Tried(before.attempts + made, before.server + on_server, before.broke + broke)
        if share := said.get("share"):
            name, right, of = share
            self.shares[name] = right, of
        if broke:
            self.broken.append(f"{key} {report.nodeid}")
        self._show(_campaign(report.nodeid))

    def _show(self, name: str) -> None:
        sums = [self.tried[key] for key, promise in PROMISES.items() if promise.campaign == name]
        said = f"{sum(one.attempts for one in sums):,} attempts, {sum(one.broke for one in sums)} broke a promise"
        self.progress.update(self.bars[name], advance=1, said=said)
        done = int(self.progress.tasks[self.bars[name]].completed)
        if not self.progress.console.is_terminal and (done % _SAID == 0 or done == self._totals[name]):
            self.progress.console.print(f"{name}: {done} of {self._totals[name]} tests, {said}")


def _campaign(node: str) -> str:
    return PROMISES[promise_of(node)].campaign


def _run(arguments: Sequence[str], tally: Tally) -> tuple[int, str]:
    """How pytest ended and what it printed; the tally knows the rest."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        ended = pytest.main([*arguments], plugins=[tally])
    return int(ended), printed.getvalue()


def main(only: Sequence[str]) -> int:
    """Run every campaign, or some of them: 0 if all was tried and held. Only a run of all writes the table."""
    if unknown := set(only) - CAMPAIGNS.keys():
        sys.exit(f"no campaign {', '.join(sorted(unknown))}; there are {', '.join(CAMPAIGNS)}")
    began = time.monotonic()
    console = Console(file=sys.stdout, highlight=False)
    start = os.environ[SEED] = str(seed())
    console.print(f"{SEED}={start}")
    tally = Tally(console, only or tuple(CAMPAIGNS))
    chosen = {key: promise for key, promise in PROMISES.items() if promise.campaign in tally.bars}
    named = dict.fromkeys(f"tests/{attack}" for promise in chosen.values() for attack in promise.attacks)
    with tally.progress:
        ended, printed = _run([*named, *AT_ONCE, *WHICH], tally)
    for node in tally.skipped:
        console.print(f"not tried here: {node}", markup=False)
    if ended or not all(tally.tried[key].attempts for key in chosen):
        why = ("Not all was tried, or these broke a promise:", *tally.broken, f"repeat the edits with {SEED}={start}")
        console.print("\n".join((printed, *why)), markup=False)
        return 1
    if not only:
        PAGE.write_text(rewritten(f"{table(tally.tried)}\n\n{shares(tally.shares)}"), encoding="utf-8")
    every = sum(one.attempts for one in tally.tried.values())
    console.print(f"{every:,} attempts in {time.monotonic() - began:.0f} s; none broke a promise.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
