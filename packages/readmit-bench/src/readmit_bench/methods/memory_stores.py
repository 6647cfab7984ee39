"""A memory store under the same history: what its own retrieval hands over, and what comes through the view.

Paper, "Backend integration and paired evaluation". Both halves of a pair read the same stored records
(``store_histories``) and ask the store's own ranking, over the whole history, for as many records as every other method
may hand over.
``…/Static`` takes what the store finds. ``…/readmit`` reads through the returned agent's handle: a record is in only
if every statement it was formed from is admitted. Explicit lifecycle decides that here, as in ``readmit-lexical``.

With an extractor, Mem0 and A-MEM form by their own inference through it, and Memobase by its server's model; without
one, all keep the turns verbatim. ScopedMem keeps them verbatim always.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit_bench.episodes import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.memory import Hit
    from readmit.models import Model
    from readmit_bench.episodes import Budget, Checkpoint
    from readmit_bench.methods.store_histories import Absence, Stores
    from readmit_bench.methods.stores import Store


class MemoryStoreMethod:
    """One half of a pair."""

    def __init__(self, store: Store, stores: Stores, *, admits: bool, model: Model | None = None) -> None:
        self.name = f"{store}/{'readmit' if admits else 'Static'}"
        self._store, self._stores = store, stores
        self._admits, self._model = admits, model

    def view(self, checkpoint: Checkpoint) -> View:
        with self._stores.absence(checkpoint) as absence:
            return self._admitted(checkpoint, absence) if self._admits else self._static(checkpoint, absence)

    def _static(self, checkpoint: Checkpoint, absence: Absence) -> View:
        backend, most = absence.kept(self._store, self._model).memory.backend, checkpoint.budget.per_query
        hits = union([backend.search(task, limit=most) for task in checkpoint.tasks], checkpoint.budget)
        return View(method=self.name, rows=(), memories=texts_of(hits))

    def _admitted(self, checkpoint: Checkpoint, absence: Absence) -> View:
        # Formed first, so that a pair whose forming fails is lost on both sides, even if the return would be refused.
        absence.kept(self._store, self._model)
        returned = absence.returned()
        if not returned.admitted:
            reasons = {
                one.item: tuple(map(str, one.reasons)) for one in returned.dispositions if one.state != "admitted"
            }
            return View(method=self.name, rows=(), blocked=True, left_out=reasons, missing=returned.missing)
        kept, handle = absence.opened(self._store, self._model)
        most = checkpoint.budget.per_query
        found = [kept.memory.backend.search(task, limit=most) for task in checkpoint.tasks]
        hits = union([handle.search(task, limit=most) for task in checkpoint.tasks], checkpoint.budget)
        # What the store would have handed over and the view withholds.
        withheld = [hit.id for hit in union(found, checkpoint.budget) if hit.id in kept.reasons]
        return View(
            method=self.name,
            rows=(),
            memories=texts_of(hits),
            left_out={"+".join(kept.turns.get(one, (one,))): kept.reasons[one] for one in withheld},
        )


def union(found: Sequence[Sequence[Hit]], budget: Budget) -> list[Hit]:
    """Take hits in turn from each task, within the budget that every method has."""
    places = max((len(hits) for hits in found), default=0)
    rounds = [hits[place] for place in range(places) for hits in found if place < len(hits)]
    kept, used = [], 0
    for hit in list({hit.id: hit for hit in rounds}.values())[: budget.union]:
        if budget.characters is None or used + len(hit.text) <= budget.characters:
            kept.append(hit)
            used += len(hit.text)
    return kept


def texts_of(hits: Sequence[Hit]) -> tuple[str, ...]:
    """The records in the store's own words, without duplicates."""
    return tuple(dict.fromkeys(hit.text for hit in hits))
