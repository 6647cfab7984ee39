"""Looks at sources of a coding agent's project: fast, and without keeping a secret that stands there now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.clients.kept_versions import KeptVersions
from readmit.records.probes import Finding
from readmit.sources import Looker, ProbeResult

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit.records.policy import LookRules
    from readmit.records.probes import Probe


class SecretFreeLooker(Looker):
    """A prober whose present texts hold no secret: a source that does is gone, and what rested on it falls."""

    def __init__(self, versions: Path, limits: LookRules) -> None:
        """``versions`` is the file in which versions of files are kept that were looked at."""
        super().__init__(limits)
        self._unchanged: KeptVersions = KeptVersions(versions)

    def look(self, probes: Sequence[Probe]) -> list[ProbeResult]:
        results = [_safe(*one) for one in zip(probes, super().look(probes), strict=True)]
        self._unchanged.save()
        return results


def _safe(probe: Probe, result: ProbeResult) -> ProbeResult:
    if result.outcome is not Finding.CHANGED:
        return result
    # Loaded only when a source changed: the patterns take longer than all the looks of a start.
    from readmit.clients.secret_filter import holds_secret

    if not holds_secret(result.text):
        return result
    return ProbeResult(Finding.GONE, probe, why="it changed, and may hold a secret now")
