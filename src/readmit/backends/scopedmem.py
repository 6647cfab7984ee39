"""ScopedMem: the agent-scoped, versioned reference store of the paper, in the workspace's own file.

It keeps texts as they are, the team's beside each principal's private ones, with every earlier version. Search ranks
by words (Okapi BM25) and, if it is given an embedder, by meaning too; the two rankings are fused by reciprocal rank,
which needs no common scale. Nothing here needs a model.
"""

from __future__ import annotations

import math
import re
import secrets
import threading
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

import msgspec

from readmit.backends.port import Change, Hit, Material, Stored, require_limit, unknown_record
from readmit.backends.store_lines import NoOptions, Site
from readmit.log.ledger import TEAM
from readmit.log.memory_records import MemoryRecords, MemoryRow, MemoryVersion, NewMemory
from readmit.records.base import require_name
from readmit.records.canonical import decode
from readmit.state.authority import host_time

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from readmit.models.protocols import Embedder

# Okapi BM25 with the constants that most engines ship.
_K1, _B = 1.2, 0.75
# Reciprocal rank fusion: how fast a rank loses weight.
_FUSION = 60
# In a large store, a word in more records than this share has almost no weight, and reading its occurrences would be
# most of a search's cost.
_COMMON, _LARGE = 0.5, 1_000
# Up to this many records are looked up one by one; beyond that, skipping unwanted ones is cheaper.
_FEW = 1_000
_WORD = re.compile(r"\w+")


class _Native(msgspec.Struct, frozen=True):
    key: str
    at: str


class ScopedMem:
    """A store in a workspace. There may be several, under different names."""

    writes_apart = True

    def __init__(
        self,
        memories: MemoryRecords,
        workspace: str,
        *,
        store: str = "main",
        embedder: Embedder | None = None,
        clock: Callable[[], datetime] = host_time,
    ) -> None:
        """``memories`` is the workspace's ``log.memories``; vectors are kept for the life of this object."""
        self.workspace = require_name("workspace", workspace)
        self._store = require_name("store", store)
        self._memories = memories
        self._clock = clock
        self._vectors = None if embedder is None else _Vectors(embedder)

    @classmethod
    def at(cls, site: Site) -> Self:
        """The store that a line names: ``scopedmem``, or ``scopedmem:NAME``."""
        site.options(NoOptions)
        return cls(site.log.memories, site.workspace, store=site.line.target or "main", embedder=site.embedder)

    @property
    def name(self) -> str:
        return f"scopedmem:{self._store}"

    def form(self, material: Material) -> list[Change]:
        """One record, verbatim."""
        record = Stored(id=secrets.token_hex(12), text=material.text, owner=material.owner)
        self._memories.write(self._store, [self._new(record, material.key)])
        return [Change(kind="added", record=record)]

    def search(
        self, query: str, *, limit: int, reader: str | None = None, among: Collection[str] | None = None
    ) -> list[Hit]:
        require_limit(limit)
        usable = None
        if among is not None and len(among) <= _FEW:
            usable = self._memories.places(self._store, among)
        scores = self._by_words(query, reader, usable)
        if self._vectors is not None:
            near = self._vectors.nearest(self._memories, self._store, query, reader, usable)
            scores = _fused(scores, near)
        ranked = sorted(scores, key=lambda place: (-scores[place], place))
        hits: list[Hit] = []
        for start in range(0, len(ranked), max(limit, 64)):
            part = ranked[start : start + max(limit, 64)]
            rows = {row.seq: row for row in self._memories.at(part)}
            hits += [
                Hit(id=row.id, text=row.text, score=scores[place])
                for place in part
                if (row := rows.get(place)) is not None and (among is None or row.id in among)
            ]
            if len(hits) >= limit:
                break
        return hits[:limit]

    def narrows(self, count: int) -> bool:  # noqa: ARG002 - any number of them
        return True

    def _by_words(self, query: str, reader: str | None, usable: set[int] | None) -> dict[int, float]:
        totals = self._memories.totals(self._store)
        if not totals.records:
            return {}
        mean = totals.length / totals.records
        counts = {word: self._memories.frequency(self._store, word) for word in set(_words(query))}
        common = totals.records * _COMMON if totals.records >= _LARGE else totals.records
        rare = [word for word, count in counts.items() if 0 < count <= common]
        scores: dict[int, float] = {}
        for word in rare or [word for word, count in counts.items() if count]:
            weight = math.log(1 + (totals.records - counts[word] + 0.5) / (counts[word] + 0.5))
            for seq, owner, times, length in self._memories.postings(self._store, word):
                if (usable is None or seq in usable) and (reader is None or owner in (TEAM, reader)):
                    damped = times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * length / mean))
                    scores[seq] = scores.get(seq, 0.0) + weight * damped
        return scores

    def records(self) -> Iterator[Stored]:
        return (Stored(id=row.id, text=row.text, owner=row.owner) for row in self._memories.rows(self._store))

    def get(self, record: str) -> Stored:
        """The current version of one record."""
        row = self._row(record)
        return Stored(id=row.id, text=row.text, owner=row.owner)

    def update(self, record: str, text: str) -> list[Change]:
        row = self._row(record)
        changed = Stored(id=record, text=text, owner=row.owner)
        self._memories.write(self._store, [self._new(changed, row.key)])
        return [Change(kind="replaced", record=changed)]

    def delete(self, record: str) -> None:
        """Remove a record from every search and listing. Its versions stay in ``history``."""
        if not self._memories.remove(self._store, record, self._now()):
            raise unknown_record(self, record)

    def purge(self, record: str) -> None:
        """Remove a record with all its versions, deleted or not."""
        if not self._memories.remove(self._store, record, self._now(), purge=True):
            raise unknown_record(self, record)

    def history(self, record: str) -> list[MemoryVersion]:
        """Every version of a record, oldest first; a deletion is a version without a text."""
        versions = self._memories.history(self._store, record)
        if not versions:
            raise unknown_record(self, record)
        return versions

    def export(self) -> Iterator[Stored]:
        for row in self._memories.rows(self._store):
            native = _Native(row.key, row.at)
            yield Stored(id=row.id, text=row.text, owner=row.owner, native=msgspec.json.encode(native))

    def load(self, records: Sequence[Stored]) -> list[str]:
        """Records keep their ids; one that is there already gets a new version."""
        new = []
        for record in records:
            native = decode(record.native, _Native, what=f"record {record.id!r}") if record.native else None
            new.append(self._new(record, native.key if native else "", native.at if native else None))
        self._memories.write(self._store, new)
        return [record.id for record in records]

    def close(self) -> None:
        """Nothing to close: the file belongs to the workspace."""

    def _new(self, record: Stored, key: str, at: str | None = None) -> NewMemory:
        return NewMemory(record.id, record.owner, record.text, key, at or self._now(), Counter(_words(record.text)))

    def _row(self, record: str) -> MemoryRow:
        row = self._memories.row(self._store, record)
        if row is None:
            raise unknown_record(self, record)
        return row

    def _now(self) -> str:
        return self._clock().astimezone(UTC).isoformat()


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _fused(scores: dict[int, float], near: Sequence[int]) -> dict[int, float]:
    """Two rankings as one."""
    ranked = sorted(scores, key=lambda place: (-scores[place], place))
    fused: dict[int, float] = {}
    for ranking in (ranked, near):
        for rank, place in enumerate(ranking, 1):
            fused[place] = fused.get(place, 0.0) + 1 / (_FUSION + rank)
    return fused


