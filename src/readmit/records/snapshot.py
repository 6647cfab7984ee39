"""The one state that a return is judged against: ``C = D_a ⊕ Δ``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from readmit.records.acts.event import Checkpoint, Event
from readmit.records.base import Time
from readmit.records.evidence import Evidence
from readmit.records.identity import Identity
from readmit.records.items import Item
from readmit.records.probes import Finding, Probe


class Held(msgspec.Struct, frozen=True, gc=False):
    """An item on the log: its epoch, and every later event about it, in order."""

    item: Item
    digest: str
    epoch: int
    marks: tuple[Event, ...] = ()
    salt: bytes = b""


class Sighting(msgspec.Struct, frozen=True, gc=False):
    """Stored evidence: ``intact`` if its bytes still match its digest."""

    epoch: int
    by: str
    intact: bool
    body: bytes
    moment: str
    """When it counts from, as it is stored: see ``said``."""
    signed: bool = True
    """Whether it has the signature that was required; without it, ``intact`` is false too."""

    @property
    def said(self) -> datetime:
        """When it counts from: its date if one was given, but never later than the log learnt it; else that moment.

        Read on demand: most items have no rival.
        """
        return datetime.fromisoformat(self.moment)

    @property
    def text(self) -> str:
        """The observed text. Decoded on demand: most evidence is only counted, not read."""
        return msgspec.json.decode(self.body, type=Evidence).text


class Source(msgspec.Struct, frozen=True, gc=False):
    """The place that a piece of evidence was read from, and what the last look there found."""

    probe: Probe
    """The probe of the place at which the text stood last."""
    seen: datetime
    """When somebody looked last: at the observation, or later."""
    epoch: int
    """The event that the finding is from: the observation, or the first look that found the same."""
    finding: Finding = Finding.UNCHANGED
    now: str = ""
    """Evidence of the present text, if it changed."""
    digest: str = ""
    """The digest of the present text, if it changed."""
    why: str = ""
    since: int = 0
    """The epoch of the last look; 0 if there was none."""
    look: int = 0
    """The epoch of the look that lists it; 0 if there was none. Later ones repeat that look."""
    times: int = 0
    """How often that look was repeated."""


class SeenObservation(NamedTuple):
    """An observation without its text."""

    epoch: int
    digest: str
    by: str


class WorkState(msgspec.Struct, frozen=True):
    """The state that one identity can see at one epoch."""

    epoch: int = 0
    held: Mapping[str, Held] = {}
    """Items by id, in log order."""
    resolutions: Mapping[str, tuple[Event, ...]] = {}
    """The resolving events of each dispute, in order."""
    bank: tuple[Event, ...] = ()
    """Private experiences. Quarantined: nothing reads them before readmission."""


class Snapshot(msgspec.Struct, frozen=True):
    """``C``, with its evidence and the premises outside it: the input of every rule."""

    identity: Identity
    purpose: str | None
    now: Time
    checkpoint: Checkpoint
    intact: bool
    """Whether the items visible at departure still match their checkpoint."""
    state: WorkState
    evidence: Mapping[str, Sighting]
    background: WorkState = WorkState()
    """Premises, and rivals for a slot, that the identity cannot see, with their events. Judged, never shown."""
    sources: Mapping[str, Source] = {}
    """The sources of evidence that can be looked at again, by the evidence's digest."""
    fresh_at: datetime | None = None
    """The moment at which looks at sources must be fresh. None: their age does not count."""
    unsigned: frozenset[int] = frozenset()
    """Positions of items that count for nothing because their writer did not sign them."""
    observed: tuple[SeenObservation, ...] = ()
    """The observations of the absence by allowed writers, without those that readmit made when it looked at sources."""
    writers_then: tuple[str, ...] = ()
    """The policy's writers at departure, so that a duty they imposed then is not dropped silently."""
    handed: frozenset[str] = frozenset()
    """Items of views that this agent was handed: of the last one before its departure, and of each one since."""
