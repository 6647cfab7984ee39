"""The backend study's pairs: what admission changes on one store, this run's beside the paper's.

A pair is Static and readmit on one store over the same episodes of the departure that the paper's table has. Without
a judge, this run's figures are those of the views themselves, by literal match: another quantity than the paper's
judged answers, so the two are separate in the table and drawn on their own axes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from readmit_bench.intervals import interval_of
from readmit_bench.methods.stores import HALVES, STORES
from readmit_bench.metrics import harmonic_mean, percent, score_memora
from readmit_bench.published import published
from readmit_bench.reports.canvas import BLUE, GREEN, ORANGE, PINK, Drawn, Mark, bars, canvas, legend, save
from readmit_bench.reports.run_scores import MEMORA, SEEN, draw
from readmit_bench.reports.tables import ABSENT, NAMES, THIS_RUN, Cell, Table, TableRow, columns_of, row_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from readmit_bench.intervals import Floats, Interval
    from readmit_bench.reports.run_scores import Kind, Scored
    from readmit_bench.results import Result, RunPlan

LABEL = "tab:backend-portability"
BENCHMARK, BLOCK = "memora", "50%"
METRICS = ("via", "iir", "hm", "fama")
NO_PAIR = "This run holds no pair: no store ran both Static and readmit to the end at 50 % departure."
_MARKS: dict[str, tuple[str, str]] = dict(
    zip(STORES, ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PINK, "D")), strict=True)
)


@dataclass(frozen=True)
class Half:
    """One method of a pair, in percent. ``n`` is not printed in the paper's table."""

    store: str
    method: str
    values: dict[str, float]
    n: int | None = None
    draws: Mapping[str, Floats] = field(default_factory=dict, compare=False, repr=False)
    """Each metric in every bootstrap draw, in percent; the halves of a pair are drawn alike."""


def pair_tables(plan: RunPlan, scores: Sequence[Scored]) -> list[Table]:
    """One table where the study asks for it: each store's pair of ours, then the paper's."""
    if not _asked(plan):
        return []
    ours, kind = _ours(plan, scores)
    source = THIS_RUN if kind is MEMORA else f"{THIS_RUN}, no judge"
    rows: list[TableRow] = []
    for store in STORES:
        for place, half in enumerate(one for one in ours if one.store == store):
            n = str(half.n)
            rows.append(row_of(store, half.method, source, n, *_cells(half, ours), starts=not place))
        starts = not any(one.store == store for one in ours)
        for half in (one for one in printed() if one.store == store):
            cells = row_of(store, half.method, f"published, {LABEL}", "", *_cells(half, ())).cells
            rows.append(TableRow(cells, published=LABEL, starts=starts))
            starts = False
    names = (NAMES[name] for name in METRICS)
    return [
        Table(
            title="Pairs on one store, with and without admission, at 50 % departure",
            columns=columns_of(("Store", "Method", "Source"), ("n", *names)),
            rows=tuple(rows),
            note=_note(kind) if ours else NO_PAIR,
        )
    ]


def _note(kind: Kind) -> str:
    said = "Both halves read the same stored records; marked is a lead whose interval over the pair leaves out zero."
    if kind is MEMORA:
        return f"{said} Read the published pairs beside ours with the actors in mind."
    return (
        f"{said} This run's figures are of the views themselves, by literal match, FAMA too; the published ones are of "
        "judged answers. Compare pairs within a source, not across."
    )


def draw_pairs(plan: RunPlan, scores: Sequence[Scored], folder: Path) -> Iterator[Drawn]:
    """Our pairs filled, the paper's hollow, each from Static to admission."""
    if not _asked(plan):
        return
    ours, kind = _ours(plan, scores)
    panels = [(ours, False, "this run" + ("" if kind is MEMORA else ", views without a judge"))] if ours else []
    panels.append((printed(), True, "published, judged answers"))
    figure, axes = canvas(3.6 * len(panels) + 0.6, 4.2, 1, len(panels))
    for one, (halves, theirs, title) in zip(axes, panels, strict=True):
        for place, store in enumerate(dict.fromkeys(half.store for half in halves)):
            pair = [half for half in halves if half.store == store]
            # Each is smaller than the one before, so that coinciding pairs stay visible.
            _arrow(one, pair, Mark(*_MARKS[store], hollow=theirs).style(10 - 2 * place))
        one.set_title(title, fontsize=9)
        one.set_xlabel("VIA: valid state available, %", fontsize=8)
        one.set_ylabel("IIR: invalid state rejected, %", fontsize=8)
        one.margins(0.15)
    filled = [(store, Mark(*mark)) for store, mark in _MARKS.items() if any(half.store == store for half in ours)]
    hollow = [(f"{store} (published)", Mark(*mark, hollow=True)) for store, mark in _MARKS.items()]
    legend(figure, filled + hollow)
    caption = f"Pairs on one store: the line leads from Static to admission. Hollow: published ({LABEL})."
    described = "; ".join(_described(half) for half in ours)
    yield save(
        figure,
        folder,
        Drawn(
            "backends",
            f"{caption} Filled: this run; its axes are its own." if ours else f"{caption} {NO_PAIR}",
            f"Lines from Static to admission in the plane of VIA and IIR, in percent. {described or NO_PAIR}",
        ),
    )


