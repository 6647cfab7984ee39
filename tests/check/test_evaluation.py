from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from .evaluation import measure

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_documents_of_the_past_are_found_out_as_the_guide_says(tmp_path: Path) -> None:
    try:
        made = measure(tmp_path)
    except subprocess.CalledProcessError:
        pytest.skip("this checkout does not hold the commits of the sample")
    figures = made.figures()
    assert figures.wrong == []
    assert (len(figures.right), len(figures.missed)) == (49, 10)
