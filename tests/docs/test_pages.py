"""Every code block of every page runs and prints what the page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit.records.acts.kinds import KINDS
from tests.conftest import ROOT
from tests.docs.runner import run

if TYPE_CHECKING:
    from pathlib import Path

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_page(page: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, str] = {}
    if "<!-- needs: postgres -->" in page.read_text(encoding="utf-8"):
        settings = {"READMIT_DB": request.getfixturevalue("server").url("docs"), "READMIT_KEYS": str(tmp_path / "keys")}
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
    before = set(KINDS)
    try:
        run(page, tmp_path, settings)
    finally:
        # What a page declares lasts as long as the page.
        for name in set(KINDS) - before:
            del KINDS[name]
