"""A memory store under the same history: what its own retrieval hands over, and what comes through the view.

Paper, "Backend integration and paired evaluation". Both methods of a pair form the same memories natively from the
same statements, each bound to its item, and ask the store's own ranking for the same number of records.
``…/Static`` takes what the store finds. ``…/readmit`` reads through the returned agent's handle: a record is in only
if every item it was formed from is admitted. Explicit lifecycle decides that here, as in ``readmit-lexical``.

ScopedMem needs no model and keeps texts as they are. Mem0 and A-MEM form with the extractor where one is named, and
verbatim otherwise.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from readmit.bench.episodes import View
from readmit.bench.methods.readmit_lexical import explicit_work, reading_of
from readmit.bench.methods.state import OWNER, grounded, played, policy_for
from readmit.records.errors import ModelError
from readmit.workspace.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.bench.episodes import Checkpoint
    from readmit.bench.methods.state import Statement
    from readmit.ports.backend import Hit, MemoryBackend
    from readmit.ports.models import Embedder, Model
    from readmit.workspace.workspace import Workspace

Store = Literal["ScopedMem", "Mem0", "A-MEM"]
STORES: tuple[Store, ...] = ("ScopedMem", "Mem0", "A-MEM")


class Backed:
    """One half of a pair."""

    def __init__(
        self, store: Store, *, admits: bool, model: Model | None = None, embedder: Embedder | None = None
    ) -> None:
        self.name = f"{store}/{'readmit' if admits else 'Static'}"
        self._store, self._admits = store, admits
        self._model, self._embedder = model, embedder

    def view(self, checkpoint: Checkpoint) -> View:
        work = explicit_work(checkpoint, [reading_of(row) for row in checkpoint.rows])
        most = len(checkpoint.rows) * 4 + 16
        # The whole of what stands, so that the store's own ranking has all of it to choose from.
        policy = replace(policy_for(checkpoint), fill=True, max_items=most, max_chars=10_000_000)
        with (
            played(checkpoint, work, policy) as (workspace, agent, _, _),
            self._opened(workspace) as backend,
        ):
            memory = Memory(workspace, backend)
            written, _ = grounded(work.statements)
            for statement in written:
                memory.form(statement.text, sources=[statement.id], by=OWNER, verbatim=self._model is None)
            if not self._admits:
                hits = _union(
                    checkpoint, [backend.search(task, limit=self._limit(checkpoint)) for task in checkpoint.tasks]
                )
                return _view(self.name, hits, written)
            returned = agent.come_back(purpose=checkpoint.task_version)
            left_out = {
                one.item: tuple(map(str, one.reasons)) for one in returned.dispositions if one.state != "admitted"
            }
            if not returned.admitted:
                return View(method=self.name, rows=(), blocked=True, left_out=left_out, missing=returned.missing)
            handle = memory.returned(returned.expose())
            hits = _union(checkpoint, [handle.search(task, limit=self._limit(checkpoint)) for task in checkpoint.tasks])
            return replace(_view(self.name, hits, written), left_out=left_out)

    @staticmethod
    def _limit(checkpoint: Checkpoint) -> int:
        return checkpoint.budget.per_query

    @contextmanager
    def _opened(self, workspace: Workspace) -> Iterator[MemoryBackend]:
        if self._store == "ScopedMem":
            from readmit.backends.scopedmem import ScopedMem

            yield ScopedMem(workspace.log.memories, workspace.name, clock=workspace.now)
            return
        if self._embedder is None:
            raise ModelError(f"{self.name}: needs an embedder; name one with --embedder")
        with tempfile.TemporaryDirectory(prefix="readmit-bench-") as folder:
            backend: MemoryBackend
            if self._store == "Mem0":
                from readmit.backends.mem0 import Mem0

                backend = Mem0.open(folder, workspace.name, embedder=self._embedder, model=self._model)
            else:
                from readmit.backends.amem import AMem

                backend = AMem.open(folder, workspace.name, embedder=self._embedder, model=self._model)
            try:
                yield backend
            finally:
                backend.close()


def _union(checkpoint: Checkpoint, found: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Round by round over the tasks, within the union that every method has."""
    places = max((len(hits) for hits in found), default=0)
    rounds = [hits[place] for place in range(places) for hits in found if place < len(hits)]
    return list({hit.id: hit for hit in rounds}.values())[: checkpoint.budget.union]


def _view(name: str, hits: Sequence[Hit], statements: Sequence[Statement]) -> View:
    """Records as the store words them; those that are a row's own words are told as that row."""
    rows = {statement.text: statement.row.id for statement in statements if statement.text == statement.row.text}
    known = dict.fromkeys(rows[hit.text] for hit in hits if hit.text in rows)
    other = dict.fromkeys(hit.text for hit in hits if hit.text not in rows)
    return View(method=name, rows=tuple(known), memories=tuple(other))
