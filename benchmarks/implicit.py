"""Implicit invalidation on the shared development data: what proposals find, what a strong verifier judges.

Run it with ``python -m benchmarks.implicit [SHARED]``; ``SHARED`` is the folder that holds ``data/``. The haystack is
a substitute unless a row says otherwise: unrelated Memora sessions around each STALE pair.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path

from benchmarks.result import shared_folder
from readmit import Policy
from readmit.models import MiniLM
from readmit_bench.evaluation.pairs import PairReport, evaluate, three_answers
from readmit_bench.evaluation.plain_tables import pairs_table, proposals_table
from readmit_bench.evaluation.proposals import PAPER_PAIRS, Recall, measure_all
from readmit_bench.evaluation.stored_judgments import stored_judgments

SEEDS = (0, 1, 2)

# What share of true pairs a preparation puts to the verifier, with model-free signals where it has to choose.
BARS = {"STALE's own, buried": 0.7, "substitute, buried": 0.9}


def run(shared: Path) -> list[dict[str, object]]:
    """Every figure, with its bar where there is one."""
    return figures(measure_all(shared / "data", MiniLM(), SEEDS)) + judged(shared)


def figures(measured: list[Recall]) -> list[dict[str, object]]:
    """The figures that have bars, and recall at the paper's number of pairs."""
    by = {(recall.haystack, recall.signals): recall for recall in measured}
    free, facts = by["substitute, all pairs", "model_free"], by["substitute", "implied_facts"]
    per_return = f"Type II recall at {PAPER_PAIRS} pairs per return"
    rows: list[dict[str, object]] = []
    for name in dict.fromkeys(recall.haystack for recall in measured if recall.budget):
        plain, ours = by[name, "cosine"], by[name, "model_free"]
        enough = f"true pairs of score {ours.threshold:g} or more, model-free signals"
        floor = plain.budget[PAPER_PAIRS]
        rows += [
            _row(f"{name}: true pairs that a preparation judges", ours.judged or 0.0, BARS.get(name)),
            _row(f"{name}: {per_return}, model-free signals", ours.budget[PAPER_PAIRS], floor),
            _row(f"{name}: {per_return}, plain cosine", floor),
            *(
                _row(f"{name}: {enough}, {half} half of the pairs", value)
                for half, value in zip(("one", "other"), ours.halves or (), strict=False)
            ),
        ]
    both = by["substitute", "combined"]
    return [
        *rows,
        _row(f"substitute: {per_return}, all signals", both.budget[PAPER_PAIRS], 0.95),
        _row("substitute: Type II recall at 20 candidates per target, model-free signals", free.at[20], 0.95),
        _row("substitute: Type II recall at 5 candidates per target, premises × implied facts", facts.at[5], 0.97),
        _row("substitute: Type II recall at 10 candidates per target, premises × implied facts", facts.at[10], 0.99),
    ]


def judged(shared: Path) -> list[dict[str, object]]:
    """The strong model's recorded judgments, scored anew."""
    report = recorded(shared)
    return [
        _row("Recorded judgments: true pairs judged invalidating", report.taken_out.tpr.value),
        _row("Recorded judgments: crossed pairs judged invalidating", report.taken_out.fpr.value),
        _row("Recorded judgments: area under the curve", report.auc.value),
    ]


def recorded(shared: Path) -> PairReport:
    """Every answer counts, however sure: these have no scores."""
    policy = Policy(paper={"min_confidence": Decimal(0)})
    return evaluate(*stored_judgments(shared / "data"), policy=policy, rule=three_answers(policy))


def _row(name: str, value: float, bar: float | None = None) -> dict[str, object]:
    return {
        "name": name,
        "value": round(value, 4),
        "bar": bar,
        "unit": "share",
        "holds": None if bar is None else value >= bar,
    }


def main() -> int:
    """Print the tables and the bars; fail if a bar does not hold."""
    shared = Path(sys.argv[1]) if len(sys.argv) > 1 else shared_folder()
    measured = measure_all(shared / "data", MiniLM(), SEEDS)
    print(proposals_table(measured), end="\n\n")
    print(pairs_table(recorded(shared)), end="\n\n")
    rows = figures(measured) + judged(shared)
    for row in rows:
        verdict = {None: "", True: f"bar {row['bar']}: holds", False: f"bar {row['bar']}: MISSED"}[row["holds"]]  # type: ignore[index]
        print(f"{row['value']:<8} {row['name']}  {verdict}".rstrip())
    return 1 if any(row["holds"] is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
