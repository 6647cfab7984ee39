"""Which rows a view of ``readmit`` holds: what covers a need, what is linked to one, then what is relevant.

A row is a statement about its speaker. If an extractor has read a session, only its extracted rows are statements, and
turns that gave nothing are not, also where the whole session gave nothing. No two rows of a view say the same. Of two
values of one slot the later one is handed over, unless the verifier found that both hold; where explicit operations
decide and nothing is asked, both are (``Rules.beside``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from readmit.lab import common_words, words_of
from readmit_bench.episodes import Withdrawn
from readmit_bench.methods.method import retrieved
from readmit_bench.methods.readmit_lexical import reading_of
from readmit_bench.methods.state import SESSION, session_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from readmit_bench.episodes import Checkpoint, Row
    from readmit_bench.methods.state import Returned, Statement

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
    return [row for row in checkpoint.rows if states(row) and not nothing_stated(row, checkpoint)]


def nothing_stated(row: Row, checkpoint: Checkpoint) -> bool:
    """Whether the extractor read the session of a turn and took nothing down from the turn."""
    return row.turn is None and row.at // SESSION in checkpoint.read


def composed(
    order: Checkpoint,
    standing: AbstractSet[str],
    *,
    chosen: Sequence[str],
    linked: AbstractSet[str],
    beside: AbstractSet[tuple[str, str]] | None = None,
    enough: int = ENOUGH,
) -> tuple[str, ...]:
    """The rows of a view within the budget. Rows that are only relevant fill it up to ``enough``.

    ``beside``: earlier rows and later sessions of which both hold, where a slot has one value; None where it has many.
    """
    rows = {row.id: row for row in (*order.observations, *order.rows)}
    wanted = list(dict.fromkeys((*chosen, *_by_rank(order, standing & linked), *_by_rank(order, standing))))
    apart = _distinct([rows[name] for name in wanted], beside)
    first = retrieved(order, apart & linked, first=[name for name in chosen if name in apart])
    budget = order.budget
    room = replace(order, budget=replace(budget, union=max(budget.union, min(enough, budget.at_most or budget.union))))
    rest = [name for name in retrieved(room, apart, first=first) if name not in first]
    return (*first, *rest[: max(0, enough - len(first))])


def _by_rank(order: Checkpoint, rows: AbstractSet[str]) -> list[str]:
    places = max(map(len, order.relevance), default=0)
    found = (ranking[place] for place in range(places) for ranking in order.relevance if place < len(ranking))
    return [row for row in dict.fromkeys(found) if row in rows]


def _distinct(rows: Sequence[Row], beside: AbstractSet[tuple[str, str]] | None) -> frozenset[str]:
    """The rows that add something to the ones before, in order of preference."""
    newest: dict[str, Row] = {}
    for row in rows if beside is not None else ():
        if row.slot is not None and (row.slot not in newest or newest[row.slot].at < row.at):
            newest[row.slot] = row
    kept: dict[str, frozenset[str]] = {}
    for row in rows:
        latest = newest.get(row.slot or "", row)
        replaced = beside is not None and latest.at > row.at and (row.id, session_of(latest)) not in beside
        content = _content(row)
        if not replaced and not any(_alike(content, other) for other in kept.values()):
            kept[row.id] = content
    return frozenset(kept)


def _content(row: Row) -> frozenset[str]:
    return frozenset(words_of(row.text)) - common_words()


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one) and len(one & other) >= ALIKE * len(one | other)


def withdrawn_rows(outcome: Returned, known: Mapping[str, Statement], handed: Sequence[str]) -> tuple[Withdrawn, ...]:
    """What the product retracted, in terms of rows."""
    found = []
    for name, by in outcome.retracted.items():
        if name in known:
            instead = known[by].row.id if by is not None and by in known else ""
            found.append(
                Withdrawn(row=known[name].row.id, text=known[name].text, instead=instead if instead in handed else "")
            )
    return tuple(found)
