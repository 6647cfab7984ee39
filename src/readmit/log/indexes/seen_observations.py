"""The observations that an identity can see since an epoch, proven to be all and only those.

The signed map says which epochs each audience can observe, block by block, with a digest over their events. So a read
looks at the blocks since its epoch and not at the whole log, and no table lists them.

A digest leads to one observation for ever. One that was given no id is named after its digest, so its row in ``name``
leads to it. Only the others have a row in ``filed``, and a digest is salted, so two never share one.
"""

from __future__ import annotations

import hashlib
from itertools import product
from typing import TYPE_CHECKING, Any

from readmit.log.engines.sql import chunks, flush
from readmit.log.indexes.stated import ANY, Row, keys_of
from readmit.log.tree.state_map import ZERO, key_of, tampered
from readmit.records.acts.event import Event, EventKind
from readmit.records.error_types import TamperedError
from readmit.records.snapshot import SeenObservation
from readmit.trust.commit_record import event_data
from readmit.trust.merkle import HASH_BYTES, leaf_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.log.event_rows import EventRows
    from readmit.records.identity import Identity

OBSERVED = "within"
"""First part of the keys, which sort beside those of ``worked``, the newest block last: a commit changes one chunk."""
_BITS = 8
"""How many epochs a block has, as a power of two."""
_INSIDE = (1 << _BITS) - 1
_WHAT = "observations"
_HEADS = "SELECT pos, id, kind, by, at, given, learnt, digest, signature FROM event WHERE pos IN"
_LETTERS = 32
"""How much of its digest an observation is named after."""
EPOCH = """
    coalesce((SELECT epoch FROM filed WHERE ws = ? AND digest = ?), (SELECT epoch FROM name WHERE ws = ? AND id = ?))
"""
"""The epoch under which a digest is found, with the values of ``sought``. Another's id may be equal to its name."""
AT_EPOCH = f"pos = (SELECT ? + {EPOCH})"
"""Condition on the row of that event, with the base and the values of ``sought``."""
_FILED_AS = f"SELECT digest, id FROM event WHERE {AT_EPOCH}"


def observed_key(row: Row, epoch: int) -> str:
    """State-map key of what one audience can observe in the block of an epoch."""
    return key_of(OBSERVED, f"{epoch >> _BITS:08x}", *row)


def observed_value(value: bytes, first: int, leaves: Iterable[bytes]) -> bytes:
    """State-map value of a block after observations at consecutive epochs: a running digest, and a bit for each epoch.

    ``value`` is what it was before; empty if the audience had nothing in the block.
    """
    digest, bits, bit = value[:HASH_BYTES] or ZERO, int.from_bytes(value[HASH_BYTES:], "little"), first & _INSIDE
    for leaf in leaves:
        digest = hashlib.sha256(digest + leaf).digest()
        bits |= 1 << bit
        bit += 1
    return digest + bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def epochs_in(block: int, value: bytes) -> list[int]:
    """The epochs that a value of a block lists."""
    bits, first = int.from_bytes(value[HASH_BYTES:], "little"), block << _BITS
    return [first + bit for bit in range(bits.bit_length()) if bits >> bit & 1]


def block_of(key: str) -> int:
    """The block that a key is about, which its second part names."""
    return int(key.split('"', 4)[3], 16)


def covers(value: bytes, leaves: Iterable[bytes]) -> bool:
    """Whether these are the events whose digest a value holds, in order."""
    digest = ZERO
    for leaf in leaves:
        digest = hashlib.sha256(digest + leaf).digest()
    return value[:HASH_BYTES] == digest


def blocks(first: int, last: int) -> Iterator[tuple[int, int]]:
    """A range of epochs, cut where blocks end."""
    while first <= last:
        end = min(last, first | _INSIDE)
        yield first, end
        first = end + 1


def events(rows: EventRows, identity: Identity, since: int, until: int) -> list[Event]:
    """Observations with their texts, in order."""
    with rows.connection.reading():
        listed = _listed(rows, identity, since)
        found = rows.load({epoch for _, epochs in listed for epoch in epochs})
        _check(rows, listed)
    return [event for event in found if since < event.epoch <= until]


def named_observations(rows: EventRows, identity: Identity, since: int, until: int) -> list[SeenObservation]:
    """Observations without their texts, in order."""
    base, found = rows.base, []
    with rows.connection.reading():
        listed = _listed(rows, identity, since)
        epochs = sorted({epoch for _, epochs in listed for epoch in epochs})
        for marks, part in chunks(base + epoch for epoch in epochs):
            for pos, *fields in rows.sql.execute(f"{_HEADS} ({marks}) ORDER BY pos", part).fetchall():
                rows.known[pos - base] = leaf_hash(event_data(pos - base, *fields))
                found.append(SeenObservation(pos - base, fields[6], fields[2]))
        _check(rows, listed)
    return [one for one in found if since < one.epoch <= until]


def _listed(rows: EventRows, identity: Identity, since: int) -> list[tuple[bytes, list[int]]]:
    """The signed value of every block since an epoch in which the identity can observe something, and its epochs."""
    flush(rows.sql)
    task, _, principal, _, role, _ = keys_of(identity)
    audiences = dict.fromkeys(product((task, ANY), (principal, ANY), (role, ANY)))
    numbers = range((since + 1) >> _BITS, (rows.commits.last >> _BITS) + 1)
    keys = {observed_key(row, number << _BITS): number for number in numbers for row in audiences}
    return [(value, epochs_in(keys[key], value)) for key, value in rows.commits.values(keys).items()]


def _check(rows: EventRows, listed: Iterable[tuple[bytes, list[int]]]) -> None:
    """Refuse events that are not those of the signed blocks."""
    for value, epochs in listed:
        if not covers(value, (rows.known.get(epoch, b"") for epoch in epochs)):
            raise tampered(_WHAT)


def id_of(rows: EventRows, digest: str) -> str | None:
    """The id on the log of the observation that is filed under a digest, if any."""
    row = rows.sql.execute(_FILED_AS, (rows.base, *sought(rows.ws, digest))).fetchone()
    return str(row[1]) if row is not None and is_of(digest, *row) else None


def plain_id(digest: str) -> str:
    """The id of an observation that was given none and is for everybody."""
    return EventKind.OBSERVE.event_id(digest[:_LETTERS])


def sought(ws: int, digest: str) -> tuple[Any, ...]:
    """The values of ``EPOCH``."""
    return ws, digest, ws, plain_id(digest)


def is_of(digest: str, found: str, name: str) -> bool:
    """Whether the event found under a digest, with its own digest and id, is the observation."""
    if found == digest:
        return True
    # Somebody may have given another observation an id that begins like the digest.
    if name != plain_id(digest):
        raise TamperedError(f"evidence {digest!r} is filed under another's epoch: an index was altered")
    return False
