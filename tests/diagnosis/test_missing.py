"""What a return lacked, as an operator sees it: every remedy is carried out here and must fix what is missing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit import Pair, Reason, State
from readmit.diagnosis.missing_needs import lacks_of
from readmit.diagnosis.trial import past
from tests.cli.run import paste
from tests.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from readmit.records.remedies import Remedy


@dataclass(frozen=True)
class Case:
    """A story up to the return, and what is lacking then."""

    story: Callable[[Scene], None]
    name: str
    kind: str
    last: tuple[str, ...] = ()
    says: str = ""
    """What one of the sentences about the last item says."""
    policy: tuple[tuple[str, Any], ...] = ()


def never(scene: Scene) -> None:
    scene.duty()
    scene.depart()


def withdrawn(scene: Scene) -> None:
    scene.covered(slot="hotel", task="trip")
    scene.depart()
    scene.team.revoke("h", by="bob", reason="they called")


def empty_slot(scene: Scene) -> None:
    scene.duty(required=("hotel",), critical=("hotel",))
    scene.fact("h", slot="hotel")
    scene.depart()
    scene.team.revoke("h", by="bob", reason="they called")


def slot_elsewhere(scene: Scene) -> None:
    scene.duty(required=("hotel",))
    scene.fact("h", slot="hotel", task="another")
    scene.depart()


def several(scene: Scene) -> None:
    scene.duty()
    for number in range(5):
        scene.fact(f"h{number}", supports=["d"])
    scene.depart()
    for number in range(5):
        scene.team.revoke(f"h{number}", by="bob")


def constraint_only(scene: Scene) -> None:
    scene.duty()
    scene.fact("c", kind="role_constraint", supports=["d"])
    scene.depart()
    scene.team.revoke("c", by="bob")


def out_of_room(scene: Scene) -> None:
    scene.covered(text="x" * 300)
    scene.depart()


def disputed_duty(scene: Scene) -> None:
    scene.covered()
    scene.depart()
    scene.team.dispute(["o"], by="bob", reason="is it ours?", id="q")


def lost_duty(scene: Scene) -> None:
    disputed_duty(scene)
    scene.team.resolve("q", keep=[], by="bob")


def suspected_duty(scene: Scene) -> None:
    scene.covered()
    scene.depart()
    scene.team.judge(Pair(item="o", evidence=scene.news()), by="bob")


def unfounded_duty(scene: Scene) -> None:
    scene.fact("p")
    scene.duty(depends_on=["p"])
    scene.fact("h", supports=["d"])
    scene.depart()
    scene.team.revoke("p", by="bob")


def unproven_duty(scene: Scene) -> None:
    scene.covered()
    scene.team.oblige("from eve", id="theirs", required=["d"], by="eve", task="trip")
    scene.depart()
    scene.team.admin.govern(scene.team.admin.policy.changed(evidence={"writers": ("bob", "boss")}), by="boss")


def large_duty(scene: Scene) -> None:
    scene.team.oblige("x" * 300, id="o", required=["d"], by="bob")
    scene.fact("h", supports=["d"])
    scene.depart()


def disputed_frontier(scene: Scene) -> None:
    scene.covered()
    scene.frontier()
    scene.depart()
    scene.team.dispute(["f"], by="bob")


def no_frontier(scene: Scene) -> None:
    scene.covered()
    scene.depart()


def crowded(scene: Scene) -> None:
    scene.covered()
    for number in range(3):
        scene.fact(f"c{number}", kind="role_constraint")
    scene.depart()


CASES = {
    "nothing ever met it": Case(never, "d", "dependency"),
    "what met it was withdrawn": Case(withdrawn, "d", "dependency", ("h",), "bob withdrew it"),
    "what stood in its slot was withdrawn": Case(empty_slot, "hotel", "dependency", ("h",), "withdrew it"),
    "its slot is taken elsewhere only": Case(slot_elsewhere, "hotel", "dependency"),
    "the last three of many": Case(several, "d", "dependency", ("h4", "h3", "h2"), "withdrew it"),
    "only constraints are admitted": Case(
        constraint_only, "d", "dependency", ("c",), policy=(("paper", {"kinds": ("role_constraint", "obligation")}),)
    ),
    "no evidence is admitted": Case(never, "d", "dependency", policy=(("paper", {"kinds": ("obligation",)}),)),
    "what meets it does not fit": Case(
        out_of_room, "d", "dependency", ("h",), "Eligible and needed", policy=(("budgets", {"chars": 100}),)
    ),
    "the duty is disputed": Case(disputed_duty, "o", "duty", ("o",), "bob raised the dispute `q` about it at epoch"),
    "the duty lost a dispute": Case(lost_duty, "o", "duty", ("o",), "resolved the dispute"),
    "the duty is suspected": Case(suspected_duty, "o", "duty", ("o",), "no verdict settles that"),
    "a premise of the duty fell": Case(unfounded_duty, "o", "duty", ("o",), "it depends on `p`, which bob withdrew"),
    "the author of the duty left": Case(unproven_duty, "theirs", "duty", ("theirs",), "Written by eve"),
    "the duty is too large": Case(
        large_duty, "o", "duty", ("o",), "300 characters", policy=(("budgets", {"item_chars": 200}),)
    ),
    "its frontier is disputed": Case(disputed_frontier, "f", "frontier", ("f",), "bob raised the dispute"),
    "it has no frontier": Case(no_frontier, "o", "frontier", ("o",), policy=(("returns", {"require_frontier": True}),)),
    "a constraint does not fit": Case(crowded, "c0", "constraint", ("c0",), policy=(("budgets", {"items": 3}),)),
}


def scene_of(case: Case) -> Scene:
    scene = Scene(**dict(case.policy))
    case.story(scene)
    return scene


def carry_out(scene: Scene, remedy: Remedy) -> None:
    """Do what the call says, with what only the team knows filled in."""
    call = remedy.call.replace("[…]", f'["{scene.news()}"]').replace('by="…"', 'by="bob"')
    known = {"workspace": scene.team, "msgspec": msgspec, "timedelta": timedelta, "Decimal": Decimal}
    eval(call, known)  # noqa: S307 - the call is ours, and that it runs is what is tested


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_missing_and_what_would_meet_it(case: Case) -> None:
    scene = scene_of(case)
    blocked = scene.come_back()
    lack = next(one for one in blocked.why().lacks if one.name == case.name)
    assert (lack.kind, tuple(one.item for one in lack.last)) == (case.kind, case.last)
    assert not lack.last or case.says in " ".join(lack.last[0].why)
    for each in blocked.why().lacks:
        for remedy in each.remedies:
            carry_out(scene, remedy)
    assert scene.team.returned(blocked.id).why().lacks == blocked.why().lacks, "a past return lacks what it lacked"
    again = scene.come_back()
    assert (again.kind, again.why().lacks) == ("admitted", ())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_command_does_the_same(case: Case, tmp_path: Path) -> None:
    scene = Scene(tmp_path / "team.db", **dict(case.policy))
    scene.now = datetime.now(UTC)
    case.story(scene)
    for lack in scene.come_back().why().lacks:
        for remedy in lack.remedies:
            paste(remedy.command, scene.path)
    scene.now = datetime.now(UTC)
    assert scene.come_back().kind == "admitted"


def test_a_missing_dependency_names_its_duties_and_whether_it_is_critical() -> None:
    scene = Scene()
    scene.duty("o1", ("d", "e"), critical=("d",))
    scene.duty("o2", ("e",))
    scene.duty("done", ("e",))
    scene.depart()
    scene.team.settle("done", by="bob")
    d, e = scene.come_back().why().lacks
    assert (d.duties, d.critical, d.last) == (("o1",), True, ())
    assert (e.duties, e.critical) == (("o1", "o2"), False)


def test_an_item_that_is_out_is_listed_with_its_state_and_reasons() -> None:
    scene = scene_of(CASES["what met it was withdrawn"])
    [lack] = scene.come_back().why().lacks
    [former] = lack.last
    assert (former.text, former.state, former.reasons) == ("the text of h", State.REVOKED, (Reason.REVOKED,))
    assert [one.call for one in lack.remedies] == [
        'workspace.record("…", by="bob", slot="hotel", supports=["d"], sources=[…], task="trip")'
    ]
    assert [one.command for one in lack.remedies] == [
        'readmit record "…" --by bob --slot hotel --supports d --source "…" --task trip'
    ]


def test_an_author_who_may_not_write_is_not_proposed() -> None:
    scene = Scene(evidence={"writers": ("boss", "bob")})
    scene.duty()
    scene.fact("h", supports=["d"], by="eve")
    [lack] = scene.away().why().lacks
    assert lack.last[0].reasons == (Reason.WRITER_NOT_ALLOWED,)
    assert 'by="boss"' in lack.remedies[0].call


def test_a_partial_view_reports_what_it_withholds_as_missing() -> None:
    scene = Scene(returns={"on_incomplete": "partial"})
    scene.covered()
    scene.duty("o2", ("e",))
    scene.duty("o3", ("d",))
    scene.frontier("f3", "o3")
    scene.depart()
    scene.team.dispute(["f3"], by="bob")
    admitted = scene.come_back()
    assert (admitted.kind, admitted.decision.view.withheld) == ("admitted", ("o2", "o3"))  # type: ignore[union-attr]
    assert [(one.name, one.kind, one.duties) for one in admitted.why().lacks] == [
        ("e", "dependency", ("o2",)),
        ("f3", "frontier", ("o3",)),
    ]


def test_a_duty_may_be_withheld_for_want_of_room_alone() -> None:
    scene = Scene(returns={"on_incomplete": "partial"}, budgets={"items": 3})
    scene.covered()
    scene.duty("o2", ("e",))
    scene.fact("k", supports=["e"])
    [lack] = scene.away().why().lacks
    assert (lack.name, lack.kind, "items" in lack.remedies[0].call) == ("o2", "duty", True)


def test_where_the_policy_asks_for_less_than_everything() -> None:
    scene = Scene(paper={"gamma": Decimal("0.5"), "rho": Decimal(0), "newest": "as_needed"})
    scene.covered()
    scene.duty("o2", ("e",))
    scene.fact("k" * 20, supports=["e"])
    admitted = scene.away()
    assert (admitted.kind, admitted.missing) == ("admitted", ("e",))
    [lack] = admitted.why().lacks
    carry_out(scene, lack.remedies[0])
    assert scene.come_back().why().lacks == ()


def test_a_search_cut_short_needs_time_not_items() -> None:
    scene = scene_of(CASES["what meets it does not fit"])
    trial = past(scene.team._desk.log, scene.come_back().id)
    undecided = msgspec.structs.replace(trial.decision, reasons=(Reason.COVER_UNDECIDED,), absent=())
    [lack] = lacks_of(msgspec.structs.replace(trial, decision=undecided))
    assert '"solver_milliseconds": 20000' in lack.remedies[0].call


def test_odd_names_are_quoted() -> None:
    scene = Scene(evidence={"writers": ('b"o\nb', "bob")})
    scene.duty(required=("d$(x)'y",))
    [lack] = scene.away().why().lacks
    assert 'slot="d$(x)\'y"' in lack.remedies[0].call
    assert json.dumps('b"o\nb') in lack.remedies[0].call
    assert """--slot 'd$(x)'"'"'y'""" in lack.remedies[0].command


def test_nothing_is_missing_where_nothing_was_judged() -> None:
    scene = Scene()
    scene.covered()
    assert scene.away().why().lacks == ()
    failed = scene.ann().come_back(prepare=lambda *_: 1 / 0)
    assert (failed.reasons, failed.why().lacks) == ((Reason.INTERNAL_ERROR,), ())


def test_the_text_of_an_item_for_others_is_not_reported() -> None:
    scene = Scene()
    scene.team.oblige("Book it.", id="o", required=["hotel"], critical=["hotel"], by="bob")
    scene.fact("shared", slot="hotel")
    scene.fact("@bob/theirs", slot="hotel", text="Only bob may read this.", principals=["bob"])
    scene.team.revoke("shared", by="bob")
    outcome = scene.away()
    assert {one.item for one in outcome.dispositions} >= {"shared", "@bob/theirs"}
    (lack,) = outcome.why().lacks
    assert [one.item for one in lack.last] == ["shared"]
    # A near miss may name its id and whom it is for; its text is for those.
    assert "Only bob" not in str(outcome.why())
