"""The bars on tokens, on the two full records; minutes, because every prompt is really built."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]

SHARED = Path(os.environ.get("READMIT_SHARED") or Path(__file__).parents[3] / "shared")


def test_a_return_costs_at_most_what_it_may() -> None:
    if not (SHARED / "data" / "stale" / "full_records.json").is_file():
        pytest.skip(f"no data in {SHARED}: set READMIT_SHARED to the shared material")
    pytest.importorskip("onnxruntime", reason="the tokenizer comes with pip install 'readmit[embed]'")
    from benchmarks.tokens import run

    missed = [row["name"] for row in run(SHARED) if not row["holds"]]
    assert missed == []
