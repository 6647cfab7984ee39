"""The pages of the inspector over a real server, without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.server.inspector.conftest import text_of

if TYPE_CHECKING:
    from tests.server.inspector.conftest import Site

PLACES = ("workspace", "returns", "items", "log", "chain", "waiting", "ask")


@pytest.mark.parametrize("name", PLACES)
def test_a_page_is_made(name: str, site: Site) -> None:
    assert "<h1>" in site.logged_in("inspect").page(name)
