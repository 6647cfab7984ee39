"""Which runs embed, and with what: Memora's facts, proposed pairs, and memory stores are ranked with vectors."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from typing import TYPE_CHECKING

from readmit_bench.benchmarks import benchmark_named
from readmit_bench.methods import entry_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from readmit.models import Embedder
    from readmit_bench.benchmarks import Study
    from readmit_bench.settings import Settings

VECTORS = "vectors.db"
_AT_ONCE = 500


def embeds(study: Study, methods: Sequence[str], settings: Settings) -> bool:
    """Whether anything of a run is ranked with vectors.

    Smoke has to run without any extra, so it ranks by words, unless a method embeds anyway.
    """
    if any(not entry_named(name).runs_apart for name in methods):
        return True
    return not study.shipped and any(benchmark_named(name).embeds(settings) for name in study.benchmarks)


def embedder_named(name: str, vectors: Path | None = None) -> Embedder:
    """An embedder that embeds a text once: episodes over one history, and methods, share its sentences.

    With a file for the vectors a resumed run embeds nothing that was embedded before.
    """
    from readmit.lab import CachedEmbedder, VectorsInMemory
    from readmit.models import open_embedder

    kept = VectorsInMemory() if vectors is None else KeptVectors(vectors)
    return CachedEmbedder(open_embedder(name), kept)


class KeptVectors:
    """Vectors in a file, by embedder and digest of the text. The file is made when the first one is stored."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def read_vectors(self, embedder: str, digests: Sequence[str]) -> dict[str, bytes]:
        """The stored ones."""
        with self._lock:
            if self._db is None and not self._path.exists():
                return {}
            rows: dict[str, bytes] = {}
            for start in range(0, len(digests), _AT_ONCE):
                part = digests[start : start + _AT_ONCE]
                places = ",".join("?" * len(part))
                found = self._opened().execute(
                    f"SELECT text, vector FROM vector WHERE embedder = ? AND text IN ({places})",  # noqa: S608  # marks
                    (embedder, *part),
                )
                rows |= dict(found.fetchall())
            return rows

    def write_vectors(self, embedder: str, rows: Mapping[str, bytes]) -> None:
        """Store them in one transaction. The first of a text stays, because several runs may share a file."""
        with self._lock, self._opened() as db:
            db.executemany(
                "INSERT OR IGNORE INTO vector VALUES (?, ?, ?)", [(embedder, text, row) for text, row in rows.items()]
            )

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self._path, check_same_thread=False, timeout=30)
            weakref.finalize(self, self._db.close)
            self._db.execute("PRAGMA journal_mode = WAL")
            # A lost vector is computed again.
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS vector (embedder TEXT, text TEXT, vector BLOB NOT NULL, "
                "PRIMARY KEY (embedder, text)) WITHOUT ROWID"
            )
        return self._db


def retrieval_notes(study: Study, methods: Sequence[str], settings: Settings) -> tuple[str, ...]:
    """How checkpoints are retrieved, if it is not the paper's way."""
    ranked = [one for one in map(benchmark_named, study.benchmarks) if one.embeds(settings)]
    return tuple(one.retrieval_note for one in ranked) if embeds(study, methods, settings) else ()
