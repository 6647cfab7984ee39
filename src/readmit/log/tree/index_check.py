"""Checks every index row against the signed map of index digests, key by key.

The map says what each index answers. Its chunks are checked against the signed root. The digests that the stored rows
give must then be all and only those of the map, so a row that was altered, hidden, added or reordered shows.
"""

from __future__ import annotations

import hashlib
from itertools import chain, groupby, islice, zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.log.derived_texts import derived_digest, derived_key
from readmit.log.engines.sql import MASK, PAGE, SHIFT, SqlSession
from readmit.log.indexes.index_rows import carried_key, carried_leaf, stored_rows, worked_key, worked_value
from readmit.log.indexes.seen_observations import OBSERVED, block_of, covers, epochs_in
from readmit.log.indexes.stated import BESIDE, FRONTIER, TERM
from readmit.log.ledger import LEDGER, source_digest, source_key
from readmit.log.tree.state_map import EMPTY, NAME_KEY, REMNANT, ZERO, Entry, Root, key_of, keys_of, running
from readmit.records.acts.event import EventKind
from readmit.records.acts.kinds import KINDS
from readmit.text.english import counted
from readmit.trust.merkle import HASH_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_PAGE = 5_000
_NODES = "SELECT start, body FROM node WHERE ws = ? AND level = ? AND start > ? ORDER BY start LIMIT ?"
_FIRST_NODE = "SELECT start, body FROM node WHERE ws = ? AND level = ? AND start = ''"
_CARRIED = """
    SELECT evidence.digest, binding.item, item.id FROM binding
    JOIN event AS evidence ON evidence.pos = ? + binding.evidence JOIN event AS item ON item.pos = ? + binding.item
    WHERE binding.ws = ? ORDER BY 1, 2
"""
_AUDIENCES = """
    SELECT class, task, principal, role FROM audience WHERE ws = ? {} ORDER BY class, task, principal, role LIMIT 1
"""
_BEYOND = "AND (class, task, principal, role) > (?, ?, ?, ?)"
_EPOCHS = f"""
    SELECT epoch FROM audience WHERE ws = ? AND class = ? AND task = ? AND principal = ? AND role = ? {{}}
    ORDER BY epoch LIMIT {_PAGE}
"""
_WORKED = "SELECT by, max(pos) FROM event WHERE pos > ? AND pos <= ?"
_DERIVED = "SELECT kind, maker, source, body FROM derived WHERE ws = ?"
_SOURCES = "SELECT backend, record, body FROM source WHERE ws = ? ORDER BY backend, record"
_MOST_NAMED = 3
_chunk = msgspec.msgpack.Decoder(list[tuple[str, bytes]]).decode
_parts = msgspec.json.Decoder(list[str]).decode
_OBSERVED = f'["{OBSERVED}",'
_ALONE = (LEDGER, TERM, FRONTIER, REMNANT, NAME_KEY, *BESIDE, *BESIDE.values())
MAP_ALONE = (_OBSERVED, *(f'["{use}",' for use in _ALONE))
"""Prefixes of keys whose values are in the map and in no table."""
# Items are found through what is about them, and observations through their digest, not through their names.
_MAPPED_NAMES = " ".join(
    f"AND substr(id, 1, {len(prefix) + 1}) <> '{prefix}:'"
    for prefix in (EventKind.RECORD.prefix, EventKind.OBSERVE.prefix)
)


