"""An ordered Merkle map in a table: key → value, with a root that commits to all of them.

Entries lie in chunks, in the order of their keys. A chunk is a run of entries that ends before the next key whose hash
marks a boundary, so its shape depends on the keys alone and not on the order in which they came. The level above holds
one entry per chunk, its first key and its hash, and is cut into chunks the same way, up to a level with a single chunk:
its hash is the root.

A read follows the hashes down from the root, so whatever it returns is what the root commits to. Keys are never
removed.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from readmit.log.engines.sql import chunks
from readmit.records.error_types import TamperedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from readmit.log.engines.sql import SqlSession

Entry: TypeAlias = tuple[str, bytes]
Row: TypeAlias = tuple[int, int, str, bytes]
# One key in 23 begins a chunk: small enough to rewrite with a commit, large enough for few levels.
_BOUNDARY = 11
_LONGEST_KEY = 600
SHORT_FORM = 64
"""How many characters of a key its short form begins with."""
_READ = "SELECT start, body FROM node WHERE ws = ? AND level = ? AND start IN"
_WRITE = """
    INSERT INTO node VALUES (?, ?, ?, ?) ON CONFLICT (ws, level, start) DO UPDATE SET body = excluded.body
"""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Entry]).decode
_second = itemgetter(1)
_key = msgspec.json.Encoder().encode


def key_of(*parts: str) -> str:
    """The key of an index entry. Keys with the same first parts lie together, and no two lists of parts share one."""
    key = _key(parts).decode()
    if len(key) <= _LONGEST_KEY:
        return key
    # A database limits how long an indexed text may be.
    return f"{key[:SHORT_FORM]}#{hashlib.sha256(key.encode()).hexdigest()}"


def is_short_form(key: str) -> bool:
    """Whether a key is too long to be written out. It does not lie with keys that have the same first parts."""
    return not key.endswith("]")


class Root(NamedTuple):
    """The commitment to a map: the level of its topmost chunk, and that chunk's hash."""

    level: int
    hash: bytes


EMPTY = Root(0, hashlib.sha256(b"\0" + _encode([])).digest())


