"""The measurements as tables in plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit_bench.evaluation.proposals import ALL_PAIRS, BUDGETS, CUTOFFS, NEAR, NEAR_STATED, PAPER_PAIRS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit_bench.evaluation.pairs import PairReport
    from readmit_bench.evaluation.proposals import Recall
    from readmit_bench.evaluation.scores import IntervalEstimate


def proposals_table(measured: Sequence[Recall]) -> str:
    """Recall of the true pair, per target and per return."""
    head = ["haystack", "signals", "histories", *(f"@{k}" for k in CUTOFFS)]
    rows = [
        [recall.haystack, recall.signals, str(recall.histories), *(f"{recall.at[k]:.3f}" for k in CUTOFFS)]
        for recall in measured
    ]
    text = "Recall of the true pair among the first k candidates of its target\n\n" + plain_table(head, rows)
    if budgeted := [recall for recall in measured if recall.budget]:
        head = ["haystack", "signals", "open", *(f"{n}*" if n == PAPER_PAIRS else str(n) for n in BUDGETS)]
        rows = [
            [recall.haystack, recall.signals, f"{recall.open:.0f}", *(f"{recall.budget[n]:.3f}" for n in BUDGETS)]
            for recall in budgeted
        ]
        text += "\n\nRecall of the true pair among the first n pairs of a return (* the paper's average)\n\n"
        text += plain_table(head, rows)
        head = ["haystack", "signals", "open", "judged", "recall", "near enough", "recall", "one half", "other half"]
        rows = [[recall.haystack, recall.signals, *_judged(recall)] for recall in budgeted]
        text += (
            f"\n\nPairs that a preparation judges: all up to {ALL_PAIRS}, beyond that those of score {NEAR} or more, "
            f"of statements {NEAR_STATED}; and by that threshold alone, which was set on one half of the pairs\n\n"
        )
        text += plain_table(head, rows)
        head = ["haystack", "signals", "threshold", "near enough", "one half", "other half"]
        rows = [
            [recall.haystack, recall.signals, f"{threshold:g}", f"{pairs:.0f}", f"{one:.3f}", f"{other:.3f}"]
            for recall in budgeted
            if recall.signals in ("model_free", "combined")
            for threshold, (one, other, pairs) in recall.by_threshold.items()
        ]
        text += (
            "\n\nOther thresholds alone, without a model and with all signals; the product's were set on one half\n\n"
        )
        text += plain_table(head, rows)
    return text


def _judged(recall: Recall) -> list[str]:
    one, other = recall.halves or (0.0, 0.0)
    shares = (recall.judged or 0.0, recall.near or 0.0, one, other)
    judged, near, *halves = (f"{share:.3f}" for share in shares)
    return [f"{recall.open:.0f}", f"{recall.asked:.0f}", judged, f"{recall.ranked:.0f}", near, *halves]


def pairs_table(*reports: PairReport) -> str:
    """A verifier's figures, under one rule or several side by side, and a reliability table for each."""
    figures: list[list[str]] = [
        ["cases", *(f"{one.cases} ({one.positives} invalidate)" for one in reports)],
        ["AUC", *(_shown(one.auc) for one in reports)],
        ["an item is taken out", *(one.taken_out.at for one in reports)],
        ["  true positive rate", *(_shown(one.taken_out.tpr) for one in reports)],
        ["  false positive rate", *(_shown(one.taken_out.fpr) for one in reports)],
        ["a critical item is withheld", *(one.withheld.at for one in reports)],
        ["  true positive rate", *(_shown(one.withheld.tpr) for one in reports)],
        ["  false positive rate", *(_shown(one.withheld.fpr) for one in reports)],
        ["calibration error", *(f"{one.ece:.3f}" for one in reports)],
        ["unsure", *(str(one.open) for one in reports)],
        ["no usable answer", *(str(one.unanswered) for one in reports)],
    ]
    if any(one.tokens_per_pair for one in reports):
        figures.append(["tokens per pair", *(f"{one.tokens_per_pair:.0f}" for one in reports)])
    text = plain_table(["figure", *(one.rule for one in reports)], figures)
    for one in reports:
        bins = [
            [f"{row.low:.1f}–{row.high:.1f}", str(row.count), f"{row.said:.3f}", f"{row.was:.3f}"]
            for row in one.reliability
        ]
        text += f"\n\nReliability of {one.rule}\n\n" + plain_table(["stated", "cases", "said", "was"], bins)
    return text


def _shown(estimate: IntervalEstimate) -> str:
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def plain_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under their heads."""
    widths = [max(len(line[at]) for line in (head, *rows)) for at in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (head, *rows)]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)
