"""Parameters that the paper leaves open have the product's values, though the benchmark states them itself."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import pytest

from readmit.inference import Settings
from readmit.lab import extract_claims, plan_tasks
from readmit.models import opine
from readmit.models.stages.answer import THRESHOLD
from readmit_bench.methods.governance import Tuning
from readmit_bench.work_state import Extracting

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("stage", "parameter", "stated"),
    [
        (plan_tasks, "max_tokens", Tuning().plan_tokens),
        (plan_tasks, "max_chars", Tuning().plan_chars),
        (opine, "max_tokens", Tuning().contest_tokens),
        (extract_claims, "per_call", Extracting().per_call),
        (extract_claims, "max_items", Extracting().max_items),
        (extract_claims, "min_confidence", Extracting().min_confidence),
        (extract_claims, "max_tokens", Extracting().max_tokens),
        (extract_claims, "max_chars", Extracting().max_chars),
    ],
)
def test_a_stage_is_asked_as_the_product_asks_it(stage: Callable[..., Any], parameter: str, stated: object) -> None:
    assert signature(stage).parameters[parameter].default == stated


def test_a_tuning_without_changes_leaves_the_settings_as_they_are() -> None:
    assert Tuning().applied(Settings()) == Settings()
    assert Tuning().contest_confidence == THRESHOLD
