"""``Cov``, ``Crit`` and the thresholds, against values computed by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec
import pytest

from readmit.lab import report, sufficient
from readmit.policies import Policy
from readmit.rules.cover.coverage import Supply, least, supported
from readmit.types import CoverageReport
from tests.rules.cover.build import fact, frontier, obligation

if TYPE_CHECKING:
    from readmit.types import Obligation

TRAVEL = (obligation("o_h", "d_h d_c", "d_h d_c"), obligation("o_t", "d_t d_p d_c", "d_t d_p d_c"))


@dataclass
class Case:
    obligations: tuple[Obligation, ...]
    supported: str
    expected: CoverageReport


def counts(
    covered: int, of: int, critical: int, of_critical: int, *, missing: str = "", uncovered: str = ""
) -> CoverageReport:
    return CoverageReport(
        obligations=of,
        covered=covered,
        critical=of_critical,
        critical_covered=critical,
        missing=tuple(missing.split()),
        uncovered=tuple(uncovered.split()),
    )


CASES = {
    "travel, pickup unconfirmed": Case(TRAVEL, "d_h d_t d_c", counts(1, 2, 3, 4, missing="d_p", uncovered="o_t")),
    "travel, pickup confirmed": Case(TRAVEL, "d_h d_t d_c d_p", counts(2, 2, 4, 4)),
    "travel, nothing": Case(TRAVEL, "", counts(0, 2, 0, 4, missing="d_c d_h d_p d_t", uncovered="o_h o_t")),
    "support that nobody requires": Case(TRAVEL, "d_h d_c d_x", counts(1, 2, 2, 4, missing="d_p d_t", uncovered="o_t")),
    "no obligations": Case((), "d_h", counts(0, 0, 0, 0)),
    "an obligation that requires nothing": Case((obligation("o"),), "", counts(1, 1, 0, 0)),
    "shared critical counts once": Case(
        (obligation("o1", "a b", "a"), obligation("o2", "a c", "a c")),
        "a",
        counts(0, 2, 1, 2, missing="b c", uncovered="o1 o2"),
    ),
    "critical for one, required by another": Case(
        (obligation("o1", "a", "a"), obligation("o2", "a b")), "b", counts(0, 2, 0, 1, missing="a", uncovered="o1 o2")
    ),
    "a dependency listed twice": Case(
        (obligation("o", "a a b", "a a"),), "a", counts(0, 1, 1, 1, missing="b", uncovered="o")
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_report(case: Case) -> None:
    assert report(case.obligations, frozenset(case.supported.split())) == case.expected


def test_supported_is_the_union_of_what_evidence_supports() -> None:
    assert supported([fact("h1", "d_h"), fact("c", "d_c d_h"), fact("note")]) == {"d_h", "d_c"}


def test_what_stands_in_a_slot_supports_its_name() -> None:
    assert supported([fact("h1", "d_h", slot="hotel"), fact("h2", slot="hotel")]) == {"d_h", "hotel"}


SUPPLIES = {
    "nothing": (fact("m"), set()),
    "what is wanted of what it supports": (fact("m", "a x"), {"a"}),
    "its slot, which is wanted": (fact("m", slot="b"), {"b"}),
    "both": (fact("m", "a", slot="b"), {"a", "b"}),
    "its slot is not wanted": (fact("m", "a", slot="x"), {"a"}),
    "the same again": (fact("n", "a x"), {"a"}),
    "an obligation about a slot": (msgspec.structs.replace(obligation("o", "a"), slot="a"), set()),
    "a frontier about a slot": (msgspec.structs.replace(frontier("f", "o"), slot="a"), set()),
}


def test_the_supply_of_an_item_is_what_it_covers_of_what_is_wanted() -> None:
    supply = Supply(frozenset("ab"))
    assert {case: set(supply.of(item)) for case, (item, _) in SUPPLIES.items()} == {
        case: expected for case, (_, expected) in SUPPLIES.items()
    }


@pytest.mark.parametrize("record", [obligation("o", "d"), frontier("f", "o")], ids=["obligation", "frontier"])
def test_obligations_and_frontiers_are_never_evidence(record: msgspec.Struct) -> None:
    # Their constructors refuse a claim of support; coverage does not rely on that.
    msgspec.structs.force_setattr(record, "supports", ("d",))
    assert supported([record]) == frozenset()  # type: ignore[list-item]


@dataclass
class Threshold:
    report: CoverageReport
    enough: bool
    gamma: Decimal = field(default=Decimal(1))
    rho: Decimal = field(default=Decimal(1))


THIRD_BELOW = Decimal("0." + "3" * 40)
THIRD_ABOVE = Decimal("0." + "3" * 39 + "4")
THRESHOLDS = {
    "all of all": Threshold(counts(2, 2, 4, 4), True),
    "one obligation short": Threshold(counts(1, 2, 4, 4), False),
    "one critical dependency short": Threshold(counts(2, 2, 3, 4), False),
    "exactly gamma and rho": Threshold(counts(1, 2, 3, 4), True, Decimal("0.5"), Decimal("0.75")),
    "just under rho": Threshold(counts(1, 2, 3, 4), False, Decimal("0.5"), Decimal("0.7500001")),
    "empty sets have coverage one": Threshold(counts(0, 0, 0, 0), True),
    "a third, asked for slightly less": Threshold(counts(1, 3, 0, 0), True, THIRD_BELOW),
    "a third, asked for slightly more": Threshold(counts(1, 3, 0, 0), False, THIRD_ABOVE),
    "nothing asked": Threshold(counts(0, 5, 0, 5), True, Decimal(0), Decimal(0)),
}


@pytest.mark.parametrize("case", THRESHOLDS.values(), ids=THRESHOLDS.keys())
def test_sufficient(case: Threshold) -> None:
    assert sufficient(case.report, Policy(paper={"gamma": case.gamma, "rho": case.rho})) is case.enough


def test_least_is_exact_beyond_float_and_decimal_precision() -> None:
    assert least(Decimal("0.1"), 30) == 3
    assert least(Decimal("0.07"), 100) == 7
    assert least(Decimal("0.3" + "0" * 30 + "1"), 10) == 4
    assert least(Decimal(1), 0) == 0


def test_more_than_asked_is_sufficient() -> None:
    owed = [obligation(name, f"d_{name}", f"d_{name}") for name in ("a", "b", "c", "e")]
    whole = report(owed, frozenset({"d_a", "d_b", "d_c", "d_e"}))
    half = Policy(paper={"gamma": Decimal("0.5"), "rho": Decimal("0.5")})
    assert sufficient(whole, half)
    assert sufficient(whole, Policy(paper={"gamma": Decimal("0.5")}))
    assert sufficient(whole, Policy(paper={"rho": Decimal("0.5")}))


def test_one_of_three_is_missing() -> None:
    owed = [obligation(name, f"d_{name}") for name in ("a", "b", "c")]
    reached = report(owed, frozenset({"d_a", "d_c"}))
    assert (reached.covered, reached.uncovered, reached.missing) == (2, ("b",), ("d_b",))
