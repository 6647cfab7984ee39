"""The page of a return with 5,000 dispositions, and a list of as many items, are made in under a second."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest

from tests.pages.stories import many
from tests.server.inspector.conftest import inspected, text_of

if TYPE_CHECKING:
    from pathlib import Path

MANY = 5_000


@pytest.mark.slow
def test_a_return_with_thousands_of_dispositions_is_shown_at_once(tmp_path: Path) -> None:
    scene = many(MANY, tmp_path / "team.db")
    name = scene.outcome.id if scene.outcome else ""
    scene.team.close()
    with inspected(tmp_path / "team.db") as site, site.browser() as browser:
        browser.log_in(site.key("inspect", workspaces=("default",)))
        for place, query in (
            ("/return", {"id": name}),
            ("/return", {"id": name, "from": "4900"}),
            ("/return", {"id": name, "state": "premise_changed"}),
            ("/items", {}),
            ("/workspace", {}),
        ):
            took = min(timed(browser, place, query) for _ in range(3))
            assert took < 1, (place, query, took)
        page = browser.get("/return", params={"in": "default", "id": name}).text
    assert f"1 to 100 of {MANY}" in text_of(page)
    assert len(page) < 400_000
    assert len(re.findall(r"<article>", page)) == 100


def timed(browser: object, place: str, query: dict[str, str]) -> float:
    # Of the server and the browser, which are in this process: others may keep the machine busy.
    began, then = time.process_time(), time.perf_counter()
    answer = browser.get(place, params={"in": "default", **query})  # type: ignore[attr-defined]
    assert answer.status_code == 200
    took, passed = time.process_time() - began, time.perf_counter() - then
    print(f"{place} {query}: {1_000 * took:.0f} ms of work in {1_000 * passed:.0f} ms, {len(answer.text):,} characters")
    return took
