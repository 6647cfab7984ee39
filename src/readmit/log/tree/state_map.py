"""An ordered Merkle map in a table: key → value, with a root that commits to all of them.

Entries lie in chunks, in the order of their keys. A chunk is a run of entries that ends before the next key whose hash
marks a boundary, so its shape depends on the keys alone and not on the order in which they came. The level above holds
one entry per chunk, its first key and its hash, and is cut into chunks the same way, up to a level with a single chunk:
its hash is the root.

A read follows the hashes down from the root, so whatever it returns is what the root commits to. Keys are never
removed.

Running digests: the signed map's value for a list of events, and the check of a list against it.

Remnants of erased events: which there are, bound by the signed map of what the indexes answer.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from readmit.log.engines.sql import SqlSession, chunks
from readmit.records.canonical import SALT_BYTES, canonical
from readmit.records.error_types import TamperedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from readmit.log.tree.commits import Commits


ZERO = bytes(32)
"""The first value of every running digest."""


def continued(value: bytes, leaf: bytes) -> bytes:
    """A running digest after one more event: the digest before it, and the digest with it.

    Both are kept: the one before lets a reader check the last event alone.
    """
    before = value[32:] or ZERO
    return before + hashlib.sha256(before + leaf).digest()


def running(leaves: Iterable[bytes], value: bytes = b"") -> bytes:
    """The running digest over some events, after those that ``value`` covers; empty for none."""
    before, digest, sha = value[:32], value[32:] or ZERO, hashlib.sha256
    for leaf in leaves:
        before, digest = digest, sha(digest + leaf).digest()
    return before + digest if before else b""


def check_digest(value: bytes, leaves: Iterable[bytes], *, what: str) -> None:
    """Refuse events that are not all and only what a running digest covers, in order."""
    check_value(value, running(leaves), what=what)


def check_value(signed: bytes, read: bytes, *, what: str) -> None:
    """Refuse a running digest of the read rows that differs from the signed one."""
    if read != signed:
        raise tampered(what)


def check_last(value: bytes, last: bytes | None, *, what: str) -> None:
    """Refuse an event that is not the last one that a running digest covers; none if it covers nothing."""
    if value != (b"" if last is None else continued(ZERO + value[:32], last)):
        raise tampered(what)


def tampered(what: str) -> TamperedError:
    """The error for a list that is not the signed one."""
    return TamperedError(
        f"{what}: an event or an index row was altered, hidden, added or reordered; "
        "run `readmit audit verify`, and restore the store from a backup"
    )


Entry: TypeAlias = tuple[str, bytes]
Row: TypeAlias = tuple[int, int, str, bytes]
# One key in 23 begins a chunk: small enough to rewrite with a commit, large enough for few levels.
_BOUNDARY = 11
_LONGEST_KEY = 600
# Changing so few keys reads what is not known chunk by chunk: their chunks were read with their values.
_FEW = 16
SHORT_FORM = 64
"""How many characters of a key its short form begins with."""
_READ = "SELECT start, body FROM node WHERE ws = ? AND level = ? AND start IN"
_WRITE = """
    INSERT INTO node VALUES (?, ?, ?, ?) ON CONFLICT (ws, level, start) DO UPDATE SET body = excluded.body
"""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Entry]).decode
_first = itemgetter(0)
_json = msgspec.json.Encoder()


def key_of(*parts: str) -> str:
    """The key of an index entry. Keys with the same first parts lie together, and no two lists of parts share one."""
    key = _json.encode(parts).decode()
    return key if len(key) <= _LONGEST_KEY else _short_form(key)


def keys_of(use: str, entries: Iterable[tuple[str, ...]]) -> list[str]:
    """The keys of many entries of one index."""
    # JSON escapes line breaks.
    keys = _json.encode_lines([(use, *parts) for parts in entries]).decode().split("\n")[:-1]
    return [key if len(key) <= _LONGEST_KEY else _short_form(key) for key in keys]


def _short_form(key: str) -> str:
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
        if len(changed) > _FEW:
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

    def rewrite(self, root: Root, values: Mapping[str, bytes]) -> Root:
        """Like ``update``, and take out every key without a value: an erased entry leaves not even its key."""
        entries = dict(self.beginning_with(root, "")) | dict(values)
        self._sql.execute("DELETE FROM node WHERE ws = ?", (self._ws,))
        return self.update(EMPTY, {key: value for key, value in entries.items() if value})

    def _apply(self, level: int, chunk: Entry, changed: list[Entry], rows: list[Row]) -> list[Entry]:
        """Change one chunk and the chunks below it. Returns the resulting chunks: their first keys and hashes."""
        entries = self._known.get(chunk[1])
        if entries is None:
            (entries,) = self._load(level, [chunk])
        if level:
            below: list[Entry] = []
            for child, part in _divided(entries, [key for key, _ in changed]):
                below += self._apply(level - 1, child, changed[part], rows)
            changed = below
        merged = dict(entries)
        before = len(merged)
        merged.update(changed)
        if len(merged) == before:
            # Only values changed, so no boundary did, and the order is the same.
            return self._cut(level, chunk[0], list(merged.items()), (), rows)
        # An older entry can become a boundary only if something now precedes it.
        known = dict(entries)
        candidates = [*entries[:1], *(entry for entry in changed if entry[0] not in known)]
        return self._cut(level, chunk[0], sorted(merged.items()), candidates, rows)

    def _cut(
        self, level: int, start: str, entries: list[Entry], candidates: Iterable[Entry], rows: list[Row]
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
                for child, some in _divided(entries, part):
                    wanted.append(child)
                    parts.append(part[some])
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


def _divided(chunks_: list[Entry], keys: list[str]) -> Iterator[tuple[Entry, slice]]:
    """Which of some sorted keys belong in which chunk: one search for each chunk, not for each key."""
    at = 0
    while at < len(keys):
        after = bisect_right(chunks_, keys[at], key=_first)
        end = len(keys) if after == len(chunks_) else bisect_left(keys, chunks_[after][0], at)
        yield chunks_[after - 1], slice(at, end)
        at = end


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


REMNANT = "forgotten"
NAME_KEY = "name_key"
"""State-map key of the key that names made of contents are hashed with (``Log.keyed``)."""
_NO_SALT = bytes(SALT_BYTES)


def remnant_key(epoch: int) -> str:
    """State-map key of the remnant of an event."""
    return key_of(REMNANT, f"{epoch:x}")


def remnant_value(body: bytes) -> bytes:
    """State-map value of a remnant: the SHA-256 of the stored bytes."""
    return hashlib.sha256(body).digest()


def remnant_body(payload: object) -> bytes:
    """The bytes that replace an erased salt and content."""
    return _NO_SALT + canonical(payload)


def is_remnant(commits: Commits, epoch: int, body: bytes) -> bool:
    """Whether the signed log says that this is what stayed of an event."""
    return body[:SALT_BYTES] == _NO_SALT and commits.value(remnant_key(epoch)) == remnant_value(body)


def remnants(commits: Commits) -> dict[int, bytes]:
    """The state-map values of all remnants, by epoch."""
    prefix = f'["{REMNANT}","'
    found = commits.beginning_with(prefix)
    return {int(key[len(prefix) : -2], 16): value for key, value in found.items() if value}
