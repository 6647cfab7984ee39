"""Adapter for A-MEM (the ``a-mem`` package).

A note's ``content`` is the text that was given, and is all that is bound. Context, keywords, tags and links are written
by a model that also sees neighboring notes, and change when notes are added: they help A-MEM find a note and are never
handed over. A-MEM has no slot for sources, so the note's id carries our key; admission never reads it.

Notes are read from Chroma itself: A-MEM's own reads turn a content that looks like a number or a list into one.
"""

from __future__ import annotations

import logging
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

import msgspec

from readmit.backends.adapters.amem_parts import HeldFolder, Llm, RememberedNotes, build
from readmit.backends.adapters.foreign_store import ForeignStore
from readmit.backends.id_escape import escape_id, unescaped
from readmit.backends.port import Change, Hit, Material, Stored, require_limit, unknown_record
from readmit.backends.store_lines import folder_at
from readmit.log.ledger import TEAM
from readmit.plugins import require_package
from readmit.records.base import require_name
from readmit.records.canonical import decode, digest
from readmit.records.error_types import BackendError, ReadmitError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from readmit.models.protocols import Embedder, Model

_MARK = "readmit"
_BATCH = 256
# Chroma looks up each id, so only a short list is worth passing.
_FEW = 200
_PAGE = 1_000
# Ids in one message.
_NAMED = 5
_log = logging.getLogger(__name__)


class _Native(msgspec.Struct, frozen=True, kw_only=True):
    metadata: dict[str, Any]
    document: str
    embedder: str = ""
    vector: tuple[float, ...] = ()


