"""One signed head per commit: over events, audit rows, and the content of every index.

Each commit adds its record to the workspace's RFC 6962 tree and signs the new head. Whatever is read afterwards is
compared with the newest head, so an event or an index row that was altered, hidden, added or reordered is noticed by
the read, not only by an audit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from readmit.log.engines.sql import HEAD, MASK, PAGE, SHIFT, Connection, blob, chunks, whole
from readmit.log.tree.state_map import EMPTY, ZERO, Root, StateMap, continued
from readmit.records.acts.event import EventKind, KeyChange
from readmit.records.canonical import SALT_BYTES, canonical, decode, digest_of
from readmit.records.error_types import SealError, TamperedError
from readmit.trust.commit_record import Commit, event_data
from readmit.trust.head_sealer import Handover, Sealer
from readmit.trust.merkle import (
    HASH_BYTES,
    Node,
    TreeFrontier,
    TreeHead,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    tree_hash,
    verify_inclusion,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


_BODY = "SELECT body FROM commit_record WHERE pos = ?"
_NODES = "SELECT pos, nodes FROM commit_record WHERE pos IN"
_ADD = "INSERT INTO commit_record VALUES (?, ?, ?, ?, ?, ?)"
_MOVE = "UPDATE workspace SET head = ?, learnt = ?, audit = ?, size = ?, edge = ?, note = ? WHERE ws = ?"
# A binary search, because the last epoch never decreases from one commit to the next: an index on it would be one page
# more in every commit.
_OF_EPOCH = """
    WITH RECURSIVE search (low, high) AS (
        SELECT CAST(? AS BIGINT), CAST(? AS BIGINT)
        UNION ALL
        SELECT CASE WHEN epoch < ? THEN pos + 1 ELSE low END, CASE WHEN epoch < ? THEN high ELSE pos END
        FROM search JOIN commit_record ON pos = (low + high) / 2 WHERE low < high
    )
    SELECT pos, body FROM commit_record WHERE pos = (SELECT low FROM search WHERE low = high)
"""
_BEFORE = "SELECT epoch FROM commit_record WHERE pos = ?"
_HANDOVERS = """
    SELECT pos, epoch, note FROM commit_record WHERE pos > ? AND pos <= ? AND note IS NOT NULL ORDER BY pos
"""
_KEY_CHANGES = """
    SELECT pos, id, kind, by, at, given, learnt, body, digest, signature FROM event
    WHERE pos > ? AND pos <= ? AND kind = ? ORDER BY pos
"""
_LEAVES = "SELECT leaf FROM event WHERE pos > ? AND pos <= ? ORDER BY pos"
_KEPT = 256
_KEPT_VALUES = 4_096
_decode = msgspec.json.Decoder(Commit).decode


class _Head(NamedTuple):
    """The verified end of the log."""

    commit: Commit
    before: TreeFrontier
    """The tree's edge without the last commit."""
    edge: TreeFrontier
    nodes: bytes
    """The hashes of the subtrees that the last commit completed."""
    tree: TreeHead
    state: Root


NOTHING = _Head(
    Commit(
        number=0,
        epoch=0,
        events=tree_hash(()).hex(),
        audit=0,
        rows=tree_hash(()).hex(),
        level=EMPTY.level,
        state=EMPTY.hash.hex(),
    ),
    TreeFrontier(),
    TreeFrontier(),
    b"",
    TreeHead(0, TreeFrontier().root),
    EMPTY,
)


def _head_of(commit: Commit, before: TreeFrontier, body: bytes) -> _Head:
    nodes = before.completed(leaf_hash(body))
    edge = before.grown(nodes)
    state = Root(commit.level, bytes.fromhex(commit.state))
    return _Head(commit, before, edge, b"".join(nodes), TreeHead(edge.size, edge.root), state)


