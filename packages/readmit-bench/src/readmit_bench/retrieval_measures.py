"""How much of what is asked for retrieval finds, by words alone and with facts fused.

Of every Memora case, the share of the statements that hold at return which some row of the checkpoint says (the
ceiling of the checkpoint), and the share that the first rows of the ranking say (what Static hands over). Both ways
have the same numbers of sessions and rows. The fused way was chosen on every other history, by name; the others are
separate, and the interval of the difference draws whole histories.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from readmit_bench.checkpoints import checkpoints
from readmit_bench.evaluation.plain_tables import plain_table
from readmit_bench.intervals import Sample, interval_of, resampled
from readmit_bench.judge_free import reach, score_view
from readmit_bench.methods.static import Static
from readmit_bench.metrics import memora_values
from readmit_bench.retrieval import CLOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from readmit.models import Embedder
    from readmit_bench.datasets.memora_cases import MemoraLabels
    from readmit_bench.episodes import Case, Checkpoint
    from readmit_bench.settings import Settings

WAYS: tuple[Literal["lexical", "fused"], ...] = ("lexical", "fused")
CHOSEN, OTHER, ALL = "chosen on", "other half", "all"
CHECKPOINT, HANDED = "the checkpoint", "a Static view"
HEAD = ("histories", "cases", "what", "lexical", "fused", "difference")


@dataclass(frozen=True)
class HeldByCheckpoint:
    """What one case's checkpoint, and the first rows of its ranking, hold."""

    history: str
    shares: dict[str, float]
    sessions: int
    rows: int


@dataclass(frozen=True)
class Compared:
    """Both ways over some histories, as shares in [0, 1]; the bounds of the difference where there are histories."""

    part: str
    cases: int
    what: str
    lexical: float
    fused: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Measured:
    """The comparison, and how large the checkpoints are on the average."""

    lines: tuple[Compared, ...]
    sessions: dict[str, float]
    rows: dict[str, float]


def measure(
    cases: Sequence[Case[MemoraLabels]],
    settings: Settings,
    embedder: Embedder,
    *,
    seed: int = 0,
    watch: Callable[[], None] = lambda: None,
) -> Measured:
    """Retrieve everything both ways and measure what it holds."""
    held: dict[str, list[HeldByCheckpoint]] = {}
    for way in WAYS:
        memora = msgspec.structs.replace(settings.memora, retrieval=way)
        chosen = msgspec.structs.replace(settings, memora=memora)
        held[way] = []
        for case, (_, made) in zip(cases, checkpoints((case.episode for case in cases), chosen, embedder), strict=True):
            held[way].append(_held(case, made))
            watch()
    names = sorted({one.history for one in held["lexical"]})
    parts = {CHOSEN: names[::2], OTHER: names[1::2], ALL: names}
    lines = tuple(
        _compared(part, what, held, set(histories), seed)
        for part, histories in parts.items()
        if histories
        for what in (CHECKPOINT, HANDED)
    )
    return Measured(lines, _means(held, "sessions"), _means(held, "rows"))


def _means(held: dict[str, list[HeldByCheckpoint]], name: str) -> dict[str, float]:
    return {way: sum(getattr(one, name) for one in own) / len(own) for way, own in held.items()}


def _held(case: Case[MemoraLabels], made: Checkpoint) -> HeldByCheckpoint:
    shares = {
        CHECKPOINT: float(memora_values(reach(case, made))["via"]),
        HANDED: float(memora_values(score_view(case, Static().view(made), made))["via"]),
    }
    return HeldByCheckpoint(case.labels.cluster, shares, len({row.at // CLOCK for row in made.rows}), len(made.rows))


def _compared(
    part: str, what: str, held: dict[str, list[HeldByCheckpoint]], histories: set[str], seed: int
) -> Compared:
    own = {way: [one for one in found if one.history in histories] for way, found in held.items()}
    means = {way: sum(one.shares[what] for one in found) / len(found) for way, found in own.items()}
    low = high = None
    if len(histories) > 1:
        # The same seed draws the same histories for both ways, so that the difference is paired.
        drawn = {
            way: resampled([Sample(one.history, "", one.shares[what]) for one in found], seed=seed)
            for way, found in own.items()
        }
        bounds = interval_of((drawn["fused"] - drawn["lexical"]).tolist(), seed=seed)
        low, high = bounds.low, bounds.high
    return Compared(part, len(own["fused"]), what, means["lexical"], means["fused"], low, high)


def table(measured: Measured) -> str:
    """Percent of the statements that hold at return."""
    return plain_table(HEAD, [_row(one) for one in measured.lines])


def _row(one: Compared) -> tuple[str, ...]:
    bounds = "" if one.low is None or one.high is None else f" [{100 * one.low:+.1f}, {100 * one.high:+.1f}]"
    gained = f"{100 * (one.fused - one.lexical):+.2f}{bounds}"
    return (one.part, f"{one.cases:,}", one.what, f"{100 * one.lexical:.2f}", f"{100 * one.fused:.2f}", gained)


def notes(measured: Measured) -> tuple[str, ...]:
    """How the figures came about."""
    sizes = "; ".join(f"{way} {measured.sessions[way]:.1f} sessions, {measured.rows[way]:.0f} turns" for way in WAYS)
    return (
        "Percent of the statements that hold at return, by literal match and polarity.",
        "In brackets: 95 % bootstrap interval of the paired difference, over whole histories.",
        f"A checkpoint holds on the average: {sizes}. A view holds as many rows either way.",
        "On the development part the fused way was chosen by its figures on the first half of the histories.",
    )


def as_json(measured: Measured) -> dict[str, Any]:
    """The same for scripts."""
    found: dict[str, Any] = msgspec.to_builtins(measured)
    return found
