"""Checks every index row against the signed map of index digests, key by key.

The map says what each index answers. Its chunks are checked against the signed root. The digests that the stored rows
give must then be all and only those of the map, so a row that was altered, hidden, added or reordered shows.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from itertools import chain, groupby, zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.log.derived_texts import derived_digest, derived_key
from readmit.log.engines.sql import MASK, SHIFT
from readmit.log.indexes.audience import OBSERVATION
from readmit.log.indexes.index_rows import carried_key, carried_leaf, stored_rows, worked_key, worked_value
from readmit.log.indexes.seen_observations import BITS
from readmit.log.indexes.stated import FRONTIER, TERM
from readmit.log.indexes.totals import BESIDE
from readmit.log.ledger import LEDGER, source_digest, source_key
from readmit.log.tree.running_digest import ZERO, running
from readmit.log.tree.state_map import EMPTY, key_of
from readmit.records.acts.event import EventKind
from readmit.records.acts.kinds import KINDS
from readmit.records.canonical import digest
from readmit.text.english import counted
from readmit.trust.merkle import HASH_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.log.engines.sql import SqlSession
    from readmit.log.tree.state_map import Entry, Root

_PAGE = 5_000
_LEDGERS = f'["{LEDGER}",'
_LEDGER = _LEDGERS.encode()
_NODES = "SELECT start, body FROM node WHERE ws = ? AND level = ? AND start > ? ORDER BY start LIMIT ?"
_FIRST_NODE = "SELECT start, body FROM node WHERE ws = ? AND level = ? AND start = ''"
_CARRIED = """
    SELECT evidence.digest, binding.item, item.id FROM binding
    JOIN event AS evidence ON evidence.pos = ? + binding.evidence JOIN event AS item ON item.pos = ? + binding.item
    WHERE binding.ws = ? ORDER BY 1, 2
