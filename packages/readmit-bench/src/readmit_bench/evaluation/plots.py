"""Plots of the measurements, as PNG or SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from readmit.errors import RecordError
from readmit_bench.evaluation import scores
from readmit_bench.evaluation.proposals import PAPER_PAIRS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit_bench.evaluation.pairs import PairReport
    from readmit_bench.evaluation.proposals import Recall


def plot_pairs(report: PairReport, path: Path) -> None:
    """The ROC curve beside the reliability diagram."""
    figure, (left, right) = _figure()
    chances = [0.5 if entry.judgment is None else entry.judgment.chance for entry in report.judged]
    points = scores.curve(chances, [entry.case.invalidates for entry in report.judged])
    left.plot([x for x, _ in points], [y for _, y in points], label=f"AUC {report.auc.value:.3f}")
    for rates in (report.taken_out, report.withheld):
        left.plot([rates.fpr.value], [rates.tpr.value], "o", label=rates.at)
    left.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0, 1), ylim=(0, 1.02))
    right.plot([row.said for row in report.reliability], [row.was for row in report.reliability], "o-")
    right.set(xlabel="stated probability", ylabel="share that held", xlim=(0, 1), ylim=(0, 1.02))
    right.set_title(f"calibration error {report.ece:.3f}")
    for axes in (left, right):
        axes.plot([0, 1], [0, 1], ":", color="gray")
    left.legend(loc="lower right")
    _save(figure, path)


def plot_proposals(measured: Sequence[Recall], path: Path) -> None:
    """Recall per target, beside recall per return with the paper's average marked."""
    figure, (left, right) = _figure()
    for recall in measured:
        label = f"{recall.signals}, {recall.haystack}"
        left.plot(list(recall.at), list(recall.at.values()), "o-", label=label)
        if recall.budget:
            right.plot(list(recall.budget), list(recall.budget.values()), "o-", label=label)
    right.axvline(PAPER_PAIRS, linestyle=":", color="gray", label=f"paper: {PAPER_PAIRS} pairs per return")
    left.set(xlabel="candidates per target", ylabel="recall of the true pair", ylim=(0, 1.02))
    right.set(xlabel="pairs verified per return", ylabel="recall of the true pair", ylim=(0, 1.02))
    right.legend(loc="lower right", fontsize="x-small")
    _save(figure, path)


def _figure() -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    # Not pyplot: it would keep figures alive and look for a display.
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    return figure, figure.subplots(1, 2)


def _save(figure: Any, path: Path) -> None:
    if path.suffix not in (".png", ".svg"):
        raise RecordError(f"{path.name}: plots are written as .png or .svg; change the ending")
    # Without a date, equal measurements give equal files.
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
