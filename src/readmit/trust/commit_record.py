"""The leaves of a commit in the log's tree: its events, its audit rows, and the record that covers both.

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
"""Encodes a tuple of plain values as JSON, the content of a leaf."""


class Commit(Record, frozen=True, kw_only=True):
    """One commit of a workspace."""

    number: Count
    """Position of the commit in the workspace, from 1."""
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
    """Content of an event's leaf. The leaf of an item names the evidence it was bound to when it was recorded."""
    return encoded((epoch, id, kind, by, at, given, learnt, digest, signature, bound))


def said_at(at: str, learnt: str, given: int) -> str:
    """The moment from which an observation counts, in UTC as stored.

    From its date if its writer gave one, but never from later than the log learnt it; otherwise from the log's moment
    at its position; the writer's clock does not matter.
    """
    return min(at, learnt) if given else learnt


def row_leaf(seq: int, return_id: str, kind: str, item: str, body: bytes) -> bytes:
    """The leaf of an audit row."""
    return leaf_hash(b"\n".join((encoded((seq, return_id, kind, item)), body)))


class EventParts(NamedTuple):
    """The parts of a proof of one event, besides the signed head."""

    number: int
    """Which commit added the event."""
    commit: bytes
    """The record of that commit."""
    commit_path: Sequence[bytes]
    """From that record to the root of the head."""
    event: bytes
    """Content of the event's leaf."""
    leaves: Sequence[bytes]
    """The leaves of all events of the commit."""
    place: int
    """Which of them is the event's."""
    salt: bytes
    body: bytes | None
    """None if it was forgotten."""
