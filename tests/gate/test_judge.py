"""Every gate runs on every candidate, and every reason is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from readmit import Reason, State
from readmit.gate.duties import duties
from readmit.gate.judge import distinct, judge
from readmit.invalidate.resolve import Findings
from readmit.records.canonical import digest
from readmit.records.decisions import Cause
from readmit.records.events import Checkpoint
from readmit.records.identity import Identity
from readmit.records.items import Fact, Frontier, Item, Obligation, Scope
from readmit.records.policy import Policy
from readmit.records.snapshot import Held, Snapshot, WorkState
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
        Findings({"i": why(Reason.EXPIRED, Reason.DISPUTED)}, {"i": why(Reason.REVOKED)}),
        {"i": why(Reason.UNPROVEN)},
        Policy(max_item_chars=5),
    )
    assert gated.eligible == {}
    found = gated.rejected["i"]
    assert found.reasons == (
        Reason.ROLE_OUT_OF_SCOPE,
        Reason.EXPIRED,
        Reason.DISPUTED,
        Reason.OTHER_PURPOSE,
        Reason.UNPROVEN,
        Reason.TOO_LARGE,
    )
    assert found.state is State.UNAUTHORIZED
    assert found.overruled == why(Reason.REVOKED)
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


# Duties.


def owed(
    items: list[Item], against: dict[str, Reason] | None = None, flaws: dict[str, Reason] | None = None, **policy: Any
) -> tuple[list[str], list[str], list[str]]:
    state = snapshot(items)
    rules = Policy(**policy)
    broken = {name: why(reason) for name, reason in (flaws or {}).items()}
    findings = Findings({name: why(reason) for name, reason in (against or {}).items()}, {})
    found = duties(state, judge(state, findings, broken, rules), rules)
    return [one.id for one in found.obligations], [one.id for one in found.mandatory], list(found.absent)


def test_each_obligation_is_followed_by_its_frontier() -> None:
    items = [duty("o1"), duty("o2"), fact("x"), frontier("f2", "o2"), frontier("f1", "o1")]
    assert owed(items) == (["o1", "o2"], ["o1", "f1", "o2", "f2"], [])


def test_a_frontier_may_be_required() -> None:
    items = [duty("o1"), duty("o2"), frontier("f2", "o2")]
    assert owed(items) == (["o1", "o2"], ["o1", "o2", "f2"], [])
    assert owed(items, require_frontier=True) == (["o1", "o2"], ["o1", "o2", "f2"], ["o1"])
    assert owed(items[1:], require_frontier=True) == (["o2"], ["o2", "f2"], [])


ENDING = [
    Reason.REVOKED, Reason.DISPUTE_LOST, Reason.SUPERSEDED, Reason.SETTLED, Reason.EPOCH_INCOMPATIBLE, Reason.EXPIRED,
    Reason.NOT_YET_VALID,
]  # fmt: skip
OBSCURING = [Reason.DISPUTED, Reason.SUSPECTED, Reason.PREMISE_CHANGED]


@pytest.mark.parametrize("reason", ENDING)
def test_what_ends_an_obligation_takes_it_off_the_list(reason: Reason) -> None:
    assert owed([duty("o"), frontier("f", "o")], {"o": reason}) == ([], [], [])
    assert owed([duty("o"), frontier("f", "o")], {"f": reason}) == (["o"], ["o"], [])


@pytest.mark.parametrize("reason", OBSCURING)
def test_what_obscures_an_obligation_leaves_it_owed_but_absent(reason: Reason) -> None:
    assert owed([duty("o"), frontier("f", "o")], {"o": reason}) == (["o"], ["f"], ["o"])
    assert owed([duty("o"), frontier("f", "o")], {"f": reason}) == (["o"], ["o"], ["f"])


def test_an_unproven_duty_is_owed_unless_its_writer_may_not_write() -> None:
    assert owed([duty("o")], flaws={"o": Reason.UNPROVEN}) == (["o"], [], ["o"])
    assert owed([duty("o")], flaws={"o": Reason.WRITER_NOT_ALLOWED}) == ([], [], [])


def test_a_duty_that_is_too_large_is_owed_and_absent() -> None:
    assert owed([duty("o")], max_item_chars=2) == (["o"], [], ["o"])


def test_a_duty_of_others_or_for_another_task_is_not_owed() -> None:
    others = duty("o1", scope=Scope(workspace="w", roles=("guest",)))
    elsewhere = duty("o2", tasks=("other",))
    assert owed([others, elsewhere]) == ([], [], [])
    assert owed([duty("o")], kinds=()) == ([], [], [])


def test_the_frontier_that_can_be_handed_over_is_the_current_one() -> None:
    """An unproven newer one changes nothing; alone, it is owed and absent."""
    items = [duty("o"), frontier("f1", "o"), frontier("f2", "o")]
    assert owed(items, flaws={"f2": Reason.UNPROVEN}) == (["o"], ["o", "f1"], [])
    assert owed(items, flaws={"f1": Reason.UNPROVEN}) == (["o"], ["o", "f2"], [])
    assert owed(items, flaws={"f1": Reason.UNPROVEN, "f2": Reason.UNPROVEN}) == (["o"], ["o"], ["f2"])


def test_a_frontier_without_its_obligation_is_nobodys_duty() -> None:
    assert owed([frontier("f", "o")]) == ([], [], [])


def test_what_is_absent_is_named_once() -> None:
    items = [duty("o")]
    assert owed(items, {"o": Reason.DISPUTED}, require_frontier=True) == (["o"], [], ["o"])
