"""Adapter for Mem0 (mem0ai 2.x).

One source per ``add`` is not enough for an exact binding: with ``infer=True`` mem0 shows its model the session's last
messages and the nearest memories of the same ids, and the model may write any of it into the new memory. So each
inferred add runs under a ``run_id`` of its own: the session is empty, and the text is all that the model sees. Search
and listing do not ask for a ``run_id`` and find everything. Verbatim adds ask no model.

Its releases since 2.0 only add: no add rewrites or deletes another memory. An answer that says otherwise is refused.
An add that fails in the middle is undone: mem0 itself logs what it could not store, and keeps the rest.

The metadata holds our source key for people who inspect the store, and the number of the add. Admission never reads it.
"""

from __future__ import annotations

import copy
import os
import secrets
import threading
import uuid
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import msgspec

from readmit.backends.adapters.foreign_store import ForeignStore
from readmit.backends.adapters.mem0_parts import Extractor, Mem0Embedding, NarrowedClient
from readmit.backends.id_escape import escape_id
from readmit.backends.port import Change, Hit, Material, Stored, unknown_record
from readmit.backends.store_lines import folder_at
from readmit.log.ledger import TEAM
from readmit.plugins import require_package
from readmit.records.canonical import decode
from readmit.records.error_types import BackendError, RecordError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from readmit.models.protocols import Embedder, Model

_SOURCE, _OWNER, _ADD = "readmit_source", "readmit_owner", "readmit_add"
_EVERYTHING = 10_000_000
_BATCH = 256
# Embedded qdrant and the history database are for one thread at a time, however many adapters share them.
_in_use: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()


class _Native(msgspec.Struct, frozen=True, kw_only=True):
    payload: dict[str, Any]
    embedder: str = ""
    vector: tuple[float, ...] = ()


