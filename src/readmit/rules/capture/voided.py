"""A state without the moments that were voided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readmit.records.acts.voids import Voids
    from readmit.records.snapshot import Held, Sighting, Source, WorkState


def state_without(voids: Voids, state: WorkState) -> WorkState:
    """A state whose events have the moments that count."""
    held = {name: _held_without(voids, one) for name, one in state.held.items()}
    resolutions = {name: tuple(map(voids.event, events)) for name, events in state.resolutions.items()}
    return replace(state, held=held, resolutions=resolutions)


def _held_without(voids: Voids, held: Held) -> Held:
    return replace(held, marks=tuple(map(voids.event, held.marks))) if held.marks else held


def evidence_without(voids: Voids, evidence: Mapping[str, Sighting]) -> dict[str, Sighting]:
    """Observations with the moments that count."""
    return {name: replace(one, moment=voids.moment(one.epoch, one.said).isoformat()) for name, one in evidence.items()}


def sources_without(voids: Voids, sources: Mapping[str, Source]) -> dict[str, Source]:
    """Looks at sources with the moments that count."""
    return {name: replace(one, seen=voids.moment(one.since or one.epoch, one.seen)) for name, one in sources.items()}