class AMem(ForeignStore):
    """An A-MEM store. ``open`` makes or opens one on disk; ``over`` takes one that a program already has."""

    def __init__(
        self,
        system: Any,
        workspace: str,
        *,
        name: str,
        llm: Llm | None,
        embedder: str = "",
        folder: HeldFolder | None = None,
    ) -> None:
        # A note is written in several steps, and its neighbors with it: one call at a time.
        super().__init__("amem", name, workspace)
        self._system = system
        self._llm = llm
        self._embedder = embedder
        self._folder = folder
        # Reported as gone.
        self._missed: set[str] = set()

    @classmethod
    def open(
        cls,
        path: str | Path,
        workspace: str,
        *,
        embedder: Embedder,
        model: Model | None = None,
        name: str = "main",
        max_tokens: int = 2_000,
    ) -> Self:
        """A store in a folder, with our model and embedder. Without a model only verbatim notes can be formed."""
        require_package("agentic_memory", "amem", BackendError)
        folder = folder_at(path)
        llm = Llm(model, require_name("workspace", workspace), max_tokens)
        held = HeldFolder(folder)
        # Every workspace has a collection of its own.
        collection = f"readmit-{digest([workspace, name])[:40]}"
        try:
            system = build(folder, collection, embedder, llm)
        except ReadmitError:
            held.release()
            raise
        except Exception as error:
            held.release()
            raise BackendError(f"path: A-MEM cannot open {folder}: {type(error).__name__}: {error}") from error
        return cls(system, workspace, name=name, llm=llm, embedder=embedder.name, folder=held)

    @classmethod
    def over(cls, system: Any, workspace: str, *, name: str = "adopted") -> Self:
        """An ``AgenticMemorySystem`` that exists, with its own model and embedder.

        Everything in it is treated as this workspace's. Nothing has a source yet: adopt its notes first.
        """
        require_package("agentic_memory", "amem", BackendError)
        if not hasattr(system, "retriever"):
            raise BackendError(f"system: {type(system).__name__} is not an AgenticMemorySystem; give one")
        return cls(system, workspace, name=name, llm=None)

    @property
    def native(self) -> Any:
        """The ``AgenticMemorySystem`` itself. A note written with it has no source until it is adopted."""
        return self._system

    def form(self, material: Material) -> list[Change]:
        """One note. A-MEM's model writes its context, keywords and tags, and may change those of its neighbors."""
        record = Stored(id=_note_id(material.owner, material.key), text=material.text, owner=material.owner)
        with self._native("form"):
            if material.verbatim:
                self._write([record.id], [material.text], [_plain(record)])
                self._check(record)
            else:
                self._add(record)
        return [Change(kind="added", record=record)]

    def _add(self, record: Stored) -> None:
        """Let A-MEM form a note. If that fails, there is none, and the others are as they were."""
        neighbors = RememberedNotes.near(self._collection, record.text)
        try:
            self._system.add_note(record.text, id=record.id)
            self._check(record)
        except Exception as error:
            self._remove(record.id, error)
            raise
        finally:
            neighbors.restore(self._collection)

    def _remove(self, record: str, error: Exception) -> None:
        try:
            self._collection.delete(ids=[record])
        except Exception as again:  # noqa: BLE001 - Chroma documents none
            raise BackendError(
                f"{self.name}: {error}; and note {record!r}, which may have been written, could not be removed "
                f"({again}). It has no source and stays out of every view: delete it once the store answers"
            ) from error

    def search(
        self, query: str, *, limit: int, reader: str | None = None, among: Collection[str] | None = None
    ) -> list[Hit]:
        require_limit(limit)
        with self._native("search"):
            held = self._collection.count()
            usable = held if among is None else len(among)
            if not held or not usable:
                return []
            alone = list(among) if among is not None and usable <= _FEW else None
            wanted = limit
            if among is not None and alone is None:
                # Enough if rejected records are spread evenly, plus a margin.
                wanted = -(-(limit + 4) * held // min(usable, held))
            while True:
                most = min(wanted, held if alone is None else len(alone))
                if not most:
                    return []
                try:
                    found = self._collection.query(
                        query_texts=[query], n_results=most, ids=alone, include=["distances"]
                    )
                except Exception:
                    # Chroma refuses a list with an id that it does not have.
                    alone, before = self._present(alone), alone
                    if alone == before:
                        raise
                    continue
                names, far = found["ids"][0], found["distances"][0]
                near = [
                    (name, 1.0 - float(distance))
                    for name, distance in zip(names, far, strict=True)
                    if (among is None or name in among) and (reader is None or _owner(name) in (TEAM, reader))
                ]
                if len(near) >= limit or len(names) < wanted:
                    return self._hits(near[:limit])
                wanted *= 4

    def _present(self, names: list[str] | None) -> list[str] | None:
        """The notes of a list that A-MEM still has. Notes deleted there are reported."""
        if names is None:
            return None
        held = set(self._collection.get(ids=names, include=[])["ids"])
        if gone := sorted(set(names) - held - self._missed):
            self._missed |= set(gone)
            _log.warning(
                "%s: %d note(s) with sources are gone from A-MEM, and no search finds them: %s. review and adopt list "
                "them; adopt(…, gone=True) and `readmit backends adopt --gone` accept that",
                self.name,
                len(gone),
                ", ".join(gone[:_NAMED]),
            )
        return [name for name in names if name in held]

    def _hits(self, near: Sequence[tuple[str, float]]) -> list[Hit]:
        found = self._collection.get(ids=[name for name, _ in near], include=["metadatas"]) if near else {"ids": []}
        contents = {
            name: str(metadata.get("content", ""))
            for name, metadata in zip(found["ids"], found.get("metadatas", ()), strict=True)
        }
        return [Hit(id=name, text=contents[name], score=score) for name, score in near if name in contents]

    def narrows(self, count: int) -> bool:  # noqa: ARG002 - any number is ranked alone
        """Whether a search ranks this many records alone."""
        return True

    def records(self) -> Iterator[Stored]:
        for name, metadata, _, _ in self._every():
            yield Stored(id=name, text=str(metadata.get("content", "")), owner=_owner(name))

    def export(self) -> Iterator[Stored]:
        """Notes with all of A-MEM's metadata, and their vectors."""
        for name, metadata, document, vector in self._every(vectors=True):
            native = _Native(metadata=metadata, document=document, embedder=self._embedder, vector=vector)
            text = str(metadata.get("content", ""))
            yield Stored(id=name, text=text, owner=_owner(name), native=msgspec.json.encode(native))

    def load(self, records: Sequence[Stored]) -> list[str]:
        """Notes keep their ids. Vectors of the same embedder are kept, others are computed; no model is asked."""
        for start in range(0, len(records), _BATCH):
            part = records[start : start + _BATCH]
            native = [self._restored(one) for one in part]
            vectors = [list(one.vector) for one in native]
            with self._native("load"):
                self._write(
                    [one.id for one in part],
                    [one.document for one in native],
                    [one.metadata for one in native],
                    vectors if all(vectors) else None,
                )
        return [one.id for one in records]

    def update(self, record: str, text: str) -> list[Change]:
        """Replace the content. The context, keywords and tags of the former content are dropped."""
        changed = Stored(id=record, text=text, owner=_owner(record))
        with self._native("update"):
            self._known(record)
            before = RememberedNotes.of(self._collection, record)
            try:
                self._system.update(record, content=text, context="General", keywords=[], tags=[], links=[])
                self._check(changed)
            except Exception:
                before.restore(self._collection)
                raise
        return [Change(kind="replaced", record=changed)]

    def delete(self, record: str) -> None:
        with self._native("delete"):
            self._known(record)
            if not self._system.delete(record):
                raise BackendError(f"{self.name}: A-MEM did not delete {record!r}; its log says why")

    def _begin(self) -> None:
        if self._llm is not None:
            self._llm.failed = None

    def _release(self) -> None:
        if self._llm is not None:
            self._system.retriever.client.close()
        if self._folder is not None:
            self._folder.release()

    @property
    def _collection(self) -> Any:
        return self._system.retriever.collection

    def _write(
        self,
        names: list[str],
        documents: list[str],
        metadatas: list[dict[str, Any]],
        vectors: list[list[float]] | None = None,
    ) -> None:
        self._collection.upsert(ids=names, documents=documents, metadatas=metadatas, embeddings=vectors)

    def _every(self, *, vectors: bool = False) -> Iterator[tuple[str, dict[str, Any], str, tuple[float, ...]]]:
        include = ["metadatas", "documents", *(["embeddings"] if vectors else [])]
        at = 0
        while True:
            with self._native("list"):
                found = self._collection.get(limit=_PAGE, offset=at, include=include)
            names = found["ids"]
            rows = found["embeddings"].tolist() if vectors and names else [()] * len(names)
            for name, metadata, document, row in zip(
                names, found["metadatas"] or [], found["documents"] or [], rows, strict=True
            ):
                yield name, dict(metadata or {}), document or "", tuple(row)
            if len(names) < _PAGE:
                return
            at += _PAGE

    def _restored(self, record: Stored) -> _Native:
        native = decode(record.native, _Native, what=f"record {record.id!r}") if record.native else None
        if native is None or native.metadata.get("content") != record.text:
            # Metadata made from another text does not describe this one.
            return _Native(metadata=_plain(record), document=record.text)
        mine = self._embedder and native.embedder == self._embedder
        return native if mine else msgspec.structs.replace(native, vector=())

    def _known(self, record: str) -> None:
        if not self._collection.get(ids=[record], include=[])["ids"]:
            raise unknown_record(self, record)

    def _check(self, record: Stored) -> None:
        """Check that a write succeeded: A-MEM only prints when it fails, or when its model does."""
        if self._llm is not None and self._llm.failed is not None:
            raise self._llm.failed
        found = self._collection.get(ids=[record.id], include=["metadatas"])
        if not found["ids"] or found["metadatas"][0].get("content") != record.text:
            raise BackendError(f"{self.name}: A-MEM did not keep note {record.id!r}; its output says why")


def _plain(record: Stored) -> dict[str, Any]:
    """A-MEM's metadata for a note with only its content known."""
    moment = datetime.now(UTC).strftime("%Y%m%d%H%M")
    return {
        "id": record.id,
        "content": record.text,
        "keywords": "[]",
        "links": "[]",
        "retrieval_count": "0",
        "timestamp": moment,
        "last_accessed": moment,
        "context": "General",
        "evolution_history": "[]",
        "category": "Uncategorized",
        "tags": "[]",
        "enhanced_content": record.text,
    }


def _note_id(owner: str, key: str) -> str:
    return f"{_MARK}/{escape_id(owner)}/{key}/{secrets.token_hex(8)}"


def _owner(name: str) -> str:
    """The owner of a note, by its id. A note that was not formed here is the team's, and without a source."""
    parts = name.split("/")
    return unescaped(parts[1]) if parts[0] == _MARK and len(parts) > 1 else TEAM
