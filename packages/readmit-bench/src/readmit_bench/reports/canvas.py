"""How figures look: marks that differ in shape and in color-blind-safe color, filled for ours, hollow for published.

Shapes, line styles and hatches repeat what colors show, so that a figure can be read in gray.

The same results give the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit_bench.intervals import Interval

# The palette of Okabe and Ito without its yellow, which is hard to see on white.
PALE = "#e8e8e8"
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
LARGEST, STEP, SMALLEST = 11.0, 2.2, 2.4
WHERE = "Bars: 95 % intervals. Marks are not moved: those that coincide are drawn inside each other."


@dataclass(frozen=True)
class Drawn:
    """A figure that was written: its file without suffix, its caption, and its alternative text."""

    stem: str
    caption: str
    alt: str


@dataclass(frozen=True)
class Mark:
    """How a method is drawn."""

    color: str
    shape: str
    hollow: bool = False

    def style(self, size: float = 6.5, *, rim: bool = False) -> dict[str, Any]:
        """For ``plot`` and for a legend; with a white ``rim`` a mark is visible on a larger one below it."""
        wide = 1.4 if self.shape == "*" else 1.0
        return {
            "marker": self.shape, "markersize": size * wide, "markeredgewidth": 0.8 if rim else 1.3,
            "markeredgecolor": "white" if rim else self.color,
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
    # Ids and dates would make the same figure differ between reports.
    with mpl.rc_context({"svg.hashsalt": drawn.stem}):
        figure.savefig(folder / f"{drawn.stem}.png", dpi=200, metadata={"Software": None})
        figure.savefig(folder / f"{drawn.stem}.svg", metadata={"Date": None})
    return drawn


def sizes(points: Sequence[Point], near: Point = (2.0, 2.0)) -> list[float]:
    """How large each mark is drawn: every point stays where it is, and one that covers others is drawn around them.

    ``near`` says how close two points have to be to cover each other, on either axis.
    """
    found: list[float] = []
    for place, point in enumerate(points):
        under = sum(all(abs(point[axis] - other[axis]) < near[axis] for axis in (0, 1)) for other in points[:place])
        found.append(max(LARGEST - STEP * under, SMALLEST))
    return found


def put(axes: Any, mark: Mark, at: Point, size: float) -> None:
    """A mark at its point. Where marks overlap, the later ones are smaller and on top, with a white rim between."""
    axes.plot(*at, linestyle="none", zorder=3, **mark.style(size, rim=not mark.hollow))


def bars(axes: Any, at: Point, across: Interval | None, up: Interval | None, color: str) -> None:
    """The intervals of a point, in percent, as bars under its mark."""
    style = {"color": color, "linewidth": 1.0, "alpha": 0.65, "zorder": 2}
    if across is not None:
        axes.hlines(at[1], across.low, across.high, **style)
    if up is not None:
        axes.vlines(at[0], up.low, up.high, **style)
