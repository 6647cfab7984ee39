from __future__ import annotations

import os
import uuid
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from readmit.memory import Memory
from tests.backends.memobase.openers import KEY, RUN, URL, open_memobase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from readmit.testing.journey import Journey
    from tests.backends.memobase.stand_in import StandIn


@pytest.fixture(scope="session")
def server() -> Iterator[StandIn | None]:
    """The stand-in, or nothing where a real server is named in the environment."""
    if find_spec("memobase") is None:
        pytest.skip("memobase is not installed; run: pip install 'readmit[memobase]'")
    os.environ.setdefault(RUN, uuid.uuid4().hex)
    if os.environ.get(URL):
        yield None
        return
    from tests.backends.memobase.stand_in import KEY as SECRET
    from tests.backends.memobase.stand_in import StandIn

    running = StandIn()
    os.environ[URL], os.environ[KEY] = running.url, SECRET
    yield running
    del os.environ[URL], os.environ[KEY]
    running.stop()


@pytest.fixture(autouse=True)
def _served(server: StandIn | None) -> None:
    """Every test of this folder needs a server."""


@pytest.fixture
def stand_in(server: StandIn | None) -> StandIn:
    """For tests that look into the server or make it fail."""
    if server is None:
        pytest.skip("looks into the stand-in; a real server is being tested")
    return server


@pytest.fixture
def memory(journey: Journey, tmp_path: Path) -> Iterator[Memory]:
    opened = Memory(journey.team, open_memobase(journey.team, tmp_path))
    yield opened
    opened.close()
