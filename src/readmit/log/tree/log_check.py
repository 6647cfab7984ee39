"""Checks commits, events and audit rows against each other, in one pass from where the last check ended.

Every event's leaf is computed again from its row and its bindings. The leaves must give the hashes of their commits,
and the commits the tree whose root is signed. Reads pages, so memory does not grow with the log, except by the leaves:
32 bytes for each event.
"""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from readmit.log.audit_trail import AuditRow, unpacked
from readmit.log.engines.sql import MASK, SHIFT, Connection
from readmit.log.indexes.seen_observations import plain_id
from readmit.records.acts.event import EventKind
from readmit.records.canonical import SALT_BYTES
from readmit.text.english import counted
from readmit.trust.commit_record import Bound, Commit, encoded, row_leaf, said_at
from readmit.trust.merkle import (
    HASH_BYTES,
    TreeBuilder,
    TreeFrontier,
    TreeHead,
    flat_tree_hash,
    leaf_hash,
    tree_hash,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


_PAGE = 5_000
_COMMITS = """
    SELECT pos, epoch, audit, body, nodes, note FROM commit_record
    WHERE pos > ? AND pos <= ? ORDER BY pos LIMIT ?
"""
# The name of an event leads back to it, and the digest of an observation that is not named after it.
_EVENTS = """
    SELECT event.pos, event.id, event.kind, event.by, event.at, event.given, event.learnt, event.body, event.digest,
           event.signature, event.leaf, name.epoch, filed.epoch
    FROM event
    LEFT JOIN name ON name.ws = ? AND name.id = event.id
    LEFT JOIN filed ON filed.ws = ? AND filed.digest = CASE event.kind WHEN ? THEN event.digest END
    WHERE event.pos > ? AND event.pos <= ? ORDER BY event.pos LIMIT ?
"""
_BINDINGS = "FROM binding WHERE ws = ? AND item > ? AND item <= ?"
_BOUND = f"SELECT item, evidence {_BINDINGS} ORDER BY item, evidence"
_EVIDENCE = f"""
    WITH bound AS MATERIALIZED (SELECT ? + evidence AS place {_BINDINGS})
    SELECT pos, by, at, given, learnt FROM event WHERE pos IN (SELECT place FROM bound)
"""
_ROWS = "SELECT pos, return_id, kind, item, body FROM audit WHERE pos > ? AND pos <= ? ORDER BY pos LIMIT ?"
_BEYOND = {
    table: f"SELECT count(*) + (SELECT count(*) FROM {table} WHERE pos = ?) FROM {table} WHERE pos > ? AND pos <= ?"
    for table in ("event", "audit")
}
_NO_LEAF = bytes(HASH_BYTES)
_NO_ROWS = tree_hash(()).hex()
_decode = msgspec.json.Decoder(Commit).decode


class Reached(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The point that a check of a log reached: everything up to there was found intact."""

    workspace: str
    size: int = 0
    epoch: int = 0
    audit: int = 0
    edge: bytes = b""
    """The right edge of the tree of commits."""
    keys: dict[str, bytes] = {}
    """The keys that count there, by id."""

    @property
    def frontier(self) -> TreeFrontier:
        return TreeFrontier.from_bytes(self.size, self.edge)


class KeyCommit(NamedTuple):
    """A commit with a note of its own, or with changes of the keys, which needs one."""

    head: TreeHead
    note: bytes | None
    changes: tuple[bytes, ...]
    """The bodies of its key changes."""


class LogCheck:
    """The pass over one workspace. ``problems`` lists the faults, in words."""

    def __init__(self, connection: Connection, ws: int, since: Reached, problems: list[str]) -> None:
        self._sql = connection.sql
        self._ws = ws
        self._base = ws << SHIFT
        self.since = since
        self.problems = problems
        self.erased: Mapping[int, bytes] = {}
        """The signed digests of what stayed of erased events, by epoch."""
        self.leaves = bytearray()
        """The leaves of the events after ``since``, one after the other."""
        self._rows_of = {"filed": 0, "binding": 0}
        """How many rows of these indexes the events account for."""
        self.epoch, self.audit = since.epoch, since.audit
        self.tree = TreeBuilder(since.frontier)
        self.last: Commit | None = None
        self._changes: list[tuple[int, bytes]] = []
        self.key_commits: list[KeyCommit] = []

    def leaf(self, epoch: int) -> bytes:
        """The leaf of an event of this pass."""
        at = (epoch - self.since.epoch - 1) * HASH_BYTES
        return bytes(self.leaves[at : at + HASH_BYTES]) if at >= 0 else b""

    @property
    def head(self) -> TreeHead:
        edge = self.tree.frontier
        return TreeHead(edge.size, edge.root)

    def run(
        self, seen: Mapping[str, Callable[[bytes], None]], row: Callable[[AuditRow], None], watch: Callable[[], object]
    ) -> None:
        """Check everything. ``seen`` takes the bodies of events of some kinds, ``watch`` counts all events."""
        end = self._sql.execute("SELECT head, audit, size FROM workspace WHERE ws = ?", (self._ws,)).fetchone()
        events, rows = self._events(end[0], seen, watch), self._rows(end[1], row)
        epoch, audit, start = self.epoch, self.audit, self.since.epoch
        for pos, *columns, body, nodes, note in self._commits():
            number = pos - self._base
            commit = self._commit(number, columns, body)
            if self.tree.push(leaf_hash(body)) != nodes:
                self.problems.append(f"commit {number}: its hashes of the tree were altered")
            if commit is None:
                continue
            while self.epoch < commit.epoch and next(events, False):
                pass
            if self._hash_of_events(epoch - start, commit.epoch - start) != commit.events:
                self.problems.append(f"commit {number}: its events are not those that it was made with")
            if self._hash_of_rows(rows, commit.audit - audit) != commit.rows:
                self.problems.append(f"commit {number}: its audit rows are not those that it was made with")
            self._add_key_commit(commit, note)
            epoch, audit, self.last = commit.epoch, commit.audit, commit
        for _ in events:
            pass
        for what, left in (("event", self.epoch - epoch), ("audit row", sum(1 for _ in rows))):
            if left:
                self.problems.append(f"the last {counted(left, what)} belong to no commit")
        self._beyond(*end)

    def _hash_of_events(self, first: int, last: int) -> str:
        if last - first == 1:
            return self.leaves[first * HASH_BYTES : last * HASH_BYTES].hex()
        with memoryview(self.leaves) as leaves:
            return flat_tree_hash(leaves[first * HASH_BYTES : last * HASH_BYTES]).hex()

    def _hash_of_rows(self, rows: Iterator[bytes], many: int) -> str:
        return tree_hash(islice(rows, max(0, many))).hex() if many else _NO_ROWS

    def _add_key_commit(self, commit: Commit, note: bytes | None) -> None:
        if note is None and (not self._changes or self._changes[0][0] > commit.epoch):
            return
        changes = [body for epoch, body in self._changes if epoch <= commit.epoch]
        self._changes = [one for one in self._changes if one[0] > commit.epoch]
        self.key_commits.append(KeyCommit(self.head, note, tuple(changes)))

    def _commits(self) -> Iterator[tuple[Any, ...]]:
        done, end = self._base + self.since.size, self._base + MASK
        while page := self._sql.execute(_COMMITS, (done, end, _PAGE)).fetchall():
            yield from page
            done = page[-1][0]

    def _commit(self, number: int, columns: Sequence[int], body: bytes) -> Commit | None:
        if number != self.tree.size + 1:
            self.problems.append(f"commit {self.tree.size + 1} is not there: commit {number} follows")
        try:
            commit = _decode(body)
        except msgspec.DecodeError as error:
            self.problems.append(f"commit {number} cannot be read: it was altered ({error})")
            return None
        if (commit.number, commit.epoch, commit.audit) != (number, *columns):
            self.problems.append(f"commit {number} says that it is another one: a column was altered")
        return commit

    def _events(  # noqa: C901 - one loop, because a call per event costs as much as its hash
        self, last: int, seen: Mapping[str, Callable[[bytes], None]], watch: Callable[[], object]
    ) -> Iterator[bool]:
        """Compute the leaf of each event after ``since``, page by page."""
        base, observe, key, say = self._base, str(EventKind.OBSERVE), str(EventKind.KEY), self.problems.append
        sha, leaves, data, erased = hashlib.sha256, self.leaves, encoded, self.erased
        while self.epoch < last:
            window = (base + self.epoch, base + last, _PAGE)
            page = self._sql.execute(_EVENTS, (self._ws, self._ws, observe, *window)).fetchall()
            if not page:
                break
            expected = self.epoch
            bound = self._bound(expected, page[-1][0] - base)
            for pos, name, kind, by, at, given, learnt, body, digest, signature, stored, named, filed in page:
                epoch = pos - base
                expected += 1
                if epoch != expected:
                    if epoch < expected:
                        say(f"event {epoch}: its name or its digest is indexed twice")
                        expected -= 1
                        continue
                    say(f"event {expected} is not there: it was removed")
                    leaves += _NO_LEAF * (epoch - expected)
                    expected = epoch
                evidence = bound.pop(epoch, ())
                leaf = sha(
                    b"\0" + data((epoch, name, kind, by, at, given, learnt, digest, signature, evidence))
                ).digest()
                is_whole = sha(body).hexdigest() == (erased[epoch].hex() if epoch in erased else digest)
                if leaf != stored or not is_whole:
                    say(
                        f"event {epoch} is not what was written: it, its evidence or its rows of 'binding' were altered"
                    )
                    # The commits and the indexes are about the leaf that was stored with the event.
                    leaf = stored if isinstance(stored, bytes) and len(stored) == HASH_BYTES else leaf
                leaves += leaf
                if named != epoch:
                    say(f"the index 'name' does not lead from {name!r} to event {epoch}")
                if kind == observe:
                    self._filed(epoch, name, digest, filed)
                elif kind == key:
                    self._changes.append((epoch, body[SALT_BYTES:]))
                if kind in seen:
                    seen[kind](body[SALT_BYTES:])
                watch()
            for epoch in bound:
                say(f"the index 'binding' has rows for event {epoch}, which is no item")
            self.epoch = expected
            yield True
        if self.epoch != last:
            say(f"the log ends at event {self.epoch}, not {last}: events were removed")

    def _bound(self, after: int, until: int) -> dict[int, list[Bound]]:
        where = (self._ws, after, until)
        rows = self._sql.execute(_BOUND, where).fetchall()
        self._rows_of["binding"] += len(rows)
        # Many items share a piece of evidence.
        evidence: dict[int, Bound] = {
            pos - self._base: (pos - self._base, by, said_at(at, learnt, given))
            for pos, by, at, given, learnt in self._sql.execute(_EVIDENCE, (self._base, *where))
        }
        found: dict[int, list[Bound]] = {}
        for item, epoch in rows:
            # Evidence that is gone gives a bound that no leaf was made with.
            one = evidence.get(epoch) or (epoch, "", "")
            if item in found:
                found[item].append(one)
            else:
                found[item] = [one]
        return found

    def _filed(self, epoch: int, name: str, digest: str, filed: int | None) -> None:
        is_named_after = name == plain_id(digest)
        self._rows_of["filed"] += not is_named_after
        if filed != (None if is_named_after else epoch):
            self.problems.append(f"the index 'filed' does not lead from {digest!r} to event {epoch}")

    def _rows(self, last: int, seen: Callable[[AuditRow], None]) -> Iterator[bytes]:
        """The leaf of each audit row after ``since``."""
        base = self._base
        while page := self._sql.execute(_ROWS, (base + self.audit, base + last, _PAGE)).fetchall():
            for pos, return_id, kind, item, stored in page:
                body = unpacked(stored)
                self.audit += 1
                if pos - base != self.audit:
                    self.problems.append(f"audit row {self.audit} is not there: it was removed")
                    self.audit = pos - base
                seen(AuditRow(self.audit, return_id, kind, item, body))
                yield row_leaf(self.audit, return_id, kind, item, body)
        if self.audit != last:
            self.problems.append(f"the audit ends at row {self.audit}, not {last}: rows were removed")

    def _beyond(self, epoch: int, audit: int, size: int) -> None:
        base = self._base
        for table, last in (("event", epoch), ("audit", audit)):
            (more,) = self._sql.execute(_BEYOND[table], (base, base + last, base + MASK)).fetchone()
            if more:
                self.problems.append(f"the table {table!r} has {counted(more, 'row')} beyond the end of the log")
        # A later check does not look at the rows of older events.
        for index, implied in () if self.since.size else {"name": self.epoch, **self._rows_of}.items():
            (found,) = self._sql.execute(f"SELECT count(*) FROM {index} WHERE ws = ?", (self._ws,)).fetchone()
            if found != implied:
                self.problems.append(f"the index {index!r} has {counted(found, 'row')}, and the log implies {implied}")
        if self.tree.size != size:
            self.problems.append(f"there are {self.tree.size} commits, but the log says {size}")
        below = self._sql.execute("SELECT count(*) FROM commit_record WHERE pos = ?", (base,))
        if more := below.fetchone()[0]:
            self.problems.append(f"the table 'commit_record' has {counted(more, 'row')} numbered below 1")
