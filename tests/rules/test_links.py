"""What links make an item evidence for: whose count, which of two decides, and what never rests on a model's word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit import Pair, Reason
from readmit.errors import ExposureError, NotAllowedError, RecordError
from readmit.events import EventKind
from readmit.lab import Link, as_readmit
from readmit.rules.readmission.render import IN_DOUBT
from readmit.types import Drafted
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from readmit.types import DutyNote

QUOTE = "The hotel and the train confirm."
PLAN = Drafted(model="planner/plan@2")


def drawn(scene: Scene, item: str, need: str, **said: Any) -> None:
    """A link that a model drew."""
    link = Link(item=item, need=need, drafted="linker/link@1", **said)
    as_readmit(scene.team)._desk.writer.write(EventKind.LINK, link)


def note(scene: Scene, name: str = "o") -> DutyNote:
    assert scene.outcome is not None
    return next(one for one in scene.outcome.decision.duties if one.obligation == name)


# Links.


def test_a_link_makes_an_item_evidence_for_a_need() -> None:
    scene = Scene()
    scene.duty()
    scene.fact("h")
    scene.team.link("h", "d", by="bob")
    outcome = scene.away()
    assert outcome.admitted
    assert scene.reasons("h") == (Reason.COVERS,)
    assert [one.id for one in outcome.expose().items] == ["o", "h"]


def test_a_link_that_is_withdrawn_no_longer_counts_and_said_again_it_does() -> None:
    scene = Scene()
    scene.duty()
    scene.fact("h")
    scene.team.link("h", "d", by="bob")
    scene.team.link("h", "d", by="carl", withdrawn=True)
    assert scene.away().missing == ("d",)
    scene.team.link("h", "d", by="bob")
    assert scene.come_back().admitted


def test_a_model_does_not_take_back_what_somebody_said_of_a_link() -> None:
    scene = Scene()
    scene.duty()
    scene.fact("h")
    scene.team.link("h", "d", by="bob", withdrawn=True)
    drawn(scene, "h", "d")
    assert scene.away().missing == ("d",)
    scene.team.link("h", "d", by="bob")
    drawn(scene, "h", "d", withdrawn=True)
    assert scene.come_back().admitted


def test_a_link_by_an_outsider_or_dated_ahead_does_not_count() -> None:
    scene = Scene(evidence={"writers": ("bob",)})
    scene.duty()
    scene.fact("h")
    scene.team.link("h", "d", by="eve")
    scene.team.link("h", "d", by="bob", at=scene.now + HOUR)
    assert scene.away().missing == ("d",)
    scene.wait(2 * HOUR)
    assert scene.come_back().admitted


@pytest.mark.parametrize(("drafts", "kind"), [("accept", "admitted"), ("confirm", "blocked"), ("refuse", "blocked")])
def test_the_policy_says_whether_a_drafted_link_counts(drafts: str, kind: str) -> None:
    scene = Scene(evidence={"drafts": drafts})
    scene.duty()
    scene.fact("h")
    drawn(scene, "h", "d")
    assert scene.away().kind == kind
    scene.team.link("h", "d", by="bob")
    assert scene.come_back().admitted


def test_a_critical_need_that_a_person_wrote_is_never_met_by_a_models_word() -> None:
    scene = Scene()
    scene.duty(required=("d", "e"), critical=("d",))
    scene.fact("h")
    drawn(scene, "h", "d")
    drawn(scene, "h", "e")
    outcome = scene.away()
    assert (outcome.kind, outcome.missing) == ("blocked", ("d",))
    # Also not because a model planned the same need.
    scene.duty("p", required=("d",), critical=("d",), drafted=PLAN)
    assert scene.come_back().missing == ("d",)
    scene.team.link("h", "d", by="bob")
    assert scene.come_back().admitted


def test_a_slot_that_a_model_chose_does_not_meet_what_a_person_called_critical() -> None:
    scene = Scene()
    scene.duty(required=("pickup", "hotel"), critical=("pickup",))
    said = scene.team.observe("The pickup is still open. The hotel is booked.", by="bob")
    for slot, quote in (("pickup", "The pickup is still open."), ("hotel", "The hotel is booked.")):
        drafted = Drafted(model="m/extract@3", quote=quote)
        scene.fact(slot, text=quote, slot=slot, sources=[said], drafted=drafted)
    outcome = scene.away()
    assert (outcome.kind, outcome.missing) == ("blocked", ("pickup",))
    (lack,) = outcome.why().lacks
    assert [remedy.call for remedy in lack.remedies] == ['workspace.link("pickup", "pickup", by="bob")']
    scene.team.link("pickup", "pickup", by="bob")
    outcome = scene.come_back()
    assert outcome.admitted
    assert {one.id for one in outcome.expose().items} == {"o", "pickup", "hotel"}


def test_a_confirmed_draft_meets_it_by_its_slot_and_a_planned_need_is_met_by_a_draft() -> None:
    scene = Scene()
    scene.duty(required=("pickup",), critical=("pickup",))
    scene.fact("x", text=QUOTE, slot="pickup", drafted=Drafted(model="m", quote=QUOTE))
    assert scene.away().missing == ("pickup",)
    scene.team.confirm("x", by="carl")
    assert scene.come_back().admitted
    planned = Scene()
    planned.duty(required=("pickup",), critical=("pickup",), drafted=PLAN)
    planned.fact("x", text=QUOTE, slot="pickup", drafted=Drafted(model="m", quote=QUOTE))
    assert planned.away().admitted


def test_a_draft_takes_over_nothing_from_what_it_replaces() -> None:
    scene = Scene()
    scene.fact("p0", slot="pickup.time", supports=["d"])
    with pytest.raises(RecordError, match="inherits: a draft takes over nothing"):
        scene.fact("p1", text=QUOTE, slot="pickup.time", inherits=True, drafted=Drafted(model="m", quote=QUOTE))


def test_a_link_proves_nothing_and_restores_nothing() -> None:
    scene = Scene()
    scene.duty()
    scene.fact("bare", sources=[])
    scene.fact("gone")
    scene.team.revoke("gone", by="bob")
    for item in ("bare", "gone"):
        scene.team.link(item, "d", by="bob")
    assert scene.away().missing == ("d",)
    assert scene.reasons("bare") == (Reason.UNPROVEN,)
    assert scene.reasons("gone") == (Reason.REVOKED,)


def test_a_link_that_is_withdrawn_before_exposure_stops_it() -> None:
    scene = Scene()
    scene.duty()
    scene.fact("h")
    scene.team.link("h", "d", by="bob")
    outcome = scene.away()
    scene.team.link("h", "d", by="bob", withdrawn=True)
    with pytest.raises(ExposureError) as refused:
        outcome.expose()
    assert refused.value.reasons == (Reason.VIEW_OUTDATED,)


def test_what_cannot_be_linked_or_confirmed_is_refused_by_name() -> None:
    scene = Scene()
    scene.duty()
    scene.fact("h")
    with pytest.raises(RecordError, match="'o' is what needs evidence"):
        scene.team.link("o", "d", by="bob")
    with pytest.raises(NotAllowedError, match="vouches for no link"):
        as_readmit(scene.team).link("h", "d")
    with pytest.raises(RecordError, match="'h' was not drafted by a model"):
        scene.team.confirm("h", by="bob")
    scene.fact("x", text=QUOTE, drafted=Drafted(model="m", quote=QUOTE))
    with pytest.raises(NotAllowedError, match="may not confirm"):
        as_readmit(scene.team).confirm("x")


def test_a_missing_dependency_names_the_items_that_were_linked_to_it() -> None:
    scene = Scene()
    scene.duty()
    scene.fact("h")
    scene.team.link("h", "d", by="bob")
    scene.depart()
    scene.team.revoke("h", by="bob")
    (lack,) = scene.come_back().why().lacks
    assert [one.item for one in lack.last] == ["h"]


# Needs that nobody ever met.


def test_a_planned_need_that_nobody_ever_met_is_an_open_question() -> None:
    scene = Scene()
    scene.duty(required=("d", "e"), critical=("e",), drafted=PLAN)
    scene.fact("h", supports=["d"])
    outcome = scene.away()
    assert outcome.admitted
    assert note(scene).questions == ("e",)
    view = outcome.decision.view
    assert view is not None
    assert view.questions == ("e",)
    assert "Open questions, which nobody has answered: `e`" in outcome.expose().markdown()


@pytest.mark.parametrize("how", ["revoked", "expired", "suspected"])
def test_a_planned_need_that_lost_its_support_asks_unless_a_person_made_it_critical(how: str) -> None:
    scene = Scene()
    scene.duty(required=("d", "e"), critical=("d",), drafted=PLAN)
    scene.fact("h", supports=["d"], valid_until=scene.now + HOUR if how == "expired" else None)
    scene.depart()
    if how == "revoked":
        scene.team.revoke("h", by="bob")
    if how == "suspected":
        scene.team.judge(Pair(item="h", evidence=scene.news("The hotel has closed.")), by="bob")
    scene.wait(2 * HOUR)
    outcome = scene.come_back()
    assert (outcome.kind, note(scene).questions) == ("admitted", ("d", "e"))
    # Nothing is dropped in silence: what fell is said.
    assert "h" in {one.id for one in outcome.retractions.listed}
    scene.duty("p", required=("d",), critical=("d",))
    assert scene.come_back().missing == ("d",)


def suspected_draft(scene: Scene) -> None:
    said = scene.news(QUOTE)
    scene.fact("x", text=QUOTE, supports=["d"], sources=[said], drafted=Drafted(model="m", quote=QUOTE))
    scene.depart()
    scene.team.judge(Pair(item="x", evidence=scene.news("The pickup may have moved.")), by="bob")


def test_a_suspicion_of_a_draft_is_said_beside_it() -> None:
    scene = Scene()
    scene.duty(drafted=PLAN)
    suspected_draft(scene)
    outcome = scene.come_back()
    assert outcome.decision.view is not None
    assert outcome.decision.view.doubted == ("x",)
    shown = outcome.expose()
    assert IN_DOUBT in shown.markdown()
    assert IN_DOUBT in shown.json()


def test_a_suspected_draft_comes_after_one_that_is_not() -> None:
    scene = Scene()
    scene.duty(drafted=PLAN)
    other = scene.news("The pickup is at noon.")
    drafted = Drafted(model="m", quote="The pickup is at noon.")
    scene.fact("y", text="The pickup is at noon.", supports=["d"], sources=[other], drafted=drafted)
    suspected_draft(scene)
    assert set(scene.come_back().items) == {"o", "y"}
    assert scene.reasons("x") == (Reason.NOT_NEEDED,)


def test_a_suspicion_takes_out_a_draft_that_supports_what_a_person_called_critical() -> None:
    scene = Scene()
    scene.duty(critical=("d",))
    suspected_draft(scene)
    assert scene.come_back().missing == ("d",)
    assert scene.reasons("x") == (Reason.SUSPECTED,)


def test_needs_that_people_wrote_or_confirmed_stay_strict() -> None:
    scene = Scene()
    scene.duty(drafted=PLAN)
    scene.team.confirm("o", by="ann")
    assert scene.away().admitted
    scene.team.confirm("o", by="carl")
    assert scene.come_back().missing == ("d",)


def test_an_answer_to_an_open_question_that_comes_before_exposure_stops_it() -> None:
    scene = Scene()
    scene.duty(drafted=PLAN)
    outcome = scene.away()
    scene.fact("h", supports=["d"])
    with pytest.raises(ExposureError) as refused:
        outcome.expose()
    assert refused.value.reasons == (Reason.VIEW_OUTDATED,)


# What took its place.


def replaced(scene: Scene, **fields: Any) -> None:
    """A needed fact fell by an observation, whose words were drafted as an item."""
    scene.fact("h", supports=["d"], **fields)
    scene.depart()
    news = scene.news()
    scene.verdict("h", news)
    drafted = Drafted(model="verifier/verify@3", quote="The hotel has closed.", instead_of="h")
    scene.fact("n", text="The hotel has closed.", sources=[news], drafted=drafted)


def test_what_took_the_place_of_a_needed_item_does_not_meet_the_need() -> None:
    scene = Scene()
    scene.duty()
    replaced(scene)
    outcome = scene.come_back()
    assert (outcome.kind, outcome.missing) == ("blocked", ("d",))
    (lack,) = outcome.why().lacks
    assert [one.item for one in lack.last] == ["h"]
    assert [(one.item, one.text) for one in lack.instead] == [("n", "The hotel has closed.")]


def test_what_took_the_place_of_a_needed_item_comes_along() -> None:
    scene = Scene()
    scene.duty()
    scene.fact("other", supports=["d"])
    replaced(scene)
    outcome = scene.come_back()
    assert outcome.admitted
    assert scene.reasons("n") == (Reason.COVERS,)
    assert {one.id for one in outcome.expose().items} == {"o", "other", "n"}


def test_it_stays_out_where_something_newer_meets_the_need() -> None:
    scene = Scene()
    scene.duty()
    replaced(scene)
    later = scene.news("The hotel opens again.")
    scene.fact("again", supports=["d"], sources=[later])
    assert scene.come_back().admitted
    assert scene.reasons("n") == (Reason.NOT_NEEDED,)


def test_with_a_link_of_its_own_it_meets_a_planned_need() -> None:
    scene = Scene()
    scene.duty(critical=("d",), drafted=PLAN)
    replaced(scene)
    drawn(scene, "n", "d")
    assert scene.come_back().admitted
    assert scene.reasons("n") == (Reason.COVERS,)


def test_it_stays_out_where_nothing_needs_what_fell() -> None:
    scene = Scene()
    scene.duty(required=("e",))
    scene.fact("other", supports=["e"])
    replaced(scene)
    assert scene.come_back().admitted
    assert scene.reasons("n") == (Reason.NOT_NEEDED,)


def test_a_partial_view_holds_only_what_took_the_place_of_something_its_duties_need() -> None:
    scene = Scene(returns={"on_incomplete": "partial"})
    scene.duty("o", required=("d",))
    scene.duty("p", required=("e",))
    scene.fact("other", supports=["e"])
    replaced(scene)
    outcome = scene.come_back()
    assert outcome.admitted
    assert {one.id for one in outcome.expose().items} == {"p", "other"}
    assert msgspec.structs.asdict(note(scene))["handed_over"] is False
