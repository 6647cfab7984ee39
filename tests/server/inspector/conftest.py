"""An inspector on loopback over a store with a story in it, and browsers without scripts that log in."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from readmit.server import ApiKeys, LimitSettings, Serving, whole_app
from tests.server.inspector.teams import furnish
from tests.server.serving import served

if TYPE_CHECKING:
    from collections.abc import Iterator

RIGHTS = ("inspect", "write", "admin")


@dataclass
class Site:
    """A served inspector, its store, and its keys."""

    url: str
    store: Path | str
    keys: ApiKeys
    opened: list[Browser] = field(default_factory=list)

    def key(self, *rights: str, principal: str = "boss", workspaces: tuple[str, ...] = ("trip",)) -> str:
        now = datetime.now(UTC)
        given: Any = {"rights": rights or RIGHTS, "workspaces": workspaces, "now": now}
        return self.keys.add(principal, expires=now + timedelta(days=1), **given)[1]

    def browser(self) -> Browser:
        self.opened.append(Browser(self.url))
        return self.opened[-1]

    def logged_in(self, *rights: str, **whose: Any) -> Browser:
        browser = self.browser()
        assert browser.log_in(self.key(*rights, **whose)).status_code == 303
        return browser


class Browser(httpx.Client):
    """A browser without scripts: it keeps cookies and sends forms as they are on a page."""

    def __init__(self, url: str) -> None:
        super().__init__(base_url=url, timeout=60)

    def log_in(self, key: str) -> httpx.Response:
        form = self.get("/login").text
        return self.post("/login", data={"csrf": hidden(form, "csrf"), "key": key})

    def page(self, name: str, **query: str) -> str:
        answer = self.get(f"/{name}", params={"in": "trip", **query})
        assert answer.status_code == 200, answer.text
        return answer.text

    def press(self, page: str, action: str, words: str, **filled: str) -> httpx.Response:
        """Send the form whose button has these words."""
        for form in re.findall(rf'<form method="post" action="{action}".*?</form>', page, re.DOTALL):
            buttons = re.findall(r"<button([^>]*)>(.*?)</button>", form, re.DOTALL)
            for pressed in [attributes for attributes, said in buttons if text_of(said) == words]:
                rest = form.split("<button", 1)[0] + pressed
                given = {name: unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', rest)}
                return self.post(action, data=given | filled)
        raise AssertionError(f"no form of {action} has a button {words!r}")


def hidden(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, page
    return unescape(found[1])


def text_of(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


@contextmanager
def inspected(store: Path | str, keys: Path | None = None) -> Iterator[Site]:
    """The whole server over a store, and the keys to it, which lie beside a file."""
    folder = keys or Path(store).parent
    plenty = LimitSettings(anonymous_per_minute=1_000_000)
    serving = Serving(store=str(store), key_folder=folder, url="http://127.0.0.1", limits=plenty)
    with served(whole_app(serving, lambda _: None)) as url:
        site = Site(url, store, ApiKeys(folder))
        yield site
        while site.opened:
            site.opened.pop().close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("inspected")
    furnish(folder / "team.db")
    with inspected(folder / "team.db") as made:
        yield made


@pytest.fixture(autouse=True)
def _closed(request: pytest.FixtureRequest) -> Iterator[None]:
    opened = request.getfixturevalue("site").opened if "site" in request.fixturenames else []
    yield
    while opened:
        opened.pop().close()
