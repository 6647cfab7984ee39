"""The observations that an identity can see since an epoch, proven to be all and only those.

The signed map holds one digest for each audience and each block of epochs, so that a read proves the blocks since its
epoch and not the whole log.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from readmit.log.engines.sql import chunks, flush
from readmit.log.indexes.audience import ANY, OBSERVATION, keys_of
from readmit.log.tree.state_map import key_of
from readmit.records.snapshot import SeenObservation
from readmit.trust.commit_record import event_data
from readmit.trust.merkle import leaf_hash

if TYPE_CHECKING:
    from readmit.log.event_rows import EventRows
    from readmit.log.indexes.audience import Row
    from readmit.records.acts.event import Event
    from readmit.records.identity import Identity

BITS = 10
"""How many epochs a block has, as a power of two."""
_WHAT = "observations"
_FROM = """
    SELECT epoch FROM audience
    WHERE ws = ? AND class = ? AND task = ? AND principal = ? AND role = ? AND epoch >= ? ORDER BY epoch
"""
_HEADS = "SELECT pos, id, kind, by, at, given, learnt, digest, signature FROM event WHERE pos IN"
_FILED_AS = "SELECT id FROM event WHERE pos = (SELECT ? + epoch FROM filed WHERE ws = ? AND digest = ?)"


def observed_key(row: Row, epoch: int) -> str:
    """State-map key of an audience's observations in the block of an epoch."""
    return key_of("audience", OBSERVATION, *row, f"{epoch >> BITS:08x}")


def block_end(epoch: int) -> int:
    """The last epoch in the block of an epoch."""
    return epoch | (1 << BITS) - 1


def events(rows: EventRows, identity: Identity, since: int, until: int) -> list[Event]:
    """Observations with their texts, in order."""
    with rows.connection.reading():
        lists = _lists(rows, identity, since)
        found = rows.load({epoch for epochs in lists.values() for epoch in epochs})
        rows.check(lists, _WHAT)
    return [event for event in found if since < event.epoch <= until]


def named(rows: EventRows, identity: Identity, since: int, until: int) -> list[SeenObservation]:
    """The same, without their texts."""
    base, found = rows.base, []
    with rows.connection.reading():
        lists = _lists(rows, identity, since)
        epochs = sorted({epoch for epochs in lists.values() for epoch in epochs})
        for marks, part in chunks(base + epoch for epoch in epochs):
            for pos, *fields in rows.sql.execute(f"{_HEADS} ({marks}) ORDER BY pos", part).fetchall():
                rows.known[pos - base] = leaf_hash(event_data(pos - base, *fields))
                found.append(SeenObservation(pos - base, fields[6], fields[2]))
        rows.check(lists, _WHAT)
    return [one for one in found if since < one.epoch <= until]


def _lists(rows: EventRows, identity: Identity, since: int) -> dict[str, list[int]]:
    """The epochs of every block since an epoch, also of those in which nothing was found."""
    flush(rows.sql)
    last = rows.commits.last
    first = (since + 1) >> BITS
    task, _, principal, _, role, _ = keys_of(identity)
    lists: dict[str, list[int]] = {}
    for row in dict.fromkeys(product((task, ANY), (principal, ANY), (role, ANY))):
        lists |= {observed_key(row, block << BITS): [] for block in range(first, (last >> BITS) + 1)}
        for (epoch,) in rows.sql.execute(_FROM, (rows.ws, OBSERVATION, *row, first << BITS)).fetchall():
            lists.setdefault(observed_key(row, epoch), []).append(epoch)
    return lists


def id_of(rows: EventRows, digest: str) -> str | None:
    """The id on the log of the observation that is filed under a digest, if any."""
    row = rows.sql.execute(_FILED_AS, (rows.base, rows.ws, digest)).fetchone()
    return None if row is None else str(row[0])
