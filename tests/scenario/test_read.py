from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit.errors import ScenarioError
from readmit.scenario import document as scenario
from tests.conftest import ROOT

TRAVEL = ROOT / "examples" / "travel.json"
SCHEMA = jsonschema.Draft202012Validator(scenario.scenario_schema())


def document(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"readmit": 1, "name": "a case", "steps": list(steps), **fields}


OBSERVE = {"do": "observe", "id": "e", "text": "seen", "by": "A"}


@dataclass(frozen=True)
class Bad:
    document: Any
    says: str


BAD = {
    "not an object": Bad([], "$: Expected `object`"),
    "version": Bad(document() | {"readmit": 2}, "$.readmit: "),
    "no steps": Bad({"readmit": 1, "name": "x"}, "$.steps: required, but missing"),
    "unknown field": Bad(document(clok="2026-01-01T00:00:00Z"), "$.clok: no such field; did you mean clock?"),
    "clock without zone": Bad(document(clock="2026-01-01T00:00:00"), "$.clock: "),
    "policy": Bad(document(policy={"paper": {"gamma": "2"}}), "$.policy.paper: gamma must be between 0 and 1"),
    "policy field": Bad(
        document(policy={"paper": {"gama": "1"}}), "$.policy.paper.gama: no such field; did you mean gamma?"
    ),
    "step without do": Bad(document(OBSERVE, {"text": "x"}), "$.steps[1].do: required, but missing"),
    "unknown step": Bad(document({"do": "jump"}), "$.steps[0].do: Invalid value 'jump'; a step does one of observe, "),
    "missing text": Bad(document({"do": "observe", "by": "A"}), "$.steps[0].text: required, but missing"),
    "nobody records it": Bad(document({"do": "record", "text": "x"}), "$.steps[0].by: required, but missing"),
    "wrong type": Bad(
        document(OBSERVE, {"do": "record", "by": "A2", "text": "x", "sources": ["e", 7]}),
        "$.steps[1].sources[1]: Expected `str`",
    ),
    "bad id": Bad(document({**OBSERVE, "id": "two words"}), "$.steps[0].id: "),
    "both clocks": Bad(
        document({"do": "clock", "at": "2026-01-01T00:00:00Z", "advance": "2h"}), "$.steps[0]: give either at"
    ),
    "bad duration": Bad(document({"do": "clock", "advance": "soon"}), "$.steps[0].advance: "),
    "overrule without end": Bad(
        document({"do": "overrule", "target": "x", "by": "A", "reason": "r"}),
        "$.steps[0]: give either expires",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_document_is_refused_with_the_path_of_the_field(name: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario.read_scenario(json.dumps(BAD[name].document))
    assert str(refused.value).startswith(BAD[name].says)


@pytest.mark.parametrize(
    "name", sorted(BAD.keys() - {"clock without zone", "policy", "both clocks", "overrule without end"})
)
def test_the_schema_refuses_it_too(name: str) -> None:
    assert not SCHEMA.is_valid(BAD[name].document)


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"", "line 1, column 1: JSON is malformed: it ends too early"),
        (b"{", "line 1, column 2: JSON is malformed: it ends too early"),
        (b"\xff", "line 1, column 1: JSON is malformed"),
        ('{"readmit": 1,\n "name": "é",}'.encode(), "line 2, column 14: JSON is malformed: trailing comma"),
        (b"[" * 100_000, ""),
    ],
)
def test_what_is_not_json_is_refused(data: bytes, where: str) -> None:
    with pytest.raises(ScenarioError, match=f"^{where}"):
        scenario.read_scenario(data)


def test_the_schema_is_a_schema_and_travel_follows_it() -> None:
    jsonschema.Draft202012Validator.check_schema(scenario.scenario_schema())
    SCHEMA.validate(json.loads(TRAVEL.read_text(encoding="utf-8")))


def test_the_example_is_the_shipped_scenario() -> None:
    assert TRAVEL.is_symlink()
    assert not TRAVEL.readlink().is_absolute()
    assert scenario.read_scenario(TRAVEL.read_bytes()) == scenario.shipped("travel")


def test_ratios_are_read_from_strings_and_numbers() -> None:
    said = [document(policy={"paper": {"gamma": value}}) for value in ("0.5", 0.5)]
    first, second = (scenario.read_scenario(json.dumps(one)) for one in said)
    assert first == second
    assert all(map(SCHEMA.is_valid, said))


def test_steps_that_decide_are_not_for_writing() -> None:
    with pytest.raises(ScenarioError, match=r"^\$\[0\]\.do: Invalid value 'clock'"):
        scenario.read_steps(json.dumps([{"do": "clock", "advance": "1h"}]))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["do", "id", "text", "by", "sources", "at", "target", "x"]), values), max_size=3
    )
    | values
)
def test_whatever_stands_in_steps_is_read_or_refused_with_a_path(steps: Any) -> None:
    try:
        scenario.read_scenario(json.dumps({"readmit": 1, "name": "n", "steps": steps}))
        problem = "$: none"
    except ScenarioError as error:
        problem = str(error)
    assert problem.startswith("$")
