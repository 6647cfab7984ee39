"""Every kind of event is worded, and stands on the line of its sort."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit import Policy
from tests.pages.newest import newest_values
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit import Workspace

CASES: dict[str, tuple[Callable[[Workspace], object], str, str]] = {
    "supersede": (lambda team: team.supersede("a", "b", by="bob", reason="r"), "taken out", "b replaces a, by bob"),
    "revoke": (lambda team: team.revoke("a", by="bob"), "taken out", "Revoked a, by bob"),
    "settle": (lambda team: team.settle("o", by="bob"), "taken out", "Settled o, by bob"),
    "dispute": (
        lambda team: team.dispute(["a", "b"], by="bob", id="q"),
        "taken out",
        "No one may act on a, b until the dispute is resolved, by bob",
    ),
    "link": (lambda team: team.link("a", "d", by="bob"), "looked into", "a is evidence for d, by bob"),
    "unlink": (
        lambda team: team.link("a", "d", by="bob", withdrawn=True),
        "looked into",
        "a is no longer evidence for d, by bob",
    ),
    "overrule": (
        lambda team: team.admin.overrule("out", by="boss", reason="r", expires=HOUR),
        "looked into",
        "boss restored out",
    ),
    "govern": (lambda team: team.as_owner().admin.govern(Policy()), "looked into", "The policy changed, by owner"),
    "observe": (
        lambda team: team.observe("x", by="bob", source="tool_result"),
        "observed",
        "bob observed (tool result)",
    ),
    "open": (lambda team: team.oblige("x", id="o2", required=["d"], by="bob"), "recorded", "bob opened the duty o2"),
    "move": (
        lambda team: team.progress("x", id="f2", obligation="o", by="bob"),
        "recorded",
        "bob moved the frontier of o: f2",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_event_is_worded(name: str) -> None:
    write, lane, words = CASES[name]
    scene = Scene()
    scene.duty()
    scene.fact("a", task="trip")
    scene.fact("b", task="trip")
    scene.fact("out", task="trip")
    scene.team.revoke("out", by="bob")
    scene.depart()
    write(scene.team)
    scene.come_back()
    log = scene.team._desk.log
    happened = newest_values(log, scene.now).happenings
    assert [(one.lane, one.words) for one in happened] == [(lane, words)]


def test_the_moment_that_an_event_names_is_written_out() -> None:
    scene = Scene()
    scene.fact("a")
    scene.depart()
    scene.team.close_validity("a", end=scene.now + HOUR, by="bob")
    scene.come_back()
    log = scene.team._desk.log
    (one,) = newest_values(log, scene.now).happenings
    assert one.words == "a is true until 2026-03-01 10:00:00 UTC, by bob"
