from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit.types import Decision, Disposition
from tests.cli.run import run, said, script, view_items
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def demo() -> dict[str, Any]:
    shown: dict[str, Any] = said("demo")
    return shown


def test_before_confirmation_the_return_is_blocked(demo: dict[str, Any]) -> None:
    before = demo["before"]
    reasons = {one["item"]: one["reasons"] for one in before["dispositions"]}
    assert before["kind"] == "blocked"
    assert shares(before) == ("1/2", "3/4")
    assert before["report"]["missing"] == ["d_p"]
    assert before["view"] is None
    assert (reasons["h0"], reasons["t0"]) == (["superseded"], ["superseded"])
    assert (reasons["p0"], reasons["p_proposed"]) == (["premise_changed"], ["unproven"])
    assert [one["experience"] for one in before["experiences"]] == ["x_c", "x_h0", "x_p0"]


def test_after_confirmation_it_is_admitted(demo: dict[str, Any]) -> None:
    after = demo["after"]
    assert after["kind"] == "admitted"
    assert shares(after) == ("2/2", "4/4")
    assert view_items(after) == ["o_h", "f_h", "o_t", "f_t", "h1", "t1", "p1", "c"]
    admitted = {one["item"] for one in after["dispositions"] if one["state"] == "admitted"}
    assert admitted == set(view_items(after))
    assert [one["id"] for one in after["view"]["experiences"]] == ["x_c"]


def shares(half: dict[str, Any]) -> tuple[str, str]:
    report = half["report"]
    return f"{report['covered']}/{report['obligations']}", f"{report['critical_covered']}/{report['critical']}"


def test_each_half_is_the_decision_with_its_candidates(demo: dict[str, Any]) -> None:
    fields = {field.name for field in msgspec.structs.fields(Decision)} - {"return_id"} | {"return", "why"}
    assert list(demo) == ["before", "after"]
    for half in demo.values():
        assert set(half) == fields
        assert all(
            set(one) == {field.name for field in msgspec.structs.fields(Disposition)} for one in half["dispositions"]
        )


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}, {"COLUMNS": "40"}, {"PYTHONIOENCODING": "ascii"}], ids=str)
def test_the_demo_prints_a_session_and_five_panels(env: dict[str, str], tmp_path: Path) -> None:
    done = script("demo", cwd=tmp_path, **env)
    assert (done.returncode, done.stderr) == (0, "")
    words = " ".join(done.stdout.replace("│", " ").split())
    for line in ("We ship on Monday.", "We ship on Tuesday.", "config.toml says 9000", "there is no such file"):
        assert line in words, line
    assert "not repeated: 2 of 5 lines" in words
    assert all(f" {number}. " in done.stdout for number in range(1, 6))
    assert "BLOCKED" in done.stdout
    assert "ADMITTED" in done.stdout
    assert "\x1b" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_demo_can_be_kept_and_explored(tmp_path: Path) -> None:
    run("demo", "--db", "trip.db")
    returns = said("audit", "list", "--db", "trip.db", "--workspace", "family-trip")["returns"]
    assert [one["decision"] for one in returns] == ["blocked", "admitted"]
    assert [one["exposed"] for one in returns] == [False, True]
    assert said("replay", "--all", "--db", "trip.db", "--workspace", "family-trip")["replays"][0]["matches"]


def test_play_prints_every_item_of_every_return(tmp_path: Path) -> None:
    done = said("play", ROOT / "examples" / "travel.json")
    assert [one["as"] for one in done["returns"]] == ["before", "after"]
    assert len(done["returns"][0]["dispositions"]) == 11
    assert [one["exposed"] for one in done["returns"]] == [False, True]
    text = run("play", ROOT / "examples" / "travel.json").stdout
    assert "premise_changed" in text
    assert list(tmp_path.iterdir()) == []


def test_play_reads_standard_input() -> None:
    travel = (ROOT / "examples" / "travel.json").read_bytes()
    assert said("play", "-", input=travel)["workspace"] == "family-trip"
    assert said("play", "-", "--workspace", "other", input=travel)["workspace"] == "other"


def test_play_refuses_a_bad_scenario_and_leaves_nothing(tmp_path: Path) -> None:
    bad = json.dumps({"readmit": 1, "name": "x", "steps": [{"do": "revoke", "target": "z", "by": "A"}]})
    done = run("play", "-", "--db", "team.db", input=bad, status=1)
    assert done.stderr == "error: $.steps[0].target: no item 'z'; record it first\n"
    assert done.stdout == ""
    assert said("play", "-", "--db", "team.db", input=bad, status=1)["error"]["type"] == "ScenarioError"
    assert list(tmp_path.iterdir()) == []


def test_play_prints_its_schema() -> None:
    assert json.loads(run("play", "--schema").stdout)["title"] == "readmit scenario"
    run("play", status=2)


def test_python_m_runs_it_too_and_help_is_quick(tmp_path: Path) -> None:
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-m", "readmit", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("readmit, version ")
    assert script("--help", cwd=tmp_path).returncode == 0
    loaded = "import sys; from readmit.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    theirs = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()} - sys.stdlib_module_names
    theirs -= {"sitecustomize", "usercustomize"}  # the machine's own
    # How long it takes is measured by benchmarks/startup.py.
    assert {name for name in theirs if name[0] != "_"} <= {
        "click", "msgspec", "readmit", "readmit_bench", "typing_extensions",
    }  # fmt: skip
