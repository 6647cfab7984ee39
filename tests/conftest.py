"""What every test shares: how hypothesis searches, and where development data lies."""

from __future__ import annotations

import os
import subprocess
import sys
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


SHARED = Path(os.environ.get("READMIT_SHARED") or ROOT.parent / "shared")


@pytest.fixture(scope="session")
def local_model() -> Path:
    """The weights of a real, small language model, fetched by the script that lies with the shared material."""
    script = SHARED / "models" / "get-model"
    if not script.is_file():
        pytest.skip(f"no {script}; set READMIT_SHARED to the folder that holds models/get-model")
    ran = subprocess.run([sys.executable, script, "smollm2-135m"], capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip(f"the model cannot be fetched: {ran.stderr.strip()[-200:]}")
    return Path(ran.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real benchmark data, which is not part of this repository."""
    data = SHARED / "data"
    if not data.is_dir():
        pytest.skip(f"no benchmark data at {data}; set READMIT_SHARED to the folder that holds data/")
    return data
