"""What every test shares: how hypothesis searches, and where development data lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# No deadline and no complaint about slow generation: the machine's load is not a property of the code.
# Never derandomized: each run searches elsewhere, and a failure prints the blob that repeats it.
settings.register_profile(
    "ci", deadline=None, derandomize=False, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", parent=settings.get_profile("ci"), max_examples=2_000)
# A mutant must be judged by the same examples as its neighbors.
settings.register_profile("mutation", parent=settings.get_profile("ci"), derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real benchmark data, which is not part of this repository."""
    shared = Path(os.environ.get("READMIT_SHARED") or ROOT.parent / "shared")
    data = shared / "data"
    if not data.is_dir():
        pytest.skip(f"no benchmark data at {data}; set READMIT_SHARED to the folder that holds data/")
    return data
