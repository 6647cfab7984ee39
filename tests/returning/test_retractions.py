"""What no longer holds is handed over with a view, or alone if a return is blocked for what it lacks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Reason, Workspace
from readmit.errors import ExposureError, QuarantineError, SealError
from readmit.events import EventKind
from readmit.lab import decode
from readmit.records.acts.operation import Exposed
from readmit.trust.statement import open_retractions, open_view
from readmit.trust.trusted_keys import trusted
from readmit.types import RetractionBundle, Retractions
from tests.scene import HOUR, SourcedScene, audited

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit import Return


def blocked(**policy: Any) -> tuple[SourcedScene, Return]:
    """The one fact that a duty needs is revoked while the agent is away."""
    scene = SourcedScene(**policy)
    scene.covered()
    scene.fact("x")
    scene.depart()
    scene.team.revoke("h", by="bob")
    return scene, scene.come_back()


def rows(scene: SourcedScene, kind: str) -> list[Exposed]:
    found = (row.body for row in scene.team._desk.log.audit.rows() if row.kind == kind)
    return [decode(body, Exposed, what=kind) for body in found]


def refused(call: Callable[[], object]) -> tuple[Reason, ...]:
    with pytest.raises(ExposureError) as caught:
        call()
    return caught.value.reasons


def keys_of(scene: SourcedScene) -> dict[str, bytes]:
    return dict(trusted(scene.team._desk.log.milestones(EventKind.KEY), scene.now))


# A return that is blocked for coverage.


def test_a_return_blocked_for_coverage_hands_over_no_items_but_its_retractions() -> None:
    _scene, outcome = blocked()
    assert (outcome.kind, outcome.reasons) == ("blocked", (Reason.COVERAGE_SHORT,))
    assert refused(outcome.expose) == (Reason.COVERAGE_SHORT,)
    told = outcome.expose_retractions()
    assert [one.id for one in told.retractions.fallen] == ["h"]
    assert "`h`: revoked" in told.markdown()
    assert "The return was blocked" in told.markdown()
    said = json.loads(told.json())
    assert (said["admitted"], said["retractions"]["fallen"][0]["id"]) == (False, "h")
    assert "the text of" not in told.markdown() + told.json()


def test_the_envelope_is_signed_and_is_never_taken_for_a_view() -> None:
    scene, outcome = blocked()
    told = outcome.expose_retractions()
    assert open_retractions(told.envelope, keys_of(scene)) == told.notice
    with pytest.raises(SealError):
        open_view(told.envelope, keys_of(scene))


def test_it_cannot_stand_in_for_a_bundle() -> None:
    told = blocked()[1].expose_retractions()
    assert not hasattr(told, "items")
    assert not hasattr(told, "view")


def test_an_audit_row_is_committed_before_it_is_handed_over() -> None:
    scene, outcome = blocked()
    outcome.expose_retractions()
    outcome.expose_retractions()
    assert [row.return_id for row in rows(scene, "retraction")] == [outcome.id] * 2
    assert audited(scene.team, full=True).intact
    assert scene.team.returned(outcome.id).replay().matches


def test_the_agent_stays_away() -> None:
    scene, outcome = blocked()
    outcome.expose_retractions()
    with pytest.raises(QuarantineError):
        scene.ann().recall()
    assert scene.come_back().kind == "blocked", "and may return again from the same departure"


def test_nothing_fell_is_said_too() -> None:
    scene = SourcedScene()
    scene.duty()
    told = scene.away().expose_retractions()
    assert not told.retractions.listed
    assert "may have changed too" in told.markdown()


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ({}, Reason.COVERAGE_SHORT),
        ({"returns": {"fill": "block"}}, Reason.NOTHING_OWED),
        ({"returns": {"examination": "required"}}, Reason.NOT_EXAMINED),
    ],
)
def test_whatever_a_return_lacks(policy: dict[str, Any], reason: Reason) -> None:
    scene = SourcedScene(**policy)
    if reason is not Reason.NOTHING_OWED:
        scene.covered()
    scene.fact("x")
    scene.depart()
    scene.team.revoke("x", by="bob")
    if reason is Reason.COVERAGE_SHORT:
        scene.team.revoke("h", by="bob")
    outcome = scene.come_back()
    assert outcome.reasons == (reason,)
    assert "x" in {one.id for one in outcome.expose_retractions().retractions.fallen}


def test_a_budget_that_is_too_small_retracts_too() -> None:
    scene = SourcedScene(budgets={"items": 1})
    scene.covered()
    scene.fact("x")
    scene.depart()
    scene.team.revoke("x", by="bob")
    outcome = scene.come_back()
    assert outcome.reasons == (Reason.BUDGET_SHORT,)
    assert [one.id for one in outcome.expose_retractions().retractions.fallen] == ["x"]


# Faults, resets, admitted returns.


def test_a_fault_hands_over_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = SourcedScene()
    scene.covered()
    scene.depart()
    scene.team.revoke("h", by="bob")
    monkeypatch.setattr("readmit.returning.desk.decide", lambda *_: 1 / 0)
    outcome = scene.ann().come_back()
    assert outcome.reasons == (Reason.INTERNAL_ERROR,)
    assert outcome.decision.retracting is None
    assert refused(outcome.expose_retractions) == (Reason.INTERNAL_ERROR,)


def test_a_clock_that_lags_hands_over_nothing() -> None:
    scene = SourcedScene()
    scene.covered()
    scene.depart()
    scene.team.revoke("h", by="bob")
    scene.wait(-2 * HOUR)
    outcome = scene.come_back()
    assert outcome.reasons == (Reason.CLOCK_SKEW,)
    assert refused(outcome.expose_retractions) == (Reason.CLOCK_SKEW,)


def test_a_signer_that_fails_hands_over_nothing_and_the_lack_stays_known(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = SourcedScene()
    scene.covered()
    scene.depart()
    scene.team.revoke("h", by="bob")

    def fails() -> None:
        raise SealError("the key is locked")

    monkeypatch.setattr(scene.team._desk.keys, "signer", fails)
    outcome = scene.ann().come_back()
    assert outcome.reasons == (Reason.COVERAGE_SHORT, Reason.SIGNER_FAILED)
    assert outcome.missing == ("d",)
    assert refused(outcome.expose_retractions) == (Reason.COVERAGE_SHORT, Reason.SIGNER_FAILED)
    assert audited(scene.team).intact


def test_a_reset_hands_over_nothing() -> None:
    _scene, outcome = blocked(returns={"on_incomplete": "reset"})
    assert outcome.kind == "reset"
    assert refused(outcome.expose_retractions) == (Reason.COVERAGE_SHORT,)


def test_an_admitted_return_hands_them_over_with_its_view() -> None:
    scene = SourcedScene()
    scene.covered()
    scene.fact("x")
    scene.depart()
    scene.team.revoke("x", by="bob")
    outcome = scene.come_back()
    refused(outcome.expose_retractions)
    bundle = outcome.expose()
    assert [one.id for one in bundle.view.retractions.fallen] == ["x"]
    assert open_view(bundle.envelope, keys_of(scene)).retractions == bundle.view.retractions


def test_a_policy_that_retracts_nothing_hands_over_the_count() -> None:
    _scene, outcome = blocked(budgets={"retractions": 0})
    handed = outcome.expose_retractions().retractions
    assert handed == outcome.retractions == Retractions(more=1)


# The recheck.


def test_what_was_restored_meanwhile_is_refused() -> None:
    scene, outcome = blocked()
    scene.team.admin.overrule("h", reason="checked", by="boss", expires=scene.now + HOUR)
    assert refused(outcome.expose_retractions) == (Reason.VIEW_OUTDATED,)
    assert [row.refused for row in rows(scene, "refusal")] == [("view_outdated",)]


def test_what_was_said_again_meanwhile_is_refused() -> None:
    scene, outcome = blocked()
    scene.fact("again", text="the text of h", supports=["d"])
    assert refused(outcome.expose_retractions) == (Reason.VIEW_OUTDATED,)


def test_what_was_restored_meanwhile_is_refused_in_a_view_too() -> None:
    scene = SourcedScene()
    scene.covered()
    scene.fact("x")
    scene.depart()
    scene.team.revoke("x", by="bob")
    outcome = scene.come_back()
    scene.team.admin.overrule("x", reason="checked", by="boss", expires=scene.now + HOUR)
    assert refused(outcome.expose) == (Reason.VIEW_OUTDATED,)


def test_what_is_in_doubt_may_fall_meanwhile_and_what_fell_may_not_be_in_doubt() -> None:
    scene = SourcedScene()
    scene.covered()
    scene.fact("x")
    scene.depart()
    scene.team.dispute(["x"], by="bob", id="q")
    outcome = scene.come_back()
    scene.team.revoke("x", by="bob")
    assert [one.id for one in outcome.expose().view.retractions.in_doubt] == ["x"]
    again = scene.come_back()
    assert [one.id for one in again.retractions.fallen] == ["x"]
    scene.team.admin.overrule("x", reason="checked", by="boss", expires=scene.now + HOUR)
    assert refused(again.expose) == (Reason.VIEW_OUTDATED,)


def test_what_fell_after_the_decision_does_not_hold_up_the_view() -> None:
    scene = SourcedScene()
    scene.covered()
    scene.fact("x")
    outcome = scene.away()
    scene.team.revoke("x", by="bob")
    bundle = outcome.expose()
    assert not bundle.view.retractions.listed
    assert f"State at epoch {outcome.decision.epoch}" in bundle.markdown()


def test_a_stricter_policy_since_the_decision_is_refused() -> None:
    scene, outcome = blocked(budgets={"retraction_chars": 4_000})
    scene.team.as_owner().admin.govern(scene.team.admin.policy.changed(budgets={"retraction_chars": 0}))
    assert refused(outcome.expose_retractions) == (Reason.VIEW_OUTDATED,)


def test_another_workload_gets_nothing_and_learns_nothing() -> None:
    scene, outcome = blocked()
    identity = outcome.request.identity
    call = scene.team._desk.expose_retractions
    assert refused(lambda: call(outcome.id, identity, "guessed")) == (Reason.BINDING_MISMATCH,)
    other = scene.team.agent("carl", role="planner", task="trip").identity
    assert refused(lambda: call(outcome.id, other, outcome.secret)) == (Reason.BINDING_MISMATCH,)


@pytest.mark.parametrize(
    ("since", "reason"),
    [
        (lambda it: it.wait(HOUR), Reason.VIEW_EXPIRED),
        (lambda it: it.ann().come_back(), Reason.VIEW_REPLACED),
        (lambda it: it.depart(), Reason.VIEW_CONSUMED),
    ],
)
def test_a_stale_one_is_refused(since: Callable[[SourcedScene], object], reason: Reason) -> None:
    scene, outcome = blocked()
    since(scene)
    assert reason in refused(outcome.expose_retractions)


def test_nothing_is_handed_over_before_its_row_is_committed() -> None:
    scene, outcome = blocked()
    with scene.team.batch(), pytest.raises(QuarantineError):
        outcome.expose_retractions()


def test_an_altered_envelope_is_refused() -> None:
    scene, outcome = blocked()
    scene.sql('UPDATE decision SET seal = CAST(replace(seal, \'"sig":"\', \'"sig":"AAAA\') AS BLOB)')
    assert refused(outcome.expose_retractions) in ((Reason.SIGNATURE_INVALID,), (Reason.LOG_ALTERED,))
    assert not audited(scene.team).intact


# Texts that the agent held, and no others.


def test_the_withdrawn_text_is_bound_by_digest() -> None:
    scene, outcome = blocked(budgets={"retraction_chars": 4_000})
    told = outcome.expose_retractions()
    assert [item.text for item in told.withdrawn] == ["the text of h"]
    assert "No longer holds: `the text of h`" in told.markdown()
    forged = RetractionBundle(told.notice, told.envelope, (scene.team._desk.log.item("x"),))
    with pytest.raises(SealError, match="not at hand"):
        forged.markdown()


def test_private_rescoped_and_never_held_texts_are_not_handed_over() -> None:
    scene = SourcedScene(budgets={"retraction_chars": 4_000})
    scene.duty()
    scene.fact("@carl/private", by="carl", principals=["carl"], private=True, text="carl's own secret")
    scene.fact("other", roles=["booker"], text="for bookers alone")
    scene.fact("mine", text="open to all", slot="rate")
    scene.depart()
    scene.fact("narrow", roles=["booker"], text="narrowed secret", slot="rate")
    scene.fact("widened", text="carl's own secret")
    scene.fact("later", text="never handed over")
    for name in ("other", "widened", "later"):
        scene.team.revoke(name, by="bob")
    scene.team.revoke("@carl/private", by="carl")
    told = scene.come_back().expose_retractions()
    assert [item.text for item in told.withdrawn] == ["open to all"]
    said = told.markdown() + told.json()
    assert not [secret for secret in ("secret", "bookers", "never handed", "narrow") if secret in said]


def test_a_role_that_may_not_see_it_any_more_is_not_told_its_text() -> None:
    scene = SourcedScene(budgets={"retraction_chars": 4_000})
    scene.duty()
    scene.fact("x", roles=["planner"], text="for planners alone")
    scene.depart()
    scene.team.revoke("x", by="bob")
    outcome = scene.come_back("booker")
    told = outcome.expose_retractions()
    assert "planners" not in told.markdown() + told.json()
    planner = scene.ann("planner").identity
    call = scene.team._desk.expose_retractions
    assert refused(lambda: call(outcome.id, planner, outcome.secret)) == (Reason.BINDING_MISMATCH,)


def test_it_is_the_same_after_the_store_was_opened_again(tmp_path: Any) -> None:
    path = tmp_path / "team.db"
    scene = SourcedScene(path)
    scene.covered()
    scene.depart()
    scene.team.revoke("h", by="bob")
    outcome = scene.come_back()
    first = outcome.expose_retractions()
    scene.team.close()
    with Workspace.open(path, clock=scene.clock) as team:
        again = team._desk.expose_retractions(outcome.id, outcome.request.identity, outcome.secret)
        assert again == first
        stored = team._desk.log.audit.decision(outcome.id)
        assert stored is not None
        assert stored.envelope() == first.envelope
