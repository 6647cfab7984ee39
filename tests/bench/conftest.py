"""What tests of runs with models share."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def swept() -> Iterator[None]:
    """What inspect leaves to the garbage collector is collected here, not in a later test that heeds warnings."""
    yield
    gc.collect()
