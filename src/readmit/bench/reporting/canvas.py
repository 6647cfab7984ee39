"""How figures look: marks that differ in shape and in color-blind-safe color, filled for ours, hollow for published.

The same results give the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import isclose
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# The palette of Okabe and Ito, without its yellow, which white swallows.
BLACK, ORANGE, SKY, GREEN, BLUE, RED, PINK, GRAY = (
    "#000000", "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00", "#cc79a7", "#7a7a7a",
)  # fmt: skip
_MARKS = {
    "Static": (BLACK, "o"),
    "Restore": (ORANGE, "s"),
    "Reset": (SKY, "X"),
    "MemStrata": (GREEN, "^"),
    "MemTX": (PINK, "v"),
    "CUPMem": (GRAY, "h"),
    "trace-paper": (BLUE, "D"),
    "TRACE": (BLUE, "D"),
    "readmit": (RED, "*"),
    "readmit-lexical": (RED, "P"),
}
_OTHERS = ((BLACK, "<"), (ORANGE, ">"), (SKY, "p"), (GREEN, "d"), (BLUE, "8"), (RED, "H"), (PINK, "s"), (GRAY, "o"))


Point = tuple[float, float]
APART = "Points that coincide are set side by side; thin lines lead to where they belong."


@dataclass(frozen=True)
class Drawn:
    """A figure that was written: its file without ending, what stands under it, and what it shows in words."""

    stem: str
    caption: str
    alt: str


@dataclass(frozen=True)
class Mark:
    """How a method is drawn."""

    color: str
    shape: str
    hollow: bool = False

    def style(self, size: float = 6.5) -> dict[str, Any]:
        """For ``plot`` and for a legend."""
        wide = 1.4 if self.shape == "*" else 1.0
        return {
            "marker": self.shape, "markersize": size * wide, "markeredgecolor": self.color, "markeredgewidth": 1.3,
            "markerfacecolor": "none" if self.hollow else self.color, "color": self.color,
        }  # fmt: skip


def mark_of(method: str, *, hollow: bool = False) -> Mark:
    """The same method looks the same in every figure."""
    color, shape = _MARKS.get(method) or _OTHERS[sum(method.encode()) % len(_OTHERS)]
    return Mark(color, shape, hollow)


def canvas(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, list[Any]]:
    """A figure with its axes, row by row."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for one in axes.flat:
        one.grid(alpha=0.25, linewidth=0.6)
        one.spines[["top", "right"]].set_visible(False)
        one.tick_params(labelsize=8)
        one.set_axisbelow(True)
    return figure, list(axes.flat)


def legend(figure: Any, entries: Sequence[tuple[str, Mark]]) -> None:
    """Under the axes, where it covers nothing."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], linestyle="none", label=label, **mark.style(7)) for label, mark in entries]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(4, len(handles)), fontsize=8, frameon=False)


def save(figure: Any, folder: Path, drawn: Drawn) -> Drawn:
    """Write a figure as PNG and SVG."""
    import matplotlib as mpl

    folder.mkdir(parents=True, exist_ok=True)
    # Ids and dates would make the same figure differ from one report to the next.
    with mpl.rc_context({"svg.hashsalt": drawn.stem}):
        figure.savefig(folder / f"{drawn.stem}.png", dpi=144, metadata={"Software": None})
        figure.savefig(folder / f"{drawn.stem}.svg", metadata={"Date": None})
    return drawn


def side_by_side(points: Sequence[Point], step: float, in_row: int = 5) -> list[Point]:
    """Points that would cover each other, moved apart around their middle so that each can be seen."""
    near = step * 0.85
    clusters = [[place] for place in range(len(points))]
    while True:
        moved = _laid_out(points, clusters, step, in_row)
        # Moving one group apart may bring it over another: the two are then one group.
        touching = (
            (first, second)
            for first, second in combinations(clusters, 2)
            for here, there in product(first, second)
            if all(abs(moved[here][axis] - moved[there][axis]) < near for axis in (0, 1))
        )
        pair = next(touching, None)
        if pair is None:
            return moved
        clusters = [one for one in clusters if one not in pair] + [pair[0] + pair[1]]


def _laid_out(points: Sequence[Point], clusters: Sequence[Sequence[int]], step: float, in_row: int) -> list[Point]:
    """Each group in rows around its middle, from left to right as its points lie."""
    moved = list(points)
    for cluster in clusters:
        x, y = (sum(points[place][axis] for place in cluster) / len(cluster) for axis in (0, 1))
        ordered = sorted(cluster, key=lambda place: (points[place], place))
        rows = [ordered[start : start + in_row] for start in range(0, len(ordered), in_row)]
        for down, row in enumerate(rows):
            for across, place in enumerate(row):
                right, up = across - (len(row) - 1) / 2, (len(rows) - 1) / 2 - down
                moved[place] = (x + right * step, y + up * step)
    return moved


def put(axes: Any, mark: Mark, at: Point, moved: Point) -> None:
    """A mark where there is room for it, and a thin line to where it belongs."""
    if not all(isclose(here, there, rel_tol=1e-6) for here, there in zip(at, moved, strict=True)):
        axes.plot(*zip(at, moved, strict=True), color=GRAY, linewidth=0.5, zorder=1.5)
        axes.plot(*at, marker=".", markersize=2, color=GRAY, zorder=1.5)
    axes.plot(*moved, linestyle="none", **mark.style())
