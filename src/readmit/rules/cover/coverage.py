"""``Cov`` and ``Crit`` of a set, as exact counts (paper, equation for coverage, appendix "Obligation coverage")."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from readmit.records.decisions import CoverageReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet
    from decimal import Decimal

    from readmit.records.items import Item, Obligation
    from readmit.records.policy import Policy


def supported(items: Iterable[Item]) -> frozenset[str]:
    """``D(S)``: every dependency that some item of the set supports."""
    return frozenset([dependency for item in items for dependency in item.covers])


class Supply:
    """Which wanted dependencies items cover. Many items cover the same ones, so results are cached."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted
        self._known: dict[tuple[str, ...], frozenset[str]] = {}

    def of(self, item: Item) -> frozenset[str]:
        """The wanted dependencies that an item covers. Its slot is rarely one, and is then skipped."""
        covers = item.covers if item.slot in self._wanted else item.supports
        found = self._known.get(covers)
        if found is None:
            found = self._known[covers] = frozenset(self._wanted.intersection(covers))
        return found


def required(obligations: Iterable[Obligation]) -> frozenset[str]:
    """``R``: every dependency that some obligation requires."""
    return frozenset(dependency for obligation in obligations for dependency in obligation.required)


def critical(obligations: Iterable[Obligation]) -> frozenset[str]:
    """``K``: every dependency that is critical to some obligation; shared ones count once."""
    return frozenset(dependency for obligation in obligations for dependency in obligation.critical)


def report(obligations: Sequence[Obligation], supported: AbstractSet[str]) -> CoverageReport:
    """``Cov`` and ``Crit`` of a set that supports these dependencies, and the missing ones."""
    vital = critical(obligations)
    uncovered = tuple(each.id for each in obligations if not supported >= set(each.required))
    return CoverageReport(
        obligations=len(obligations),
        covered=len(obligations) - len(uncovered),
        critical=len(vital),
        critical_covered=len(vital & supported),
        missing=tuple(sorted(required(obligations) - supported)),
        uncovered=uncovered,
    )


def least(share: Decimal, total: int) -> int:
    """The smallest count whose share of ``total`` reaches ``share``; 0 for a total of 0, so an empty set is covered.

    Uses fractions, because products of decimals are rounded to the context's precision.
    """
    return ceil(Fraction(share) * total)


def sufficient(report: CoverageReport, policy: Policy) -> bool:
    """``Cov ≥ γ`` and ``Crit ≥ ρ``."""
    return report.covered >= least(policy.paper.gamma, report.obligations) and report.critical_covered >= least(
        policy.paper.rho, report.critical
    )
