"""Every parameter of the paper's table "Experimental parameter settings", by name, with that default."""

from __future__ import annotations

from readmit.bench.episodes import Budget
from readmit.records.base import Record


class MemoraSettings(Record, frozen=True, kw_only=True):
    """Memora: sessions retrieved on each side of the departure, and the budget of selected facts."""

    departures: tuple[float, ...] = (0.25, 0.50, 0.75)
    answer_tokens: int = 2048
    state_prediction_tokens: int = 4096
    retrieved_before: int = 10
    retrieved_after: int = 14
    recent_before: int = 2
    recent_after: int = 4
    batch_sessions: int = 6
    facts_initial: int = 12
    facts_at_most: int = 16
    selector_confidence: float = 0.45

    @property
    def budget(self) -> Budget:
        return Budget(per_query=self.facts_at_most, union=self.facts_at_most)


class StaleSettings(Record, frozen=True, kw_only=True):
    """STALE Type II. A stratum is named by the first and last index of the old evidence's session."""

    early: tuple[int, int] = (0, 4)
    middle: tuple[int, int] = (5, 9)
    late: tuple[int, int] = (10, 14)
    answer_tokens: int = 4096
    judge_tokens: int = 3072
    extraction_tokens: int = 4096
    extraction_items: int = 16
    governance_tokens: int = 8192
    scan_tokens: int = 512
    verification_tokens: int = 512
    retrieved_per_query: int = 10
    retrieved_union: int = 30
    extraction_characters: int = 24_000
    governance_characters: int = 32_000
    scan_targets: int = 1
    scan_observations: int = 4

    @property
    def budget(self) -> Budget:
        return Budget(per_query=self.retrieved_per_query, union=self.retrieved_union)


class ManBenchSettings(Record, frozen=True, kw_only=True):
    """ManBench-Return with the token budgets of the Qwen and DeepSeek runs; ``GEMINI`` has the others."""

    active_agents: int = 4
    baseline_tokens: int = 96
    final_tokens: int = 96
    active_tokens: int = 700
    verifier_tokens: int = 160
    verifier_confidence: float = 0.65
    view_items: int = 4
    view_characters: int = 4096

    @property
    def budget(self) -> Budget:
        return Budget(per_query=self.view_items, union=self.view_items, characters=self.view_characters)


GEMINI = ManBenchSettings(baseline_tokens=256, final_tokens=256, active_tokens=1024, verifier_tokens=384)
