from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit import Reason, State, Workspace
from readmit.errors import ScenarioError
from readmit.log.location import names
from readmit.records.acts import draft as drafts
from readmit.scenario import document as scenario
from readmit.scenario.play import played, write_steps

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.scenario.play import PlayedReturn

A1 = {"principal": "A1", "role": "planner", "task": "trip"}
OBSERVE = {"do": "observe", "id": "e", "text": "it was seen", "by": "A2", "task": "trip"}
OWED = {
    "do": "oblige",
    "by": "A2",
    "id": "o",
    "text": "do it",
    "required": ["d"],
    "critical": ["d"],
    "sources": ["e"],
    "task": "trip",
}
KNOWN = {"do": "record", "by": "A2", "id": "k", "text": "it is so", "supports": ["d"], "sources": ["e"], "task": "trip"}
DEPART = {"do": "depart", "id": "away", **A1}
RETURN = {"do": "return", "as": "back", **A1}
LATER = {"do": "observe", "id": "later", "text": "it is not so any more", "by": "A2", "task": "trip"}
START = (OBSERVE, OWED, KNOWN, DEPART)


def read(*steps: dict[str, Any], **fields: Any) -> scenario.Scenario:
    document = {"readmit": 1, "name": "a case", "clock": "2026-05-04T09:00:00Z", "steps": list(steps), **fields}
    return scenario.read_scenario(json.dumps(document))


def last(*steps: dict[str, Any], **fields: Any) -> PlayedReturn:
    with played(read(*steps, **fields)) as done:
        return done.returns[-1]


def test_travel_is_the_case_of_the_paper() -> None:
    with played(scenario.shipped("travel")) as done:
        before, after = done.returns
    assert (before.label, before.outcome.kind) == ("before", "blocked")
    assert (before.outcome.coverage, before.outcome.critical_coverage) == (1 / 2, 3 / 4)
    assert before.outcome.missing == ("d_p",)
    out = {one.item: one.reasons for one in before.dispositions if one.reasons != (Reason.WITHHELD,)}
    assert out == {
        "h0": (Reason.SUPERSEDED,),
        "t0": (Reason.SUPERSEDED,),
        "p0": (Reason.PREMISE_CHANGED,),
        "p_proposed": (Reason.UNPROVEN,),
    }
    assert (after.label, after.outcome.kind) == ("after", "admitted")
    assert (after.outcome.coverage, after.outcome.critical_coverage) == (1, 1)
    assert after.bundle is not None
    assert [item.id for item in after.bundle.items] == ["o_h", "f_h", "o_t", "f_t", "h1", "t1", "p1", "c"]
    assert [one.id for one in after.bundle.experiences] == ["x_c"]


def test_the_hotel_and_not_the_train_takes_the_pickup_out() -> None:
    whole = json.loads(msgspec.json.encode(scenario.shipped("travel")))
    with played(scenario.shipped("travel")) as done:
        [p0] = [one for one in done.returns[0].dispositions if one.item == "p0"]
        event = done.workspace._desk.log.evidence(p0.causes[0].ref)
        assert "Riverside" in event.payload.text  # type: ignore[attr-defined]
    # Without the verdict on the hotel, the one on the train leaves the pickup as it was.
    whole["steps"] = [step for step in whole["steps"][:-1] if step.get("answer") != "invalidates"]
    with played(scenario.read_scenario(json.dumps(whole))) as done:
        [p0] = [one for one in done.returns[0].dispositions if one.item == "p0"]
        assert Reason.PREMISE_CHANGED not in p0.reasons
        assert done.returns[0].outcome.admitted


@dataclass(frozen=True)
class Story:
    steps: tuple[dict[str, Any], ...]
    state: State
    fields: dict[str, Any] | None = None


