"""Sessions of browsers: who gets one, what ends it, and what a form of another site can do with it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from readmit.errors import CredentialError
from readmit.server import Caller, Serving, whole_app
from readmit.server.inspector.browser_sessions import IDLE, LONGEST, BrowserSessions
from tests.server.inspector.conftest import Browser, Site, hidden, text_of

COOKIE = "readmit-session"


def test_a_page_without_a_session_leads_to_the_login(site: Site) -> None:
    for place in ("/", "/items?in=trip", "/live?in=trip"):
        answer = site.browser().get(place)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert site.browser().post("/decide", data={"in": "trip"}).status_code == 401


@pytest.mark.parametrize("key", ["", "rk_0_0", "x" * 5_000, "rk_000000000000_" + "0" * 64, "rk_é"])
def test_a_key_that_does_not_count_opens_nothing(key: str, site: Site) -> None:
    browser = site.browser()
    answer = browser.log_in(key)
    assert answer.status_code == 401
    assert COOKIE not in browser.cookies
    assert not key or key not in answer.text


def test_a_key_without_the_right_to_inspect_opens_nothing(site: Site) -> None:
    answer = site.browser().log_in(site.key("write"))
    assert answer.status_code == 401
    assert "it has no right to inspect" in answer.text


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(site: Site) -> None:
    said = site.browser().log_in(site.key("inspect")).headers.get_list("set-cookie")
    (cookie,) = [one for one in said if one.startswith(f"{COOKIE}=")]
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}


def test_behind_tls_the_cookie_is_for_this_host_and_tls_alone(site: Site) -> None:
    serving = Serving(store=str(site.store), key_folder=Path(site.store).parent, url="https://a.example")
    app = whole_app(serving, lambda _: None)

    async def logged_in() -> list[str]:
        # The proxy ends TLS, so that the server itself is asked without.
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://a.example") as client:
            form = await client.get("/login")
            given = {"csrf": hidden(form.text, "csrf"), "key": site.key("inspect")}
            cookie = {"Cookie": form.headers["set-cookie"].partition(";")[0]}
            return (await client.post("/login", data=given, headers=cookie)).headers.get_list("set-cookie")

    (cookie,) = [one for one in asyncio.run(logged_in()) if one.startswith("__Host-readmit-session=")]
    assert "secure" in cookie.lower()
    assert "domain" not in cookie.lower()


def test_logging_out_ends_the_session_for_whoever_kept_its_name(site: Site) -> None:
    browser = site.logged_in("inspect")
    name = browser.cookies[COOKIE]
    assert browser.press(browser.page("items"), "/logout", "Log out").status_code == 303
    thief = site.browser()
    thief.cookies.set(COOKIE, name)
    assert thief.get("/items?in=trip").status_code == 303


def test_a_revoked_key_ends_its_sessions_at_once(site: Site) -> None:
    browser = site.browser()
    key = site.key("inspect")
    browser.log_in(key)
    browser.page("items")
    site.keys.revoke(key.split("_")[1], now=datetime.now(UTC))
    assert browser.get("/items?in=trip").status_code == 303


def test_a_form_of_another_site_changes_nothing(site: Site) -> None:
    browser = site.logged_in()
    token = hidden(browser.page("items"), "csrf")
    head = browser.page("log")
    for given, headers in (
        ({}, {}),
        ({"csrf": "0" * 64}, {}),
        ({"csrf": "é"}, {}),
        ({"csrf": hidden(site.logged_in().page("items"), "csrf")}, {}),
        ({"csrf": token}, {"Sec-Fetch-Site": "cross-site"}),
        ({"csrf": token}, {"Sec-Fetch-Site": "same-site"}),
    ):
        for place in ("/decide", "/logout"):
            data = {"in": "trip", "act": "confirm", "id": "path", **given}
            assert browser.post(place, data=data, headers=headers).status_code == 403, (place, given)
    assert browser.page("log") == head


def test_a_login_form_of_another_site_begins_no_session(site: Site) -> None:
    """Otherwise somebody could make a person work under another account."""
    key = site.key("inspect")
    assert site.browser().post("/login", data={"key": key, "csrf": "x"}).status_code == 403
    assert site.browser().post("/login", data={"key": key}).status_code == 403


def test_a_form_that_is_too_large_or_unreadable_is_refused(site: Site) -> None:
    browser = site.logged_in()
    assert browser.post("/decide", data={"reason": "x" * 70_000}).status_code == 413
    for body in (b"\xff\xfe", b"&".join(b"a=1" for _ in range(100)), b"in=%ff"):
        assert browser.post("/decide", content=body).status_code in {404, 422}


def test_every_answer_carries_the_strict_headers(site: Site) -> None:
    browser = site.logged_in()
    for place in ("/", "/login", "/items?in=trip", "/items?in=none", "/inspector.css", "/inspector.js"):
        headers = browser.get(place).headers
        rule = headers["content-security-policy"]
        assert rule.startswith("default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';"), place
        assert "unsafe" not in rule
        assert headers["cache-control"] == ("max-age=300" if place.startswith("/inspector.") else "no-store")
        assert headers["x-frame-options"] == "DENY"


class _Always:
    """Credentials for which every key counts, until they are told otherwise."""

    def __init__(self, caller: Any) -> None:
        self.caller_of_all = caller
        self.counts = True

    async def caller(self, headers: Any) -> Any:
        if not self.counts:
            raise CredentialError("revoked")
        return self.caller_of_all


def kept_until(*steps: tuple[float, bool]) -> list[bool]:
    """Whether a session is still there at each time, where it is used or merely open."""
    now = 0.0
    whose = Caller(principal="p", workspaces=("w",), rights=frozenset({"inspect"}), credential="c")
    sessions = BrowserSessions(_Always(whose), clock=lambda: now)
    name = asyncio.run(sessions.log_in("k"))
    found: list[bool] = []
    for at, is_use in steps:
        now = at
        try:
            asyncio.run(sessions.find(name, is_use=is_use))
        except CredentialError:
            found.append(False)
        else:
            found.append(True)
    return found


def test_a_session_that_nobody_uses_ends_and_so_does_an_old_one() -> None:
    assert kept_until((IDLE - 1, True), (2 * IDLE - 2, True), (3 * IDLE, True)) == [True, True, False]
    assert kept_until(*((at, True) for at in range(0, LONGEST + 1_801, 1_800)))[-2:] == [True, False]
    assert kept_until((IDLE / 2, False), (IDLE + 1, True)) == [True, False], "a page left open is no use"


def test_no_more_sessions_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    monkeypatch.setattr("readmit.server.inspector.browser_sessions.MOST", 2)
    browsers: list[Browser] = [site.logged_in("inspect") for _ in range(3)]
    assert [one.get("/").status_code for one in browsers] == [303, 200, 200]
    assert "key" not in repr(text_of(browsers[2].get("/").text))
