from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit import State
from readmit.lab import canonical
from tests.inference.world import SHIFT, SHOES, Ruled, away, foresee, hear, home, states

if TYPE_CHECKING:
    from readmit import Return
    from readmit.inference import Announcement

NEWS = (SHOES, SHIFT, "It rained all day.", "The neighbor got a dog.")


@pytest.fixture(autouse=True)
def _without_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal contents of two workspaces have equal digests."""
    monkeypatch.setattr("readmit.records.acts.draft.new_salt", lambda: bytes(16))


def rows(returned: Return) -> list[bytes]:
    return [canonical(one) for one in returned.dispositions]


def without_epochs(returned: Return) -> list[object]:
    return [
        (one.item, one.state, one.reasons, [(cause.reason, cause.ref, cause.note) for cause in one.causes])
        for one in returned.dispositions
    ]


def returned_at_once() -> Return:
    workspace = home()
    agent = away(workspace)
    hear(workspace, *NEWS)
    return foresee(workspace, Ruled()).come_back(agent)


def test_work_done_early_decides_the_same_bytes() -> None:
    workspace = home()
    agent = away(workspace)
    hear(workspace, *NEWS)
    model = Ruled()
    inference = foresee(workspace, model)
    (prepared,) = inference.watch().look().prepared
    asked = dict(model.asked)
    # No model is needed any more: the plain return reads the log.
    early = agent.come_back()
    assert rows(early) == rows(returned_at_once())
    assert prepared.invalidated == ("bedtime",)
    assert dict(model.asked) == asked


def test_work_done_at_every_event_decides_the_same() -> None:
    workspace = home()
    agent = away(workspace)
    model = Ruled()
    inference = foresee(workspace, model)
    watch = inference.watch()
    for news in NEWS:
        hear(workspace, news)
        watch.look()
    asked = model.asked.total()
    late = returned_at_once()
    returned = inference.come_back(agent)
    # All but the positions of the verdicts on the log.
    assert without_epochs(returned) == without_epochs(late)
    assert model.asked.total() == asked


def test_nothing_new_costs_nothing() -> None:
    workspace = home()
    away(workspace)
    hear(workspace, SHOES)
    watch = foresee(workspace, Ruled()).watch()
    assert watch.look().prepared
    watch.look()
    head, last = workspace.epoch, workspace._desk.log.audit.last
    assert watch.look().prepared == ()
    assert (workspace.epoch, workspace._desk.log.audit.last) == (head, last)


def test_an_agent_that_holds_a_view_is_notified_once() -> None:
    workspace = home()
    agent = away(workspace)
    announced: list[Announcement] = []
    inference = foresee(workspace, Ruled())
    watch = inference.watch(report=announced.append)
    returned = inference.come_back(agent)
    assert returned.admitted
    watch.look()
    assert announced == []
    returned.expose()
    hear(workspace, SHIFT)
    watch.look()
    (announcement,) = announced
    assert (announcement.return_id, announcement.item) == (returned.id, "bedtime")
    assert announcement.state is State.PREMISE_CHANGED
    assert [row.item for row in workspace._desk.log.audit.rows() if row.kind == "announcement"] == ["bedtime"]
    hear(workspace, SHOES)
    watch.look()
    # A watch that starts over does not announce it again.
    inference.watch(report=announced.append).look()
    assert len(announced) == 1


def test_an_explicit_event_is_announced_too() -> None:
    workspace = home()
    agent = away(workspace)
    announced: list[Announcement] = []
    inference = foresee(workspace, Ruled())
    watch = inference.watch(report=announced.append)
    inference.come_back(agent).expose()
    workspace.revoke("bedtime", by="A2", reason="misheard")
    watch.look()
    assert [(one.item, one.state) for one in announced] == [("bedtime", State.REVOKED)]


def test_a_view_that_waits_is_refused_once_the_watch_has_seen_the_change() -> None:
    from readmit.errors import ExposureError

    workspace = home()
    agent = away(workspace)
    inference = foresee(workspace, Ruled())
    watch = inference.watch()
    returned = inference.come_back(agent)
    hear(workspace, SHIFT)
    watch.look()
    try:
        returned.expose()
    except ExposureError as error:
        assert "view_outdated" in error.reasons  # noqa: PT017 - the reasons are the point
    else:
        raise AssertionError("a changed item was exposed")


def test_an_agent_that_nobody_awaits_is_not_prepared() -> None:
    workspace = home()
    hear(workspace, SHIFT)
    model = Ruled()
    assert foresee(workspace, model).watch().look().prepared == ()
    assert model.asked.total() == 0


def test_other_purposes_are_prepared_when_asked_for() -> None:
    workspace = home()
    agent = away(workspace)
    hear(workspace, SHIFT)
    model = Ruled()
    inference = foresee(workspace, model)
    inference.watch(purposes=("planning",)).look()
    asked = model.asked["verify"]
    assert states(inference.come_back(agent, purpose="planning"))["bedtime"] == "premise_changed"
    assert model.asked["verify"] == asked
