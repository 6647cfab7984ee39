from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from readmit import Reason, State
from readmit.scenario.document import shipped
from readmit.scenario.paired import PairedReturn, compare
from tests.backends.openers import open_mem0, open_scopedmem
from tests.cli.run import run
from tests.conftest import ROOT

OPENERS = {
    "scopedmem": pytest.param(open_scopedmem, id="scopedmem"),
    "mem0": pytest.param(
        open_mem0,
        id="mem0",
        marks=[pytest.mark.backends, pytest.mark.skipif(find_spec("mem0") is None, reason="mem0ai is not installed")],
    ),
}


@pytest.fixture(params=OPENERS.values())
def pairs(request: pytest.FixtureRequest) -> tuple[PairedReturn, ...]:
    return compare(shipped("travel"), {"store": request.param})


def test_both_ways_ask_the_same_records(pairs: tuple[PairedReturn, ...]) -> None:
    before, after = pairs
    assert (before.label, before.decision) == ("before", "blocked")
    assert (after.label, after.decision) == ("after", "admitted")
    assert {one.standing.record for one in before.records} < {one.standing.record for one in after.records}
    assert set(before.questions) <= set(after.questions)


def test_a_blocked_return_gets_nothing_and_static_gets_the_cancelled_hotel(pairs: tuple[PairedReturn, ...]) -> None:
    before, _ = pairs
    assert before.readmit == ()
    assert any("Sunrise Hotel confirms" in one.text for one in before.static)


def test_an_admitted_return_gets_what_still_holds(pairs: tuple[PairedReturn, ...]) -> None:
    _, after = pairs
    text = " ".join(one.text for one in after.readmit)
    assert "8:30 from Riverside" in text
    assert "9:30" in text
    assert "Sunrise Hotel confirms" not in text
    assert "recommends a pickup at 8:00" not in text
    states = {one.text: one.standing.state for one in after.records}
    assert states["Sunrise Hotel confirms the reservation for the family."] is State.SUPERSEDED
    assert states["Timetable: the train departs at 9:00."] is State.SUPERSEDED
    assert any(state is State.PREMISE_CHANGED for state in states.values())


def test_a_private_experience_of_a_cancelled_hotel_stays_away(pairs: tuple[PairedReturn, ...]) -> None:
    _, after = pairs
    private = {one.text: one for one in after.records if one.owner == "A1"}
    assert private["Sunrise answers faster by telephone than by mail."].standing.state is State.SUPERSEDED
    assert next(one for text, one in private.items() if text.startswith("By quiet")).standing.admitted


def test_every_record_has_a_reason(pairs: tuple[PairedReturn, ...]) -> None:
    for pair in pairs:
        for one in pair.records:
            assert one.standing.reasons
            assert one.readmit <= one.standing.admitted
            assert (Reason.SOURCE_IN_VIEW in one.standing.reasons) is one.standing.admitted


def test_the_command_prints_a_table_and_json() -> None:
    scenario = str(ROOT / "examples" / "travel.json")
    result = run("backends", "compare", scenario, status=None)
    assert result.exit_code == 0, result.output
    assert "scopedmem, after: A1 is admitted" in result.output
    assert "superseded (h0)" in result.output
    spoken = run("backends", "compare", scenario, "--json", "--limit", "2", status=None)
    pairs = json.loads(spoken.output)["pairs"]
    assert [pair["decision"] for pair in pairs] == ["blocked", "admitted"]
    assert not any(one["readmit"] for one in pairs[0]["records"])
    assert not any(one["standing"]["conservative"] for pair in pairs for one in pair["records"])


def test_a_store_that_cannot_be_opened_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readmit.plugins.find_spec", lambda _: None)
    scenario = str(ROOT / "examples" / "travel.json")
    result = run("backends", "compare", scenario, "--backend", "mem0", "--embedder", "lexical", status=None)
    assert result.exit_code != 0
    assert "pip install 'readmit[mem0]'" in result.output


@pytest.mark.backends
@pytest.mark.skipif(find_spec("mem0") is None, reason="mem0ai is not installed")
def test_the_example_of_adopting_a_store_runs() -> None:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "mem0_adopt.py")], capture_output=True, text=True, check=True
    )
    assert "Cannot be proved:\n   Somebody said the pool is closed." in ran.stdout
    assert "readmit: ['The Riverside Hotel is booked instead.']" in ran.stdout
