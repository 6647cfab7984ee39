"""Every gate runs on every candidate, and every reason is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from readmit import Identity, Reason, State
from readmit.lab import digest
from readmit.policies import Policy
from readmit.records.snapshot import Held, Snapshot, WorkState
from readmit.rules.gate.judge import distinct, judge
from readmit.rules.invalidate.resolve import Findings
from readmit.types import Cause, Checkpoint, Fact, Frontier, Item, Obligation, Scope
from tests.scene import START

if TYPE_CHECKING:
    from collections.abc import Iterable

WHO = Identity(workspace="w", principal="ann", role="planner", task="trip")
OPEN = Scope(workspace="w")


def snapshot(items: Iterable[Item]) -> Snapshot:
    held = {one.id: Held(one, digest(one), epoch) for epoch, one in enumerate(items, 1)}
    left = Checkpoint(id="c", identity=WHO, epoch=0, at=START, events=0, digest="0" * 64)
    return Snapshot(WHO, "book", START, left, intact=True, state=WorkState(len(held), held), evidence={})


def fact(id: str, **fields: Any) -> Fact:
    return Fact(**{"id": id, "text": "text", "by": "bob", "scope": OPEN, **fields})


def duty(id: str, **fields: Any) -> Obligation:
    return Obligation(**{"id": id, "text": "text", "by": "bob", "scope": OPEN, "required": ("d",), **fields})


def frontier(id: str, obligation: str) -> Frontier:
    return Frontier(id=id, text="text", by="bob", scope=OPEN, obligation=obligation)


def why(*reasons: Reason) -> tuple[Cause, ...]:
    return tuple(Cause(reason=reason, epoch=7) for reason in reasons)


def test_all_gates_speak_in_their_order() -> None:
    item = fact("i", scope=Scope(workspace="w", roles=("guest",)), purposes=("cancel",), text="long text")
    gated = judge(
        snapshot([item]),
        Findings(
            {"i": why(Reason.EXPIRED, Reason.DISPUTED)},
            {"i": why(Reason.REVOKED)},
            {"i": why(Reason.RECOVERED)},
        ),
        {"i": why(Reason.UNPROVEN)},
        Policy(budgets={"item_chars": 5}),
    )
    assert gated.eligible == {}
    found = gated.rejected["i"]
    assert found.reasons == (
        Reason.OUT_OF_SCOPE,
        Reason.EXPIRED,
        Reason.DISPUTED,
        Reason.OTHER_PURPOSE,
        Reason.UNPROVEN,
        Reason.TOO_LARGE,
    )
    assert found.state is State.UNAUTHORIZED
    assert found.overruled == why(Reason.REVOKED)
    assert found.recovered == why(Reason.RECOVERED)
    assert found.digest == digest(item)
    assert found.item == "i"
    assert [cause.reason for cause in found.causes] == list(found.reasons)


def test_candidates_are_split_in_log_order() -> None:
    items = [fact("a"), fact("b"), fact("c"), fact("d")]
    gated = judge(snapshot(items), Findings({"b": why(Reason.REVOKED)}, {}), {"c": why(Reason.UNPROVEN)}, Policy())
    assert list(gated.eligible) == ["a", "d"]
    assert list(gated.rejected) == ["b", "c"]
    assert gated.eligible["a"].item is items[0]
    assert gated.rejected["b"].overruled == ()


def test_one_gate_never_speaks_for_another() -> None:
    """A recent record is not thereby authorized, nor an authentic one current."""
    items = [fact("a", scope=Scope(workspace="w", principals=("bob",))), fact("b")]
    gated = judge(snapshot(items), Findings({"b": why(Reason.REVOKED)}, {}), {}, Policy())
    assert gated.rejected["a"].reasons == (Reason.PRINCIPAL_OUT_OF_SCOPE,)
    assert gated.rejected["b"].reasons == (Reason.REVOKED,)


def test_a_reason_is_named_once_and_first_come() -> None:
    causes = why(Reason.SUPERSEDED, Reason.REVOKED, Reason.SUPERSEDED)
    assert distinct(causes) == (Reason.SUPERSEDED, Reason.REVOKED)
    assert distinct(()) == ()
