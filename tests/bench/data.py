"""Where the tests' data is: the smoke set always, the shared development part where it is present."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from readmit_bench.datasets.smoke import SMOKE

__all__ = ["SMOKE", "shared"]


def shared(part: str) -> Path:
    """A folder of the shared benchmark data, or a skip that says what is missing."""
    root = Path(os.environ.get("READMIT_SHARED", Path(__file__).resolve().parents[3] / "shared"))
    folder = root / "data" / part
    if not folder.exists():
        pytest.skip(f"the benchmark data {part} is not here; set READMIT_SHARED to the folder that holds data/")
    return folder
