"""Scenarios: reading, playing, refusing."""

from __future__ import annotations
