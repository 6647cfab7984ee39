"""Looks at sources of a coding agent's project, without keeping a secret that stands there now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.probes import Finding
from readmit.sources import Looker, ProbeResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.records.probes import Probe


class SecretFreeLooker(Looker):
    """A prober whose present texts hold no secret: a source that does is gone, and what rested on it falls."""

    def look(self, probes: Sequence[Probe]) -> list[ProbeResult]:
        return [_safe(*one) for one in zip(probes, super().look(probes), strict=True)]


def _safe(probe: Probe, result: ProbeResult) -> ProbeResult:
    if result.outcome is not Finding.CHANGED:
        return result
    # Loaded only when a source changed: the patterns take longer than all the looks of a start.
    from readmit.clients.secret_filter import holds_secret

    if not holds_secret(result.text):
        return result
    return ProbeResult(Finding.GONE, probe, why="it changed, and may hold a secret now")
