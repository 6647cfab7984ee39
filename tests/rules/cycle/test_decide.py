"""One return: admitted, blocked or reset; what is chosen; and that nothing but its inputs decides it."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit import Pair, Policy, Reason
from readmit.lab import canonical
from readmit.records.decisions import Examination
from readmit.rules.cover.exact import Cover
from readmit.rules.cycle import decide, refuse, withhold
from readmit.state.load import requested
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from readmit.records.decisions import Request
    from readmit.records.snapshot import Snapshot


def judged_against(scene: Scene, request: Request) -> Snapshot:
    """The state that a return is decided from."""
    log = scene.team._desk.log
    return requested(log, log.departure(request.checkpoint), request)


def test_admitted() -> None:
    scene = Scene()
    scene.covered()
    scene.frontier()
    scene.fact("aside")
    outcome = scene.away()
    assert outcome.kind == "admitted"
    assert outcome.admitted
    assert (outcome.coverage, outcome.critical_coverage, outcome.missing) == (1, 1, ())
    assert outcome.view is not None
    assert [item.id for item in outcome.view.items] == ["o", "f", "h"]
    assert {one.item: one.reasons for one in outcome.dispositions} == {
        "o": (Reason.MANDATORY,), "f": (Reason.MANDATORY,), "h": (Reason.COVERS,), "aside": (Reason.NOT_NEEDED,),
    }  # fmt: skip
    pieces = scene.team._desk.log.audit.candidates(outcome.decision)
    assert [one for piece in pieces for one in msgspec.json.decode(piece)] == msgspec.json.decode(
        canonical(outcome.dispositions)
    )


@pytest.mark.parametrize(("rule", "kind"), [("block", "blocked"), ("reset", "reset")])
def test_incomplete(rule: Any, kind: str) -> None:
    scene = Scene(returns={"on_incomplete": rule})
    scene.duty("o1", required=("a", "b"), critical=("a", "b"))
    scene.duty("o2", required=("c",), critical=("c",))
    scene.fact("x", supports=["a", "c"])
    outcome = scene.away()
    assert (outcome.kind, outcome.view, outcome.missing) == (kind, None, ("b",))
    assert (outcome.coverage, outcome.critical_coverage) == (Fraction(1, 2), Fraction(2, 3))
    assert outcome.reasons == (Reason.COVERAGE_SHORT,)
    assert scene.reasons("x") == scene.reasons("o1") == (Reason.WITHHELD,)


def test_shares_below_one_admit_what_reaches_them() -> None:
    scene = Scene(paper={"gamma": Decimal("0.5"), "rho": Decimal("0.5")})
    scene.duty("o1", required=("a",), critical=("a",))
    scene.duty("o2", required=("b",), critical=("b",))
    scene.fact("x", supports=["a"])
    outcome = scene.away()
    assert outcome.admitted
    assert outcome.missing == ("b",)


def test_nothing_owed_needs_nothing() -> None:
    scene = Scene()
    scene.fact("x")
    outcome = scene.away()
    assert outcome.admitted
    assert outcome.view is not None
    assert outcome.view.items == ()
    assert "x" not in outcome.expose().markdown().split()


@pytest.mark.parametrize(
    ("rule", "kind", "shown"),
    [("nothing_owed", "admitted", ["k", "x"]), ("never", "admitted", ["k"]), ("block", "blocked", None)],
)
def test_where_nothing_is_owed_the_policy_decides(rule: Any, kind: str, shown: list[str] | None) -> None:
    scene = Scene(returns={"fill": rule})
    scene.fact("x")
    scene.fact("k", kind="role_constraint")
    outcome = scene.away()
    assert (outcome.kind, outcome.decision.duties) == (kind, ())
    assert outcome.reasons == (() if shown is not None else (Reason.NOTHING_OWED,))
    if shown is not None:
        assert [item.id for item in outcome.view.items] == shown  # type: ignore[union-attr]


@pytest.mark.parametrize("policy", [{"fill": "block"}, {"examination": "required"}])
def test_no_fresh_start_for_what_was_never_due_or_not_looked_into(policy: dict[str, Any]) -> None:
    scene = Scene(returns={"on_incomplete": "reset", **policy})
    scene.fact("x")
    assert scene.away().kind == "blocked"


def test_a_decision_lists_every_duty_with_what_became_of_it() -> None:
    scene = Scene()
    scene.duty("o1")
    scene.duty("o2", required=("d", "e"))
    scene.duty("o3", purposes=["cancel"])
    scene.duty("o4", valid_from=scene.now + HOUR)
    scene.duty("o5", valid_until=scene.now)
    scene.duty("o6", roles=["planner", "booker"], applies_to=["other"])
    scene.team.settle(scene.duty("o7"), by="bob")
    scene.fact("h", supports=["d"], purposes=["book"])
    outcome = scene.away(purpose="book")
    assert outcome.reasons == (Reason.COVERAGE_SHORT,)
    assert [(one.obligation, one.state, one.handed_over, one.lacks) for one in outcome.decision.duties] == [
        ("o1", "owed", False, ()),
        ("o2", "owed", False, ("e",)),
        ("o3", "other_purpose", False, ()),
        ("o4", "not_begun", False, ()),
        ("o5", "overdue", False, ()),
        ("o6", "other_task", False, ()),
        ("o7", "settled", False, ()),
    ]
    scene.fact("k", supports=["e"])
    outcome = scene.come_back(purpose="book")
    assert outcome.admitted
    assert [one.obligation for one in outcome.decision.duties if one.handed_over] == ["o1", "o2", "o5"]


def test_whole_duties_are_handed_over_where_the_policy_asks() -> None:
    scene = Scene(returns={"on_incomplete": "partial"})
    scene.duty("o1", required=("a",))
    scene.duty("o2", required=("b", "c"))
    scene.frontier("f2", "o2")
    scene.fact("x", supports=["a"])
    scene.fact("y", supports=["b"])
    outcome = scene.away()
    view = outcome.view
    assert outcome.admitted
    assert view is not None
    assert ([item.id for item in view.items], view.withheld, view.partial) == (["o1", "x"], ("o2",), True)
    assert (outcome.coverage, outcome.missing, outcome.reasons) == (Fraction(1, 2), ("c",), ())
    assert scene.reasons("y") == scene.reasons("o2") == scene.reasons("f2") == (Reason.WITHHELD,)
    assert [(one.handed_over, one.lacks) for one in outcome.decision.duties] == [(True, ()), (False, ("c",))]
    assert "Withheld: `o2`" in outcome.expose().markdown()


def test_what_could_not_be_handed_over_is_named() -> None:
    scene = Scene()
    scene.covered()
    scene.frontier()
    scene.team.dispute(["o", "f"], by="bob")
    outcome = scene.away()
    assert outcome.reasons == (Reason.MANDATORY_MISSING,)
    assert outcome.decision.absent == ("o", "f")
    assert [one.state for one in outcome.decision.duties] == ["obstructed"]


def test_a_decision_and_its_view_say_what_was_looked_for() -> None:
    scene = Scene(paper={"on_unsure": "exclude_critical"}, returns={"examination": "required"})
    scene.covered()
    scene.team.judge(Pair(item="h", evidence=scene.news()), by="worker")
    request = scene.away().request
    looked = Examination(verifier="nli", until=request.epoch)
    asked = msgspec.structs.replace(request, examination=looked)
    decision = decide(asked, judged_against(scene, asked)).decision
    assert decision.view is not None
    assert (decision.kind, decision.examination, decision.open_pairs) == ("admitted", looked, 1)
    assert (decision.view.examination, decision.view.open_pairs) == (looked, 1)
    short = msgspec.structs.replace(asked, examination=msgspec.structs.replace(looked, unexamined=1))
    refused = decide(short, judged_against(scene, short)).decision
    assert (refused.kind, refused.reasons, refused.open_pairs) == ("blocked", (Reason.NOT_EXAMINED,), 1)


def test_a_clock_that_lags_too_far_blocks_under_every_policy() -> None:
    for rule in ("block", "reset", "partial"):
        scene = Scene(returns={"on_incomplete": rule, "max_clock_skew": 60})
        scene.covered()
        request = scene.away().request
        lagging = msgspec.structs.replace(request, learnt=request.now + HOUR)
        outcome = decide(lagging, judged_against(scene, lagging))
        assert (outcome.decision.kind, outcome.decision.reasons) == ("blocked", (Reason.CLOCK_SKEW,))
        assert "max_clock_skew" in outcome.decision.note
        assert outcome.decision.faults == (Reason.CLOCK_SKEW,)
        assert outcome.dispositions == ()


def test_a_view_that_cannot_be_handed_over_withholds_what_it_held_and_nothing_else() -> None:
    scene = Scene()
    scene.covered()
    scene.fact("aside")
    scene.team.revoke(scene.fact("out"), by="bob")
    request = scene.away().request
    decided = decide(request, judged_against(scene, request))
    assert decided.decision.admitted
    withheld = withhold(request, decided, Reason.SIGNER_FAILED)
    assert {one.item: one.reasons for one in withheld.dispositions} == {
        "o": (Reason.WITHHELD,), "h": (Reason.WITHHELD,), "aside": (Reason.NOT_NEEDED,),
        "out": (Reason.REVOKED,),
    }  # fmt: skip
    assert (withheld.decision.kind, withheld.decision.view, withheld.decision.candidates) == ("blocked", None, 4)
    assert [(one.state, one.handed_over) for one in withheld.decision.duties] == [("owed", False)]
    assert withheld.decision.dispositions == withheld.pieces.root


def test_fill_takes_the_newest_that_fits() -> None:
    scene = Scene(returns={"fill": "always"}, budgets={"items": 3})
    scene.covered()
    for name in ("x", "y", "z"):
        scene.fact(name)
    outcome = scene.away()
    assert [item.id for item in outcome.view.items] == ["o", "h", "z"]  # type: ignore[union-attr]
    assert scene.reasons("z") == (Reason.FILLS,)
    assert scene.reasons("y") == (Reason.NOT_NEEDED,)


def test_a_required_frontier_must_be_there() -> None:
    scene = Scene(returns={"require_frontier": True})
    scene.covered()
    assert scene.away().reasons == (Reason.MANDATORY_MISSING,)
    scene.frontier()
    assert scene.come_back().admitted


def tight() -> Scene:
    """Greedy's first choice leaves no room for the rest; another pair would do."""
    scene = Scene(paper={"newest": "as_needed"}, budgets={"items": 3})
    scene.duty(required=("a", "b", "c", "d"))
    scene.fact("w", supports=["a", "b"], text="w")
    scene.fact("x", supports=["a", "c"], text="a longer text")
    scene.fact("y", supports=["b", "d"], text="a longer text")
    return scene


