"""Spans and measurements for OpenTelemetry. Without it they cost a look into a dictionary."""

from __future__ import annotations

from readmit.telemetry.measures import MEASURES
from readmit.telemetry.spans import SPANS, span

__all__ = ["MEASURES", "SPANS", "span"]
