"""The configurations of the product that the benchmark compares, and the budgets that the paper gives its requests.

``trace-paper`` and ``readmit`` differ in settings, policy and the switches below, and each ablation in one switch more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal

import msgspec

from readmit import Policy
from readmit.inference import RequestBudgets, Settings, Signal
from readmit.policies import PaperRules
from readmit_bench.methods.method import PRIVATE

LINKER = "linker"
"""What draws the links in ours."""
PAPER = Decimal("0.65")
"""The paper's threshold."""


@dataclass(frozen=True)
class Rules:
    """The rules of ``readmit`` that ``bench shares`` measures one at a time, and which of them the method has."""

    names: bool = False
    """An update or deletion ends what it names. Without the rule it ends whatever shares its slot. Off: it takes out
    less of what ended than it keeps of what holds only where slots are coarse, which a model's are not."""
    beside: bool = True
    """Values of one slot are handed over side by side where nothing is asked about them. Before: the newest one."""
    lists: bool = True
    """A need that is planned as a list takes as many statements as fit. Before: a need took three, and one met it."""
    links: bool = True
    """A statement is linked to the needs that it bears on, by one request a return. Before: by its rank for a need."""
    rows: bool = True
    """A view has up to 16 rows, each a statement. Before: statements that no need takes filled it up to 12."""
    explicit: bool = True
    """Where the benchmark's changes are explicit operations, nothing is asked of the verifier."""


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
    rules: Rules = field(default_factory=Rules)
    """Only where items are drafted."""
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
        # The scan chooses, and each pair that it names has a request to itself.
        all_pairs=0,
        pairs_per_call=1,
        on_unseen="note",
        linking=False,
    ),
    Policy(
        evidence={"invalid_at": PAPER, "suspect_at": PAPER},
        # A possible dependency that was not confirmed changes nothing: no session supports a critical dependency.
        paper=PaperRules(selection="greedy", min_confidence=PAPER, on_unsure="exclude_critical"),
    ),
    observed=True,
    by_slot=True,
    drafts=False,
)
READMIT = Governance(
    "readmit",
    Settings(
        since="departure",
        on_unseen="note",
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
    retractions: bool = False
    """Whether the actor also gets what no longer holds of what it held."""
    explicit: bool = False
    """Whether what changes in the benchmark's histories is said to change, by explicit operations."""

    def applied(self, settings: Settings, *, explicit: bool = False) -> Settings:
        """Settings of the product with these budgets. ``explicit``: operations decide, and links are all drawn."""
        settings = msgspec.structs.replace(
            settings, budgets=self.budgets, scan_targets=self.scan_targets, scan_per_call=self.scan_observations
        )
        return msgspec.structs.replace(settings, changes="explicit", linking=False) if explicit else settings
