"""What tests of runs with models share."""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What inspect leaves to the garbage collector is collected here, not in a later test that heeds warnings.

    Its screen is not drawn: without a display it is thrown away, after a fifth of the time of a run.
    """
    with suppress(ImportError):
        from rich.live import Live

        monkeypatch.setattr(Live, "refresh", lambda _: None)
    yield
    gc.collect()
    # What is left are modules that inspect imports late, and stays as long as the run does.
    gc.freeze()
