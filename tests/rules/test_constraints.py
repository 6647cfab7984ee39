"""Constraints fail closed, as duties do: an obstacle blocks by name, and only a constraint replaces a constraint."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from readmit import DutyState, Pair, Reason
from readmit.errors import ExposureError, NotAllowedError, RecordError
from readmit.sources import File
from readmit.types import ConstraintNote
from tests.scene import HOUR, START, Scene

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = timedelta(days=1)
KINDS = ("role_constraint", "interface_constraint")


def limited(
    kind: str = "role_constraint",
    *,
    id: str = "c",
    by: str = "bob",
    policy: dict[str, Any] | None = None,
    **fields: Any,
) -> Scene:
    """A team with a covered duty and one constraint, c."""
    scene = Scene(**(policy or {}))
    scene.covered()
    scene.fact(id, text="never pay over 300", kind=kind, by=by, **{"slot": "limit", **fields})
    return scene


def note(scene: Scene, name: str = "c") -> ConstraintNote:
    assert scene.outcome is not None
    return next(one for one in scene.outcome.constraints if one.constraint == name)


def state(scene: Scene, name: str = "c") -> DutyState:
    return note(scene, name).state


def shown(scene: Scene) -> set[str]:
    assert scene.outcome is not None
    return set(scene.outcome.items)


def change(scene: Scene, **policy: Any) -> None:
    scene.team.as_owner().admin.govern(scene.team.admin.policy.changed(**policy))


# An obstacle blocks, by name.

OBSTACLES: dict[str, tuple[Reason, str, Callable[[Scene], object]]] = {
    "a dispute by anyone": (Reason.DISPUTED, "eve", lambda it: it.team.dispute(["c"], by="eve")),
    "a suspicion": (Reason.SUSPECTED, "eve", lambda it: it.team.judge(Pair(item="c", evidence=it.news()), by="eve")),
    "a verdict": (
        Reason.PREMISE_CHANGED,
        "worker",
        lambda it: it.verdict("c", it.news(), item_quote="never pay", evidence_quote="closed"),
    ),
    "a fallen premise": (Reason.PREMISE_CHANGED, "eve", lambda it: it.team.revoke("p", by="eve")),
    "its size": (Reason.TOO_LARGE, "", lambda it: change(it, budgets={"item_chars": 17})),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nothing_owed", [False, True], ids=["duties", "no duty"])
@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_an_obstructed_constraint_blocks_by_name(obstacle: str, kind: str, nothing_owed: bool) -> None:
    reason, cause, happens = OBSTACLES[obstacle]
    scene = Scene()
    if not nothing_owed:
        scene.covered()
    scene.fact("p")
    scene.fact("c", text="never pay over 300", kind=kind, slot="limit", depends_on=["p"])
    assert scene.away().admitted
    assert "c" in shown(scene)
    happens(scene)
    outcome = scene.away()
    assert (outcome.kind, outcome.reasons) == ("blocked", (Reason.MANDATORY_MISSING,))
    assert (outcome.decision.absent, note(scene)) == (
        ("c",),
        ConstraintNote(constraint="c", state=DutyState.OBSTRUCTED),
    )
    (lack,) = outcome.why().lacks
    assert (lack.name, lack.kind, lack.duties) == ("c", "constraint", ())
    assert lack.last[0].reasons == (reason,)
    assert cause in " ".join(lack.last[0].why)
    assert lack.remedies
    assert str(outcome.explain("c")).startswith("c: obstructed. ")
    said = str(outcome.why())
    assert "The constraint c has to be handed over and cannot be" in said
    assert cause in said


def test_a_plain_fact_in_its_slot_replaces_no_constraint() -> None:
    scene = limited()
    scene.fact("f", slot="limit", by="eve", text="the limit is 9000", sources=[scene.news()])
    assert scene.away().admitted
    assert (shown(scene), state(scene)) == ({"o", "h", "c"}, DutyState.OWED)


def test_another_constraint_in_its_slot_replaces_a_constraint() -> None:
    scene = limited()
    scene.fact("c2", slot="limit", kind="interface_constraint", sources=[scene.news()])
    assert scene.away().admitted
    assert shown(scene) == {"o", "h", "c2"}
    assert (state(scene), scene.reasons("c")) == (DutyState.SUPERSEDED, (Reason.SLOT_UPDATED,))


def test_a_contested_slot_blocks_and_names_both() -> None:
    scene = limited()
    scene.fact("c2", slot="limit", kind="role_constraint", sources=[scene.news()])
    scene.team.dispute(["c2"], by="eve")
    assert not scene.away().admitted
    assert scene.outcome is not None
    assert set(scene.outcome.decision.absent) == {"c", "c2"}


def test_a_constraint_without_evidence_blocks_until_it_is_said_with_a_source() -> None:
    scene = limited(sources=[])
    assert not scene.away().admitted
    assert (state(scene), scene.reasons("c")) == (DutyState.OBSTRUCTED, (Reason.UNPROVEN,))
    scene.fact("again", text="never pay over 300", kind="role_constraint", slot="limit")
    assert scene.away().admitted
    assert (shown(scene), state(scene)) == ({"o", "h", "again"}, DutyState.SUPERSEDED)


def test_a_later_constraint_replaces_one_without_evidence_and_an_earlier_one_does_not() -> None:
    scene = limited(sources=[])
    scene.fact("c2", kind="role_constraint", slot="limit")
    assert scene.away().admitted
    scene.fact("c3", kind="role_constraint", slot="limit", sources=[])
    assert not scene.away().admitted
    assert (state(scene, "c2"), state(scene, "c3")) == (DutyState.OWED, DutyState.OBSTRUCTED)


def test_said_again_from_later_evidence_a_disputed_constraint_stands() -> None:
    scene = limited()
    scene.team.dispute(["c"], by="eve")
    scene.fact("again", text="never pay over 300", kind="role_constraint", slot="limit", sources=[scene.news()])
    assert scene.away().admitted
    assert (shown(scene), state(scene)) == ({"o", "h", "again"}, DutyState.SUPERSEDED)


def test_a_changed_source_obstructs_a_constraint(tmp_path: Any) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("Never pay over 300.")
    scene = Scene(tmp_path / "team.db")
    scene.covered()
    read = scene.team.observe(probe=File(rules), by="bob")
    scene.fact("c", text="Never pay over 300.", kind="role_constraint", sources=[read])
    assert scene.away().admitted
    rules.write_text("Pay whatever they ask.")
    outcome = scene.away()
    assert (outcome.kind, outcome.decision.absent) == ("blocked", ("c",))
    assert scene.reasons("c") == (Reason.SOURCE_CHANGED,)


# Whom it binds, and when.

APPLIES: dict[str, tuple[dict[str, Any], dict[str, Any], DutyState]] = {
    "no purpose given": ({"purposes": ["book"]}, {}, DutyState.OWED),
    "its purpose": ({"purposes": ["book"]}, {"purpose": "book"}, DutyState.OWED),
    "another purpose": ({"purposes": ["book"]}, {"purpose": "audit"}, DutyState.OTHER_PURPOSE),
    "expired": ({"valid_until": START + HOUR}, {}, DutyState.EXPIRED),
    "not begun": ({"valid_from": START + DAY}, {}, DutyState.NOT_BEGUN),
    "another role": ({"roles": ["cook"]}, {}, DutyState.OTHERS),
    "another task": ({"applies_to": ["tax"]}, {}, DutyState.OTHER_TASK),
    "private to the agent": ({"principals": ["ann"], "private": True}, {}, DutyState.OWED),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", APPLIES)
def test_whom_a_constraint_binds(case: str, kind: str) -> None:
    fields, asked, expected = APPLIES[case]
    scene = limited(kind, id="@bob/c", **fields)
    scene.fact("audited", purposes=["audit", "book"])
    scene.wait(2 * HOUR)
    scene.depart()
    outcome = scene.come_back(**asked)
    assert outcome.admitted
    if expected is not DutyState.OTHERS:
        found = note(scene, "@bob/c")
        assert found == ConstraintNote(constraint="@bob/c", state=expected, handed_over=expected.owed)
    assert ("@bob/c" in shown(scene)) == expected.owed


def test_an_author_outside_the_writers_imposes_nothing() -> None:
    scene = limited(by="eve", policy={"evidence": {"writers": ("bob",)}})
    assert scene.away().admitted
    assert state(scene) is DutyState.NOT_IMPOSED


def test_a_constraint_whose_author_left_the_writers_during_the_absence_blocks_and_is_named() -> None:
    scene = limited(by="carl", policy={"evidence": {"writers": ("bob", "carl")}})
    scene.depart()
    change(scene, evidence={"writers": ("bob",)})
    outcome = scene.come_back()
    assert (outcome.kind, outcome.decision.absent) == ("blocked", ("c",))
    assert state(scene) is DutyState.OBSTRUCTED


def test_evidence_from_outside_the_writers_obstructs_what_an_allowed_author_imposes() -> None:
    scene = Scene(evidence={"writers": ("bob",)})
    scene.covered()
    outside = scene.team.observe("Never pay over 300.", by="eve")
    scene.fact("c", kind="role_constraint", sources=[outside])
    assert not scene.away().admitted
    assert state(scene) is DutyState.OBSTRUCTED


def test_kinds_never_drop_a_constraint() -> None:
    scene = limited(policy={"paper": {"kinds": ("fact",)}})
    assert scene.away().admitted
    assert "c" in shown(scene)


def test_constraints_as_needed_are_evidence_like_any_other() -> None:
    scene = limited(policy={"paper": {"constraints": "as_needed"}})
    scene.team.dispute(["c"], by="eve")
    assert scene.away().admitted
    assert scene.outcome is not None
    assert scene.outcome.constraints == ()
    scene.team.revoke("c", by="eve")


def test_an_obstructed_constraint_leaves_no_partial_view() -> None:
    scene = limited(policy={"returns": {"on_incomplete": "partial"}})
    scene.duty("o2", required=("lacking",))
    assert scene.away().partial
    scene.team.dispute(["c"], by="eve")
    outcome = scene.away()
    assert (outcome.kind, outcome.decision.absent) == ("blocked", ("c",))


@pytest.mark.parametrize("fill", ["nothing_owed", "never"])
def test_with_nothing_owed_an_obstructed_constraint_blocks(fill: str) -> None:
    scene = Scene(returns={"fill": fill})
    scene.fact("h")
    scene.fact("c", kind="role_constraint")
    assert scene.away().admitted
    assert "c" in shown(scene)
    scene.team.dispute(["c"], by="eve")
    assert scene.away().reasons == (Reason.MANDATORY_MISSING,)


# Between decision and exposure.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("between", ["disputed", "added", "added and disputed", "replaced", "withdrawn"])
def test_a_constraint_that_changes_between_decision_and_exposure_refuses_the_exposure(between: str, kind: str) -> None:
    scene = limited(kind)
    outcome = scene.away()
    assert outcome.admitted
    match between:
        case "disputed":
            scene.team.dispute(["c"], by="eve")
        case "replaced":
            scene.fact("c2", kind=kind, slot="limit", sources=[scene.news()])
        case "withdrawn":
            scene.team.revoke("c", by="bob")
        case _:
            scene.fact("c2", kind=kind)
            if between != "added":
                scene.team.dispute(["c2"], by="eve")
    with pytest.raises(ExposureError, match=r"view_outdated|view_outdated"):
        outcome.expose()


# Who ends one.

ENDS: dict[str, Callable[[Scene, str], object]] = {
    "revoke": lambda it, by: it.team.revoke("c", by=by),
    "close": lambda it, by: it.team.close_validity("c", end=START + HOUR, by=by),
    "supersede": lambda it, by: it.team.supersede("c", "c2", by=by),
    "resolve": lambda it, by: it.team.resolve(it.team.dispute(["c"], by="eve"), by=by),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("act", ENDS)
@pytest.mark.parametrize("by", ["bob", "boss", "eve", "ann"])
def test_its_author_and_the_overseers_end_a_constraint(act: str, by: str, kind: str) -> None:
    scene = limited(kind)
    scene.fact("c2", kind=kind)
    if by in {"eve", "ann"}:
        with pytest.raises(NotAllowedError, match="its author, 'bob', or by the overseers"):
            ENDS[act](scene, by)
        if act == "resolve":
            scene.team.resolve(scene.team.dispute(["c"], by="eve", id="other"), keep=["c"], by="boss")
            return
        assert scene.away().admitted
        assert "c" in shown(scene)
        return
    ENDS[act](scene, by)
    scene.wait(2 * HOUR)
    assert scene.away().admitted
    assert not state(scene).owed
    assert "c" not in shown(scene)


def test_an_author_that_is_away_ends_no_constraint_of_its_own_return() -> None:
    scene = limited(by="ann")
    scene.fact("c2", kind="role_constraint")
    scene.depart()
    for act in ENDS.values():
        with pytest.raises(NotAllowedError, match=r"come back first|its author"):
            act(scene, "ann")


@pytest.mark.parametrize("by", ["bob", "boss", "eve"])
def test_a_fact_takes_the_place_of_no_constraint(by: str) -> None:
    scene = limited()
    scene.fact("f")
    with pytest.raises(NotAllowedError if by == "eve" else RecordError, match="constraint"):
        scene.team.supersede("c", "f", by=by)
    with pytest.raises(RecordError, match="expects: 'c' is a constraint"):
        scene.fact("f2", slot="limit", by=by, expects="c")
    with pytest.raises(NotAllowedError if by == "eve" else RecordError, match="constraint"):
        scene.fact("f3", slot="limit", by=by, supersedes="c")
    scene.fact("f4", slot="limit", by=by, sources=[scene.news()])
    scene.fact("f5", slot="limit", by=by, sources=[scene.news("again")], expects="f4")
    assert scene.away().admitted
    assert state(scene) is DutyState.OWED


def test_to_repeat_a_constraint_and_withdraw_the_repetition_ends_nothing() -> None:
    scene = limited()
    for n, source in enumerate([scene.source, scene.news()]):
        again = scene.fact(
            f"e{n}", text="never pay over 300", kind="role_constraint", slot="limit", by="eve", sources=[source]
        )
        scene.team.revoke(again, by="eve")
    assert scene.away().admitted
    assert "c" in shown(scene)
    scene.team.revoke("c", by="bob")
    assert scene.away().admitted
    assert not {"c", "e0", "e1"} & shown(scene)


def test_what_two_wrote_ends_when_both_have_ended_it() -> None:
    scene = limited()
    scene.fact("e", text="never pay over 300", kind="role_constraint", slot="limit", by="eve")
    scene.team.revoke("c", by="bob")
    assert scene.away().admitted
    assert (shown(scene), state(scene)) == ({"o", "h", "e"}, DutyState.REVOKED)


@pytest.mark.parametrize("how", ["withdrawn", "expired", "closed", "for another role", "for another purpose"])
def test_a_constraint_of_somebody_else_replaces_it_only_while_it_binds_the_same_agent(how: str) -> None:
    scene = limited()
    narrower: dict[str, dict[str, Any]] = {
        "expired": {"valid_until": START + HOUR},
        "for another role": {"roles": ["cook"]},
        "for another purpose": {"purposes": ["audit"]},
    }
    fields = narrower.get(how, {})
    scene.fact("e", kind="role_constraint", slot="limit", by="eve", sources=[scene.news()], **fields)
    if how == "withdrawn":
        scene.team.revoke("e", by="eve")
    if how == "closed":
        scene.team.close_validity("e", end=START + HOUR, by="eve")
    scene.wait(2 * HOUR)
    assert scene.away().admitted
    assert "c" in shown(scene)


def test_a_constraint_for_one_purpose_stands_beside_the_general_one_if_no_purpose_is_given() -> None:
    scene = limited()
    scene.fact("b", kind="role_constraint", slot="limit", purposes=["book"], sources=[scene.news()])
    assert scene.away().admitted
    assert {"b", "c"} <= shown(scene)
    view = scene.away().expose().markdown()
    assert "- Only for: `book`" in view
    assert scene.away(purpose="book").admitted
    assert "c" not in shown(scene)


def test_what_its_own_author_put_in_its_place_ends_it_for_good() -> None:
    scene = limited()
    scene.fact("c2", kind="role_constraint", slot="limit", sources=[scene.news()], valid_until=START + HOUR)
    scene.wait(2 * HOUR)
    assert scene.away().admitted
    assert not {"c", "c2"} & shown(scene)
    assert (state(scene), state(scene, "c2")) == (DutyState.SUPERSEDED, DutyState.EXPIRED)


def test_a_constraint_that_nobody_could_impose_ends_no_other() -> None:
    scene = limited(policy={"evidence": {"writers": ("bob", "carl")}})
    scene.fact("c2", kind="role_constraint", by="carl")
    scene.team.supersede("c", "c2", by="bob")
    change(scene, evidence={"writers": ("bob",)})
    assert scene.away().admitted
    assert "c" in shown(scene)


@pytest.mark.parametrize(
    ("drafts", "expected"),
    [("refuse", DutyState.NOT_IMPOSED), ("confirm", DutyState.NOT_IMPOSED), ("accept", DutyState.OWED)],
)
def test_a_constraint_that_a_model_drafted_binds_as_the_policy_says(drafts: str, expected: DutyState) -> None:
    from readmit.types import Drafted

    scene = Scene(evidence={"drafts": drafts})
    said = scene.team.observe("Never pay over 300 for a night.", by="bob")
    drafted = Drafted(model="m", quote="Never pay over 300 for a night.")
    scene.fact("c", text="Never pay over 300 for a night.", kind="role_constraint", sources=[said], drafted=drafted)
    uncarried = Drafted(model="m", quote="nobody said this")
    scene.fact("u", text="Pay nothing.", kind="role_constraint", sources=[said], drafted=uncarried)
    assert scene.away().admitted
    assert (state(scene), state(scene, "u")) == (expected, DutyState.NOT_IMPOSED)
