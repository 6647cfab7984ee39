"""Mem0 (mem0ai 2.x) behind the port.

One source per ``add`` is not enough for an exact binding: with ``infer=True`` mem0 shows its model the session's last
messages and the nearest memories of the same ids, and the model may write any of it into the new memory. So each
inferred add runs under a ``run_id`` of its own: the session is empty, and the text is all that the model sees. Search
and listing do not ask for a ``run_id`` and find everything. Verbatim adds ask no model.

The metadata holds our source key for people who inspect the store. Admission never reads it.
"""

from __future__ import annotations

import os
import secrets
import threading
import uuid
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import msgspec

from readmit.backends.mem0_models import Extractor, Mem0Embedding
from readmit.backends.mem0_narrow import NarrowedClient
from readmit.backends.opening import folder_at, need
from readmit.ports.backend import TEAM, Change, Hit, Stored
from readmit.records.base import require_name
from readmit.records.canonical import decode
from readmit.records.errors import BackendError, ReadmitError, RecordError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from readmit.backends.opening import Site
    from readmit.ports.backend import Material
    from readmit.ports.models import Embedder, Model

_SOURCE, _OWNER = "readmit_source", "readmit_owner"
_EVERYTHING = 10_000_000
_BATCH = 256


class _Native(msgspec.Struct, frozen=True, kw_only=True):
    payload: dict[str, Any]
    embedder: str = ""
    vector: tuple[float, ...] = ()


class Mem0:
    """A Mem0 store. ``open`` makes or opens one on disk; ``over`` takes one that a program already has."""

    def __init__(
        self, memory: Any, workspace: str, *, name: str, scope: Mapping[str, str], embedding: Mem0Embedding | None
    ) -> None:
        if not scope or not set(scope) <= {"user_id", "agent_id", "run_id"}:
            raise BackendError("scope: give mem0's user_id, agent_id or run_id that bounds this workspace's memories")
        self.workspace = require_name("workspace", workspace)
        self.name = f"mem0:{require_name('name', name)}"
        self._memory = memory
        self._scope = dict(scope)
        self._embedding = embedding
        # Embedded qdrant and the history database are for one thread at a time.
        self._lock = threading.RLock()
        self._closed = False

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
        need("mem0", "mem0")
        folder = folder_at(path)
        memory = _opened(folder, collection, embedder.dimensions)
        _check_dimensions(memory, collection, embedder)
        embedding = Mem0Embedding(embedder)
        memory.embedding_model = embedding
        memory.llm = Extractor(model, workspace, max_tokens)
        return cls(memory, workspace, name=collection, scope={"user_id": workspace}, embedding=embedding)

    @classmethod
    def at(cls, site: Site) -> Self:
        """The store that a line names: ``mem0:FOLDER``."""
        return cls.open(site.place(), site.workspace, embedder=site.needed_embedder(), model=site.model)

    @classmethod
    def over(cls, memory: Any, workspace: str, *, scope: Mapping[str, str], name: str = "adopted") -> Self:
        """A ``mem0.Memory`` that exists, with its own model, embedder and vector store.

        ``scope`` holds the ids that its records carry, as ``{"user_id": "alice"}``. Nothing in it has a source yet:
        adopt its records before anyone returns to them.
        """
        need("mem0", "mem0")
        return cls(memory, workspace, name=name, scope=scope, embedding=None)

    @property
    def native(self) -> Any:
        """The ``mem0.Memory`` itself. What is written with it has no source until it is adopted."""
        return self._memory

    def form(self, material: Material) -> list[Change]:
        metadata = {_SOURCE: material.key, _OWNER: material.owner}
        options: dict[str, Any] = {**self._scope, "metadata": metadata, "infer": not material.verbatim}
        if not material.verbatim:
            options["run_id"] = f"readmit-{secrets.token_hex(12)}"
        with self._native("form"):
            made = self._memory.add([{"role": "user", "content": material.text}], **options)["results"]
        unexpected = [one["event"] for one in made if one["event"] != "ADD"]
        if unexpected:
            raise BackendError(f"mem0 answered {unexpected[0]!r} to an add; this adapter knows its add-only releases")
        return [
            Change(kind="added", record=Stored(id=str(one["id"]), text=one["memory"], owner=material.owner))
            for one in made
        ]

    def search(
        self, query: str, *, limit: int, reader: str | None = None, among: Collection[str] | None = None
    ) -> list[Hit]:
        if not query.strip():
            raise RecordError("query: say what to search for")
        filters: dict[str, Any] = dict(self._scope)
        if reader is not None and among is None:
            # A caller with a list filters out other principals' records itself; the condition would read every payload.
            filters["NOT"] = [{_OWNER: {"nin": [TEAM, reader]}}]
        with self._native("search"), self._narrowed(among):
            found = self._memory.search(query, filters=filters, top_k=limit)["results"]
        return [Hit(id=str(one["id"]), text=one["memory"], score=float(one["score"])) for one in found]

    def narrows(self, count: int) -> bool:
        return count > 0 and type(self._memory.vector_store).__name__ == "Qdrant"

    @contextmanager
    def _narrowed(self, among: Collection[str] | None) -> Iterator[None]:
        """Let qdrant rank only a set, instead of having mem0 score everything."""
        store = self._memory.vector_store
        if among is None or not self.narrows(len(among)):
            yield
            return
        client = store.client
        store.client = NarrowedClient(client, store.collection_name, among)
        try:
            yield
        finally:
            store.client = client

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
            self._memory.update(record, text=text)
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

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._memory.close()
                client = getattr(self._memory.vector_store, "client", None)
                # Embedded qdrant holds a lock on its folder until it is closed.
                if self._embedding is not None and client is not None:
                    client.close()

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
            raise UnknownError(f"no record {record!r} in {self.name} of workspace {self.workspace!r}; list them first")
        return payload

    @contextmanager
    def _native(self, what: str) -> Iterator[None]:
        """One call at a time; any failure becomes a ``BackendError``."""
        with self._lock:
            if self._closed:
                raise BackendError(f"{self.name} is closed; open it again")
            if self._embedding is not None:
                self._embedding.failed = None
            try:
                yield
            except ReadmitError:
                raise
            except Exception as error:
                cause = error.__cause__ if isinstance(error.__cause__, ReadmitError) else None
                raise cause or BackendError(f"{self.name}: {what} failed: {type(error).__name__}: {error}") from error
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
