"""The one state that a return is judged against: ``C = D_a ⊕ Δ``."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from readmit.records.base import Time
from readmit.records.events import Checkpoint, Event
from readmit.records.evidence import Experience
from readmit.records.identity import Identity
from readmit.records.items import Item


class Held(msgspec.Struct, frozen=True):
    """An item as the log holds it: where it entered, and every later event about it, in order."""

    item: Item
    digest: str
    epoch: int
    marks: tuple[Event, ...] = ()


class Sighting(msgspec.Struct, frozen=True):
    """Stored evidence as found: ``intact`` if its bytes still have the digest it is filed under."""

    epoch: int
    by: str
    intact: bool
    text: str | None = None
    """Decoded only where a verdict quotes it."""


class Delta(msgspec.Struct, frozen=True):
    """``Δ(t_d, t_r]``: the visible events since departure, in order."""

    since: int
    until: int
    events: tuple[Event, ...]


class WorkState(msgspec.Struct, frozen=True):
    """What one identity can see at one epoch."""

    epoch: int
    held: Mapping[str, Held] = {}
    rebases: tuple[Event, ...] = ()
    resolutions: Mapping[str, Event] = {}
    """Dispute event id → the event that resolved it."""


class Snapshot(msgspec.Struct, frozen=True):
    """``C``, with what is needed to judge it: evidence behind it and premises outside it."""

    identity: Identity
    purpose: str | None
    now: Time
    checkpoint: Checkpoint
    state: WorkState
    evidence: Mapping[str, Sighting]
    background: Mapping[str, Held]
    """Premises that the identity cannot see. They are judged, never shown."""
    experiences: tuple[tuple[Experience, str], ...] = ()
    """The quarantined bank, with digests."""
