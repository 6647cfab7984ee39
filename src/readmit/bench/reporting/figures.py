"""The figures of a report, as PNG and SVG. Published points are hollow and named as such."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from readmit.bench.metrics import average, percent, score_manbench, score_memora, score_stale
from readmit.bench.published import published
from readmit.bench.reporting.tables import PUBLISHED_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit.bench.results import Plan, Result

ABLATION_METRICS = ("overall", "via", "iir")


def draw(plan: Plan, results: Sequence[Result], folder: Path) -> list[tuple[str, str]]:
    """All figures that the results allow; (file stem, caption) of each."""
    import matplotlib as mpl

    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    counted = [result for result in results if result.eligible]
    drawn = [*_planes(plan, counted, folder)]
    for made in (_cost(plan, counted, folder), _ablations(plan, counted, folder), _scale(plan, counted, folder)):
        drawn += [made] if made else []
    drawn += [_backends(folder)] if any(result.benchmark == "memora" for result in counted) else []
    return drawn


def _canvas(width: float = 6.4) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, 4.2), layout="constrained")
    return figure, figure.subplots()


def _saved(figure: Any, folder: Path, stem: str) -> None:
    import matplotlib as mpl

    # The same report twice gives the same bytes.
    with mpl.rc_context({"svg.hashsalt": stem}):
        figure.savefig(folder / f"{stem}.png", dpi=144, metadata={"Software": None})
        figure.savefig(folder / f"{stem}.svg", metadata={"Date": None})


def _planes(plan: Plan, results: Sequence[Result], folder: Path) -> list[tuple[str, str]]:
    drawn = []
    for benchmark in dict.fromkeys(result.benchmark for result in results):
        figure, axes = _canvas()
        for number, method in enumerate(plan.methods):
            for shape, (block, scores) in zip("osD^v", _scores(results, benchmark, method).items(), strict=False):
                axes.scatter(
                    percent(scores.via), percent(scores.iir), marker=shape, s=60, color=f"C{number % 10}",
                    facecolors="none" if shape == "o" else f"C{number % 10}", alpha=0.8,
                    label=f"{method}, {block}",
                )  # fmt: skip
        axes.set(xlabel="VIA (valid state available), %", ylabel="IIR (invalid state rejected), %")
        axes.set(xlim=(-4, 104), ylim=(-4, 104), title=f"Admission plane, {benchmark}")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
        _saved(figure, folder, f"plane-{benchmark}")
        drawn.append((f"plane-{benchmark}", f"Admission plane of {benchmark}; upper right is admissible."))
    return drawn


def _scores(results: Sequence[Result], benchmark: str, method: str) -> dict[str, Any]:
    """Judged where there are judgments, else the view itself, by block."""
    own = [result for result in results if (result.benchmark, result.method) == (benchmark, method)]
    found: dict[str, Any] = {}
    for block in dict.fromkeys(result.block for result in own):
        part = [result for result in own if result.block == block]
        if all(result.stale for result in part):
            found[block] = score_stale([result.stale for result in part if result.stale])
        elif all(result.manbench for result in part):
            found[block] = score_manbench([result.manbench for result in part if result.manbench])
        elif all(result.memora for result in part):
            found[block] = score_memora([result.memora for result in part if result.memora])
        elif all(result.seen for result in part):
            found[block] = score_memora([result.seen for result in part if result.seen])
    return found


def _cost(plan: Plan, results: Sequence[Result], folder: Path) -> tuple[str, str] | None:
    own = [result for result in results if result.stale is not None]
    if not own:
        return None
    figure, axes = _canvas()
    for method in plan.methods:
        part = [result for result in own if result.method == method]
        if part:
            success = percent(score_stale([r.stale for r in part if r.stale]).ls)
            tokens = max(1.0, sum(r.tokens for r in part) / len(part))
            axes.scatter(tokens, success, s=60)
            axes.annotate(method, (tokens, success), fontsize=7, xytext=(4, 4), textcoords="offset points")
    table = published().table("tab:stale-subset-buckets")
    for row in table.rows:
        if row.block == "Aggregate" and "ls" in row.values:
            x, y = float(row.values["tokens"]), float(row.values["ls"])
            axes.scatter(x, y, s=60, facecolors="none", edgecolors="gray")
            axes.annotate(f"{row.method} (published)", (x, y), fontsize=6, color="gray")
    axes.set(xscale="log", xlabel="tokens per episode", ylabel="LS, %", title="Accuracy against tokens, STALE")
    axes.grid(alpha=0.3)
    _saved(figure, folder, "cost-stale")
    return "cost-stale", f"LS against tokens per episode; hollow: published ({table.label})."


def _ablations(plan: Plan, results: Sequence[Result], folder: Path) -> tuple[str, str] | None:
    methods = [name for name in plan.methods if name in PUBLISHED_NAMES]
    if len(methods) < 2:  # noqa: PLR2004  # one bar compares nothing
        return None
    figure, axes = _canvas(8.0)
    table = published().table("tab:stale-core-ablation")
    for place, method in enumerate(methods):
        scored = _scores(results, "stale", method)
        if not scored:
            continue
        mean = average(scored)
        printed = table.row("Pooled", PUBLISHED_NAMES[method])
        for number, metric in enumerate(ABLATION_METRICS):
            at = place + (number - 1) * 0.27
            axes.bar(
                at,
                percent(getattr(mean, metric)),
                0.25,
                color=f"C{number}",
                label=metric.upper() if not place else None,
            )
            if printed is not None:
                axes.scatter(at, float(printed.values[metric]), facecolors="none", edgecolors="black", s=24, zorder=3)
    axes.set_xticks(range(len(methods)), methods, fontsize=7, rotation=15)
    axes.set(ylabel="%", title="One mechanism removed at a time, STALE Type II")
    axes.legend(fontsize=7)
    _saved(figure, folder, "ablations")
    return "ablations", f"Bars: this run. Circles: published ({table.label})."


def _scale(plan: Plan, results: Sequence[Result], folder: Path) -> tuple[str, str] | None:
    scales = sorted({result.agents for result in results if result.agents is not None})
    if len(scales) < 2:  # noqa: PLR2004  # one point is no line
        return None
    figure, axes = _canvas()
    for number, method in enumerate(plan.methods):
        for style, metric in (("-", "via"), ("--", "iir")):
            ys = []
            for scale in scales:
                scored = _scores([r for r in results if r.agents == scale], "manbench", method)
                ys.append(percent(getattr(average(scored), metric)) if scored else float("nan"))
            axes.plot(scales, ys, style, marker="o", color=f"C{number}", label=f"{method} {metric.upper()}")
    axes.set(xscale="log", xlabel="active agents", ylabel="%", title="Agent scale, ManBench-Return")
    axes.set_xticks(scales, [str(scale) for scale in scales])
    axes.legend(fontsize=7)
    axes.grid(alpha=0.3)
    _saved(figure, folder, "scale")
    return "scale", "VIA and IIR by the number of active agents."


def _backends(folder: Path) -> tuple[str, str]:
    table = published().table("tab:backend-portability")
    figure, axes = _canvas()
    for number, block in enumerate(dict.fromkeys(row.block for row in table.rows)):
        pair = [table.row(block, name) for name in ("Static", "TRACE")]
        points = [(float(row.values["iir"]), float(row.values["fama"])) for row in pair if row is not None]
        axes.plot(*zip(*points, strict=True), color=f"C{number}", marker="o", markerfacecolor="none", label=block)
    axes.set(xlabel="IIR, %", ylabel="FAMA, %", title="Backend pairs, Static to TRACE (published)")
    axes.legend(fontsize=7)
    axes.grid(alpha=0.3)
    _saved(figure, folder, "backends")
    return "backends", f"Published pairs only ({table.label}): this run holds no backend study."
