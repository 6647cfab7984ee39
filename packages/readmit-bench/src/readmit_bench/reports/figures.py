"""The figures of a report: admission plane, accuracy against tokens, ablation bars, scale lines."""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING, Any

from readmit_bench.benchmarks import benchmark_named
from readmit_bench.published import published
from readmit_bench.reports.backend_pairs import draw_pairs
from readmit_bench.reports.canvas import (
    BLACK,
    BLUE,
    LARGEST,
    ORANGE,
    PALE,
    SMALLEST,
    STEP,
    WHERE,
    Drawn,
    bars,
    canvas,
    legend,
    mark_of,
    put,
    save,
    sizes,
)
from readmit_bench.reports.published_rows import FIRST, OURS, Printed, family, printed_rows
from readmit_bench.reports.run_scores import AVERAGE, BOTH, MANBENCH, POOLED, SEEN, STALE, Line
from readmit_bench.reports.tables import in_order
from readmit_bench.studies import study_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from readmit_bench.published import PublishedRow
    from readmit_bench.reports.run_scores import Scored
    from readmit_bench.results import RunPlan

# Dark, middle and light, so that they differ in gray as well; published ones by their hatches.
ABLATION_METRICS = (("overall", "Overall", BLUE, "////"), ("via", "VIA", ORANGE, "...."), ("iir", "IIR", PALE, "xxxx"))
LINES = ("-", (0, (5, 1)), "-.", (0, (1, 1)), (0, (3, 1, 1, 1, 1, 1)))
SCALE_METRICS = (("overall", "Overall"), ("via", "VIA"), ("iir", "IIR"))
WIDE = 3


def draw(plan: RunPlan, scores: Sequence[Scored], folder: Path) -> list[Drawn]:
    """All figures that the scores allow."""
    return [*_planes(plan, scores, folder), *_costs(plan, scores, folder), *_ablations(plan, scores, folder),
            *_scales(plan, scores, folder), *draw_pairs(plan, scores, folder)]  # fmt: skip


def _printed(plan: RunPlan, scored: Scored) -> list[Printed]:
    """Published rows of one actor, so that a figure stays readable: the run's family, or the paper's first."""
    wanted = family(plan) or FIRST
    rows = printed_rows(plan, scored)
    return [row for row in rows if wanted in row.actor.casefold()] or rows