STORIES = {
    "nothing happens": Story((), State.ADMITTED),
    "supersede": Story(
        (
            {"do": "record", "id": "k2", "text": "now this", "by": "A2", "sources": ["e"], "task": "trip"},
            {"do": "supersede", "target": "k", "successor": "k2", "by": "A2"},
        ),
        State.SUPERSEDED,
    ),
    "revoke": Story(({"do": "revoke", "target": "k", "by": "A2", "reason": "wrong"},), State.REVOKED),
    "close": Story(
        (
            {"do": "close_validity", "target": "k", "end": "2026-05-04T10:00:00Z", "by": "A2"},
            {"do": "clock", "advance": "2h"},
        ),
        State.EXPIRED,
    ),
    "closed but still valid": Story(
        ({"do": "close_validity", "target": "k", "end": "2026-05-04T10:00:00Z", "by": "A2"},), State.ADMITTED
    ),
    "dispute": Story(({"do": "dispute", "id": "q", "items": ["k"], "by": "A3"},), State.DISPUTED),
    "resolved for it": Story(
        (
            {"do": "dispute", "id": "q", "items": ["k"], "by": "A3"},
            {"do": "resolve", "dispute": "q", "keep": ["k"], "by": "A2"},
        ),
        State.ADMITTED,
    ),
    "suspect": Story((LATER, {"do": "suspect", "item": "k", "evidence": "later", "by": "scan"}), State.SUSPECTED),
    "judge": Story(
        (
            LATER,
            {
                "do": "judge", "item": "k", "evidence": "later", "answer": "invalidates", "confidence": 0.9, "by": "v",
                "item_quote": "it is so", "evidence_quote": "not so any more",
            },
        ),
        State.PREMISE_CHANGED,
    ),
    "overruled": Story(
        (
            {"do": "revoke", "target": "k", "by": "A2"},
            {"do": "overrule", "target": "k", "by": "lead", "reason": "mistake", "lasting": "1h"},
        ),
        State.ADMITTED,
        {"policy": {"evidence": {"overseers": ["lead"]}}},
    ),
    "overruled for too short": Story(
        (
            {"do": "revoke", "target": "k", "by": "A2"},
            {"do": "overrule", "target": "k", "by": "lead", "reason": "mistake", "lasting": "1h"},
            {"do": "clock", "at": "2026-05-04T11:00:00Z"},
        ),
        State.REVOKED,
        {"policy": {"evidence": {"overseers": ["lead"]}}},
    ),
    "governed": Story(
        ({"do": "govern", "by": "lead", "policy": {"budgets": {"item_chars": 3}}},),
        State.TOO_LARGE,
        {"policy": {"evidence": {"overseers": ["lead"]}}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STORIES)
def test_a_step_does_what_it_says(name: str) -> None:
    story = STORIES[name]
    returned = last(*START, *story.steps, RETURN, **story.fields or {})
    assert {one.item: one.state for one in returned.dispositions}["k"] is story.state


def test_settle() -> None:
    returned = last(*START, {"do": "settle", "obligation": "o", "by": "A2"}, RETURN)
    assert {one.item: one.reasons for one in returned.dispositions}["o"] == (Reason.SETTLED,)


def test_items_out_of_sight_get_a_disposition_too() -> None:
    secret = {"do": "record", "id": "@A2/s", "text": "for A9 only", "by": "A2", "sources": ["e"], "principals": ["A9"]}
    returned = last(*START, secret, RETURN)
    assert "@A2/s" not in {one.item for one in returned.outcome.dispositions}
    [hidden] = [one for one in returned.dispositions if one.item == "@A2/s"]
    assert hidden.reasons == (Reason.PRINCIPAL_OUT_OF_SCOPE,)


def test_what_happens_between_return_and_exposure_counts() -> None:
    returned = last(*START, RETURN, {"do": "revoke", "target": "k", "by": "A2"}, {"do": "expose", "return": "back"})
    assert returned.outcome.admitted
    assert returned.bundle is None
    assert Reason.VIEW_OUTDATED in returned.refused


def test_a_view_that_waits_too_long_expires() -> None:
    returned = last(*START, RETURN, {"do": "clock", "advance": "1h"}, {"do": "expose", "return": "back"})
    assert returned.refused == (Reason.VIEW_EXPIRED,)


@dataclass(frozen=True)
class Refused:
    steps: tuple[dict[str, Any], ...]
    says: str


REFUSED = {
    "unknown source": Refused(({**KNOWN, "sources": ["nope"]},), "$.steps[0].sources[0]: no evidence 'nope'"),
    "unknown second source": Refused(
        (OBSERVE, {**KNOWN, "sources": ["e", "nope"]}), "$.steps[1].sources[1]: no evidence 'nope'"
    ),
    "unknown receipt": Refused(
        (OBSERVE, {**KNOWN, "receipts": [{"evidence": "nope"}]}), "$.steps[1].receipts[0].evidence: no evidence"
    ),
    "unknown premise": Refused((OBSERVE, {**KNOWN, "depends_on": ["z"]}), "$.steps[1].depends_on[0]: no item 'z'"),
    "unknown target": Refused(({"do": "revoke", "target": "z", "by": "A"},), "$.steps[0].target: no item 'z'"),
    "unknown disputed": Refused((*START, {"do": "dispute", "items": ["k", "z"], "by": "A"}), "$.steps[4].items[1]: "),
    "unknown dispute": Refused(({"do": "resolve", "dispute": "z", "by": "A"},), "$.steps[0]: no dispute 'z'"),
    "unknown label": Refused(({"do": "expose", "return": "z"},), "$.steps[0].return: no earlier return"),
    "label twice": Refused((*START, RETURN, RETURN), "$.steps[5].as: 'back' labels an earlier return"),
    "not departed": Refused((RETURN,), "$.steps[0]: "),
    "id twice": Refused((OBSERVE, {**OBSERVE, "text": "other"}), "$.steps[1].id: "),
    "circle": Refused(
        (
            *START,
            {**KNOWN, "id": "k2", "supersedes": "k"},
            {**KNOWN, "id": "k3", "supersedes": "k2"},
            {"do": "supersede", "target": "k3", "successor": "k", "by": "A"},
        ),
        "$.steps[6]: superseding",
    ),
    "not an overseer": Refused(
        (*START, {"do": "overrule", "target": "k", "by": "A", "reason": "r", "lasting": "1h"}),
        "$.steps[4]: 'A' may not overrule",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_step_that_is_refused_is_named_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    case = REFUSED[name]
    file = tmp_path / "team.db"
    with pytest.raises(ScenarioError) as refused, played(read(*case.steps), file):
        pytest.fail("it was played")
    assert str(refused.value).startswith(case.says)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_play_leaves_an_existing_workspace_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "team.db"
    with played(read(*START), file) as done:
        epoch = done.workspace.epoch
    bad = read(RETURN, {"do": "revoke", "target": "z", "by": "A2"})
    with pytest.raises(ScenarioError), played(bad, file):
        pytest.fail("it was played")
    with pytest.raises(ScenarioError), played(bad, file, name="another"):
        pytest.fail("it was played")
    with Workspace.open(file) as workspace:
        assert workspace.epoch == epoch
        assert workspace._desk.log.audit.last == 0
    assert names(file) == ("default",)


def test_a_second_play_resumes_where_the_first_ended(tmp_path: Path) -> None:
    file = tmp_path / "team.db"
    with played(read(*START), file):
        pass
    steps = [step for step in START if step["do"] != "depart"]
    with played(read(*steps, {**KNOWN, "id": "k2"}, RETURN, policy={"returns": {"fill": "always"}}), file) as done:
        # The first steps say the same under the same ids, so they change nothing.
        assert [one.item for one in done.returns[0].dispositions] == ["o", "k", "k2"]


def test_playing_twice_gives_the_same_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same salts, which are part of a log: they are in every digest."""
    decided = []
    for _ in range(2):
        salts = count()
        monkeypatch.setattr(drafts, "new_salt", lambda salts=salts: next(salts).to_bytes(16, "big"))
        with played(scenario.shipped("travel")) as one:
            decided.append([(each.dispositions, each.outcome.decision.dispositions) for each in one.returns])
    assert decided[0] == decided[1] != []


def test_steps_written_outside_a_scenario_are_all_or_nothing() -> None:
    good, bad = KNOWN | {"sources": []} | {"by": "A"}, {"do": "revoke", "target": "z", "by": "A"}
    with Workspace.open() as workspace:
        epoch = workspace.epoch
        with pytest.raises(ScenarioError, match=r"^\$\[1\]\.target: "):
            write_steps(workspace, scenario.read_steps(json.dumps([good, bad])))
        assert workspace.epoch == epoch
        seen: list[int] = []
        ids = write_steps(
            workspace, scenario.read_steps(json.dumps([OBSERVE, OWED, good])), watch=lambda: seen.append(1)
        )
        assert ids[1:] == ["o", "k"]
        assert len(seen) == 3


def test_a_view_is_acknowledged_by_its_label() -> None:
    arrived = {"do": "acknowledge", "return": "back"}
    exposed = {"do": "expose", "return": "back"}
    assert last(*START, RETURN, exposed, exposed).refused == ()
    returned = last(*START, RETURN, exposed, arrived, arrived, exposed)
    assert returned.bundle is not None
    assert returned.refused == (Reason.VIEW_CONSUMED,)
    with pytest.raises(ScenarioError, match=r"^\$\.steps\[4\]\.return: no earlier return is labeled"):
        last(*START, arrived)
    with pytest.raises(ScenarioError, match=r"^\$\.steps\[5\]: .*expose it first"):
        last(*START, RETURN, arrived)


def test_an_agent_that_owes_a_duty_settles_it_in_its_role() -> None:
    owed = {**OWED, "id": "o2", "required": ["d2"], "critical": [], "roles": ["planner"]}
    given = {"do": "reassign", "principal": "A3", "task": "trip", "role": "planner", "by": "lead"}
    done = {"do": "settle", "obligation": "o2", "by": "A3"}
    rules = {"evidence": {"overseers": ["lead"]}}
    assert last(*START, owed, given, done, RETURN, policy=rules).outcome.admitted
    for other in ({"role": "guest"}, {"principal": "A4"}):
        with pytest.raises(ScenarioError, match="agents that owe it"):
            last(*START, owed, {**given, **other}, done, RETURN, policy=rules)


def test_a_replacement_inherits_if_it_says_so() -> None:
    newer = {
        "do": "record",
        "by": "A2",
        "id": "k2",
        "text": "it is otherwise",
        "supersedes": "k",
        "sources": ["e"],
        "task": "trip",
    }
    assert last(*START, newer, RETURN).outcome.missing == ("d",)
    assert last(*START, {**newer, "inherits": True}, RETURN).outcome.admitted
