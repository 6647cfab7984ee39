"""What a method is: a name, and a function from the post-absence checkpoint to a view.

A method that asks a model holds it; the checkpoint is all it learns about the episode. ``admitted`` is the only way the
benchmark calls one in its own process: it refuses to pass anything but a checkpoint, and checks what comes back.
``checked`` is that check, for views that were made elsewhere (``method_process``). The methods that may exceed the
budget are listed here, not in the methods.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from readmit.errors import RecordError
from readmit_bench.episodes import GAP, Checkpoint, View

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from readmit.models import Model

PRIVATE = 8
"""How many private memories come back beside a view when they are not bound to what still holds."""
WHOLE = "Restore"
"""Methods that hand over the whole departure state, regardless of the budget."""
ABLATIONS = ("trace-without-ii", "trace-without-oas", "trace-without-cvg", "trace-without-sbpr")
OBLIGED = frozenset({"trace-paper", "readmit", *ABLATIONS})
"""Methods whose obligations may extend a view beyond what retrieval fills."""
BESIDE: Mapping[str, int] = MappingProxyType({"trace-without-sbpr": PRIVATE})
"""What methods may hand over beside the view."""


class Method(Protocol):
    """One row of the comparison."""

    @property
    def name(self) -> str:
        """The name in tables and on the command line."""
        ...

    def view(self, checkpoint: Checkpoint) -> View:
        """What the returning agent gets."""
        ...


@runtime_checkable
class Answering(Protocol):
    """A method that also answers, because it is consulted question by question."""

    def respond(self, actor: Model, checkpoint: Checkpoint, view: View) -> tuple[str, ...]:
        """What the returning agent says to each task."""
        ...


@runtime_checkable
class Planning(Protocol):
    """A method that asks some of its questions from the tasks alone."""

    def ask_ahead(self, tasks: Sequence[str]) -> None:
        """Ask them. The answers are asked for again, and found, when the view is made."""
        ...


def admitted(method: Method, checkpoint: Checkpoint, *, rewords: bool = False) -> View:
    """Run one method on one checkpoint. ``rewords``: it keeps memories in words of its own (``checked``)."""
    # A subclass could carry labels along: the type must match exactly.
    if type(checkpoint) is not Checkpoint:
        raise TypeError(f"checkpoint: a method receives a Checkpoint and nothing else; got {type(checkpoint).__name__}")
    return checked(method.name, method.view(checkpoint), checkpoint, rewords=rewords)


def checked(name: str, view: View, checkpoint: Checkpoint, *, rewords: bool = False) -> View:
    """The view, if the method may hand it over: rows of the checkpoint, in their words, within the budget.

    A memory store that forms memories by a model words them itself. Then its runner sets ``rewords``, and
    only the budget is checked of them.
    """
    texts = {row.id: row.text for row in (*checkpoint.observations, *checkpoint.rows)}
    unknown = [row for row in view.rows if row not in texts]
    if unknown:
        raise RecordError(f"rows: {name} put {unknown[0]!r} into its view, which the checkpoint does not hold")
    if len(set(view.rows)) < len(view.rows):
        raise RecordError(f"rows: {name} put one row into its view twice")
    for row, part in view.excerpts.items():
        if row not in texts or not _within(part, texts[row]):
            raise RecordError(f"excerpts: {name} hands over {part[:80]!r}, which row {row!r} does not say")
    before = {row.id: row.text for row in checkpoint.rows if row.departure}
    for one in view.withdrawn:
        if one.row not in before or not _within(one.text, before[one.row]) or one.instead not in ("", *view.rows):
            raise RecordError(f"withdrawn: {name} withdraws {one.text[:80]!r}, which the agent did not hold")
    stray = [row for row in view.linked if row not in view.rows]
    if stray:
        raise RecordError(f"linked: {name} links {stray[0]!r} to a need, which its view does not hold")
    handed = len(view.rows) + len(view.memories)
    if view.blocked and handed:
        raise RecordError(f"blocked: {name} refused the return and yet handed over {handed} rows")
    if not rewords:
        _check_memories(name, view, checkpoint)
    _check_budget(name, view, checkpoint, texts)
    return view


def _check_memories(name: str, view: View, checkpoint: Checkpoint) -> None:
    said = [turn.text for session in checkpoint.history for turn in session.turns] if view.memories else []
    said += [row.text for row in (*checkpoint.observations, *checkpoint.rows)]
    for memory in view.memories:
        if not any(memory in text for text in said):
            raise RecordError(f"memories: {name} hands over {memory[:80]!r}, which no turn says")


def _check_budget(name: str, view: View, checkpoint: Checkpoint, texts: Mapping[str, str]) -> None:
    if name == WHOLE:
        later = [row.id for row in checkpoint.rows if not row.departure and row.id in view.rows]
        if later:
            raise RecordError(f"rows: {name} hands over the departure state; {later[0]!r} is of the absence")
        return
    budget = checkpoint.budget
    most = (budget.at_most or budget.union) if name in OBLIGED else budget.union
    most += BESIDE.get(name, 0)
    handed = len(view.rows) + len(view.memories)
    if handed > most:
        raise RecordError(f"budget: {name} hands over {handed} rows; there is room for {most}")
    characters = sum(len(view.excerpts.get(row, texts[row])) for row in view.rows) + sum(map(len, view.memories))
    if budget.characters is not None and characters > budget.characters:
        raise RecordError(f"budget: {name} hands over {characters} characters; there is room for {budget.characters}")


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