def _planes(plan: RunPlan, scores: Sequence[Scored], folder: Path) -> Iterator[Drawn]:
    answered = {scored.benchmark for scored in scores if scored.kind is not SEEN}
    for scored in scores:
        if scored.agents is not None or (scored.kind is SEEN and scored.benchmark in answered):
            continue
        blocks = [block for block in in_order(scored.blocks) if block != POOLED]
        columns = len(blocks) if len(blocks) <= WIDE else (len(blocks) + 1) // 2
        rows = -(-len(blocks) // columns)
        figure, axes = canvas(3.2 * columns + 0.6, 3.3 * rows + 1.0, rows, columns)
        printed = _printed(plan, scored)
        for one, block in zip(axes, blocks, strict=False):
            _plane(one, block, [x for x in scored.lines if x.block == block], [x for x in printed if x.block == block])
        for one in axes[len(blocks) :]:
            one.set_visible(False)
        _method_legend(figure, (line.method for line in scored.lines), printed)
        yield save(figure, folder, _plane_said(scored, printed))


def _plane(axes: Any, block: str, lines: Sequence[Line], printed: Sequence[Printed]) -> None:
    drawn: list[tuple[Line | Printed, bool]] = [*((x, False) for x in lines), *((x, True) for x in printed)]
    points = [(x.get("via") or 0.0, x.get("iir") or 0.0) for x, _ in drawn]
    for (one, hollow), at, size in zip(drawn, points, sizes(points), strict=True):
        if isinstance(one, Line):
            bars(axes, at, one.bounds("via"), one.bounds("iir"), mark_of(one.method).color)
        put(axes, mark_of(one.method, hollow=hollow), at, size)
    axes.set(xlim=(-8, 108), ylim=(-8, 108), xticks=range(0, 101, 25), yticks=range(0, 101, 25))
    axes.set_title(block, fontsize=9)
    axes.set_xlabel("VIA: valid state available, %", fontsize=8)
    axes.set_ylabel("IIR: invalid state rejected, %", fontsize=8)


def _method_legend(figure: Any, methods: Iterable[str], printed: Iterable[Printed | PublishedRow]) -> None:
    ours = [(name, mark_of(name)) for name in dict.fromkeys(methods)]
    theirs = dict.fromkeys(row.method for row in printed)
    legend(figure, ours + [(f"{name} (published)", mark_of(name, hollow=True)) for name in theirs])


def _plane_said(scored: Scored, printed: Sequence[Printed]) -> Drawn:
    caption = f"Admission plane, {scored.title}. Upper right is admissible. Filled: this run."
    if printed:
        labels = ", ".join(dict.fromkeys(row.label for row in printed))
        caption += f" Hollow: published, {printed[0].actor} ({labels})."
    points = [
        f"{line.method} {line.get('via'):.1f} / {line.get('iir'):.1f}"
        for method in dict.fromkeys(line.method for line in scored.lines)
        if (line := scored.last(method)) is not None
    ]
    alt = f"Scatter plots of VIA against IIR in percent. Over all blocks: {'; '.join(points)}."
    return Drawn(f"plane-{scored.benchmark}", f"{caption} {WHERE}", alt)


def _costs(plan: RunPlan, scores: Sequence[Scored], folder: Path) -> Iterator[Drawn]:
    for scored in scores:
        benchmark = benchmark_named(scored.benchmark)
        metric, name = benchmark.accuracy
        lines = [
            line for method in plan.methods if (line := scored.last(method)) and line.tokens and metric in line.scores
        ]
        if scored.agents is not None or scored.kind is SEEN or not lines:
            continue
        label = benchmark.published_costs if study_named(plan.study).in_paper else ""
        rows = [row for row in published().table(label).rows if row.block == "Aggregate"] if label else []
        figure, (axes,) = canvas(6.6, 4.6)
        points = [(line.tokens, line.get(metric) or 0.0) for line in lines]
        points += [(float(row.values["tokens"]), float(row.values["ls"])) for row in rows]
        for line, at in zip(lines, points, strict=False):
            bars(axes, at, None, line.bounds(metric), mark_of(line.method).color)
        marks = [mark_of(line.method) for line in lines] + [mark_of(row.method, hollow=True) for row in rows]
        on_the_axis = [(log10(x), y) for x, y in points]
        for mark, at, size in zip(marks, points, sizes(on_the_axis, near=(0.03, 2.0)), strict=True):
            put(axes, mark, at, size)
        axes.set(xscale="log", ylim=(-8, 108))
        axes.set_xlabel("tokens per episode, without the judge's", fontsize=9)
        axes.set_ylabel(f"{name}, %", fontsize=9)
        _method_legend(figure, (line.method for line in lines), rows)
        caption = (
            f"Accuracy against tokens, {scored.benchmark}: {name} by tokens per episode, log scale. Filled: this run."
        )
        caption += f" Hollow: published, 20 cases per stratum ({label})." if rows else ""
        caption += f" {WHERE}"
        listed = "; ".join(f"{line.method} {line.get(metric):.1f} % at {line.tokens:,.0f} tokens" for line in lines)
        yield save(figure, folder, Drawn(f"cost-{scored.benchmark}", caption, f"Scatter plot. {listed}."))


def _ablations(plan: RunPlan, scores: Sequence[Scored], folder: Path) -> Iterator[Drawn]:
    """Pooled, as the paper's are; with intervals."""
    theirs = {ours[0]: name for name, ours in OURS.items()}
    methods = [name for name in plan.methods if name in theirs]
    scored = next((one for one in scores if one.kind is STALE), None)
    if scored is None or len(methods) < 2:  # noqa: PLR2004  # one bar compares nothing
        return
    table = published().table("tab:stale-core-ablation")
    figure, (axes,) = canvas(9.0, 4.4)
    listed = []
    for place, method in enumerate(methods):
        line = scored.line(method, POOLED, BOTH) or scored.last(method)
        printed = table.row("Pooled", theirs[method])
        for number, (metric, _, color, hatch) in enumerate(ABLATION_METRICS):
            at = place + (number - 1) * 0.28
            if line is not None:
                value, interval = line.get(metric) or 0.0, line.bounds(metric)
                axes.bar(at - 0.065, value, 0.12, color=color, edgecolor=BLACK, linewidth=0.6)
                if interval is not None:
                    axes.vlines(at - 0.065, interval.low, interval.high, color=BLACK, linewidth=1.4)
            if printed is not None:
                axes.bar(at + 0.065, float(printed.values[metric]), 0.12, color="none", edgecolor=BLACK, hatch=hatch)
        listed += [f"{method} {line.get('overall'):.1f}"] if line else []
    axes.set_xticks(range(len(methods)), methods, fontsize=8)
    axes.set(ylim=(0, 105))
    axes.set_ylabel("%", fontsize=9)
    axes.grid(visible=False, axis="x")
    _bar_legend(figure)
    caption = "One mechanism removed at a time, STALE Type II, pooled. Filled: this run, with 95 % intervals. "
    caption += f"Hatched: published ({table.label})."
    alt = f"Bars of Overall, VIA and IIR. Overall of this run: {'; '.join(listed)}."
    yield save(figure, folder, Drawn("ablations", caption, alt))


def _bar_legend(figure: Any) -> None:
    from matplotlib.patches import Patch

    ours = [Patch(facecolor=color, edgecolor=BLACK, label=name) for _, name, color, _ in ABLATION_METRICS]
    theirs = [
        Patch(facecolor="none", edgecolor=BLACK, hatch=hatch, label=f"{name} (published)")
        for _, name, _, hatch in ABLATION_METRICS
    ]
    figure.legend(handles=[*ours, *theirs], loc="outside lower center", ncols=3, fontsize=8, frameon=False)


def _scales(plan: RunPlan, scores: Sequence[Scored], folder: Path) -> Iterator[Drawn]:
    scored = next((one for one in scores if one.scales and one.kind is MANBENCH), None)
    if scored is None:
        return
    scales = [int(block) for block in scored.blocks if block != AVERAGE]
    printed = printed_rows(plan, scored)
    figure, axes = canvas(9.6, 3.8, 1, len(SCALE_METRICS))
    for one, (metric, name) in zip(axes, SCALE_METRICS, strict=True):
        for number, method in enumerate(plan.methods):
            found = [scored.line(method, str(scale)) for scale in scales]
            ys = [None if line is None else line.get(metric) for line in found]
            mark, size = mark_of(method), max(LARGEST - STEP * number, SMALLEST)
            for scale, line, y in zip(scales, found, ys, strict=True):
                if line is not None and y is not None:
                    bars(one, (scale, y), None, line.bounds(metric), mark.color)
            values = [float("nan") if y is None else y for y in ys]
            one.plot(scales, values, linewidth=1.2, linestyle=LINES[number % len(LINES)], **mark.style(size, rim=True))
        for method in dict.fromkeys(row.method for row in printed):
            points = [
                (int(row.block), row.get(metric)) for row in printed if row.method == method and row.block != AVERAGE
            ]
            one.plot(
                *zip(*points, strict=True), linestyle="--", linewidth=0.8, **mark_of(method, hollow=True).style(5.5)
            )
        one.set(xscale="log", ylim=(-6, 106))
        one.set_xticks(scales, [str(scale) for scale in scales])
        one.minorticks_off()
        one.set_title(f"{name}, %", fontsize=9)
        one.set_xlabel("active agents", fontsize=8)
    _method_legend(figure, plan.methods, printed)
    caption = "Agent scale, ManBench-Return, both conditions pooled. Filled: this run. "
    caption += f"Hollow, dashed: published (tab:agent-scale). {WHERE}"
    said = "; ".join(
        f"{line.method} with {line.block} agents {line.get('via'):.1f} / {line.get('iir'):.1f}"
        for line in scored.lines
        if line.block != AVERAGE
    )
    yield save(figure, folder, Drawn("scale", caption, f"Lines over the number of active agents. VIA / IIR: {said}."))
