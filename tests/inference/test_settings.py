from __future__ import annotations

import re
from pathlib import Path

import pytest

from readmit.errors import ModelError, RecordError
from readmit.inference import InferenceModels, Settings, Signal, settings_from
from readmit.models import Lexical
from tests.inference.world import Ruled

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "implicit.md"


def test_the_guide_names_every_setting() -> None:
    table = GUIDE.read_text(encoding="utf-8").partition("## Settings")[2].partition("##")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(Settings.__struct_fields__)


def test_signals_follow_from_who_is_there() -> None:
    model = Ruled()
    assert InferenceModels(verifier=model).signals() == (Signal.DECLARED_PREMISE, Signal.SAME_SLOT)
    assert Signal.IMPLIED_FACTS not in InferenceModels(verifier=model, embedder=Lexical()).signals()
    assert InferenceModels(verifier=model, implier=model, embedder="lexical").signals() == Settings().signals


@pytest.mark.parametrize(
    "text",
    [
        '{"signals": []}',
        '{"signals": ["scan", "scan"]}',
        '{"signals": ["dowsing"]}',
        '{"all_pairs": -1}',
        '{"pairs_per_call": 101}',
        '{"scan_per_call": 17}',
        '{"scan_targets": 0}',
        '{"on_unseen": "verify"}',
        '{"budget": -1}',
        '{"unknown": 1}',
        "not json",
    ],
)
def test_settings_are_read_strictly(text: str) -> None:
    with pytest.raises(RecordError, match=r"^settings: .*fields are signals, kinds"):
        settings_from(text)


def test_stages_that_name_one_line_share_one_model(tmp_path: Path) -> None:
    line = f"batch:{tmp_path}?model=m"
    team = InferenceModels(verifier=line, implier=line, scanner=f"{line}&shared=true")
    assert team.verifier is team.implier
    assert team.scanner is not team.verifier
    team.close()


def test_a_line_that_names_no_model_is_refused() -> None:
    with pytest.raises(ModelError, match="must begin with one of"):
        InferenceModels(verifier="gpt")
