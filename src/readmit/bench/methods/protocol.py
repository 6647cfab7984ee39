"""What a method is: a name, and a function from the post-absence checkpoint to a view.

A method that asks a model holds it; the checkpoint is all it learns about the episode. ``admitted`` is
the only way the benchmark calls one: it refuses to pass anything but a checkpoint, and checks what
comes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from readmit.bench.episodes import GAP, Checkpoint, View
from readmit.records.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

PRIVATE = 8
"""So many private memories come back beside a view, where nothing binds them to what stands."""


class Method(Protocol):
    """One row of the comparison."""

    @property
    def name(self) -> str:
        """The name in tables and on the command line."""
        ...

    def view(self, checkpoint: Checkpoint) -> View:
        """What the returning agent gets."""
        ...


def admitted(method: Method, checkpoint: Checkpoint) -> View:
    """Run one method on one checkpoint."""
    # A subclass could carry labels along: the type must match exactly.
    if type(checkpoint) is not Checkpoint:
        raise TypeError(f"checkpoint: a method receives a Checkpoint and nothing else; got {type(checkpoint).__name__}")
    view = method.view(checkpoint)
    texts = {row.id: row.text for row in (*checkpoint.observations, *checkpoint.rows)}
    unknown = [row for row in view.rows if row not in texts]
    if unknown:
        raise RecordError(f"rows: {method.name} put {unknown[0]!r} into its view, which the checkpoint does not hold")
    if len(set(view.rows)) < len(view.rows):
        raise RecordError(f"rows: {method.name} put one row into its view twice")
    for name, part in view.excerpts.items():
        if name not in texts or not _within(part, texts[name]):
            raise RecordError(f"excerpts: {method.name} hands over {part[:80]!r}, which row {name!r} does not say")
    handed = len(view.rows) + len(view.memories)
    if view.blocked and handed:
        raise RecordError(f"blocked: {method.name} refused the return and yet handed over {handed} rows")
    return view


def _within(part: str, text: str) -> bool:
    """Whether the part is made of pieces of the text in their order: sentences may be left out, none is added."""
    position = 0
    for piece in part.split(GAP):
        position = text.find(piece, position)
        if not piece or position < 0:
            return False
        position += len(piece)
    return True


def retrieved(checkpoint: Checkpoint, eligible: Collection[str], *, first: Sequence[str] = ()) -> tuple[str, ...]:
    """Ordinary retrieval over the rows a method leaves standing, within the budget all methods share.

    ``first`` are rows that obligations need; they take their room before retrieval fills the rest, and only they may
    go beyond what retrieval fills.
    """
    budget = checkpoint.budget
    best = [[row for row in ranking if row in eligible][: budget.per_query] for ranking in checkpoint.relevance]
    # Round by round over the queries, so that a full union holds the best of each.
    rounds = (ranking[place] for place in range(budget.per_query) for ranking in best if place < len(ranking))
    needed = list(dict.fromkeys(first))[: budget.at_most or budget.union]
    union = list(dict.fromkeys((*needed, *rounds)))[: max(len(needed), budget.union)]
    if budget.characters is None:
        return tuple(union)
    lengths = {row.id: len(row.text) for row in (*checkpoint.observations, *checkpoint.rows)}
    kept, used = [], 0
    for row in union:
        if used + lengths[row] <= budget.characters:
            kept.append(row)
            used += lengths[row]
    return tuple(kept)