class Commits:
    """The commits of one workspace, and the state under their newest head."""

    def __init__(self, connection: Connection, ws: int) -> None:
        self._connection = connection
        self._sql = connection.sql
        self._ws = ws
        self._base = ws << SHIFT
        self._map = StateMap(connection.sql, ws)
        self._changes = connection.changes
        self.sealer: Sealer | None = None
        """Set once the workspace's keys are known. Without it nothing is signed or checked."""
        self._head = NOTHING
        self._row: tuple[object, ...] | None = None
        self._turn = -1
        self._erases = False
        self._leaves: dict[int, tuple[int, list[bytes]]] = {}
        # Proven under the head. A commit of another process drops them all.
        self._values: dict[str, bytes] = {}
        connection.watch(self)

    # The newest head.

    def head(self) -> _Head:
        """The end of the log at the beginning of the open transaction, verified once in it."""
        if self._turn == self._connection.turn:
            return self._head
        found = self._sql.execute(HEAD, (self._ws,)).fetchone()
        if found is None:
            raise TamperedError("the row of the workspace was removed while it was open")
        row = tuple(found)
        if row != self._row:
            self._values.clear()
            self._head = self._read(row)
            self._row = row
        # Before the check, which reads proofs under this head. If it fails, nothing is read under it.
        self._turn = self._connection.turn
        if self.sealer is not None:
            note = row[5]
            try:
                self.sealer.check(self.tree_head, None if note is None else blob(note), self)
            except BaseException:
                self._turn = -1
                raise
        return self._head

    @property
    def last(self) -> int:
        """The last epoch, including those of the open transaction."""
        return self.head().commit.epoch + len(self._changes.leaves)

    @property
    def tree_head(self) -> TreeHead:
        return self._head.tree

    def _read(self, row: Sequence[Any]) -> _Head:
        epoch, learnt, audit, size, edge, _ = row
        if not size:
            if (epoch, audit) != (0, 0):
                raise TamperedError("the log has events but no commit: its records were removed")
            return NOTHING
        found = self._sql.execute(_BODY, (self._base + (whole(size) & MASK),)).fetchone()
        if found is None:
            raise TamperedError(f"commit {size}, the last one, is not there: it was removed")
        try:
            body = blob(found[0])
            commit = _decode(body)
            before = TreeFrontier.from_bytes(commit.number - 1, blob(edge or b""))
        except (msgspec.DecodeError, SealError, ValueError, TypeError) as error:
            raise TamperedError(f"commit {size} cannot be read: it was altered ({error})") from None
        if (commit.number, commit.epoch, commit.learnt, commit.audit) != (size, epoch, learnt, audit):
            raise TamperedError(f"the end of the log is not where commit {size} says: it was altered")
        return _head_of(commit, before, body)

    # What the indexes answer.

    def value(self, key: str) -> bytes:
        """The value of a key, including what the open transaction has changed; empty if it has none."""
        pending = self._changes.values.get(key)
        if pending is not None:
            return pending
        head, known = self.head(), self._values
        if (value := known.get(key)) is None:
            if len(known) >= _KEPT_VALUES:
                known.clear()
            value = known[key] = self._map.get(head.state, key)
        return value

    def values(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The values of those keys that have one."""
        wanted = list(keys)
        found = self._map.find(self.head().state, wanted)
        if pending := self._changes.values:
            found |= {key: pending[key] for key in wanted if key in pending}
        return found

    def beginning_with(self, prefix: str) -> dict[str, bytes]:
        """All keys with a prefix, with their values."""
        found = dict(self._map.beginning_with(self.head().state, prefix))
        if pending := self._changes.values:
            found |= {key: value for key, value in pending.items() if key.startswith(prefix)}
        return found

    def extend(self, key: str, leaf: bytes) -> None:
        """Add an event to the running digest of a key."""
        self._changes.set(key, continued(self.value(key), leaf))

    def extend_each(self, keys: Sequence[str], leaf: bytes) -> None:
        """Add an event to the running digests of some keys."""
        values = self.values(keys)
        # Keys that always had the same events have the same digest.
        longer = {value: continued(value, leaf) for value in {b"", *values.values()}}
        for key in keys:
            self._changes.set(key, longer[values.get(key, b"")])

    def hand_over(self, change: KeyChange) -> None:
        """The open transaction changes a signing key."""
        self._changes.keys.append(change)

    def erase_keys(self) -> None:
        """Take keys without a value out of the map when the open transaction commits. Reads the whole map."""
        self._erases = True

    def assign(self, key: str, value: bytes) -> None:
        """Give a key a value; empty for none."""
        self._changes.set(key, value)

    # Proofs.

    def consistency(self, old: int, new: int) -> list[bytes]:
        """The proof that the first ``old`` of ``new`` commits are unchanged."""
        return self._proof(lambda node: consistency_proof(old, new, node))

    def inclusion(self, number: int, size: int | None = None) -> list[bytes]:
        """The proof that a commit is in the tree of the newest head, or of one with fewer commits."""
        whole = self.head().edge.size if size is None else size
        return self._proof(lambda node: inclusion_proof(number - 1, whole, node))

    def note(self) -> bytes | None:
        """The signed note of the newest head; none if no key was at hand."""
        self.head()
        note = None if self._row is None else self._row[5]
        return bytes(note) if isinstance(note, bytes | bytearray | memoryview) else None

    def frontier(self, size: int) -> TreeFrontier:
        """The right edge of the tree when it had so many commits, as it is stored."""

        def edge(node: Node) -> list[bytes]:
            levels = [level for level in reversed(range(size.bit_length())) if size >> level & 1]
            # Each subtree begins where the larger ones end.
            return [node(level, size >> level + 1 << 1) for level in levels]

        return TreeFrontier(size, tuple(self._proof(edge)))

    def records(self, since: int = 0) -> Iterator[bytes]:
        """The record of every commit after one, in order, as it is stored."""
        done, end = self._base + since, self._base + MASK
        query = "SELECT pos, body FROM commit_record WHERE pos > ? AND pos <= ? ORDER BY pos LIMIT ?"
        while page := self._sql.execute(query, (done, end, PAGE)).fetchall():
            yield from (bytes(body) for _, body in page)
            done = page[-1][0]

    def handovers(self, since: int) -> Iterator[Handover]:
        """The commits after ``since`` that changed the keys, in order."""
        base = self._base
        for place, epoch, note in self._sql.execute(_HANDOVERS, (base + since, base + MASK)).fetchall():
            number = place - base
            commit, first, leaves = self.leaves_of(whole(epoch))
            if commit.number != number:
                raise TamperedError(f"commit {number} has a note, but added no event: it was altered")
            rows = self._sql.execute(_KEY_CHANGES, (base + first - 1, base + commit.epoch, str(EventKind.KEY)))
            changes = []
            for pos, name, kind, by, at, given, learnt, body, digest, signature in rows.fetchall():
                data = event_data(pos - base, name, kind, by, at, given, learnt, digest, signature)
                if leaves[pos - base - first] != leaf_hash(data) or digest_of(body) != digest:
                    raise TamperedError(f"event {pos - base} is not the one under the signed checkpoint")
                changes.append(decode(blob(body)[SALT_BYTES:], KeyChange, what="key change"))
            yield Handover(number, blob(note), tuple(changes))

    def containing(self, epoch: int) -> tuple[Commit, bytes]:
        """The commit that added an event, and its bytes, checked against the head."""
        head = self.head()
        size, root = head.edge.size, head.edge.root
        row = self._sql.execute(_OF_EPOCH, (self._base + 1, self._base + size, epoch, epoch)).fetchone()
        if row is None:
            raise TamperedError(f"no commit holds epoch {epoch}: its record was removed")
        number, body = row[0] - self._base, blob(row[1])
        inside = 1 <= number <= size and verify_inclusion(
            leaf_hash(body), number - 1, size, self.inclusion(number), root
        )
        if not inside:
            raise TamperedError(f"commit {number} is not the one under the signed checkpoint: it was altered")
        return _decode(body), body

    def leaves_of(self, epoch: int) -> tuple[Commit, int, list[bytes]]:
        """The commit that added an event, its first epoch, and the leaves of its events, all checked."""
        commit, _ = self.containing(epoch)
        if (known := self._leaves.get(commit.number)) is None:
            base = self._base
            row = self._sql.execute(_BEFORE, (base + commit.number - 1,)).fetchone()
            first = (0 if row is None else whole(row[0])) + 1
            leaves = [
                blob(leaf or b"") for (leaf,) in self._sql.execute(_LEAVES, (base + first - 1, base + commit.epoch))
            ]
            if tree_hash(leaves).hex() != commit.events or len(leaves) != commit.epoch - first + 1:
                raise TamperedError(f"the events of commit {commit.number} are not those under the signed checkpoint")
            if len(self._leaves) >= _KEPT:
                self._leaves.clear()
            known = self._leaves[commit.number] = (first, leaves)
        return commit, *known

    def check_event(self, epoch: int, leaf: bytes) -> None:
        """Refuse an event that the tree does not hold."""
        ahead = epoch - self.head().commit.epoch
        # Beyond the head are the events of the open transaction.
        _, first, leaves = self.leaves_of(epoch) if ahead <= 0 else (None, epoch - ahead + 1, self._changes.leaves)
        if not 0 <= epoch - first < len(leaves) or leaves[epoch - first] != leaf:
            raise TamperedError(f"event {epoch} is not the one under the signed checkpoint: it was altered")

    def _proof(self, make: Callable[[Node], list[bytes]]) -> list[bytes]:
        """A proof with the nodes it needs, read in one go: the first pass only finds out which."""
        wanted: set[tuple[int, int]] = set()

        def note(level: int, index: int) -> bytes:
            wanted.add((level, index))
            return ZERO

        make(note)
        # A subtree's hash is kept with the commit that completed it.
        rows: dict[int, bytes] = {}
        base = self._base
        for marks, part in chunks(base + (index + 1 << level) for level, index in wanted):
            found = self._sql.execute(f"{_NODES} ({marks})", part).fetchall()
            rows |= {pos - base: blob(nodes) for pos, nodes in found}

        def node(level: int, index: int) -> bytes:
            hashes = rows.get(index + 1 << level, b"")
            found = hashes[level * HASH_BYTES : (level + 1) * HASH_BYTES]
            if len(found) != HASH_BYTES:
                raise TamperedError("the tree of commits has a gap: records were removed")
            return found

        return make(node)

    # Committing. Called by the connection.

    def opening(self) -> None:
        """A transaction is about to begin."""
        if self.sealer is not None:
            self.sealer.look()

    def seal(self) -> None:
        """Write the record of the open transaction and sign the new head."""
        changes, head, end = self._changes, self.head(), self._connection.end_of_log
        write = self._map.rewrite if self._erases else self._map.update
        root, self._erases = write(head.state, changes.values), False
        commit = Commit(
            number=head.commit.number + 1,
            epoch=head.commit.epoch if end is None else end.epoch,
            learnt=head.commit.learnt if end is None else end.learnt,
            events=tree_hash(changes.leaves).hex(),
            audit=head.commit.audit + len(changes.rows),
            rows=tree_hash(changes.rows).hex(),
            level=root.level,
            state=root.hash.hex(),
        )
        body = canonical(commit)
        self._next = _head_of(commit, head.edge, body)
        note = None
        if self.sealer is not None:
            # Only an old log is taken over without a signature, so that it can be read if its keys are lost.
            needed = head.commit.number > 0
            note = self.sealer.sign(self._next.tree, tuple(changes.keys), needed=needed)
        # The note of a commit that changes keys stays on record, so that a reader can follow from key to key.
        handover = note if changes.keys else None
        added = (self._base + commit.number, commit.epoch, commit.audit, body, self._next.nodes, handover)
        self._sql.execute(_ADD, added)
        before = head.edge.to_bytes()
        row = (commit.epoch, commit.learnt, commit.audit, commit.number, before, note)
        self._sql.execute(_MOVE, (*row, self._ws))
        self._row_next = row

    def sealed(self) -> None:
        """The transaction is durable."""
        self._head, self._row = self._next, self._row_next
        self._turn = self._connection.turn
        if len(self._values) > _KEPT_VALUES:
            self._values.clear()
        self._values.update(self._changes.values)
        if self.sealer is not None:
            self.sealer.committed(self.tree_head, tuple(self._changes.keys))
