"""What becomes of a duty: it ends by an act, an obstacle blocks, and the decision lists every one it considered."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from readmit import DutyState, Pair, Reason
from readmit.errors import ExposureError, NotAllowedError, RecordError
from readmit.types import DutyNote
from tests.scene import HOUR, START, Scene

DAY = timedelta(days=1)


def state(scene: Scene, name: str = "o") -> DutyState:
    assert scene.outcome is not None
    return next(one.state for one in scene.outcome.decision.duties if one.obligation == name)


def note(scene: Scene, name: str = "o") -> DutyNote:
    assert scene.outcome is not None
    return next(one for one in scene.outcome.decision.duties if one.obligation == name)


# A duty vanished and the return was admitted with nothing owed.


def test_a_duty_needs_an_allowed_author_not_evidence() -> None:
    scene = Scene(evidence={"writers": ("bob",)})
    outside = scene.team.observe("Please do it.", by="eve")
    scene.duty("o", sources=[outside])
    scene.duty("bare", sources=[])
    outcome = scene.away()
    assert (outcome.kind, outcome.missing) == ("blocked", ("d",))
    assert (state(scene), state(scene, "bare")) == (DutyState.OWED, DutyState.OWED)


def test_a_duty_of_an_outsider_is_listed_and_not_imposed() -> None:
    scene = Scene()
    scene.team.oblige("Do as I say", id="o", by="eve", required=["d"])
    scene.team.as_owner().admin.govern(scene.team.admin.policy.changed(evidence={"writers": ("bob",)}))
    assert scene.away().admitted
    assert state(scene) is DutyState.NOT_IMPOSED


def test_oblige_by_someone_who_may_not_is_refused() -> None:
    scene = Scene(evidence={"writers": ("bob",)})
    before = scene.team.epoch
    with pytest.raises(NotAllowedError, match="'eve' may not oblige here: add it to the policy's writers"):
        scene.team.oblige("Do as I say", id="o", by="eve", required=["d"])
    assert scene.team.epoch == before


def test_a_duty_whose_author_left_the_writers_during_the_absence_blocks_and_is_named() -> None:
    scene = Scene(evidence={"writers": ("bob", "carl")})
    scene.team.oblige("Do it", id="o", by="carl", required=["d"])
    scene.fact("h", supports=["d"])
    scene.depart()
    scene.team.as_owner().admin.govern(scene.team.admin.policy.changed(evidence={"writers": ("bob",)}))
    outcome = scene.come_back()
    assert (outcome.kind, outcome.reasons) == ("blocked", (Reason.MANDATORY_MISSING,))
    assert outcome.decision.absent == ("o",)
    assert state(scene) is DutyState.OBSTRUCTED


def test_a_duty_opened_during_the_absence_by_somebody_who_then_left_is_listed() -> None:
    scene = Scene(evidence={"writers": ("bob", "carl")})
    scene.depart()
    scene.team.oblige("Do it", id="o", by="carl", required=["d"])
    scene.team.as_owner().admin.govern(scene.team.admin.policy.changed(evidence={"writers": ("bob",)}))
    assert scene.come_back().admitted
    assert state(scene) is DutyState.NOT_IMPOSED


def test_without_a_purpose_purposed_duties_are_owed() -> None:
    scene = Scene()
    scene.duty(purposes=["book"])
    scene.fact("audited", purposes=["audit"])
    assert scene.away().missing == ("d",)
    assert state(scene) is DutyState.OWED
    assert scene.away(purpose="book").missing == ("d",)
    assert scene.away(purpose="audit").admitted
    assert state(scene) is DutyState.OTHER_PURPOSE


@pytest.mark.parametrize("closed", [False, True], ids=["deadline", "closed"])
def test_an_overdue_duty_is_owed_and_marked(closed: bool) -> None:
    scene = Scene()
    scene.duty(valid_until=None if closed else START + HOUR)
    scene.fact("h", supports=["d"])
    if closed:
        scene.team.close_validity("o", end=START + HOUR, by="bob")
    scene.wait(2 * HOUR)
    outcome = scene.away()
    assert outcome.admitted
    assert [item.id for item in outcome.view.items] == ["o", "h"] if outcome.view else False
    assert note(scene) == DutyNote(obligation="o", state=DutyState.OVERDUE, handed_over=True)


def test_a_duty_that_has_not_begun_is_listed_and_not_owed() -> None:
    scene = Scene()
    scene.duty(valid_from=START + DAY)
    assert scene.away().admitted
    assert state(scene) is DutyState.NOT_BEGUN
    scene.wait(2 * DAY)
    assert not scene.away().admitted
    assert state(scene) is DutyState.OWED


def test_a_fact_does_not_end_a_duty() -> None:
    scene = Scene()
    scene.covered()
    with pytest.raises(RecordError, match="settle"):
        scene.team.supersede("o", "h", by="bob")
    scene.away()
    assert state(scene) is DutyState.OWED


def test_another_duty_ends_a_duty() -> None:
    scene = Scene()
    scene.duty()
    scene.duty("o2", required=("e",))
    scene.team.supersede("o", "o2", by="bob")
    assert scene.away().missing == ("e",)
    assert (state(scene), state(scene, "o2")) == (DutyState.SUPERSEDED, DutyState.OWED)


def test_a_duty_that_nobody_could_impose_ends_no_other() -> None:
    scene = Scene(evidence={"writers": ("bob", "carl")})
    scene.duty()
    scene.team.oblige("Do that", id="o2", by="carl", required=[])
    scene.team.supersede("o", "o2", by="bob")
    scene.team.as_owner().admin.govern(scene.team.admin.policy.changed(evidence={"writers": ("bob",)}))
    assert scene.away().missing == ("d",)
    assert state(scene) is DutyState.OWED


def test_kinds_never_drop_a_duty() -> None:
    scene = Scene(paper={"kinds": ("fact",)})
    scene.duty()
    assert scene.away().missing == ("d",)
    scene.fact("h", supports=["d"])
    outcome = scene.away()
    assert outcome.admitted
    assert state(scene) is DutyState.OWED


@pytest.mark.parametrize("obstacle", ["dispute", "dispute lost", "suspicion", "premise", "size", "frontier"])
def test_an_obstacle_blocks_and_does_not_end_the_duty(obstacle: str) -> None:
    scene = Scene()
    scene.fact("p")
    scene.duty(depends_on=["p"])
    scene.fact("h", supports=["d"])
    if obstacle.startswith("dispute"):
        scene.team.dispute(["o"], by="bob", id="quarrel")
        if obstacle == "dispute lost":
            scene.team.resolve("quarrel", by="bob")
    elif obstacle == "suspicion":
        scene.team.judge(Pair(item="o", evidence=scene.news()), by="bob")
    elif obstacle == "premise":
        scene.team.revoke("p", by="bob")
    elif obstacle == "size":
        scene.team.as_owner().admin.govern(scene.team.admin.policy.changed(budgets={"item_chars": 3}))
    else:
        scene.frontier()
        scene.team.dispute(["f"], by="bob")
    outcome = scene.away()
    assert (outcome.kind, outcome.reasons) == ("blocked", (Reason.MANDATORY_MISSING,))
    assert state(scene) is DutyState.OBSTRUCTED
    assert outcome.decision.absent == ("f" if obstacle == "frontier" else "o",)


def test_a_frontier_that_starts_next_week_does_not_replace_todays() -> None:
    scene = Scene()
    scene.covered()
    scene.frontier("today")
    later = scene.news("Next week it will be different.")
    scene.frontier("next", sources=[later], valid_from=START + 7 * DAY)
    outcome = scene.away()
    assert outcome.view is not None
    assert [item.id for item in outcome.view.items] == ["o", "today", "h"]
    scene.wait(8 * DAY)
    outcome = scene.away()
    assert outcome.view is not None
    assert [item.id for item in outcome.view.items] == ["o", "next", "h"]


def test_settled_and_withdrawn_duties_are_listed() -> None:
    scene = Scene()
    scene.duty()
    scene.duty("o2")
    scene.team.settle("o", by="bob")
    scene.team.revoke("o2", by="bob")
    assert scene.away().admitted
    assert (state(scene), state(scene, "o2")) == (DutyState.SETTLED, DutyState.REVOKED)


def test_a_duty_of_another_role_is_listed_as_somebody_elses() -> None:
    scene = Scene()
    scene.duty(roles=["planner"])
    scene.depart("planner")
    assert scene.come_back("booker").admitted
    assert state(scene) is DutyState.OTHERS


# Nothing owed, constraints, fill.


@pytest.mark.parametrize(
    ("fill", "kind", "items"),
    [("nothing_owed", "admitted", ["new", "old"]), ("never", "admitted", []), ("block", "blocked", None)],
)
def test_the_policy_says_what_a_return_gets_to_which_no_duty_applies(
    fill: str, kind: str, items: list[str] | None
) -> None:
    scene = Scene(returns={"fill": fill})
    scene.fact("old", sources=[scene.team.observe("old", by="bob", at=START - DAY)])
    scene.fact("new", sources=[scene.team.observe("new", by="bob")])
    outcome = scene.away()
    assert outcome.kind == kind
    shown = None if outcome.view is None else [item.id for item in outcome.view.items]
    assert shown == (items if items is None else sorted(items, reverse=True))
    if kind == "blocked":
        assert outcome.reasons == (Reason.NOTHING_OWED,)


def test_nothing_owed_blocks_even_where_an_incomplete_admission_starts_afresh() -> None:
    scene = Scene(returns={"fill": "block", "on_incomplete": "reset"})
    assert scene.away().kind == "blocked"


def test_constraints_that_apply_are_always_in_the_view() -> None:
    scene = Scene()
    scene.covered()
    scene.fact("quiet", kind="role_constraint", roles=["planner"])
    scene.fact("others", kind="role_constraint", roles=["auditor"])
    outcome = scene.away()
    assert outcome.view is not None
    assert {item.id for item in outcome.view.items} == {"o", "h", "quiet"}
    assert scene.reasons("quiet") == (Reason.MANDATORY,)


def test_constraints_as_needed_are_the_papers_way() -> None:
    scene = Scene(paper={"constraints": "as_needed"})
    scene.covered()
    scene.fact("quiet", kind="role_constraint")
    outcome = scene.away()
    assert outcome.view is not None
    assert {item.id for item in outcome.view.items} == {"o", "h"}


def test_a_constraint_without_room_blocks_by_name() -> None:
    scene = Scene(budgets={"items": 2})
    scene.covered()
    scene.fact("quiet", kind="role_constraint")
    outcome = scene.away()
    assert (outcome.kind, outcome.reasons) == ("blocked", (Reason.BUDGET_SHORT,))
    assert outcome.decision.absent == ("quiet",)


def test_a_constraint_that_covers_what_a_fact_covers_makes_room() -> None:
    scene = Scene(budgets={"items": 2})
    scene.covered(text="h")
    scene.fact("quiet", kind="role_constraint", supports=["d"])
    outcome = scene.away()
    assert outcome.view is not None
    assert {item.id for item in outcome.view.items} == {"o", "quiet"}


# Less to declare.


def test_a_slot_is_a_dependency() -> None:
    scene = Scene()
    scene.duty(required=("hotel",), critical=["hotel"])
    scene.fact("sunrise", slot="hotel")
    outcome = scene.away()
    assert outcome.view is not None
    assert [item.id for item in outcome.view.items] == ["o", "sunrise"]
    scene.team.revoke("sunrise", by="bob")
    assert scene.away().missing == ("hotel",)


def test_a_replacement_that_says_not_yet_does_not_cover() -> None:
    scene = Scene()
    scene.duty(required=("d_p",))
    scene.fact("p0", slot="pickup", supports=["d_p"])
    scene.fact("p1", text="Pickup still to be confirmed", slot="pickup", sources=[scene.news("Not yet.")])
    assert scene.away().missing == ("d_p",)


# By whole duties.


def partial(**policy: Any) -> Scene:
    scene = Scene(**{"returns": {"on_incomplete": "partial"}, **policy})
    scene.duty("o_h", required=("d_h", "d_c"), critical=["d_h"])
    scene.duty("o_t", required=("d_t", "d_p", "d_c"), critical=["d_t", "d_p"])
    for name in ("d_h", "d_c", "d_t"):
        scene.fact(f"for_{name}", supports=[name])
    return scene


def test_whole_duties_are_handed_over_and_the_rest_is_named() -> None:
    scene = partial()
    outcome = scene.away()
    assert outcome.kind == "admitted"
    assert outcome.view is not None
    assert [item.id for item in outcome.view.items] == ["o_h", "for_d_h", "for_d_c"]
    assert (outcome.view.partial, outcome.view.withheld, outcome.missing) == (True, ("o_t",), ("d_p",))
    assert note(scene, "o_t") == DutyNote(obligation="o_t", state=DutyState.OWED, lacks=("d_p",))
    assert scene.reasons("for_d_t") == (Reason.WITHHELD,)
    assert scene.reasons("o_t") == (Reason.WITHHELD,)
    prompt = outcome.expose().markdown()
    assert "Partial" in prompt
    assert "`o_t`" in prompt
    assert "the text of o_t" not in prompt
    assert "the text of for_d_t" not in prompt


def test_a_partial_view_is_checked_again_at_exposure() -> None:
    scene = partial()
    outcome = scene.away()
    scene.team.revoke("for_d_h", by="bob")
    with pytest.raises(ExposureError) as refused:
        outcome.expose()
    assert refused.value.reasons == (Reason.VIEW_OUTDATED,)


def test_the_most_critical_duties_come_first_then_the_oldest() -> None:
    scene = partial(budgets={"items": 4})
    scene.fact("for_d_p", supports=["d_p"])
    outcome = scene.away()
    assert outcome.view is not None
    assert outcome.view.items[0].id == "o_t"
    assert outcome.view.withheld == ("o_h",)


def test_without_a_whole_duty_it_blocks() -> None:
    scene = Scene(returns={"on_incomplete": "partial"})
    scene.duty()
    outcome = scene.away()
    assert (outcome.kind, outcome.reasons, outcome.missing) == ("blocked", (Reason.COVERAGE_SHORT,), ("d",))


def test_what_was_needed_is_withheld_and_not_called_unneeded() -> None:
    scene = Scene()
    scene.duty(required=("d", "e"))
    scene.fact("h", supports=["d"])
    scene.fact("other")
    scene.away()
    assert scene.reasons("h") == (Reason.WITHHELD,)
    assert scene.disposition("h").state == "withheld"
    assert scene.reasons("other") == (Reason.NOT_NEEDED,)


def test_gamma_below_one_still_says_which_duty_was_not_met() -> None:
    scene = Scene(paper={"gamma": Decimal("0.5"), "rho": Decimal(0)})
    scene.covered()
    scene.duty("o2", required=("e",))
    assert scene.away().admitted
    assert (note(scene).handed_over, note(scene, "o2").handed_over) == (True, False)
    assert note(scene, "o2").lacks == ("e",)


# Marked, and checked again.


def test_an_overdue_duty_is_marked_in_the_view_and_the_prompt() -> None:
    scene = Scene()
    scene.covered()
    scene.team.close_validity("o", end=START + HOUR, by="bob")
    scene.wait(2 * HOUR)
    outcome = scene.away()
    assert outcome.view is not None
    assert outcome.view.overdue == ("o",)
    bundle = outcome.expose()
    assert "- Overdue: `o`" in bundle.markdown()
    assert '"overdue":["o"]' in bundle.json()


def test_the_frontier_of_a_purposed_duty_comes_with_it_when_no_purpose_is_given() -> None:
    scene = Scene(returns={"require_frontier": True})
    scene.duty(purposes=["book"])
    scene.frontier(purposes=["book"])
    scene.fact("h", supports=["d"])
    outcome = scene.away()
    assert outcome.view is not None
    assert [item.id for item in outcome.view.items] == ["o", "f", "h"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"returns": {"fill": "block"}}, Reason.NOTHING_OWED),
        ({"returns": {"examination": "required"}}, Reason.NOT_EXAMINED),
    ],
)
def test_what_a_fresh_return_would_not_be_given_is_not_handed_over(change: dict[str, Any], reason: Reason) -> None:
    scene = Scene()
    outcome = scene.away()
    scene.team.as_owner().admin.govern(scene.team.admin.policy.changed(**change))
    with pytest.raises(ExposureError) as refused:
        outcome.expose()
    assert refused.value.reasons == (reason,)
    assert scene.come_back().reasons == (reason,)


def test_nothing_of_a_withheld_duty_fills_a_partial_view() -> None:
    scene = partial(returns={"on_incomplete": "partial", "fill": "always"})
    scene.fact("aside")
    outcome = scene.away()
    assert outcome.view is not None
    assert {item.id for item in outcome.view.items} == {"o_h", "for_d_h", "for_d_c", "aside"}
    assert scene.reasons("for_d_t") == (Reason.WITHHELD,)


def test_a_constraint_that_was_said_again_is_handed_over_once() -> None:
    scene = Scene(budgets={"items": 3})
    scene.covered()
    scene.fact("quiet", text="Be quiet.", kind="role_constraint")
    scene.fact("again", text="Be quiet.", kind="role_constraint", sources=[scene.news("Still so.")])
    outcome = scene.away()
    assert outcome.view is not None
    assert {item.id for item in outcome.view.items} == {"o", "h", "again"}
    assert {item.id for item in outcome.expose().items} == {"o", "h", "again"}
