"""``D_a``: the departure checkpoint (paper, "Capture a return-cycle checkpoint").

The log never changes, so a checkpoint need not copy what it covers: it holds the epoch and one digest over every event
the agent could see, receipts included. Reading the same events again and comparing digests shows whether they are
unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.acts.event import Checkpoint, Event
from readmit.records.canonical import digest_of_set

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from readmit.records.identity import Identity


def checkpoint(identity: Identity, seen: Sequence[Event], *, id: str, epoch: int, at: datetime) -> Checkpoint:
    """Seal what an identity can see at an epoch."""
    return Checkpoint(id=id, identity=identity, epoch=epoch, at=at, events=len(seen), digest=_digest(seen))


def unchanged(departed: Checkpoint, seen: Sequence[Event]) -> bool:
    """Whether the events up to departure are still the ones the checkpoint covers."""
    return departed.events == len(seen) and departed.digest == _digest(seen)


def _digest(seen: Sequence[Event]) -> str:
    return digest_of_set(event.digest for event in seen)