class IndexCheck:
    """The mapped indexes of one workspace."""

    def __init__(self, sql: SqlSession, ws: int, leaves: bytes | bytearray, problems: list[str]) -> None:
        self._sql = sql
        self._ws = ws
        self._leaves = leaves
        self._problems = problems

    def run(self, root: Root) -> None:
        """Compare everything that the map under a root holds with the stored rows."""
        flawed: dict[str, list[str]] = {}
        for key, flaw in differences(self._signed(root), self._stored()):
            table, what = _about(key)
            flawed.setdefault(table, []).append(f"{flaw} {what}")
        for table, flaws in flawed.items():
            more = f", and {len(flaws) - _MOST_NAMED} more" if len(flaws) > _MOST_NAMED else ""
            self._problems.append(f"the index {table!r} {'; '.join(sorted(flaws)[:_MOST_NAMED])}{more}")

    # The signed side.

    def _signed(self, root: Root) -> Iterator[list[Entry]]:
        """The entries of the map that have rows, its chunks checked level by level, one of each level in memory."""
        entries: Iterator[Entry] = iter(() if root == EMPTY else (("", root.hash),))
        for level in range(root.level, 0, -1):
            entries = chain.from_iterable(self._level(level, entries))
        page: list[Entry] = []
        for chunk in self._level(0, entries):
            page += self._with_rows(chunk)
            if len(page) >= PAGE:
                yield page
                page = []
        yield page
        (more,) = self._sql.execute(
            "SELECT count(*) FROM node WHERE ws = ? AND (level > ? OR level < 0)", (self._ws, root.level)
        ).fetchone()
        if more:
            self._problems.append(f"the table 'node' has {counted(more, 'row')} that no signed state leads to")

    def _with_rows(self, chunk: list[Entry]) -> list[Entry]:
        """The entries of a chunk that have rows. The others are in the map alone; those of observations are checked."""
        first = chunk[0][0]
        # Most chunks hold keys of one use.
        if chunk[-1][0].startswith(first[: first.index('"', 2) + 1]) and not first.startswith(_OBSERVED):
            return [] if first.startswith(MAP_ALONE) else chunk
        for key, value in chunk:
            if key.startswith(_OBSERVED) and not self._observed(key, value):
                self._problems.append(f"the observations are not those that are signed for {key}")
        return [entry for entry in chunk if not entry[0].startswith(MAP_ALONE)]

    def _observed(self, key: str, value: bytes) -> bool:
        leaves, size = self._leaves, HASH_BYTES
        return covers(value, (bytes(leaves[(at - 1) * size : at * size]) for at in epochs_in(block_of(key), value)))

    def _level(self, level: int, above: Iterable[Entry]) -> Iterator[list[Entry]]:
        rows, sha, prefix = self._nodes(level), hashlib.sha256, bytes([level])
        row = next(rows, None)
        for start, hash_ in above:
            while row is not None and row[0] < start:
                self._problems.append(f"the table 'node' has a row that no signed state leads to, at {row[0]!r}")
                row = next(rows, None)
            if row is None or row[0] != start:
                self._problems.append(f"the table 'node' lacks the row at {start!r}")
                continue
            body = bytes(row[1])
            if sha(prefix + body).digest() == hash_:
                yield _chunk(body)
            else:
                self._problems.append(f"the table 'node' has a row that was altered, at {start!r}")
            row = next(rows, None)
        more = 0 if row is None else 1 + sum(1 for _ in rows)
        if more:
            self._problems.append(f"the table 'node' has {counted(more, 'row')} that no signed state leads to")

    def _nodes(self, level: int) -> Iterator[tuple[str, bytes]]:
        page = self._sql.execute(_FIRST_NODE, (self._ws, level)).fetchall()
        after = ""
        while True:
            page += self._sql.execute(_NODES, (self._ws, level, after, _PAGE)).fetchall()
            if not page:
                return
            yield from page
            after, page = page[-1][0], []
            if not after:
                return

    # The stored side.

    def stored(self) -> Iterator[Entry]:
        """The entries that the rows give, in nearly the order of the map."""
        return chain.from_iterable(self._stored())

    def _stored(self) -> Iterator[list[Entry]]:
        return chain(
            self._digests("about"),
            self._audiences(),
            _paged(self._carried()),
            _paged(self._derived()),
            self._digests("kin"),
            self._digests("milestone"),
            self._running("name", stored_rows(self._sql, self._ws, "name", _MAPPED_NAMES)),
            self._digests("slot", "slot_item"),
            _paged(self._sources()),
            _paged(self._worked()),
        )

    def _digests(self, use: str, index: str = "") -> Iterator[list[Entry]]:
        """The running digest of each key of an index, over the leaves of its events."""
        return self._running(use, stored_rows(self._sql, self._ws, index or use))

    def _running(self, use: str, pages: Iterable[list[Any]]) -> Iterator[list[Entry]]:
        leaves, sha, zero, size = self._leaves, hashlib.sha256, ZERO, HASH_BYTES
        current: tuple[str, ...] | None = None
        before, value = b"", zero
        for page in pages:
            entries: list[tuple[str, ...]] = []
            values: list[bytes] = []
            for row in page:
                if (parts := row[:-1]) != current:
                    if current is not None:
                        entries.append(current)
                        values.append(before + value)
                    current, value = parts, zero
                at = row[-1] * size
                # Of an epoch that is not on the log there is no leaf, and no digest matches.
                before, value = value, sha(value + leaves[at - size : at] if at > 0 else value).digest()
            yield list(zip(keys_of(use, entries), values, strict=True))
        if current is not None:
            yield [(key_of(use, *current), before + value)]

    def _audiences(self) -> Iterator[list[Entry]]:
        """The running digests of the audiences. Each has many rows, of which only the epochs are read."""
        row = self._sql.execute(_AUDIENCES.format(""), (self._ws,)).fetchone()
        while row is not None:
            yield from self._running("audience", self._epochs(row))
            row = self._sql.execute(_AUDIENCES.format(_BEYOND), (self._ws, *row)).fetchone()

    def _epochs(self, audience: tuple[str, ...]) -> Iterator[list[Any]]:
        values = (self._ws, *audience)
        page = self._sql.execute(_EPOCHS.format(""), values).fetchall()
        while page:
            yield [(*audience, epoch) for (epoch,) in page]
            page = self._sql.execute(_EPOCHS.format("AND epoch > ?"), (*values, page[-1][0])).fetchall()

    def _carried(self) -> Iterator[Entry]:
        """The items that each piece of evidence is bound to."""
        base = self._ws << SHIFT
        rows, leaf = self._sql.execute(_CARRIED, (base, base, self._ws)), carried_leaf
        for evidence, entries in groupby(rows, key=itemgetter(0)):
            yield carried_key(evidence), running([leaf(name) for _, _, name in entries])

    def _worked(self) -> Iterator[Entry]:
        """When each principal was last at work."""
        # Events that the cycle writes for an agent, its departures and its acknowledgements are not work of its own.
        idle = [str(kind) for kind in KINDS.values() if not kind.is_work]
        base = self._ws << SHIFT
        query = f"{_WORKED} AND kind NOT IN ({', '.join('?' * len(idle))}) GROUP BY by"
        for by, pos in self._sql.execute(query, (base, base + MASK, *idle)):
            yield worked_key(by), worked_value(pos - base)

    def _derived(self) -> Iterator[Entry]:
        """The texts that models derived."""
        for kind, maker, source, body in self._sql.execute(_DERIVED, (self._ws,)):
            yield derived_key(kind, maker, source), derived_digest(body)

    def _sources(self) -> Iterator[Entry]:
        for backend, record, body in self._sql.execute(_SOURCES, (self._ws,)):
            yield source_key(backend, record), source_digest(body)


