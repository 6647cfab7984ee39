"""A process that stops without a word: swept by another, and refused when it wakes up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from readmit import Workspace
from readmit.events import EventKind
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

WORKER = """
import sys
from readmit import Workspace
from readmit.errors import LeaseError

with Workspace.open(sys.argv[1]) as team:
    agent = team.agent("ann", role="planner", task="trip")
    desk = agent.present(lease=600).workspace
    print("present", flush=True)
    for line in sys.stdin:
        try:
            desk.observe(line)
        except LeaseError as refused:
            print(f"refused: {refused}", flush=True)
        else:
            print("written", flush=True)
"""


def test_a_process_that_was_stopped_and_swept_writes_nothing_when_it_wakes_up(place: Path | str) -> None:
    ahead = timedelta()
    with Workspace.open(place, clock=lambda: datetime.now(UTC) + ahead) as team:
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(place)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert worker.stdin is not None
            assert worker.stdout is not None

            def say(text: str) -> str:
                worker.stdin.write(f"{text}\n")  # type: ignore[union-attr]
                worker.stdin.flush()  # type: ignore[union-attr]
                return worker.stdout.readline()  # type: ignore[union-attr]

            assert worker.stdout.readline() == "present\n"
            assert say("before it stops") == "written\n"
            os.kill(worker.pid, signal.SIGSTOP)
            news = team.observe("News that it does not see.", by="bob")
            assert not team.admin.sweep(trust_clock=True).departed
            ahead = timedelta(hours=1)
            departed = team.admin.sweep(trust_clock=True).departed
            assert [one.reason for one in departed] == ["lease_expired"]
            assert departed[0].epoch < team._desk.log.evidence(news).epoch
            before = team.epoch
            os.kill(worker.pid, signal.SIGCONT)
            refused = say("after it woke up")
            assert refused.startswith("refused: ")
            assert departed[0].id in refused
            assert team.epoch == before
            assert team.agent("ann", role="planner", task="trip").come_back().admitted
        finally:
            worker.kill()
            worker.communicate()
        kinds = [event.kind for event in team._desk.log.tail()]
        assert kinds.count(EventKind.DEPART) == 1
