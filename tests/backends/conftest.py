"""What the tests of all memory stores share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit.testing.journey import Journey

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def journey(tmp_path: Path) -> Iterator[Journey]:
    made = Journey(tmp_path / "team.db")
    yield made
    made.close()
