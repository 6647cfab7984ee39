"""Two statements that a return would hand over together are verified against each other, whatever the limits cut."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Policy, Reason, Workspace
from readmit.inference import Inference, Settings
from readmit.models.protocols import Reply, Usage
from readmit.rules.invalidate.propose import Signal
from tests.inference.world import texts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models.protocols import Ask


EMPTY = Policy(nothing_owed="empty")
REQUIRED = Policy(nothing_owed="empty", examination="required")


class Reader:
    """A later text that says "no longer" ends whatever stands beside it."""

    name = "reader"

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        self.asked += len(asks)
        return [Reply(text=self.say(ask), usage=Usage(stage=ask.stage), model=self.name) for ask in asks]

    @staticmethod
    def say(ask: Ask) -> str:
        texts = texts_of(ask)
        new = texts["later observation"]
        judgments = [
            {
                "statement": int(label.split()[-1]),
                "item_quote": old,
                "evidence_quote": new,
                "premise": "",
                "stale": 0.9 if "no longer" in new else 0.0,
            }
            for label, old in texts.items()
            if label.startswith("earlier statement") and label.split()[-1].isdigit()
        ]
        return json.dumps({"judgments": judgments})


def team(policy: Policy = EMPTY, **settings: Any) -> tuple[Workspace, Any, Reader, Inference]:
    """Two statements in different slots, from different observations, both needed."""
    workspace = Workspace.open(policy=policy)
    agent = workspace.agent("ann", role="planner", task="trip")
    for name, text in (("a", "We meet at the pier."), ("b", "We no longer meet anywhere.")):
        seen = workspace.observe(text, by="bob")
        workspace.record(text, id=name, sources=[seen], by="bob", supports=[f"d_{name}"])
    workspace.oblige("Plan the meeting.", id="o", by="bob", required=["d_a", "d_b"])
    agent.depart()
    reader = Reader()
    limits = {"signals": (Signal.SAME_SLOT,), "linking": False, **settings}
    return workspace, agent, reader, Inference(workspace, Settings(**limits), verifier=reader)


def test_of_two_statements_in_one_view_the_later_ends_the_earlier() -> None:
    _, agent, reader, inference = team()
    seen: list[Any] = []
    returned = inference.come_back(agent, report=seen.append)
    assert reader.asked == 1, "only the later text is put against the earlier statement"
    assert (returned.kind, returned.missing) == ("blocked", ("d_a",))
    assert (seen[-1].inside, seen[-1].fell_inside, seen[-1].invalidated) == (1, ("a",), ("a",))


@pytest.mark.parametrize("first", ["return", "preparation", "watch"])
def test_pairs_inside_a_view_are_checked_where_an_examination_is_required(first: str) -> None:
    """The examination that is required is the one that asks: it is not on record yet when it looks inside."""
    _, agent, reader, inference = team(REQUIRED)
    if first == "preparation":
        assert inference.prepare(agent).fell_inside == ("a",)
    elif first == "watch":
        inference.watch().look()
    returned = inference.come_back(agent)
    assert (returned.kind, returned.missing, reader.asked) == ("blocked", ("d_a",), 1)


def test_a_return_that_was_not_prepared_is_not_examined() -> None:
    _, agent, _, _ = team(REQUIRED)
    assert agent.come_back().reasons == (Reason.NOT_EXAMINED,)


def test_what_was_asked_once_is_not_asked_again() -> None:
    _, agent, reader, inference = team()
    inference.come_back(agent)
    inference.come_back(agent)
    assert reader.asked == 1


def test_it_can_be_left_out() -> None:
    _, agent, reader, inference = team(pairs_inside=0)
    assert inference.come_back(agent).admitted
    assert reader.asked == 0


def test_what_a_return_would_not_hand_over_is_not_asked_about() -> None:
    workspace, agent, reader, inference = team()
    workspace.settle("o", by="bob")
    assert inference.come_back(agent).admitted
    assert reader.asked == 0


@pytest.mark.parametrize("most", [1, 3])
def test_what_its_limit_cuts_is_accounted_for(most: int) -> None:
    workspace, agent, _, inference = team(pairs_inside=most)
    seen = workspace.observe("We meet at noon, rain or shine.", by="bob")
    workspace.record("We meet at noon.", id="c", sources=[seen], by="bob", supports=["d_c"])
    workspace.oblige("Know the time.", id="p", by="bob", required=["d_c"])
    reported: list[Any] = []
    inference.come_back(agent, report=reported.append)
    assert bool(reported[-1].cut_inside) is (most == 1)


def test_what_was_passed_over_is_not_come_back_to() -> None:
    workspace, agent, reader, inference = team(pairs_inside=1)
    workspace.settle("o", by="bob")
    for name in ("c", "e", "f"):
        seen = workspace.observe(f"The {name} bell rings at noon.", by="bob")
        workspace.record(f"The {name} bell rings.", id=name, sources=[seen], by="bob", supports=[f"d_{name}"])
    workspace.oblige("Ring.", id="p", by="bob", required=["d_c", "d_e", "d_f"])
    reported: list[Any] = []
    for _ in range(3):
        inference.come_back(agent, report=reported.append)
    assert [(one.inside, one.cut_inside) for one in reported] == [(1, 2), (0, 0), (0, 0)]
    assert reader.asked == 1
