from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from tests.server.hosting import OTHER, TEAM, hosted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2 as httpx

    from tests.server.hosting import Hosted


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """A server over a store of either kind, with the workspaces of two teams. One for the tests of a module."""
    folder = tmp_path_factory.mktemp("served")
    place = folder / "team.db"
    if request.param == "postgres":
        place = request.getfixturevalue("server").url(f"served{abs(hash(request.module.__name__)) % 10**8}")
    for name in (TEAM, OTHER):
        Workspace.open(place, name=name, keys=folder / "keys").close()
    with hosted(place, keys=folder / "keys") as running:
        yield running


@pytest.fixture
def client(host: Hosted) -> Iterator[httpx.Client]:
    """A client that may do everything in its workspace."""
    with host.client() as made:
        yield made