class StateMap:
    """The map of one workspace."""

    def __init__(self, sql: SqlSession, ws: int, *, kept: int = 8_192) -> None:
        """Read and write the map through ``sql``. ``kept`` is the most chunks that are cached."""
        self._sql = sql
        self._ws = ws
        self._kept = kept
        # By hash: what is kept here is right, whatever has happened to the table since.
        self._known: dict[bytes, list[Entry]] = {}

    def get(self, root: Root, key: str) -> bytes:
        """The value of one key; empty if the map has none."""
        # Sorts after the key, and before every other key that sorts after it.
        after, entry = (f"{key}\0", b""), ("", root.hash)
        for level in range(root.level, -1, -1):
            entries = self._known.get(entry[1])
            if entries is None:
                (entries,) = self._load(level, [entry])
            at = bisect_left(entries, after) - 1
            if at < 0:
                return b""
            entry = entries[at]
        return entry[1] if entry[0] == key else b""

    def find(self, root: Root, keys: Iterable[str]) -> dict[str, bytes]:
        """The values of those keys that the map has."""
        found: dict[str, bytes] = {}
        for entries, part in self._reach(root, sorted(set(keys))):
            values = dict(entries)
            found.update((key, values[key]) for key in part if key in values)
        return found

    def beginning_with(self, root: Root, prefix: str) -> Iterator[Entry]:
        """Every entry whose key has this prefix, in order."""
        row = self._load(root.level, [("", root.hash)])
        for level in range(root.level, 0, -1):
            # The chunk that begins before the prefix may hold the first match.
            wanted = [
                entry
                for entries in row
                for entry, after in pairwise([*entries, ("", b"")])
                if entry[0].startswith(prefix) or (entry[0] < prefix and (not after[0] or after[0] > prefix))
            ]
            row = self._load(level - 1, wanted)
        for entries in row:
            yield from (entry for entry in entries if entry[0].startswith(prefix))

    def update(self, root: Root, values: Mapping[str, bytes]) -> Root:
        """Set some values and return the new root."""
        changed = sorted(values.items())
        # One read per level, however many chunks change.
        for _ in self._reach(root, [key for key, _ in changed]):
            pass
        rows: list[Row] = []
        level, pieces = root.level, self._apply(root.level, ("", root.hash), changed, rows)
        while len(pieces) > 1:
            level += 1
            pieces = self._cut(level, "", pieces, pieces, rows)
        self._sql.executemany(_WRITE, rows)
        return Root(level, pieces[0][1])

    def _apply(self, level: int, chunk: Entry, changed: list[Entry], rows: list[Row]) -> list[Entry]:
        """Change one chunk and the chunks below it. Returns the resulting chunks: their first keys and hashes."""
        (entries,) = self._load(level, [chunk])
        if level:
            starts = [start for start, _ in entries]
            below: list[Entry] = []
            for child, part in groupby(changed, key=lambda entry: bisect_right(starts, entry[0]) - 1):
                below += self._apply(level - 1, entries[child], list(part), rows)
            changed = below
        merged = dict(entries)
        # An older entry can become a boundary only if something now precedes it.
        candidates = [*entries[:1], *(entry for entry in changed if entry[0] not in merged)]
        merged.update(changed)
        return self._cut(level, chunk[0], sorted(merged.items()), candidates, rows)

    def _cut(
        self, level: int, start: str, entries: list[Entry], candidates: list[Entry], rows: list[Row]
    ) -> list[Entry]:
        """Write a run of entries as chunks. Only some of its keys can be boundaries within it."""
        boundaries = {key for key, _ in candidates if _height(key) > level}
        cuts = [at for at, (key, _) in enumerate(entries) if at and key in boundaries] if boundaries else []
        pieces = []
        for low, high in pairwise([0, *cuts, len(entries)]):
            part = entries[low:high]
            body = _encode(part)
            first, hash_ = part[0][0] if low else start, _hash(level, body)
            self._keep(hash_, part)
            rows.append((self._ws, level, first, body))
            pieces.append((first, hash_))
        return pieces

    def _reach(self, root: Root, keys: list[str]) -> Iterator[tuple[list[Entry], list[str]]]:
        """The lowest chunks in which some keys belong, each with its keys."""
        row = [(entries, keys) for entries in self._load(root.level, [("", root.hash)])]
        for level in range(root.level, 0, -1):
            wanted: list[Entry] = []
            parts: list[list[str]] = []
            for entries, part in row:
                starts = [start for start, _ in entries]
                for child, some in groupby(
                    zip(part, (bisect_right(starts, key) for key in part), strict=True), _second
                ):
                    wanted.append(entries[child - 1])
                    parts.append([key for key, _ in some])
            row = list(zip(self._load(level - 1, wanted), parts, strict=True))
        yield from row

    def _load(self, level: int, chunks_: list[Entry]) -> list[list[Entry]]:
        """Chunks of one level by their first keys, each checked against its hash."""
        # Held here for the whole call: keeping one chunk may drop another from the cache.
        known = [[] if hash_ == EMPTY.hash else self._known.get(hash_) for _, hash_ in chunks_]
        missing = [start for (start, _), entries in zip(chunks_, known, strict=True) if entries is None]
        stored: dict[str, object] = {}
        for marks, part in chunks(missing):
            rows = self._sql.execute(f"{_READ} ({marks})", (self._ws, level, *part)).fetchall()
            stored |= dict(rows)
        return [
            self._decoded(level, hash_, stored.get(start)) if entries is None else entries
            for (start, hash_), entries in zip(chunks_, known, strict=True)
        ]

    def _decoded(self, level: int, hash_: bytes, body: object) -> list[Entry]:
        if not isinstance(body, bytes) or _hash(level, body) != hash_:
            raise TamperedError("the digests of the indexes are not those under the signed checkpoint: altered")
        entries = _decode(body)
        self._keep(hash_, entries)
        return entries

    def _keep(self, hash_: bytes, entries: list[Entry]) -> None:
        if len(self._known) >= self._kept:
            for old in list(self._known)[: self._kept // 2]:
                del self._known[old]
        self._known[hash_] = entries


def root_of(entries: Iterable[Entry]) -> Root:
    """The root over entries in the order of their keys, however they came to be. Reads them once."""
    levels: list[list[Entry]] = [[]]
    starts = [""]

    def close(level: int) -> None:
        body = _encode(levels[level])
        up = (starts[level], _hash(level, body))
        if level + 1 == len(levels):
            levels.append([])
            starts.append("")
        levels[level + 1].append(up)
        levels[level] = []

    for key, value in entries:
        for level in range(_height(key)):
            if not levels[level]:  # the very first key begins no new chunk
                break
            close(level)
            starts[level] = key
        levels[0].append((key, value))
    level = 0
    while level + 1 < len(levels):
        close(level)
        level += 1
    return Root(level, _hash(level, _encode(levels[level])))


def _hash(level: int, body: bytes) -> bytes:
    return hashlib.sha256(bytes([level]) + body).digest()


def _height(key: str) -> int:
    """How many levels see a boundary at this key."""
    height = 0
    for byte in hashlib.sha256(key.encode()).digest():
        if byte >= _BOUNDARY:
            break
        height += 1
    return height