class Mem0(ForeignStore):
    """A Mem0 store. ``open`` makes or opens one on disk; ``over`` takes one that a program already has."""

    def __init__(
        self, memory: Any, workspace: str, *, name: str, scope: Mapping[str, str], embedding: Mem0Embedding | None
    ) -> None:
        if not scope or not set(scope) <= {"user_id", "agent_id", "run_id"}:
            raise BackendError("scope: give mem0's user_id, agent_id or run_id that bounds this workspace's memories")
        super().__init__("mem0", name, workspace, _in_use.setdefault(memory, threading.RLock()))
        self._memory = memory
        # As mem0 stores them.
        self._scope = {kind: str(value).strip() for kind, value in scope.items()}
        self._embedding = embedding

    @classmethod
    def open(
        cls,
        path: str | Path,
        workspace: str,
        *,
        embedder: Embedder,
        model: Model | None = None,
        collection: str = "memories",
        max_tokens: int = 2_000,
    ) -> Self:
        """A store in a folder: embedded qdrant and mem0's history database, with our model and embedder.

        Without a model only verbatim memories can be formed. Telemetry is off.
        """
        require_package("mem0", "mem0", BackendError)
        folder = folder_at(path)
        memory = _opened(folder, collection, embedder.dimensions)
        _check_dimensions(memory, collection, embedder)
        embedding = Mem0Embedding(embedder)
        memory.embedding_model = embedding
        memory.llm = Extractor(model, workspace, max_tokens)
        # mem0 trims its ids and takes none with a space.
        return cls(memory, workspace, name=collection, scope={"user_id": escape_id(workspace)}, embedding=embedding)

    @classmethod
    def over(cls, memory: Any, workspace: str, *, scope: Mapping[str, str], name: str = "adopted") -> Self:
        """A ``mem0.Memory`` that exists, with its own model, embedder and vector store.

        ``scope`` holds the ids that its records carry, as ``{"user_id": "alice"}``. Nothing in it has a source yet:
        adopt its records before anyone returns to them.
        """
        require_package("mem0", "mem0", BackendError)
        return cls(memory, workspace, name=name, scope=scope, embedding=None)

    @property
    def native(self) -> Any:
        """The ``mem0.Memory`` itself. A record written with it has no source until it is adopted."""
        return self._memory

    def form(self, material: Material) -> list[Change]:
        """One verbatim record, or the memories that mem0's model draws from the text: all, or none and an error."""
        number = secrets.token_hex(12)
        metadata = {_SOURCE: material.key, _OWNER: material.owner, _ADD: number}
        options: dict[str, Any] = {**self._scope, "metadata": metadata, "infer": not material.verbatim}
        if not material.verbatim:
            if "run_id" in self._scope:
                raise BackendError(
                    "scope: a run_id bounds this store, and an inferred add needs one of its own, or its model sees "
                    "other sources; form with verbatim=True, or bound the store by user_id or agent_id"
                )
            options["run_id"] = f"readmit-{number}"
        with self._native("form"):
            try:
                made = self._memory.add([{"role": "user", "content": material.text}], **options)["results"]
                self._complete(made, inferred=not material.verbatim)
            except Exception as error:
                self._undo(number, error)
                raise
        return [
            Change(kind="added", record=Stored(id=str(one["id"]), text=one["memory"], owner=material.owner))
            for one in made
        ]

    def _complete(self, made: list[dict[str, Any]], *, inferred: bool) -> None:
        """Refuse an add that stored fewer memories than the model wrote, or changed others."""
        unexpected = [one["event"] for one in made if one["event"] != "ADD"]
        if unexpected:
            raise BackendError(f"mem0 answered {unexpected[0]!r} to an add; this adapter knows its add-only releases")
        self._check_vectors("form")
        extracted: frozenset[str] = getattr(self._memory.llm, "extracted", frozenset()) if inferred else frozenset()
        if lost := extracted - {one["memory"] for one in made}:
            raise BackendError(f"{self.name}: mem0 could not store {len(lost)} of {len(extracted)} memories")

    def _undo(self, number: str, error: Exception) -> None:
        """Remove the records of a failed add."""
        try:
            written = self._memory.get_all(filters={**self._scope, _ADD: number}, top_k=_EVERYTHING)["results"]
            for one in written:
                self._memory.delete(one["id"])
        except Exception as again:  # noqa: BLE001 - every vector store has its own
            raise BackendError(
                f"{self.name}: form failed: {error}; what it may have written could not be removed ({again}). It has "
                f"no source and stays out of every view: delete the records with {_ADD} = {number!r} in their metadata "
                "once the store answers"
            ) from error

    def search(
        self, query: str, *, limit: int, reader: str | None = None, among: Collection[str] | None = None
    ) -> list[Hit]:
        if not query.strip():
            raise RecordError("query: say what to search for")
        filters: dict[str, Any] = dict(self._scope)
        if reader is not None and among is None:
            # A caller with a list filters out other principals' records itself; the condition would read every payload.
            filters["NOT"] = [{_OWNER: {"nin": [TEAM, reader]}}]
        with self._native("search"):
            found = self._narrowed(among).search(query, filters=filters, top_k=limit)["results"]
        return [Hit(id=str(one["id"]), text=one["memory"], score=float(one["score"])) for one in found]

    def narrows(self, count: int) -> bool:
        return count > 0 and type(self._memory.vector_store).__name__ == "Qdrant"

    def _narrowed(self, among: Collection[str] | None) -> Any:
        """The memory, with a qdrant that ranks only a set, so that mem0 need not score everything.

        A copy: the program that owns the memory may be searching it too.
        """
        if among is None or not self.narrows(len(among)):
            return self._memory
        # Made when first used: by the memory itself, so that every copy finds it.
        _ = self._memory.entity_store
        narrowed, store = copy.copy(self._memory), copy.copy(self._memory.vector_store)
        store.client = NarrowedClient(store.client, store.collection_name, among)
        narrowed.vector_store = store
        return narrowed

    def records(self) -> list[Stored]:
        with self._native("list"):
            found = self._memory.get_all(filters=dict(self._scope), top_k=_EVERYTHING)["results"]
        return [
            Stored(id=str(one["id"]), text=one["memory"], owner=str((one.get("metadata") or {}).get(_OWNER, TEAM)))
            for one in found
        ]

    def update(self, record: str, text: str) -> list[Change]:
        with self._native("update"):
            payload = self._payload(record)
            try:
                self._memory.update(record, text=text)
            except Exception as error:
                if self._payload(record).get("data") == payload.get("data"):
                    raise
                raise BackendError(
                    f"{self.name}: update failed after the new text was stored: {error}. It has no source and stays "
                    "out of every view; update it again"
                ) from error
        return [Change(kind="replaced", record=Stored(id=record, text=text, owner=str(payload.get(_OWNER, TEAM))))]

    def delete(self, record: str) -> None:
        with self._native("delete"):
            self._payload(record)
            self._memory.delete(record)

    def history(self, record: str) -> list[dict[str, Any]]:
        """mem0's own history of a record."""
        with self._native("history"):
            self._payload(record)
            found: list[dict[str, Any]] = self._memory.history(record)
        return found

    def export(self) -> Iterator[Stored]:
        """Payloads, and vectors where the store is qdrant. mem0's history is not exported."""
        with self._native("export"):
            points = self._points()
        embedder = self._embedding.embedder.name if self._embedding is not None else ""
        for name, payload, vector in points:
            native = _Native(payload=payload, embedder=embedder if vector else "", vector=vector)
            yield Stored(
                id=name,
                text=str(payload.get("data", "")),
                owner=str(payload.get(_OWNER, TEAM)),
                native=msgspec.json.encode(native),
            )

    def load(self, records: Sequence[Stored]) -> list[str]:
        """Records keep their ids. Vectors of the same embedder are kept, others are computed; no model is asked."""
        for start in range(0, len(records), _BATCH):
            part = records[start : start + _BATCH]
            native = [
                decode(one.native, _Native, what=f"record {one.id!r}") if one.native else _Native(payload={})
                for one in part
            ]
            with self._native("load"):
                self._memory.vector_store.insert(
                    vectors=self._vectors(part, native),
                    ids=[one.id for one in part],
                    payloads=[self._restored(one, kept) for one, kept in zip(part, native, strict=True)],
                )
        return [one.id for one in records]

    def _release(self) -> None:
        if self._embedding is not None:
            self._memory.close()
            # Embedded qdrant holds a lock on its folder until it is closed.
            self._memory.vector_store.client.close()

    def _restored(self, record: Stored, native: _Native) -> dict[str, Any]:
        lemmatize = import_module("mem0.utils.lemmatization").lemmatize_for_bm25
        # Scope ids are this store's, whatever the archive says: records never change their workspace.
        kept = {key: value for key, value in native.payload.items() if key not in ("user_id", "agent_id", "run_id")}
        return {
            **kept,
            **self._scope,
            "data": record.text,
            "text_lemmatized": lemmatize(record.text),
            _OWNER: record.owner,
        }

    def _vectors(self, records: Sequence[Stored], native: Sequence[_Native]) -> list[list[float]]:
        embedder = self._embedding.embedder if self._embedding is not None else None
        usable = [
            embedder is not None and kept.embedder == embedder.name and len(kept.vector) == embedder.dimensions
            for kept in native
        ]
        missing = [one.text for one, there in zip(records, usable, strict=True) if not there]
        made = iter(self._memory.embedding_model.embed_batch(missing, "add") if missing else ())
        return [list(kept.vector) if there else list(next(made)) for kept, there in zip(native, usable, strict=True)]

    def _points(self) -> list[tuple[str, dict[str, Any], tuple[float, ...]]]:
        store = self._memory.vector_store
        if type(store).__name__ != "Qdrant":
            (listed, *_) = store.list(filters=dict(self._scope), top_k=_EVERYTHING)
            return [(str(one.id), dict(one.payload), ()) for one in listed]
        models = import_module("qdrant_client").models
        conditions = [
            models.FieldCondition(key=key, match=models.MatchValue(value=value)) for key, value in self._scope.items()
        ]
        found, _ = store.client.scroll(
            collection_name=store.collection_name,
            scroll_filter=models.Filter(must=conditions),
            limit=_EVERYTHING,
            with_payload=True,
            with_vectors=True,
        )
        return [(str(one.id), dict(one.payload or {}), _dense(one.vector)) for one in found]

    def _payload(self, record: str) -> dict[str, Any]:
        """A record's payload, if it is one of this workspace's."""
        try:
            name = str(uuid.UUID(record))
        except ValueError:
            name = ""
        found = self._memory.vector_store.get(vector_id=name) if name else None
        payload = dict(found.payload or {}) if found is not None else {}
        if not payload or any(payload.get(key) != value for key, value in self._scope.items()):
            raise unknown_record(self, record)
        return payload

    def _begin(self) -> None:
        if self._embedding is not None:
            self._embedding.failed = None

    @contextmanager
    def _native(self, what: str) -> Iterator[None]:
        with super()._native(what):
            yield
            self._check_vectors(what)

    def _check_vectors(self, what: str) -> None:
        if self._embedding is not None and self._embedding.failed is not None:
            raise BackendError(
                f"{self.name}: {what} went on without a vector: {self._embedding.failed}"
            ) from self._embedding.failed


