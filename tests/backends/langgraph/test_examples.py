from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.conftest import ROOT


def run(name: str) -> str:
    return subprocess.run(
        [sys.executable, f"examples/{name}"], cwd=ROOT, check=True, capture_output=True, text=True, timeout=120
    ).stdout


@pytest.mark.backends
@pytest.mark.skipif(find_spec("langgraph") is None, reason="needs langgraph: pip install 'readmit[langgraph]'")
def test_a_graph_whose_planner_leaves_and_comes_back() -> None:
    output = run("langgraph_return.py")
    before, after = output.split("2. The planner leaves.")
    assert "dinner near Sunrise Hotel" in before
    assert "interrupted: blocked, missing: ['d_hotel']" in after
    assert "day 2: dinner near Lowland Inn (before: nothing)" in after
    held, reached = (line for line in after.splitlines() if "held:" in line or "reached:" in line)
    assert "Sunrise" in held
    assert "Sunrise" not in reached
    assert "Lowland" in reached


def test_a_hand_off_between_two_roles() -> None:
    output = run("hand_off.py")
    assert "The hand-off is blocked. Still missing: d_quote" in output
    received = output.partition("2. ")[2].partition("3. ")[0]
    assert "14 percent" in received
    assert "41 percent" not in received
    assert "clerk" not in received
    assert output.splitlines()[-1].split(maxsplit=1) == ["reached:", "['The minister reads every quote before print.']"]
