"""Things that wait for a person: shown to all who inspect, decided by those who may, in their own name."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from tests.server.inspector.conftest import Site, hidden, inspected, text_of
from tests.server.inspector.teams import trip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A store of its own, which a test may change."""
    trip(tmp_path / "team.db")
    with inspected(tmp_path / "team.db") as made:
        yield made


def ids(page: str) -> list[str]:
    return re.findall(r"<h2><code>([^<]*)</code></h2>", page)


def test_everything_that_waits_is_there_and_nobody_without_a_right_gets_a_button(site: Site) -> None:
    page = site.logged_in("inspect").page("waiting")
    assert {"path", "q_museum"} <= set(ids(page))
    assert re.search(
        "draft A draft that nobody has confirmed. By bob. path The river path is closed on Friday.", text_of(page)
    )
    assert "<button>Log out</button>" in page
    assert page.count("<button>") == 1
    assert "a credential needs the right write" in text_of(page)


def test_a_writer_gets_the_buttons_of_a_writer(site: Site) -> None:
    page = site.logged_in("inspect", "write").page("waiting")
    assert "Confirm" in page
    assert "Keep this one" in page
    assert "Approve" not in page
    assert "Approve" in site.logged_in("inspect", "admin").page("waiting")


def test_a_draft_is_confirmed_in_the_name_of_the_caller(site: Site) -> None:
    browser = site.logged_in("inspect", "write", principal="bob")
    answer = browser.press(browser.page("waiting"), "/decide", "Confirm")
    assert (answer.status_code, answer.headers["location"]) == (303, "/waiting?in=trip&done=confirm")
    after = browser.get(answer.headers["location"]).text
    assert "Done: Confirm." in text_of(after)
    assert "path" not in ids(after)
    assert "bob" in text_of(browser.page("item", id="path"))


def test_a_dispute_is_resolved_for_the_chosen_item(site: Site) -> None:
    browser = site.logged_in("inspect", "write")
    browser.press(browser.page("waiting"), "/decide", "Keep this one : m1", reason="Seen at the door.")
    assert "q_museum" not in ids(browser.page("waiting"))
    assert "stands now" in text_of(browser.page("item", id="m1"))
    assert "dispute" in text_of(browser.page("item", id="m0"))


def test_an_act_beyond_a_limit_is_approved_or_declined_by_an_admin(site: Site) -> None:
    browser = site.logged_in("inspect", "admin")
    waiting = browser.page("waiting")
    assert "It is beyond a limit of the policy. By eve." in text_of(waiting)
    assert browser.press(waiting, "/decide", "Decline").status_code == 303
    assert "By eve." not in text_of(browser.page("waiting"))


def test_a_right_is_checked_when_a_form_comes_and_not_only_when_it_is_shown(site: Site) -> None:
    browser = site.logged_in("inspect")
    token = hidden(browser.page("items"), "csrf")
    for act in ("confirm", "settle", "withdraw", "keep", "prefer", "approve", "decline"):
        answer = browser.post("/decide", data={"csrf": token, "in": "trip", "act": act, "id": "path"})
        assert answer.status_code == 403
        assert "which this credential does not have" in answer.text
    assert browser.post("/decide", data={"csrf": token, "in": "other", "act": "confirm"}).status_code == 404


@pytest.mark.parametrize("given", [{"act": "none"}, {}, {"act": "confirm"}, {"act": "keep", "id": "\x00"}])
def test_a_decision_that_makes_no_sense_changes_nothing(given: dict[str, str], site: Site) -> None:
    browser = site.logged_in()
    before = browser.page("log")
    answer = browser.post("/decide", data={"csrf": hidden(browser.page("items"), "csrf"), "in": "trip", **given})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert browser.page("log") == before


def test_what_the_library_refuses_is_said_on_the_page(site: Site) -> None:
    browser = site.logged_in("inspect", "write")
    answer = browser.press(browser.page("waiting"), "/decide", "Keep this one : m1", item="h1")
    assert answer.status_code == 422
    assert re.search('role="alert">[^<]*h1', answer.text)
    assert "q_museum" in ids(answer.text)


def test_a_page_hears_at_once_that_the_log_moved(site: Site) -> None:
    browser, heard = site.logged_in("inspect"), threading.Event()
    lines: list[str] = []

    def listen() -> None:
        with browser.stream("GET", "/live", params={"in": "trip"}) as answer:
            for line in answer.iter_lines():
                lines.append(line)
                heard.set()
                if sum(one.startswith("data: ") for one in lines) == 2:
                    return

    listening = threading.Thread(target=listen)
    listening.start()
    assert heard.wait(10)
    with Workspace.open(site.store, name="trip") as team:
        epoch = team.epoch
        team.observe("Something new.", by="bob")
    listening.join(10)
    assert [one for one in lines if one.startswith("data: ")] == [f"data: {epoch}", f"data: {epoch + 1}"]


def test_a_live_page_of_a_session_that_ended_hears_that_it_is_over(site: Site) -> None:
    browser, other = site.logged_in("inspect"), site.browser()
    other.cookies.set("readmit-session", browser.cookies["readmit-session"])
    with browser.stream("GET", "/live", params={"in": "trip"}) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "event: epoch"
        other.press(other.page("items"), "/logout", "Log out")
        assert "event: over" in lines