def _paged(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    while page := list(islice(entries, PAGE)):
        yield page


def differences(signed: Iterator[list[Entry]], stored: Iterator[list[Entry]]) -> Iterator[tuple[str, str]]:
    """The keys whose values differ, with how. Both come in nearly the same order, so few entries wait for the other."""
    lacking: dict[str, bytes] = {}
    beyond: dict[str, bytes] = {}
    one, other = _next(signed), _next(stored)
    while one or other:
        many = min(len(one), len(other)) or max(len(one), len(other))
        # Pages that are equal, which nearly all are, are compared at once.
        if (left := one[:many]) != (right := other[:many]):
            for entry, across in zip_longest(left, right, fillvalue=("", b"")):
                if entry != across:
                    _match(entry, lacking, beyond)
                    _match(across, beyond, lacking)
        one, other = one[many:] or _next(signed), other[many:] or _next(stored)
    for key in lacking:
        yield key, "has other rows than signed for" if key in beyond else "lacks rows for"
    for key in beyond.keys() - lacking.keys():
        yield key, "has, beyond what is signed, rows for"


def _next(pages: Iterator[list[Entry]]) -> list[Entry]:
    return next(filter(None, pages), [])


def _match(entry: Entry, waiting: dict[str, bytes], others: dict[str, bytes]) -> None:
    key, value = entry
    if key in others and others[key] == value:
        del others[key]
    elif value:  # a record of a memory backend that was dropped keeps its key, without a value
        waiting[key] = value


def _about(key: str) -> tuple[str, str]:
    """The table of a key, and the entry in it."""
    if not key.endswith("]"):
        return key.split('"')[1], f"{key[:64]}…"
    use, *rest = _parts(key)
    use = {"carried": "binding", "worked": "event", OBSERVED: "event", "slot": "slot_item"}.get(use, use)
    return use, ", ".join(map(repr, rest))
