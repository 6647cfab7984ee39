"""Source bindings: which flaw an item's receipts have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from readmit import Reason
from readmit.capture.bindings import flaws
from readmit.records.canonical import digest
from readmit.records.items import Fact, Receipt, Scope
from readmit.records.policy import Policy
from readmit.records.snapshot import Held, Sighting, WorkState
from tests.gate.test_judge import snapshot
from tests.scene import START

A, B, C = "a" * 64, "b" * 64, "c" * 64
EVIDENCE = {
    A: Sighting(1, "bob", True, b"{}", START),
    B: Sighting(2, "eve", True, b"{}", START),
    C: Sighting(3, "bob", False, b"{}", START),
}


@dataclass(frozen=True)
class Bound:
    """An item's receipts and references, and what is wrong with them."""

    receipts: tuple[Receipt, ...]
    reasons: tuple[Reason, ...] = ()
    supports: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    by: str = "bob"
    writers: tuple[str, ...] = ()


def of(evidence: str, *binds: str) -> Receipt:
    return Receipt(evidence=evidence, binds=binds or ("item",))


CASES = {
    "one receipt": Bound((of(A),)),
    "no receipt": Bound((), (Reason.UNPROVEN,)),
    "no receipt, with references": Bound((), (Reason.UNPROVEN,), supports=("d",)),
    "evidence that is not there": Bound((of("d" * 64),), (Reason.EVIDENCE_MISSING, Reason.REFERENCE_UNBOUND)),
    "altered evidence": Bound((of(C),), (Reason.EVIDENCE_ALTERED, Reason.REFERENCE_UNBOUND)),
    "one good, one altered": Bound((of(A), of(C)), (Reason.EVIDENCE_ALTERED,)),
    "a reference nobody speaks for": Bound((of(A),), (Reason.REFERENCE_UNBOUND,), supports=("d",)),
    "a premise nobody speaks for": Bound((of(A),), (Reason.REFERENCE_UNBOUND,), depends_on=("p",)),
    "references shared out": Bound((of(A, "item"), of(B, "d", "p")), supports=("d",), depends_on=("p",)),
    "the statement itself unbound": Bound((of(A, "d"),), (Reason.REFERENCE_UNBOUND,), supports=("d",)),
    "two references unbound": Bound((of(A),), (Reason.REFERENCE_UNBOUND,) * 2, supports=("d", "e")),
    "bound by an altered one": Bound(
        (of(A), of(C, "d")), (Reason.EVIDENCE_ALTERED, Reason.REFERENCE_UNBOUND), supports=("d",)
    ),
    "allowed writers": Bound((of(A),), writers=("bob",)),
    "author not allowed": Bound((of(A),), (Reason.WRITER_NOT_ALLOWED,), by="eve", writers=("bob",)),
    "witness not allowed": Bound((of(A), of(B)), (Reason.WRITER_NOT_ALLOWED,), writers=("bob",)),
    "only witness not allowed": Bound(
        (of(B),), (Reason.WRITER_NOT_ALLOWED, Reason.REFERENCE_UNBOUND), writers=("bob",)
    ),
    "neither allowed": Bound(
        (of(B),), (Reason.WRITER_NOT_ALLOWED, Reason.WRITER_NOT_ALLOWED, Reason.REFERENCE_UNBOUND), by="eve",
        writers=("bob",),
    ),
}  # fmt: skip


def found(case: Bound, *, hidden: bool = False) -> Any:
    item = Fact(
        id="i", text="t", by=case.by, scope=Scope(workspace="w"), receipts=case.receipts, supports=case.supports,
        depends_on=case.depends_on,
    )  # fmt: skip
    state = WorkState(1, {"i": Held(item, digest(item), 1)})
    fields = {"background": state, "state": WorkState()} if hidden else {"state": state}
    return flaws(msgspec.structs.replace(snapshot([]), evidence=EVIDENCE, **fields), Policy(writers=case.writers))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("hidden", [False, True])
def test_flaws(case: str, hidden: bool) -> None:
    causes = found(CASES[case], hidden=hidden).get("i", ())
    assert tuple(cause.reason for cause in causes) == CASES[case].reasons


def test_a_flaw_names_what_it_is_about() -> None:
    (missing, unbound) = found(CASES["evidence that is not there"])["i"]
    assert (missing.ref, unbound.ref) == ("d" * 64, "item")
    (altered, _) = found(CASES["altered evidence"])["i"]
    assert (altered.ref, altered.epoch) == (C, 3)
    (witness,) = found(CASES["witness not allowed"])["i"]
    assert (witness.ref, witness.by) == (B, "eve")
    (author,) = found(CASES["author not allowed"])["i"]
    assert author.by == "eve"