def _opened(folder: Path, collection: str, dimensions: int) -> Any:
    # Read when mem0 is first imported; without them it sends telemetry and writes into the home directory.
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ.setdefault("MEM0_DIR", str(folder / "mem0"))
    mem0 = import_module("mem0")
    if import_module("mem0.memory.telemetry").MEM0_TELEMETRY:
        raise BackendError(
            "mem0 was imported before with its telemetry on; set MEM0_TELEMETRY=False in the environment"
        )
    # Replaced by our model and embedder before they are used.
    unused = {"provider": "openai", "config": {"api_key": "unused", "model": "unused"}}
    config = {
        "vector_store": {
            "provider": "qdrant",
            "config": {
                "path": str(folder / "qdrant"),
                "collection_name": collection,
                "embedding_model_dims": dimensions,
                "on_disk": True,
            },
        },
        "llm": unused,
        "embedder": unused,
        "history_db_path": str(folder / "history.db"),
    }
    try:
        return mem0.Memory.from_config(config)
    except Exception as error:
        if "already accessed" in str(error):
            raise BackendError(
                f"path: {folder} is open in another process; embedded qdrant allows one. Close it there"
            ) from error
        raise BackendError(f"path: mem0 cannot open {folder}: {type(error).__name__}: {error}") from error


def _check_dimensions(memory: Any, collection: str, embedder: Embedder) -> None:
    stored = memory.vector_store.client.get_collection(collection).config.params.vectors.size
    if stored != embedder.dimensions:
        memory.vector_store.client.close()
        raise BackendError(
            f"embedder: {embedder.name} makes vectors of {embedder.dimensions}, collection {collection!r} holds "
            f"vectors of {stored}; use the embedder it was made with, or another collection"
        )


def _dense(vector: Any) -> tuple[float, ...]:
    """The dense vector of a point, which may have a sparse one beside it."""
    return tuple(vector.get("", ()) if isinstance(vector, dict) else vector or ())
