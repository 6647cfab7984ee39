"""The configurations of the product that the benchmark compares, and the budgets that the paper gives its requests.

``trace-paper`` and ``readmit`` differ in settings, policy and the switches below, and each ablation in one switch more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal

import msgspec

from readmit import Policy
from readmit.inference import RequestBudgets, Settings, Signal
from readmit_bench.methods.method import PRIVATE

# What the paper's scan proposed per return on average: 5,610 pairs in 200 episodes.
PAIRS_PER_RETURN = 28
PAIRS_INSIDE = 8
"""Additional pairs, among the statements that together cover the needs."""
STATEMENTS_PER_CALL = 8
"""Earlier statements that share a request of the verifier in ours. The paper's judges one pair in a request."""
LINKER = "retrieval"
"""What draws the links in ours: the rank of a statement for a need."""
PAPER = Decimal("0.65")
"""The paper's threshold."""


@dataclass(frozen=True)
class Governance:
    """A configuration of the product, and which mechanisms are on."""

    name: str
    settings: Settings
    policy: Policy = field(default_factory=Policy)
    """The policy that decides a return. Its budgets are the benchmark's."""
    observed: bool = False
    """Whether whole sessions are judged, and everything extracted from them is invalidated with them."""
    by_slot: bool = False
    """Whether a later value of a slot replaces an earlier one. Otherwise only what says that it does."""
    drafts: bool = True
    """Whether planned and extracted items are marked as drafted, and only statements are handed over."""
    implicit: bool = True
    obligation_aware: bool = True
    complete_view: bool = True
    source_bound: bool = True


TRACE_PAPER = Governance(
    "trace-paper",
    Settings(
        signals=(Signal.SCAN,),
        targets="premises",
        since="departure",
        per_target=10_000,
        pairs_per_return=None,
        on_cut="note",
        linking=False,
        pairs_inside=0,
    ),
    Policy(
        selection="greedy",
        invalid_at=PAPER,
        suspect_at=PAPER,
        min_confidence=PAPER,
        # A possible dependency that was not confirmed changes nothing: no session supports a critical dependency.
        on_unsure="exclude_critical",
    ),
    observed=True,
    by_slot=True,
    drafts=False,
)
READMIT = Governance(
    "readmit",
    Settings(
        since="departure",
        pairs_per_return=PAIRS_PER_RETURN,
        pairs_per_call=STATEMENTS_PER_CALL,
        critical_alone=False,
        pairs_inside=PAIRS_INSIDE,
        on_cut="note",
    ),
)
ABLATIONS = (
    replace(TRACE_PAPER, name="trace-without-ii", implicit=False),
    replace(TRACE_PAPER, name="trace-without-oas", obligation_aware=False),
    replace(TRACE_PAPER, name="trace-without-cvg", complete_view=False),
    replace(TRACE_PAPER, name="trace-without-sbpr", source_bound=False),
)
GOVERNANCE = {one.name: one for one in (TRACE_PAPER, READMIT, *ABLATIONS)}


@dataclass(frozen=True)
class Tuning:
    """The paper's parameters that differ between the benchmarks. The defaults are the product's own."""

    plan_tokens: int = 2_048
    plan_chars: int = 24_000
    budgets: RequestBudgets = field(default_factory=RequestBudgets)
    scan_targets: int = Settings().scan_targets
    scan_observations: int = Settings().scan_per_call
    contest_tokens: int = 384
    contest_confidence: Decimal = PAPER
    private: int = PRIVATE
    retractions: Literal["none", "texts"] = "none"

    def applied(self, settings: Settings) -> Settings:
        """Settings of the product with these budgets."""
        return msgspec.structs.replace(
            settings, budgets=self.budgets, scan_targets=self.scan_targets, scan_per_call=self.scan_observations
        )
