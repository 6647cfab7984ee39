"""Source bindings: which flaw an item's receipts have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from readmit import Reason
from readmit.lab import digest
from readmit.policies import Policy
from readmit.records.snapshot import Held, Sighting, WorkState
from readmit.rules.capture.bindings import flaws
from readmit.types import Fact, Item, Obligation, Receipt, Scope
from tests.rules.gate.test_judge import snapshot
from tests.scene import START

A, B, C = "a" * 64, "b" * 64, "c" * 64
EVIDENCE = {
    A: Sighting(1, "bob", True, b"{}", START.isoformat()),
    B: Sighting(2, "eve", True, b"{}", START.isoformat()),
    C: Sighting(3, "bob", False, b"{}", START.isoformat()),
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
    slot: str | None = None


def of(evidence: str, *binds: str) -> Receipt:
    return Receipt(evidence=evidence, binds=binds or ("item",))


CASES = {
    "one receipt": Bound((of(A),)),
    "no receipt": Bound((), (Reason.UNPROVEN,)),
    "no receipt, with references": Bound((), (Reason.UNPROVEN,), supports=("d",)),
    "evidence that is not there": Bound((of("d" * 64),), (Reason.EVIDENCE_MISSING, Reason.UNPROVEN)),
    "altered evidence": Bound((of(C),), (Reason.EVIDENCE_MISSING, Reason.UNPROVEN)),
    "one good, one altered": Bound((of(A), of(C)), (Reason.EVIDENCE_MISSING,)),
    "a reference nobody speaks for": Bound((of(A),), (Reason.UNPROVEN,), supports=("d",)),
    "a premise nobody speaks for": Bound((of(A),), (Reason.UNPROVEN,), depends_on=("p",)),
    "references shared out": Bound((of(A, "item"), of(B, "d", "p")), supports=("d",), depends_on=("p",)),
    "the statement itself unbound": Bound((of(A, "d"),), (Reason.UNPROVEN,), supports=("d",)),
    "two references unbound": Bound((of(A),), (Reason.UNPROVEN,) * 2, supports=("d", "e")),
    "bound by an altered one": Bound(
        (of(A), of(C, "d")), (Reason.EVIDENCE_MISSING, Reason.UNPROVEN), supports=("d",)
    ),
    "allowed writers": Bound((of(A),), writers=("bob",)),
    "author not allowed": Bound((of(A),), (Reason.WRITER_NOT_ALLOWED,), by="eve", writers=("bob",)),
    "a witness from outside beside one that binds all": Bound((of(A), of(B)), writers=("bob",)),
    "a witness from outside first": Bound((of(B), of(A)), writers=("bob",)),
    "a witness from outside beside one that binds all references": Bound(
        (of(A, "item", "d", "p"), of(B, "item", "d")), supports=("d",), depends_on=("p",), writers=("bob",)
    ),
    "a witness from outside for the rest": Bound(
        (of(A), of(B, "d")), (Reason.WRITER_NOT_ALLOWED, Reason.UNPROVEN), supports=("d",), writers=("bob",)
    ),
    "a witness from outside, and altered evidence": Bound(
        (of(A), of(B), of(C)), (Reason.EVIDENCE_MISSING,), writers=("bob",)
    ),
    "a witness from outside, and missing evidence": Bound(
        (of(A), of(B), of("d" * 64)), (Reason.EVIDENCE_MISSING,), writers=("bob",)
    ),
    "a witness from outside, and an author from outside": Bound(
        (of(A), of(B)), (Reason.WRITER_NOT_ALLOWED,), by="eve", writers=("bob",)
    ),
    "a slot needs no binding": Bound((of(A),), slot="hotel"),
    "only witness not allowed": Bound(
        (of(B),), (Reason.WRITER_NOT_ALLOWED, Reason.UNPROVEN), writers=("bob",)
    ),
    "neither allowed": Bound(
        (of(B),), (Reason.WRITER_NOT_ALLOWED, Reason.WRITER_NOT_ALLOWED, Reason.UNPROVEN), by="eve",
        writers=("bob",),
    ),
}  # fmt: skip


def found(case: Bound, *, hidden: bool = False) -> Any:
    item = Fact(
        id="i", text="t", by=case.by, scope=Scope(workspace="w"), receipts=case.receipts, supports=case.supports,
        depends_on=case.depends_on, slot=case.slot,
    )  # fmt: skip
    return of_one(item, case.writers, hidden=hidden)


def of_one(item: Item, writers: tuple[str, ...] = (), *, hidden: bool = False) -> Any:
    state = WorkState(1, {"i": Held(item, digest(item), 1)})
    fields = {"background": state, "state": WorkState()} if hidden else {"state": state}
    return flaws(
        msgspec.structs.replace(snapshot([]), evidence=EVIDENCE, **fields), Policy(evidence={"writers": writers})
    )


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
    (witness, rest) = found(CASES["a witness from outside for the rest"])["i"]
    assert (witness.ref, witness.by, rest.ref) == (B, "eve", "d")
    (author,) = found(CASES["author not allowed"])["i"]
    assert author.by == "eve"


DUTIES: dict[str, tuple[dict[str, Any], tuple[str, ...], tuple[Reason, ...]]] = {
    "no evidence": ({}, (), ()),
    "no evidence for a premise": ({"depends_on": ("p",)}, (), ()),
    "an author who may write": ({}, ("bob",), ()),
    "an author from outside": ({}, ("cy",), (Reason.WRITER_NOT_ALLOWED,)),
    "evidence from outside": ({"receipts": (of(B),)}, ("bob",), ()),
    "altered evidence": ({"receipts": (of(C),)}, (), ()),
    "missing evidence": ({"receipts": (of("d" * 64),)}, (), ()),
}


@pytest.mark.parametrize("case", DUTIES)
def test_a_duty_needs_an_allowed_author_and_no_evidence(case: str) -> None:
    fields, writers, reasons = DUTIES[case]
    duty = Obligation(id="i", text="t", by="bob", scope=Scope(workspace="w"), required=("d",), **fields)
    assert tuple(cause.reason for cause in of_one(duty, writers).get("i", ())) == reasons
