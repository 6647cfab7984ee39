"""Looking again at sources of evidence, under limits."""

from __future__ import annotations

from readmit.sources.looker import Looker
from readmit.sources.prober import Captured, LookLimits, Prober, ProbeResult

__all__ = ["Captured", "LookLimits", "Looker", "ProbeResult", "Prober"]
