"""What a commit adds to the log's tree: the leaves of its events and audit rows, and the record that sums it up.

One record per commit is a leaf of the workspace's RFC 6962 tree. It covers the events and audit rows of its own
commit, and the state of every index after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from readmit.records.base import Count, Digest, Record
from readmit.trust.merkle import leaf_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

Bound: TypeAlias = tuple[int, str, str]
"""A piece of evidence that an item is bound to: its epoch, its observer, and when it was said."""

encoded = msgspec.json.Encoder().encode
"""A tuple of plain values as JSON: what leaves are made of."""


class Commit(Record, frozen=True, kw_only=True):
    """One commit of a workspace."""

    number: Count
    """Its place among the workspace's commits, from 1."""
    epoch: Count
    """The last epoch."""
    learnt: str | None = None
    """The last moment that the log has learnt."""
    events: Digest
    """The tree hash over the leaves of the events that it added."""
    audit: Count
    """The last audit row."""
    rows: Digest
    """The tree hash over the leaves of the audit rows that it added."""
    level: Count
    """The topmost level of the map of index digests."""
    state: Digest
    """The root of that map."""


def event_data(  # noqa: PLR0917 - called with a row, once per event that is read
    epoch: int,
    id: str,
    kind: str,
    by: str,
    at: str,
    given: int,
    learnt: str,
    digest: str,
    signature: bytes | None,
    bound: Sequence[Bound] = (),
) -> bytes:
    """What a leaf says of an event. An item's says which evidence it was bound to when it was recorded."""
    return encoded((epoch, id, kind, by, at, given, learnt, digest, signature, bound))


def said(at: str, learnt: str, given: int) -> str:
    """When an observation counts from, of moments in UTC as they are stored.

    From its date if its writer gave one, but never from later than the log learnt it; otherwise from the log's moment
    at its position, whatever its writer's clock said.
    """
    return min(at, learnt) if given else learnt


def row_leaf(seq: int, return_id: str, kind: str, item: str, body: bytes) -> bytes:
    """The leaf of an audit row."""
    return leaf_hash(b"\n".join((encoded((seq, return_id, kind, item)), body)))


class EventParts(NamedTuple):
    """What a proof of one event is made of, besides the signed head."""

    number: int
    """Which commit added the event."""
    commit: bytes
    """The record of that commit."""
    commit_path: Sequence[bytes]
    """From that record to the root of the head."""
    event: bytes
    """What the event's leaf says."""
    leaves: Sequence[bytes]
    """The leaves of all events of the commit."""
    place: int
    """Which of them is the event's."""
    body: bytes
