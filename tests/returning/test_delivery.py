"""A view reaches the workload it was issued to, also when a delivery got lost, and nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit import Reason, Return, Workspace
from readmit.errors import ExposureError, UnknownError
from readmit.events import EventKind
from readmit.lab import decode
from readmit.records.acts.operation import Acknowledge, Exposed
from tests.scene import HOUR, START, Scene, audited

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def returned(**policy: Any) -> tuple[Scene, Return]:
    scene = Scene(**policy)
    scene.covered()
    scene.ann().remember("ask for a late check-in", bound_to="h", id="x")
    return scene, scene.away()


def refused(outcome: Return) -> tuple[Reason, ...]:
    with pytest.raises(ExposureError) as caught:
        outcome.expose()
    return caught.value.reasons


def rows(scene: Scene, kind: str) -> list[Exposed]:
    found = (row.body for row in scene.team._desk.log.audit.rows() if row.kind == kind)
    return [decode(body, Exposed, what=kind) for body in found]


def exposures(scene: Scene) -> int:
    return sum(event.kind is EventKind.EXPOSE for event in scene.team._desk.log.tail())


def test_a_lost_delivery_is_made_again_with_the_very_same_bytes() -> None:
    scene, outcome = returned()
    first = outcome.expose()
    scene.wait(HOUR / 6)
    again = outcome.expose()
    assert again == first
    assert (again.markdown(), again.json()) == (first.markdown(), first.json())
    assert exposures(scene) == 1
    assert [row.again for row in rows(scene, "exposure")] == [False, True]
    assert audited(scene.team).intact


def test_a_delivery_lost_in_a_crash_is_made_again_to_the_process_that_kept_the_secret(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "team.db")
    scene.covered()
    outcome = scene.away()
    first = outcome.expose()
    scene.team.close()
    with Workspace.open(tmp_path / "team.db", clock=lambda: START) as team:
        assert team._desk.expose(outcome.id, outcome.request.identity, outcome.secret) == first


def test_once_acknowledged_it_is_not_handed_over_again() -> None:
    scene, outcome = returned()
    outcome.expose()
    outcome.acknowledge()
    outcome.acknowledge()
    assert refused(outcome) == (Reason.VIEW_CONSUMED,)
    events = [event for event in scene.team._desk.log.tail() if event.kind is EventKind.ACKNOWLEDGE]
    assert [(event.by, event.payload) for event in events] == [
        ("ann", Acknowledge(return_id=outcome.id, instance=outcome.request.instance))
    ]
    assert [row.kind for row in scene.team._desk.log.audit.rows()].count("acknowledgement") == 1
    assert audited(scene.team).intact


def test_an_agent_that_wrote_has_read() -> None:
    writes: tuple[Callable[[Scene], object], ...] = (
        lambda scene: scene.ann().remember("got it", bound_to="h"),
        lambda scene: scene.team.observe("got it", by="ann"),
        lambda scene: scene.team.record("got it", by="ann"),
        lambda scene: scene.team.revoke("h", by="ann"),
    )
    for write in writes:
        scene, outcome = returned()
        outcome.expose()
        scene.team.observe("somebody else writes", by="bob")
        outcome.expose()
        write(scene)
        assert Reason.VIEW_CONSUMED in refused(outcome)


def test_a_view_that_changed_meanwhile_is_not_handed_over_again() -> None:
    scene, outcome = returned()
    outcome.expose()
    scene.team.revoke("h", by="bob")
    assert Reason.VIEW_OUTDATED in refused(outcome)
    scene, outcome = returned()
    outcome.expose()
    scene.wait(HOUR)
    assert refused(outcome) == (Reason.VIEW_EXPIRED,)


def test_nobody_else_gets_it_and_the_secret_is_kept_as_a_hash() -> None:
    scene, outcome = returned()
    outcome.expose()
    identity = outcome.request.identity
    # A reader of the log or the view finds the hash, and the hash opens nothing.
    for secret in ("", "guess", outcome.request.instance, outcome.secret.upper() + " ", "\udcff"):
        with pytest.raises(ExposureError) as caught:
            scene.team._desk.expose(outcome.id, identity, secret)
        assert caught.value.reasons == (Reason.BINDING_MISMATCH,)
        with pytest.raises(ExposureError) as caught:
            scene.team._desk.acknowledge(outcome.id, identity, secret)
        assert caught.value.reasons == (Reason.BINDING_MISMATCH,)
    eve = scene.team.agent("eve", role="planner", task="trip").identity
    desk = scene.team._desk
    for verb in (desk.expose, desk.acknowledge):
        with pytest.raises(ExposureError) as caught:
            verb(outcome.id, eve, outcome.secret)
        assert Reason.BINDING_MISMATCH in caught.value.reasons
    assert len(rows(scene, "refusal")) == 12, "every attempt is on record"
    kept = [
        *map(repr, scene.team._desk.log.tail()),
        *map(repr, scene.team._desk.log.audit.rows()),
        repr(outcome),
        repr(outcome.view),
    ]
    assert not [one for one in kept if outcome.secret in one]
    assert outcome.expose().items, "and none of it keeps the view from its workload"


def test_only_what_was_handed_over_is_acknowledged() -> None:
    scene, outcome = returned()
    before = scene.team.epoch
    with pytest.raises(UnknownError, match="expose it first"):
        outcome.acknowledge()
    with pytest.raises(UnknownError, match="no return"):
        scene.team._desk.acknowledge("never", outcome.request.identity, outcome.secret)
    assert scene.team.epoch == before
    assert outcome.expose().items


def test_what_was_never_acknowledged_does_not_stop_a_new_return() -> None:
    scene, outcome = returned()
    outcome.expose()
    again = scene.come_back()
    assert again.request.checkpoint == outcome.request.checkpoint
    assert refused(outcome) == (Reason.VIEW_REPLACED,)
    assert [one.id for one in again.expose().experiences] == ["x"]
    again.acknowledge()
    with pytest.raises(UnknownError, match="has not departed"):
        scene.come_back()


def test_an_agent_that_went_on_to_write_has_come_back() -> None:
    scene, outcome = returned()
    outcome.expose()
    scene.ann().remember("settled in", bound_to="h", id="y")
    with pytest.raises(UnknownError, match="has not departed"):
        scene.come_back()
    assert [one.id for one in scene.ann().recall()] == ["x", "y"]


def test_exposure_ends_the_quarantine_before_it_is_acknowledged() -> None:
    scene, outcome = returned()
    outcome.expose()
    assert [one.id for one in scene.ann().recall()] == ["x"]
    outcome.expose()


def test_a_view_of_an_earlier_absence_neither_opens_nor_ends_the_next_one() -> None:
    scene, outcome = returned()
    scene.depart()
    assert refused(outcome) == (Reason.VIEW_CONSUMED,)
    assert scene.come_back().admitted, "ann is still away"


def test_an_exposed_view_is_refused_after_a_new_departure() -> None:
    scene, outcome = returned()
    outcome.expose()
    scene.depart()
    assert refused(outcome) == (Reason.VIEW_CONSUMED,)
    outcome.acknowledge()
    assert scene.come_back().expose().items, "acknowledging the earlier view does not end the new absence"


def test_a_return_that_was_not_admitted_has_nothing_to_expose() -> None:
    for on_incomplete in ("block", "reset"):
        scene = Scene(returns={"on_incomplete": on_incomplete})
        scene.duty()
        outcome = scene.away()
        assert refused(outcome) == outcome.reasons == (Reason.COVERAGE_SHORT,)
        assert len(rows(scene, "refusal")) == 1
        # Why it was not admitted is for its own workload.
        with pytest.raises(ExposureError) as caught:
            scene.team._desk.expose(outcome.id, outcome.request.identity, "guess")
        assert caught.value.reasons == (Reason.BINDING_MISMATCH,)
        with pytest.raises(UnknownError, match="expose it first"):
            outcome.acknowledge()


def test_a_bundle_is_a_value() -> None:
    _, outcome = returned()
    bundle = outcome.expose()
    with pytest.raises(AttributeError):
        bundle.items = ()  # type: ignore[misc]
    assert msgspec.structs.replace(bundle) == bundle


def test_a_return_says_whether_its_view_is_partial_and_lists_its_duties() -> None:
    _, outcome = returned()
    assert outcome.partial is False
    assert outcome.duties == outcome.decision.duties
