"""One return: admitted, blocked or reset; what is chosen; and that nothing but its inputs decides it."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from readmit import Policy, Reason
from readmit.cover.exact import Cover
from readmit.cycle import decide, refuse
from readmit.records.canonical import canonical, digest_of
from readmit.workspace.exposing import checkpoint_named
from readmit.workspace.loading import snapshot
from tests.scene import Scene


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
    assert outcome.decision.dispositions == digest_of(b"\n".join(canonical(one) for one in outcome.dispositions))


@pytest.mark.parametrize(("rule", "kind"), [("block", "blocked"), ("reset", "reset")])
def test_incomplete(rule: Any, kind: str) -> None:
    scene = Scene(on_incomplete=rule)
    scene.duty("o1", required=("a", "b"), critical=("a", "b"))
    scene.duty("o2", required=("c",), critical=("c",))
    scene.fact("x", supports=["a", "c"])
    outcome = scene.away()
    assert (outcome.kind, outcome.view, outcome.missing) == (kind, None, ("b",))
    assert (outcome.coverage, outcome.critical_coverage) == (Fraction(1, 2), Fraction(2, 3))
    assert outcome.reasons == (Reason.COVERAGE_SHORT,)
    assert scene.reasons("x") == scene.reasons("o1") == (Reason.VIEW_WITHHELD,)


def test_shares_below_one_admit_what_reaches_them() -> None:
    scene = Scene(gamma=Decimal("0.5"), rho=Decimal("0.5"))
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


def test_fill_takes_the_newest_that_fits() -> None:
    scene = Scene(fill=True, max_items=3)
    scene.covered()
    for name in ("x", "y", "z"):
        scene.fact(name)
    outcome = scene.away()
    assert [item.id for item in outcome.view.items] == ["o", "h", "z"]  # type: ignore[union-attr]
    assert scene.reasons("z") == (Reason.FILLS,)
    assert scene.reasons("y") == (Reason.NOT_NEEDED,)


def test_a_required_frontier_must_be_there() -> None:
    scene = Scene(require_frontier=True)
    scene.covered()
    assert scene.away().reasons == (Reason.MANDATORY_MISSING,)
    scene.frontier()
    assert scene.come_back().admitted


def tight() -> Scene:
    """Greedy's first choice leaves no room for the rest; another pair would do."""
    scene = Scene(max_items=3)
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
        patch.setattr("readmit.cover.find.exact", lambda *_, **__: Cover("undecided"))
        outcome = scene.come_back()
    assert (outcome.kind, outcome.reasons) == ("blocked", (Reason.COVER_UNDECIDED,))
    assert outcome.decision.timed_out
    assert scene.team.replay(outcome.id).matches, "although the solver, asked again, would find it"
    assert scene.come_back().admitted


def test_an_exception_anywhere_blocks_with_an_audit_row(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("cycle.flaws", "cycle.resolve", "cycle.judge", "cycle.select", "cycle.match", "cycle.issue"):
        scene = Scene()
        scene.covered()
        scene.depart()

        def fail(*_: object, place: str = place, **__: object) -> None:
            raise RuntimeError(f"secret detail of {place}")

        with monkeypatch.context() as patch:
            patch.setattr(f"readmit.{place}", fail)
            outcome = scene.come_back()
        assert (outcome.kind, outcome.reasons, outcome.view) == ("blocked", (Reason.INTERNAL_ERROR,), None)
        assert outcome.decision.note == "RuntimeError", "the class alone: a message may hold anything"
        assert [row.kind for row in scene.team.log.audit.verified()] == ["decision"]
        assert scene.team.replay(outcome.id).skipped
        assert scene.come_back().admitted


def test_an_exception_at_exposure_hands_over_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.covered()
    outcome = scene.away()

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    with monkeypatch.context() as patch:
        patch.setattr("readmit.workspace.exposing.examine", fail)
        with pytest.raises(Exception, match="internal_error") as caught:
            outcome.expose()
    assert "secret" not in str(caught.value)
    assert [row.kind for row in scene.team.log.audit.verified()][-1] == "refusal"
    assert outcome.expose().items


def test_neither_the_clock_nor_chance_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.covered()
    outcome = scene.away()
    log, request = scene.team.log, outcome.request
    state = snapshot(
        log,
        checkpoint_named(log, request.checkpoint),
        request.identity,
        epoch=request.epoch,
        purpose=None,
        now=request.now,
    )

    def forbidden(*_: object) -> None:
        raise AssertionError("the cycle looked at the clock or threw dice")

    for name in ("time", "time_ns"):
        monkeypatch.setattr(time, name, forbidden)
    monkeypatch.setattr("secrets.token_hex", forbidden)
    again = decide(request, state)
    assert canonical(again.decision) == canonical(outcome.decision)
    other = decide(msgspec.structs.replace(request, policy=Policy(max_items=0)), state)
    assert other.decision.reasons == (Reason.BUDGET_SHORT,)


def test_a_refusal_hands_over_nothing() -> None:
    scene = Scene()
    scene.covered()
    request = scene.away().request
    refused = refuse(request, Reason.SIGNER_FAILED).decision
    assert (refused.kind, refused.view, refused.candidates) == ("blocked", None, 0)
    for rule in ("reset", "partial"):
        asked = msgspec.structs.replace(request, policy=Policy(on_incomplete=rule))  # type: ignore[arg-type]
        assert refuse(asked, Reason.SIGNER_FAILED).decision.kind == "blocked", "a fault blocks under every policy"
