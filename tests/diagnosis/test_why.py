"""What ``why`` says of a return, in which order, and what it leaves to others."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from readmit.diagnosis import sight
from readmit.diagnosis.like_names import alike
from readmit.errors import UnknownError
from readmit.returning import desk as returning
from readmit.types import Drafted, Trouble
from tests.scene import Scene

if TYPE_CHECKING:
    from readmit.types import Diagnosis, Symptom


def troubles(found: Diagnosis) -> list[Trouble]:
    return [one.trouble for one in found.symptoms]


def of(found: Diagnosis, trouble: Trouble) -> Symptom:
    return next(one for one in found.symptoms if one.trouble is trouble)


def test_what_is_missing_comes_first_and_says_who_last_supplied_it() -> None:
    scene = Scene()
    scene.duty(critical=("d",))
    scene.fact("h", supports=["d"])
    scene.depart()
    scene.team.revoke("h", by="bob", reason="they called")
    found = scene.come_back().why()
    assert found.says.startswith(f"Return {found.return_id} of ann (planner, trip) was blocked. Eligible evidence does")
    first, second = found.symptoms[:2]
    assert (first.trouble, first.about) == (Trouble.LACKS, ("d", "o"))
    assert first.says == "o requires d as critical, and nothing eligible supplies it."
    assert first.grounds == ("bob last supplied it by h “the text of h”, which is revoked.",)
    assert (second.trouble, second.about) == (Trouble.TAKEN_OUT, ("h", "d"))
    assert "bob withdrew it at epoch 7: they called." in second.grounds[0]


def test_critical_missing_dependencies_come_first() -> None:
    scene = Scene()
    scene.duty("o1", ("a", "b"), critical=("b",))
    assert [one.about[0] for one in scene.away().why().symptoms if one.trouble is Trouble.LACKS] == ["b", "a"]


def test_a_verdict_is_shown_with_both_quotes() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.verdict("h", scene.news())
    assert "“the text” against “hotel”." in of(scene.come_back().why(), Trouble.TAKEN_OUT).grounds


def test_without_an_overseer_nobody_is_asked_to_restore() -> None:
    scene = Scene(evidence={"overseers": ()})
    scene.covered()
    scene.depart()
    scene.team.revoke("h", by="bob")
    out = of(scene.come_back().why(), Trouble.TAKEN_OUT)
    assert out.remedies == ()
    assert "names no overseer" in out.grounds[-1]


def test_the_returning_agent_is_not_asked_to_overrule_for_itself() -> None:
    scene = Scene(evidence={"overseers": ("ann",)})
    scene.covered()
    scene.depart()
    scene.team.revoke("h", by="bob")
    assert of(scene.come_back().why(), Trouble.TAKEN_OUT).remedies == ()


def test_what_was_fixed_since_needs_only_another_return() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.team.revoke("h", by="bob")
    blocked = scene.come_back()
    scene.fact("h1", supports=["d"])
    found = blocked.why()
    assert troubles(found) == [Trouble.MENDED, Trouble.LACKS]
    assert found.symptoms[0].remedies[0].command == "readmit return --principal ann --role planner --task trip"
    assert found.symptoms[1].remedies == ()


def test_what_was_fixed_in_part_says_which_part() -> None:
    scene = Scene()
    scene.duty(required=("d", "e"))
    blocked = scene.away()
    scene.fact("h", supports=["d"])
    found = blocked.why()
    assert found.symptoms[0].says == "Since the return, d has been met; more is lacking."
    assert of(found, Trouble.LACKS).about == ("e", "o")


def test_a_return_that_a_later_one_made_up_for_needs_nothing() -> None:
    scene = Scene()
    scene.duty()
    blocked = scene.away()
    scene.fact("h", supports=["d"])
    later = scene.come_back()
    later.expose()
    found = blocked.why()
    assert troubles(found) == [Trouble.BACK, Trouble.LACKS]
    assert later.id in found.symptoms[0].says


def test_an_admitted_return_is_missing_nothing() -> None:
    scene = Scene()
    scene.covered()
    found = scene.away().why()
    assert found.says.endswith("was admitted: nothing is missing.")
    assert found.symptoms == ()


def test_an_admitted_return_names_what_was_left_out_and_can_be_fixed() -> None:
    scene = Scene()
    scene.covered()
    for number in range(5):
        scene.fact(f"u{number}", sources=[])
    scene.fact("gone")
    scene.team.revoke("gone", by="bob")
    found = scene.away().why()
    assert [one.about for one in found.symptoms] == [("u4",), ("u3",), ("u2",)]
    assert found.symptoms[-1].grounds[-1] == "2 more like it."


def test_an_empty_view_is_explained() -> None:
    scene = Scene()
    scene.duty("done")
    scene.team.settle("done", by="bob")
    found = scene.away().why()
    assert found.says.endswith("was admitted with an empty view.")
    assert of(found, Trouble.NOTHING_OWED).grounds == ("done is settled.",)
    assert of(found, Trouble.POLICY).says.endswith("(returns.fill = never).")


def test_a_duty_that_has_not_begun_says_when_it_does() -> None:
    scene = Scene()
    scene.duty(valid_from=scene.now + timedelta(days=1))
    begins = of(scene.away().why(), Trouble.TIME)
    assert (begins.grounds[-1], begins.remedies) == ("It begins at 2026-03-02T09:00:00+00:00.", ())


def test_a_partial_return_says_what_is_withheld_and_why() -> None:
    scene = Scene(returns={"on_incomplete": "partial"})
    scene.covered()
    scene.duty("o2", ("e",))
    found = scene.away().why()
    assert found.says.endswith("was admitted in part: o2 left out.")
    assert of(found, Trouble.LACKS).about == ("e", "o2")


def test_a_failed_preparation_is_a_fault_with_its_name() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    failed = scene.ann().come_back(prepare=lambda *_, **__: 1 / 0)
    fault = of(failed.why(), Trouble.FAULT)
    assert (fault.about, fault.grounds) == (("internal_error",), ("ZeroDivisionError",))


def test_a_cycle_that_fails_again_is_a_fault_and_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    monkeypatch.setattr(returning, "decide", lambda *_, **__: 1 / 0)
    fault = of(scene.ann().come_back().why(), Trouble.FAULT)
    assert (fault.about, fault.grounds) == (("internal_error",), ("ZeroDivisionError",))
    assert fault.remedies[0].command.endswith("--task trip --debug")


def test_a_clock_that_lags_is_a_fault_with_both_times() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.wait(timedelta(hours=-2))
    assert "max_clock_skew" in of(scene.come_back().why(), Trouble.FAULT).grounds[0]


def test_two_slots_that_differ_in_case_stand_side_by_side() -> None:
    scene = Scene()
    scene.covered(slot="hotel")
    scene.fact("h2", slot="Hotel")
    pair = of(scene.away().why(), Trouble.SAME_SLOT)
    assert pair.about == ("h", "h2")
    assert pair.remedies[0].command == "readmit supersede h h2 --by bob"


def test_what_a_private_item_says_is_never_looked_at() -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    scene.fact("@bob/secret", slot="hotel", principals=["eve"], private=True, text="the safe is behind the picture")
    text = str(scene.away().why())
    assert "@bob/secret" not in text
    assert "safe" not in text


def test_an_item_out_of_sight_is_named_and_not_quoted() -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    scene.fact("theirs", slot="hotel", roles=["driver"], text="the code is 4711")
    text = str(scene.away().why())
    assert "theirs, written by bob, supplies hotel for role 'driver' only." in text
    assert "4711" not in text


def test_what_was_withdrawn_elsewhere_is_no_near_miss() -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    scene.fact("h", slot="hotel", task="another")
    scene.duty("theirs", roles=["guide"])
    scene.team.revoke("h", by="bob")
    scene.team.settle("theirs", by="bob")
    assert Trouble.OUT_OF_SIGHT not in troubles(scene.away().why())


def test_a_slot_that_a_model_chose_needs_the_word_of_a_person() -> None:
    scene = Scene()
    quote = "The hotel and the train confirm."
    scene.duty(required=("hotel",), critical=("hotel",))
    scene.fact("h", text=quote, slot="hotel", drafted=Drafted(model="m", quote=quote))
    claimed = of(scene.away().why(), Trouble.DRAFTED)
    assert claimed.says == "o requires hotel as critical; a model alone chose the slot of what supplies it."
    assert claimed.remedies[0].command == "readmit link h hotel --by bob"


def test_a_policy_that_asks_for_less_says_so() -> None:
    scene = Scene(paper={"gamma": Decimal("0.5"), "rho": Decimal(0), "newest": "as_needed"})
    scene.covered()
    scene.duty("o2", ("e",))
    scene.fact("k" * 20, supports=["e"])
    found = scene.away().why()
    assert found.says.endswith("admitted, and the policy lets it lack e.")
    assert of(found, Trouble.POLICY).says == "o2 requires e; the policy's gamma and rho do not ask for it."


def test_what_was_not_looked_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sight, "AUDIENCES", 3)
    monkeypatch.setattr(sight, "READ", 1)
    monkeypatch.setattr(sight, "NEWEST", 2)
    scene = Scene()
    scene.duty()
    for number in range(3):
        for task in ("a", "b", "c"):
            scene.fact(f"{task}{number}", task=task)
    assert scene.away().why().not_looked_at == (
        "audiences beyond the first 3",
        "all but the newest 2 events of 1 other audience",
        "1 further audience, save for the slots that lack",
    )


def test_a_missing_slot_is_looked_up_under_every_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sight, "READ", 0)
    scene = Scene()
    scene.duty(required=("hotel",))
    scene.fact("h", slot="hotel", task="another")
    scene.fact("@bob/own", slot="hotel", principals=["eve"], private=True, task="another")
    assert of(scene.away().why(), Trouble.OUT_OF_SIGHT).about == ("h", "hotel")


def test_nothing_is_written() -> None:
    scene = Scene()
    scene.duty()
    blocked = scene.away()
    epoch, rows = scene.team.epoch, scene.team._desk.log.audit.last
    blocked.why()
    scene.team.doctor()
    assert (scene.team.epoch, scene.team._desk.log.audit.last) == (epoch, rows)


def test_a_return_that_never_was_is_unknown() -> None:
    with pytest.raises(UnknownError, match="no return 'r'"):
        Scene().team.returned("r").why()


def test_words_of_others_cannot_command_a_terminal() -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    scene.fact("h", slot="Hotel", text="a\x1b[2Jb\nc")
    assert "\x1b" not in str(scene.away().why())


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("hotel", "Hotel", True),
        ("d_hotel", "d-hotel", True),
        ("family-trip", "family trip", True),
        ("planner", "planer", True),
        ("hotel", "hotel", False),
        ("task-1", "task-2", False),
        ("h0", "h1", False),
        ("d_h", "d_t", False),
        ("hotel", "pickup", False),
        ("-", "_", False),
    ],
)
def test_names_that_may_be_one(one: str, other: str, *, same: bool) -> None:
    assert alike(one, other) is same


def test_a_fault_of_then_that_is_one_of_now_is_named_once() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.wait(timedelta(days=2))
    scene.news()
    scene.wait(-timedelta(days=2))
    assert troubles(scene.come_back().why()) == [Trouble.FAULT]
