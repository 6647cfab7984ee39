"""A real local model through the whole path: plumbing, not quality. It is too small to judge anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit.inference import Inference, Settings, Signal
from readmit.models import Lexical, open_model
from tests.inference.world import SHIFT, away, hear, home, states

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("xllamacpp", reason="xllamacpp is not installed: pip install 'readmit[gguf]'", exc_type=ImportError)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]


def test_a_return_with_a_real_model_ends_in_named_states_and_is_accounted(local_model: Path) -> None:
    workspace = home()
    agent = away(workspace)
    hear(workspace, SHIFT)
    model = open_model(f"gguf:{local_model}?context=4096&deadline=240")
    try:
        settings = Settings(signals=(Signal.EMBEDDING,), all_pairs=0)
        inference = Inference(workspace, settings, verifier=model, embedder=Lexical())
        prepared = inference.prepare(agent)
        returned = inference.come_back(agent)
    finally:
        model.close()
    usage = {stage.stage: stage for stage in prepared.usage}
    assert set(usage) == {"verify"}
    assert usage["verify"].input > 200
    # Whatever it answered, the pair is settled or a suspicion, and the return is a decision.
    assert prepared.judged + prepared.unanswered == 1
    assert returned.kind in ("admitted", "blocked")
    assert states(returned)["bedtime"] in ("admitted", "suspected", "premise_changed")
    assert workspace.returned(returned.id).replay().matches
