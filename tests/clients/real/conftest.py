"""Real clients are driven by ``make test-clients`` alone; no other run collects these tests, so none skips them."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.clients.real.model_api import ModelApi

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WHO = ("-c", "user.name=A", "-c", "user.email=a@example.org")
collect_ignore_glob = [] if os.environ.get("READMIT_REAL_CLIENTS") else ["test_*.py"]


@pytest.fixture
def api() -> Iterator[ModelApi]:
    with ModelApi() as server:
        yield server


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A checkout with one commit."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for words in (["init", "--quiet"], [*WHO, "commit", "--quiet", "--allow-empty", "--message", "begin"]):
        subprocess.run(["git", "-C", folder, *words], check=True)
    return folder
