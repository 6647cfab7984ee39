"""The paper's scan, as a plan: one target beside at most four later observations per call.

The model calls happen elsewhere; the pairs they name come back as ``Scanned``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from readmit.rules.invalidate.propose.candidates import Openings, Scored, Signal
from readmit.rules.invalidate.propose.later_evidence import named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from readmit.records.verdicts import Pair

PER_CALL = 4


class ScanCall(msgspec.Struct, frozen=True):
    """One call: which of these observations may change a premise of this item?"""

    item: str
    evidence: tuple[str, ...]


def plan_scan(openings: Openings, per_call: int = PER_CALL) -> tuple[ScanCall, ...]:
    """Every open pair exactly once, targets in order, observations oldest first."""
    if per_call < 1:
        raise ValueError(f"per_call: {per_call} looks at nothing; use at least 1")
    calls: list[ScanCall] = []
    for row, target in enumerate(openings.targets):
        later = [seen.evidence for n, seen in enumerate(openings.observations) if openings.open[row, n]]
        calls += [
            ScanCall(target.item, tuple(later[start : start + per_call])) for start in range(0, len(later), per_call)
        ]
    return tuple(calls)


@dataclass(frozen=True)
class Scanned:
    """The pairs that the scan named."""

    named: AbstractSet[Pair]

    signal = Signal.SCAN

    def score(self, openings: Openings, depth: int) -> Sequence[Scored]:  # noqa: ARG002 - the scan chose already
        rows = {target.item: row for row, target in enumerate(openings.targets)}
        columns = {seen.evidence: column for column, seen in enumerate(openings.observations)}
        places = (
            (rows[pair.item], columns[pair.evidence])
            for pair in self.named
            if pair.item in rows and pair.evidence in columns
        )
        return named(openings, (place for place in places if openings.open[place]))
