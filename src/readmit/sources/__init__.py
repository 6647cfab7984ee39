"""Looking again at sources of evidence, under limits."""

from __future__ import annotations

from readmit.ports.prober import Captured, LookLimits, Prober, ProbeResult
from readmit.sources.looker import Looker

__all__ = ["Captured", "LookLimits", "Looker", "ProbeResult", "Prober"]
