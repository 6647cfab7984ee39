"""Random lives: every held item that fell is retracted or counted, and no retraction carries a text never held."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, run_state_machine_as_test

from tests.conftest import examples
from tests.properties.test_life import Life

POLICIES: list[dict[str, Any]] = [
    {"max_retraction_chars": 4_000, "fill": "always"},
    {"max_retraction_chars": 4_000, "max_retractions": 2, "fill": "always"},
    {"max_retraction_chars": 4_000, "gamma": Decimal(0), "rho": Decimal(0), "fill": "always"},
    {"max_retractions": 1},
]


class RetractedLife(Life):
    """The same life under policies that tell more, and hand over more to fall."""

    @initialize(change=st.sampled_from(POLICIES))
    def begin(self, change: dict[str, Any]) -> None:
        super().begin(change)


def test_every_held_item_that_fell_is_retracted_or_counted_and_no_text_was_never_held() -> None:
    run_state_machine_as_test(RetractedLife, settings=settings(max_examples=examples(20), stateful_step_count=40))


@pytest.mark.slow
def test_over_long_lives() -> None:
    run_state_machine_as_test(RetractedLife, settings=settings(max_examples=60, stateful_step_count=80))
