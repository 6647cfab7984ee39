"""How figures look: marks that differ in shape and in color-blind-safe color, filled for ours, hollow for published.

The same results give the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    """Points closer than two thirds of a step, moved apart so that each can be seen."""
    near = step * 2 / 3
    clusters: list[list[int]] = []
    for place, (x, y) in enumerate(points):
        for cluster in clusters:
            if any(abs(points[other][0] - x) < near and abs(points[other][1] - y) < near for other in cluster):
                cluster.append(place)
                break
        else:
            clusters.append([place])
    moved = list(points)
    for cluster in clusters:
        rows = [cluster[start : start + in_row] for start in range(0, len(cluster), in_row)]
        for down, row in enumerate(rows):
            for across, place in enumerate(row):
                x, y = points[place]
                right, up = across - (len(row) - 1) / 2, (len(rows) - 1) / 2 - down
                moved[place] = (x + right * step, y + up * step)
    return moved


def put(axes: Any, mark: Mark, at: Point, moved: Point) -> None:
    """A mark where there is room for it, and a thin line to where it belongs."""
    if at != moved:
        axes.plot(*zip(at, moved, strict=True), color=GRAY, linewidth=0.5, zorder=1.5)
        axes.plot(*at, marker=".", markersize=2, color=GRAY, zorder=1.5)
    axes.plot(*moved, linestyle="none", **mark.style())