"""
_WORKED = "SELECT by, max(pos) FROM event WHERE pos > ? AND pos <= ?"
_DERIVED = "SELECT kind, maker, source, body FROM derived WHERE ws = ?"
_SOURCES = "SELECT backend, record, body FROM source WHERE ws = ? ORDER BY backend, record"
_MOST_NAMED = 3
_chunk = msgspec.msgpack.Decoder(list[tuple[str, bytes]]).decode
_parts = msgspec.json.Decoder(list[str]).decode
MAP_ALONE = tuple(f'["{use}",' for use in (LEDGER, TERM, FRONTIER, *BESIDE, *BESIDE.values()))
"""Prefixes of keys whose values are in the map and in no table."""
# Items are found through what is about them, and observations through their digest, not through their names.
UNMAPPED_NAMES = (f"{EventKind.RECORD.prefix}:", f"{EventKind.OBSERVE.prefix}:")


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
        signed = (entry for entry in self._signed(root) if not entry[0].startswith(MAP_ALONE))
        for key, flaw in differences(signed, self.stored()):
            table, what = _about(key)
            flawed.setdefault(table, []).append(f"{flaw} {what}")
        for table, flaws in flawed.items():
            more = f", and {len(flaws) - _MOST_NAMED} more" if len(flaws) > _MOST_NAMED else ""
            self._problems.append(f"the index {table!r} {'; '.join(sorted(flaws)[:_MOST_NAMED])}{more}")

    # The signed side.

    def _signed(self, root: Root) -> Iterator[Entry]:
        """All entries of the map, its chunks checked level by level, with one chunk of each level in memory."""
        entries: Iterator[Entry] = iter(() if root == EMPTY else (("", root.hash),))
        for level in range(root.level, -1, -1):
            entries = chain.from_iterable(self._level(level, entries))
        (more,) = self._sql.execute(
            "SELECT count(*) FROM node WHERE ws = ? AND (level > ? OR level < 0)", (self._ws, root.level)
        ).fetchone()
        if more:
            self._problems.append(f"the table 'node' has {counted(more, 'row')} that no signed state leads to")
        return entries

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
                # How often a ledger was written is in the map alone.
                yield (
                    [one for one in _chunk(body) if not one[0].startswith(_LEDGERS)]
                    if _LEDGER in body
                    else _chunk(body)
                )
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
        """What the rows give, in nearly the order of the map."""
        return chain(
            self._digests("about"),
            self._running("audience", self._audiences()),
            self._carried(),
            self._derived(),
            self._digests("kin"),
            self._digests("milestone"),
            self._names(),
            self._slots(),
            self._sources(),
            self._worked(),
        )

    def _digests(self, index: str) -> Iterator[Entry]:
        """The running digest of each key of an index, over the leaves of its events."""
        return self._running(index, stored_rows(self._sql, self._ws, index))

    def _audiences(self) -> Iterator[Any]:
        """Rows of the audience index; those of observations with the block that they are signed in."""
        for row in stored_rows(self._sql, self._ws, "audience"):
            yield (*row[:-1], f"{row[-1] >> BITS:08x}", row[-1]) if row[0] == OBSERVATION else row

    def _running(self, use: str, rows: Iterable[Any]) -> Iterator[Entry]:
        leaves, sha, key, zero, size = self._leaves, hashlib.sha256, key_of, ZERO, HASH_BYTES
        current: tuple[str, ...] | None = None
        before, value = b"", zero
        for row in rows:
            if (parts := row[:-1]) != current:
                if current is not None:
                    yield key(use, *current), before + value
                current, value = parts, zero
            at = row[-1] * size
            # Of an epoch that is not on the log there is no leaf, and no digest matches.
            before, value = value, sha(value + leaves[at - size : at] if at > 0 else value).digest()
        if current is not None:
            yield key(use, *current), before + value

    def _names(self) -> Iterator[Entry]:
        rows = stored_rows(self._sql, self._ws, "name")
        return self._running("name", (row for row in rows if not row[0].startswith(UNMAPPED_NAMES)))

    def _slots(self) -> Iterator[Entry]:
        """Slots, each after those that learn of it."""
        reach = self._reach()
        place, waiting = next(reach, (None, ("", b"")))
        items = self._running("slot", stored_rows(self._sql, self._ws, "slot_item"))
        for key, value in items:
            while place is not None and waiting[0] < key:
                yield waiting
                place, waiting = next(reach, (None, ("", b"")))
            yield key, value
        if place is not None:
            yield waiting
            yield from (entry for _, entry in reach)

    def _reach(self) -> Iterator[tuple[tuple[str, str], Entry]]:
        current: tuple[str, str] | None = None
        rows: list[tuple[str, str]] = []
        for task, slot, principal, role in stored_rows(self._sql, self._ws, "slot_reach"):
            if (task, slot) != current:
                if current is not None:
                    yield current, (key_of("slot", *current, "reach"), _reach_digest(current[0], tuple(rows)))
                current, rows = (task, slot), []
            rows.append((principal, role))
        if current is not None:
            yield current, (key_of("slot", *current, "reach"), _reach_digest(current[0], tuple(rows)))

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


@lru_cache(maxsize=4_096)
def _reach_digest(task: str, rows: tuple[tuple[str, str], ...]) -> bytes:
    return bytes.fromhex(digest(sorted((task, *row) for row in rows)))


def differences(signed: Iterable[Entry], stored: Iterable[Entry]) -> Iterator[tuple[str, str]]:
    """The keys whose values differ, with how. Both come in nearly the same order, so few entries wait for the other."""
    lacking: dict[str, bytes] = {}
    beyond: dict[str, bytes] = {}
    nothing = ("", b"")
    for one, other in zip_longest(signed, stored, fillvalue=nothing):
        if one == other:
            continue
        for (key, value), waiting, others in ((one, lacking, beyond), (other, beyond, lacking)):
            if key in others and others[key] == value:
                del others[key]
            elif value:  # a record of a memory backend that was dropped keeps its key, without a value
                waiting[key] = value
    for key in lacking:
        yield key, "has other rows than signed for" if key in beyond else "lacks rows for"
    for key in beyond.keys() - lacking.keys():
        yield key, "has, beyond what is signed, rows for"


def _about(key: str) -> tuple[str, str]:
    """The table of a key, and the entry in it."""
    if not key.endswith("]"):
        return key.split('"')[1], f"{key[:64]}…"
    use, *rest = _parts(key)
    use = {"carried": "binding", "worked": "event"}.get(use, use)
    if use == "slot":
        use = "slot_reach" if rest[2:] else "slot_item"
        rest = rest[:2]
    return use, ", ".join(map(repr, rest))