def _arrow(axes: Any, halves: Sequence[Half], style: dict[str, Any]) -> None:
    points = [(half.values["via"], half.values["iir"]) for half in halves]
    for half, point in zip(halves, points, strict=True):
        bars(axes, point, _bounds(half, "via"), _bounds(half, "iir"), style["color"])
    axes.plot(*zip(*points, strict=True), linewidth=1.0, **style)
    # The end of the line is where admission leads.
    axes.annotate(halves[-1].method, points[-1], fontsize=7, xytext=(5, 4), textcoords="offset points")


def _described(half: Half) -> str:
    return f"{half.store}, {half.method}: {half.values['via']:.1f} / {half.values['iir']:.1f}"


def _asked(plan: RunPlan) -> bool:
    return plan.study == "backends" or any("/" in name for name in plan.methods)


def _ours(plan: RunPlan, scores: Sequence[Scored]) -> tuple[list[Half], Kind]:
    """The pairs that are whole: both halves have every planned episode of the block. Judged, if they were."""
    by_kind = {scored.kind: scored for scored in scores if scored.benchmark == BENCHMARK}
    kind = MEMORA if MEMORA in by_kind else SEEN
    results = [r for r in by_kind[kind].results if r.block == BLOCK] if kind in by_kind else []
    planned = plan.cases.get(f"{BENCHMARK}/{BLOCK}", 0)
    found: list[Half] = []
    for store in STORES:
        own = {half: [r for r in results if r.method == f"{store}/{half}"] for half in HALVES}
        if planned and all(len(lines) == planned for lines in own.values()):
            found += [_scored(store, half, lines, kind, seed=plan.seed) for half, lines in own.items()]
    return found, kind


def _scored(store: str, half: str, results: Sequence[Result], kind: Kind, *, seed: int) -> Half:
    scores = score_memora([kind.pick(result) for result in results])
    values = {name: percent(getattr(scores, name)) for name in METRICS if name != "hm"}
    hm = percent(harmonic_mean(scores.via, scores.iir))
    everything = replace(kind, columns=tuple(dict.fromkeys((*kind.columns, *METRICS))))
    draws = {name: 100 * drawn for name, drawn in draw(everything, results, seed=seed).items()}
    return Half(store, half, values | {"hm": hm}, len(results), draws)


def printed() -> list[Half]:
    """The paper's pairs."""
    return [
        Half(row.block, row.method, {name: float(value) for name, value in row.values.items()})
        for row in published().table(LABEL).rows
    ]


def _cells(half: Half, pairs: Sequence[Half]) -> list[Cell]:
    cells = []
    for name in METRICS:
        if name not in half.values:
            cells.append(Cell(ABSENT))
            continue
        others = [one for one in pairs if one.store == half.store and one.method != half.method]
        bounds = _bounds(half, name)
        low, high = ("", "") if bounds is None else (f"{bounds.low:.1f}", f"{bounds.high:.1f}")
        marked = bool(others) and all(_leads(half, one, name) for one in others)
        cells.append(Cell(f"{half.values[name]:.2f}", low, high, marked=marked))
    return cells


def _bounds(half: Half, name: str) -> Interval | None:
    return interval_of(half.draws[name].tolist(), seed=0) if name in half.draws else None


def _leads(half: Half, other: Half, name: str) -> bool:
    """Whether the interval of the difference within the pair is above zero."""
    if name not in half.draws or name not in other.draws:
        return False
    return interval_of((half.draws[name] - other.draws[name]).tolist(), seed=0).low > 0