def test_the_exact_solver_finds_what_greedy_misses() -> None:
    outcome = tight().away()
    assert outcome.admitted
    assert outcome.decision.solver == "exact"


def test_an_undecided_solver_admits_nothing_and_the_replay_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = tight()
    scene.depart()
    with monkeypatch.context() as patch:
        patch.setattr("readmit.rules.cover.find.exact", lambda *_, **__: Cover("undecided"))
        outcome = scene.come_back()
    assert (outcome.kind, outcome.reasons) == ("blocked", (Reason.COVER_UNDECIDED,))
    assert outcome.decision.timed_out
    assert scene.team.returned(outcome.id).replay().matches, "although the solver, asked again, would find it"
    assert scene.come_back().admitted


def test_an_exception_anywhere_blocks_with_an_audit_row(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("cycle.flaws", "cycle.resolve", "cycle.judge", "cycle.select", "cycle.match", "cycle.issue"):
        scene = Scene()
        scene.covered()
        scene.depart()

        def fail(*_: object, place: str = place, **__: object) -> None:
            raise RuntimeError(f"secret detail of {place}")

        with monkeypatch.context() as patch:
            patch.setattr(f"readmit.rules.{place}", fail)
            outcome = scene.come_back()
        assert (outcome.kind, outcome.reasons, outcome.view) == ("blocked", (Reason.INTERNAL_ERROR,), None)
        assert outcome.decision.note == "RuntimeError", "the class alone: a message may hold anything"
        assert [row.kind for row in scene.team._desk.log.audit.rows()] == ["decision"]
        assert scene.team.returned(outcome.id).replay().skipped
        assert scene.come_back().admitted


def test_an_exception_at_exposure_hands_over_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.covered()
    outcome = scene.away()

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    with monkeypatch.context() as patch:
        patch.setattr("readmit.returning.expose.examine", fail)
        with pytest.raises(Exception, match="internal_error") as caught:
            outcome.expose()
    assert "secret" not in str(caught.value)
    assert [row.kind for row in scene.team._desk.log.audit.rows()][-1] == "refusal"
    assert outcome.expose().items


def test_neither_the_clock_nor_chance_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.covered()
    outcome = scene.away()
    request = outcome.request
    state = judged_against(scene, request)

    def forbidden(*_: object) -> None:
        raise AssertionError("the cycle looked at the clock or threw dice")

    for name in ("time", "time_ns"):
        monkeypatch.setattr(time, name, forbidden)
    monkeypatch.setattr("secrets.token_hex", forbidden)
    again = decide(request, state)
    assert canonical(again.decision) == canonical(outcome.decision)
    other = decide(msgspec.structs.replace(request, policy=Policy(budgets={"items": 0})), state)
    assert other.decision.reasons == (Reason.BUDGET_SHORT,)


def test_a_refusal_hands_over_nothing() -> None:
    scene = Scene()
    scene.covered()
    request = scene.away().request
    refused = refuse(request, Reason.SIGNER_FAILED).decision
    assert (refused.kind, refused.view, refused.candidates) == ("blocked", None, 0)
    for rule in ("reset", "partial"):
        asked = msgspec.structs.replace(request, policy=Policy(returns={"on_incomplete": rule}))
        assert refuse(asked, Reason.SIGNER_FAILED).decision.kind == "blocked", "a fault blocks under every policy"
