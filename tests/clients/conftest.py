"""Every test of the clients has a home of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.clients.home import empty_home, repository

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, with nothing in it."""
    return empty_home(tmp_path / "home", monkeypatch)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with one commit."""
    return repository(tmp_path / "shop")
