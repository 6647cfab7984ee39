"""Which rows a view of ``readmit`` holds: what covers a need, what is linked to one, then what is relevant.

A row is a statement about its speaker. If an extractor has read a session, only its extracted rows are statements, and
turns that gave nothing are not. No two rows of a view say the same, and of two values of one slot only the later is
handed over, unless the verifier found that both hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.lab import common_words
from readmit_bench.methods.method import retrieved
from readmit_bench.methods.readmit_lexical import reading_of
from readmit_bench.methods.state import session_of
from readmit_bench.plain_turns import words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from readmit_bench.episodes import Checkpoint, Row

ENOUGH = 12
"""Rows that are only relevant fill a view up to this many."""
ALIKE = 0.8
"""Two rows say the same if they share this fraction of their combined content words."""


def states(row: Row) -> bool:
    """Whether a row says something of its speaker."""
    reading = reading_of(row)
    return bool(reading.parts) and reading.own


def statements_in(checkpoint: Checkpoint) -> list[Row]:
    """The rows that may be handed over."""
    read = {session_of(row) for row in checkpoint.rows if row.turn is not None}
    return [row for row in checkpoint.rows if states(row) and (row.turn is not None or session_of(row) not in read)]


def composed(
    order: Checkpoint,
    standing: AbstractSet[str],
    *,
    chosen: Sequence[str],
    linked: AbstractSet[str],
    beside: AbstractSet[tuple[str, str]],
) -> tuple[str, ...]:
    """The rows of a view within the budget. ``beside``: earlier rows and later sessions of which both hold."""
    rows = {row.id: row for row in (*order.observations, *order.rows)}
    wanted = list(dict.fromkeys((*chosen, *_by_rank(order, standing & linked), *_by_rank(order, standing))))
    apart = _distinct([rows[name] for name in wanted], beside)
    first = retrieved(order, apart & linked, first=[name for name in chosen if name in apart])
    rest = [name for name in retrieved(order, apart, first=first) if name not in first]
    return (*first, *rest[: max(0, ENOUGH - len(first))])


def _by_rank(order: Checkpoint, rows: AbstractSet[str]) -> list[str]:
    places = max(map(len, order.relevance), default=0)
    found = (ranking[place] for place in range(places) for ranking in order.relevance if place < len(ranking))
    return [row for row in dict.fromkeys(found) if row in rows]


def _distinct(rows: Sequence[Row], beside: AbstractSet[tuple[str, str]]) -> frozenset[str]:
    """The rows that add something to the ones before, in order of preference."""
    newest: dict[str, Row] = {}
    for row in rows:
        if row.slot is not None and (row.slot not in newest or newest[row.slot].at < row.at):
            newest[row.slot] = row
    kept: dict[str, frozenset[str]] = {}
    for row in rows:
        latest = row if row.slot is None else newest[row.slot]
        replaced = latest.at > row.at and (row.id, session_of(latest)) not in beside
        content = _content(row)
        if not replaced and not any(_alike(content, other) for other in kept.values()):
            kept[row.id] = content
    return frozenset(kept)


def _content(row: Row) -> frozenset[str]:
    return frozenset(words(row.text)) - common_words()


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one) and len(one & other) >= ALIKE * len(one | other)
