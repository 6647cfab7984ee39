"""A real local model through the whole path: plumbing, not quality. It is too small to judge anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from readmit.foresight import Foresight, Settings
from readmit.invalidate.propose import Signal
from readmit.models.embedders import Lexical
from readmit.models.open import open_model
from tests.foresight.world import SHIFT, away, hear, home, states

pytest.importorskip("xllamacpp", reason="xllamacpp is not installed: pip install 'readmit[gguf]'", exc_type=ImportError)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]


@pytest.fixture(scope="module")
def weights() -> Path:
    shared = Path(os.environ.get("READMIT_SHARED", Path(__file__).parents[3] / "shared"))
    script = shared / "models" / "get-model"
    if not script.is_file():
        pytest.skip(f"no {script}: set READMIT_SHARED to the shared material")
    ran = subprocess.run([sys.executable, script, "smollm2-135m"], capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip(f"get-model: {ran.stderr.strip()[-200:]}")
    return Path(ran.stdout.strip())


def test_a_return_with_a_real_model_ends_in_named_states_and_is_accounted(weights: Path) -> None:
    workspace = home()
    agent = away(workspace)
    hear(workspace, SHIFT)
    model = open_model(f"gguf:{weights}?context=4096&deadline=240")
    try:
        settings = Settings(signals=(Signal.EMBEDDING,), pairs_per_return=1)
        foresight = Foresight(workspace, settings, verifier=model, embedder=Lexical())
        prepared = foresight.prepare(agent)
        returned = foresight.come_back(agent)
    finally:
        model.close()
    usage = {stage.stage: stage for stage in prepared.usage}
    assert set(usage) == {"verify"}
    assert usage["verify"].input > 200
    # Whatever it answered, the pair is settled or a suspicion, and the return is a decision.
    assert prepared.judged + prepared.unanswered == 1
    assert returned.kind in ("admitted", "blocked")
    assert states(returned)["bedtime"] in ("admitted", "suspected", "premise_changed")
    assert workspace.replay(returned.id).matches
