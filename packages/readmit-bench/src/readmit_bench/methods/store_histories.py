"""Histories in memory stores, each formed once and read by both halves of every pair.

Paper, "Backend integration and paired evaluation": within a backend, Static and TRACE "share the episode history and
pre-return memory formation", and a branch "imports the stored records without repeating memory formation". A store is
given the user's turns of the whole history up to the return, in time order; how it retrieves for a question is up to
the store. Questions over one history read the same records, and another departure imports them.

Each turn's memory is bound to the statements that were read from it. A turn that states nothing, such as a question, is
a memory without a source: the store holds it, and no view includes it.
"""

from __future__ import annotations

import tempfile
import threading
import uuid
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from readmit.errors import BackendError, PendingAnswers, ReadmitError, UnknownError
from readmit.lab import CachedEmbedder, Entry, VectorsInMemory, text_digest
from readmit.memory import Archived, Binding, Material, Memory, Stored
from readmit_bench.episodes import Row
from readmit_bench.methods.readmit_lexical import explicit_work, reading_of
from readmit_bench.methods.state import OWNER, SESSION, grounded, played, policy_for, return_of
from readmit_bench.methods.stores import opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit import Bundle, Return
    from readmit.memory import ReturnedMemory
    from readmit.models import Ask, Embedder, Failure, Model, Reply
    from readmit_bench.episodes import Checkpoint, Session
    from readmit_bench.methods.stores import Store

UNVOUCHED = "states-nothing"
TURNS = uuid.UUID("7b0e1c1e-8f5b-5d0a-9a56-3f4f0a9f6d11")


class FormedStore:
    """One store that holds a history: its records, and which turns each of them was formed from."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.turns: dict[str, tuple[str, ...]] = {}
        self.handle: ReturnedMemory | None = None
        self.reasons: dict[str, tuple[str, ...]] = {}
        """Reasons for the records that the return withholds."""


class Absence:
    """One history with one departure: the team's log up to the return, and the stores that were formed from it."""

    def __init__(self, checkpoint: Checkpoint, stored: StoredHistory) -> None:
        self._stored = stored
        self._exits = ExitStack()
        self._kept: dict[Store, FormedStore] = {}
        self._returned: Return | None = None
        self._bundle: Bundle | None = None
        self._turns = turns_of(checkpoint)
        whole = replace(checkpoint, rows=self._turns, relevance=())
        work = explicit_work(whole, [reading_of(row) for row in self._turns])
        self._sources: dict[str, list[str]] = {}
        for statement in grounded(work.statements)[0]:
            self._sources.setdefault(statement.row.id, []).append(statement.id)
        # Everything that still holds, so that the store's own ranking can choose from all of it.
        most = len(work.statements) + len(work.duties) * 16 + 16
        policy = policy_for(whole).changed(
            returns={"fill": "nothing_owed"}, budgets={"items": most, "chars": 10_000_000}
        )
        self._workspace, self._agent, _, _ = self._exits.enter_context(played(whole, work, policy))
        self._purpose = checkpoint.task_version

    def close(self) -> None:
        self._exits.close()

    def kept(self, store: Store, model: Model | None) -> FormedStore:
        """The store with this history, formed on first use. If forming failed once, every later call fails too."""
        if store in self._stored.failures:
            raise BackendError(self._stored.failures[store])
        if store not in self._kept:
            try:
                self._kept[store] = self._formed(store, model)
            except (PendingAnswers, UnknownError):
                raise
            except ReadmitError as error:
                self._stored.failures[store] = f"{store}: the history could not be formed: {error}"
                raise BackendError(self._stored.failures[store]) from error
        return self._kept[store]

    def _formed(self, store: Store, model: Model | None) -> FormedStore:
        with ExitStack() as opening:
            folder = Path(opening.enter_context(tempfile.TemporaryDirectory(prefix="readmit-bench-")))
            watched = None if model is None else _Watched(model)
            backend = opening.enter_context(
                opened(store, self._workspace, folder, embedder=self._stored.embedder, model=watched)
            )
            kept = FormedStore(Memory(self._workspace, backend))
            elsewhere = self._stored.formed(store)
            if elsewhere is not None:
                self._import(kept, elsewhere)
            elif watched is None:
                self._verbatim(kept)
            else:
                self._form(kept, watched)
            self._exits.push(opening.pop_all())
            return kept

    def holds(self, store: Store) -> FormedStore | None:
        """The store, if it was formed here."""
        return self._kept.get(store)

    def _form(self, kept: FormedStore, model: _Watched) -> None:
        """By the store's own inference, turn by turn."""
        for row in self._turns:
            sources = self._sources.get(row.id, ())
            with model.heeded():
                if sources:
                    made = kept.memory.form(row.text, sources=sources, by=OWNER)
                else:
                    formed = kept.memory.backend.form(Material(text=row.text, key=UNVOUCHED))
                    made = tuple(change.record.id for change in formed)
            for record in made:
                kept.turns[record] = (*kept.turns.get(record, ()), row.id)

    def _verbatim(self, kept: FormedStore) -> None:
        """Without inference there is nothing to form: the turns are stored verbatim by the store's own bulk insert."""
        archive = []
        for row in self._turns:
            # Mem0 accepts only UUIDs; a turn has the same one in every store and run.
            record = Stored(id=str(uuid.uuid5(TURNS, row.id)), text=row.text)
            sources = tuple(Binding(of="item", ref=one) for one in self._sources.get(row.id, ()))
            entry = Entry(record=record.id, text=text_digest(row.text), bindings=sources, by=OWNER)
            archive.append(Archived(record=record, entry=entry if sources else None))
        for row, name in zip(self._turns, kept.memory.load(archive), strict=True):
            kept.turns[name] = (row.id,)

    def _import(self, kept: FormedStore, formed: FormedStore) -> None:
        archive = list(formed.memory.export())
        for old, new in zip(archive, kept.memory.load(archive), strict=True):
            kept.turns[new] = formed.turns[old.record.id]

    def returned(self) -> Return:
        """The agent's return. One serves all questions: nothing in it depends on the question."""
        if self._returned is None:
            self._returned = return_of(self._agent, self._purpose)
        return self._returned

    def opened(self, store: Store, model: Model | None) -> tuple[FormedStore, ReturnedMemory]:
        """The store and the returned agent's handle on it, for a return that was admitted."""
        kept = self.kept(store, model)
        if kept.handle is None:
            # Exposed once, and used in every store.
            self._bundle = bundle = self._bundle or self.returned().expose()
            kept.handle = kept.memory.returned(bundle)
            kept.reasons = {
                one.record: tuple(map(str, one.reasons))
                for one in kept.memory.review(bundle.view.return_id)
                if not one.admitted
            }
        return kept, kept.handle


