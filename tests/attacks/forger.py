"""Whatever of a store can be computed again without a key, computed again with the library's own code.

After an edit of the file, every digest, leaf, commit, node of either tree, and the edge agree with what is stored. Only
the signed head is as it was: nobody but the holder of the key can make another.
"""

from __future__ import annotations

import hashlib
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.lab import canonical
from readmit.log.engines.sql import MASK, SHIFT
from readmit.log.engines.sqlite import SqliteConnection
from readmit.log.indexes.seen_observations import OBSERVED, block_of, epochs_in, observed_value
from readmit.log.log import Log
from readmit.log.tree.index_check import MAP_ALONE, IndexCheck
from readmit.log.tree.state_map import EMPTY, StateMap
from readmit.trust.commit_record import Commit, event_data, row_leaf, said_at
from readmit.trust.merkle import HASH_BYTES, TreeFrontier, leaf_hash, tree_hash
from tests.scene import untriggered

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_EVENTS = """
    SELECT pos, id, kind, by, at, given, learnt, digest, signature FROM event WHERE pos > ? AND pos <= ? ORDER BY pos
"""
_BOUND = """
    SELECT binding.item, binding.evidence, event.by, event.at, event.given, event.learnt
    FROM binding JOIN event ON event.pos = ? + binding.evidence WHERE binding.ws = ? ORDER BY 1, 2
"""
_ROWS = "SELECT pos, return_id, kind, item, body FROM audit WHERE pos > ? AND pos <= ? ORDER BY pos"


def _entries(body: Any) -> list[tuple[str, bytes]]:
    """The entries of a chunk of the map, if it is one."""
    with suppress(msgspec.DecodeError, TypeError):
        return msgspec.msgpack.decode(body, type=list[tuple[str, bytes]])
    return []


def recompute(file: Path, workspace: str = "default") -> None:
    """Make a file agree with itself again."""
    with closing(SqliteConnection(file)) as connection:
        log = Log(connection, workspace)
        connection.watch(_Nothing())
        with untriggered(connection.sql), connection.atomic():
            _recommit(connection.sql, log.connection.enroll(workspace))


class _Nothing:
    """Takes part in a transaction without signing it."""

    def opening(self) -> None: ...

    def seal(self) -> None: ...

    def sealed(self) -> None: ...


def _leaves(sql: Any, ws: int) -> Iterator[tuple[int, bytes]]:
    """The leaf of every event, from its row and its bindings."""
    base = ws << SHIFT
    bound: dict[int, list[Any]] = {}
    for item, evidence, by, at, given, learnt in sql.execute(_BOUND, (base, ws)).fetchall():
        bound.setdefault(item, []).append((evidence, by, said_at(at, learnt, given)))
    for pos, *fields in sql.execute(_EVENTS, (base, base + MASK)).fetchall():
        row: list[Any] = [pos - base, *fields, bound.get(pos - base, ())]
        yield pos - base, leaf_hash(event_data(*row))


def _observed(key: str, value: bytes, leaves: dict[int, bytes]) -> bytes:
    """The value of a block of observations, over other leaves."""
    made = b""
    for epoch in epochs_in(block_of(key), value):
        made = observed_value(made, epoch, [leaves.get(epoch, bytes(HASH_BYTES))])
    return made


def _recommit(sql: Any, ws: int) -> None:
    """Both trees, from the leaves up."""
    base = ws << SHIFT
    for pos, body in sql.execute("SELECT pos, body FROM event WHERE pos > ?", (base,)).fetchall():
        sql.execute("UPDATE event SET digest = ? WHERE pos = ?", (hashlib.sha256(body).hexdigest(), pos))
    found = dict(_leaves(sql, ws))
    for epoch, leaf in found.items():
        sql.execute("UPDATE event SET leaf = ? WHERE pos = ?", (leaf, base + epoch))
    # What is in the map alone is kept as it is.
    chunks = sql.execute("SELECT body FROM node WHERE ws = ? AND level = 0", (ws,)).fetchall()
    kept = {key: value for (body,) in chunks for key, value in _entries(body) if key.startswith(MAP_ALONE)}
    for key, value in kept.items():
        if key.startswith(f'["{OBSERVED}",'):
            kept[key] = _observed(key, value, found)
    sql.execute("DELETE FROM node WHERE ws = ?", (ws,))
    every = b"".join(found.get(epoch, bytes(HASH_BYTES)) for epoch in range(1, max(found, default=0) + 1))
    root = StateMap(sql, ws).update(EMPTY, dict(IndexCheck(sql, ws, every, []).stored()) | kept)
    head, learnt, audit = sql.execute("SELECT head, learnt, audit FROM workspace WHERE ws = ?", (ws,)).fetchone()
    own = "FROM commit_record WHERE pos >> ? = ?"
    commits = sql.execute(f"SELECT epoch, audit, body, note {own} ORDER BY pos", (SHIFT, ws)).fetchall()
    sql.execute(f"DELETE {own}", (SHIFT, ws))
    before = edge = TreeFrontier()
    epoch_before = rows_before = 0
    for number, (epoch, rows, body, note) in enumerate(commits, 1):
        commit = msgspec.json.decode(body, type=Commit)
        last = number == len(commits)
        commit = msgspec.structs.replace(
            commit,
            number=number,
            epoch=head if last else epoch,
            learnt=learnt if last else commit.learnt,
            audit=audit if last else rows,
            level=root.level if last else commit.level,
            state=root.hash.hex() if last else commit.state,
        )
        added = [found.get(one, b"") for one in range(epoch_before + 1, commit.epoch + 1)]
        audited = sql.execute(_ROWS, (base + rows_before, base + commit.audit)).fetchall()
        commit = msgspec.structs.replace(
            commit,
            events=tree_hash(added).hex(),
            rows=tree_hash([row_leaf(pos - base, *row) for pos, *row in audited]).hex(),
        )
        written = canonical(commit)
        leaf = leaf_hash(written)
        values = (base + number, commit.epoch, commit.audit, written, b"".join(edge.completed(leaf)), note)
        sql.execute("INSERT INTO commit_record VALUES (?, ?, ?, ?, ?, ?)", values)
        before, edge = edge, edge.push(leaf)
        epoch_before, rows_before = commit.epoch, commit.audit
    sql.execute("UPDATE workspace SET size = ?, edge = ? WHERE ws = ?", (edge.size, before.to_bytes(), ws))
