"""The paper's travel case under other policies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from readmit.scenario.document import read
from readmit.scenario.play import played
from tests.conftest import ROOT


def travel(**policy: Any) -> Any:
    document = json.loads((ROOT / "examples" / "travel.json").read_text(encoding="utf-8"))
    document["policy"] |= policy
    return read(json.dumps(document))


def test_by_whole_duties_the_hotel_is_handed_over_and_nothing_of_the_transfer() -> None:
    with played(travel(on_incomplete="partial")) as play:
        before, after = play.returns
    assert before.outcome.kind == "admitted"
    assert before.outcome.view is not None
    assert {item.id for item in before.outcome.view.items} == {"o_h", "f_h", "h1", "c"}
    assert before.outcome.view.withheld == ("o_t",)
    assert before.bundle is not None
    prompt = before.bundle.markdown()
    assert "9:30" not in prompt
    assert "transfer" not in prompt
    assert after.outcome.view is not None
    assert not after.outcome.view.partial


@pytest.mark.parametrize("constraints", ["always", "as_needed"])
def test_it_decides_as_in_the_paper(constraints: str) -> None:
    with played(travel(constraints=constraints)) as play:
        before, after = play.returns
    assert (before.outcome.kind, before.outcome.missing) == ("blocked", ("d_p",))
    assert after.outcome.view is not None
    assert {item.id for item in after.outcome.view.items} == {"o_h", "o_t", "f_h", "f_t", "c", "h1", "t1", "p1"}