class StoredHistory:
    """One history, whatever the departure."""

    def __init__(self, history: object, embedder: Embedder | None) -> None:
        self.history = history
        """Held so that its ``id()`` is not reused."""
        self.lock = threading.RLock()
        self.users = 0
        self.absences: dict[int | None, Absence] = {}
        self.failures: dict[Store, str] = {}
        # One vector per text, whichever stores ask for it.
        self.embedder = None if embedder is None else CachedEmbedder(embedder, VectorsInMemory())

    def formed(self, store: Store) -> FormedStore | None:
        """The same store under another departure: its records can be taken over."""
        return next((kept for one in self.absences.values() if (kept := one.holds(store)) is not None), None)

    def close(self) -> None:
        with ExitStack() as closing:
            for absence in self.absences.values():
                closing.callback(absence.close)
            self.absences = {}


class Stores:
    """Every history of a run that is in a store, for methods in any thread."""

    def __init__(self, embedder: Embedder | None = None, *, keep: int | None = None) -> None:
        """``keep``: how many histories stay formed, if they come one after the other. Otherwise all are kept."""
        self._embedder = embedder
        self._keep = keep
        self._lock = threading.Lock()
        self._stored: dict[int, StoredHistory] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock, ExitStack() as closing:
            for stored in self._stored.values():
                closing.callback(stored.close)
            self._stored = {}

    @contextmanager
    def absence(self, checkpoint: Checkpoint) -> Iterator[Absence]:
        """The checkpoint's history with its departure, for one thread at a time."""
        stored = self._entered(checkpoint.history or checkpoint.rows)
        try:
            with stored.lock:
                if checkpoint.departure not in stored.absences:
                    stored.absences[checkpoint.departure] = Absence(checkpoint, stored)
                yield stored.absences[checkpoint.departure]
        finally:
            with self._lock:
                stored.users -= 1

    def _entered(self, history: tuple[Session, ...] | tuple[Row, ...]) -> StoredHistory:
        with self._lock:
            if id(history) not in self._stored:
                self._make_room()
                self._stored[id(history)] = StoredHistory(history, self._embedder)
            stored = self._stored[id(history)]
            stored.users += 1
            return stored

    def _make_room(self) -> None:
        if self._keep is None:
            return
        idle = [key for key, one in self._stored.items() if not one.users]
        for key in idle[: max(0, len(self._stored) + 1 - self._keep)]:
            self._stored.pop(key).close()


def turns_of(checkpoint: Checkpoint) -> tuple[Row, ...]:
    """The user's turns of the whole history. Where there is none, as in ManBench, the rows themselves."""
    departure = checkpoint.departure
    if departure is None:
        return checkpoint.rows
    return tuple(
        Row(
            id=f"s{session.index}.t{number}",
            text=turn.text,
            at=session.index * SESSION + number,
            source="user",
            departure=session.index <= departure,
        )
        for session in checkpoint.history
        for number, turn in enumerate(session.turns, start=1)
        if turn.speaker == "user" and turn.text.strip()
    )


class _Watched:
    """A model that records why it gave no answer, because a store may swallow or rewrap the error."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self._model = model
        self._stopped: Exception | None = None

    def ask(self, asks: Sequence[Ask]) -> Sequence[Reply | Failure]:
        try:
            return self._model.ask(asks)
        except Exception as error:
            self._stopped = error
            raise

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """However the store handles it, a missing answer ends the block with its own error."""
        try:
            yield
        except Exception:
            if self._stopped is None:
                raise
        if self._stopped is not None:
            raise self._stopped