class _Vectors:
    """The vectors of a store's records, kept while the store does not change; each text is embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._version = -1
        self._rows: list[tuple[int, str]] = []
        self._by_text: dict[str, NDArray[np.float32]] = {}
        self._matrix: NDArray[np.float32] | None = None

    def nearest(
        self, memories: MemoryRecords, store: str, query: str, reader: str | None, usable: set[int] | None
    ) -> list[int]:
        """Places of the readable records with a positive cosine, nearest first."""
        with self._lock:
            rows, matrix = self._current(memories, store)
        if matrix is None:
            return []
        cosines = (matrix @ self._embedder.embed([query])[0]).tolist()
        near = [
            (-cosine, place)
            for cosine, (place, owner) in zip(cosines, rows, strict=True)
            if cosine > 0 and (usable is None or place in usable) and (reader is None or owner in (TEAM, reader))
        ]
        return [place for _, place in sorted(near)]

    def _current(self, memories: MemoryRecords, store: str) -> tuple[list[tuple[int, str]], NDArray[np.float32] | None]:
        import numpy as np

        version = memories.totals(store).version
        if version != self._version:
            stored = list(memories.rows(store))
            missing = list(dict.fromkeys(row.text for row in stored if row.text not in self._by_text))
            made = self._embedder.embed(missing) if missing else ()
            known = self._by_text | dict(zip(missing, made, strict=True))
            self._by_text = {row.text: known[row.text] for row in stored}
            self._rows = [(row.seq, row.owner) for row in stored]
            self._matrix = np.stack([self._by_text[row.text] for row in stored]) if stored else None
            self._version = version
        return self._rows, self._matrix
