"""The small data set that comes with the package: a few cases for each benchmark, read as a release would be."""

from __future__ import annotations

from pathlib import Path

SMOKE = Path(__file__).resolve().parent.parent / "smoke"
SMOKE_NOTE = "Smoke data written for this project: it shows that everything runs and measures nothing."
