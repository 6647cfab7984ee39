"""The pages of the inspector over a real server, without scripts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from readmit.types import Replay
from tests.pages.test_markup import PLAIN, Tags
from tests.server.inspector.conftest import inspected, text_of
from tests.server.inspector.teams import SECRET, furnish

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.server.inspector.conftest import Browser, Site

PLACES = ("workspace", "returns", "items", "log", "chain", "waiting", "ask")
FORMS = "link form input button label select option textarea pre script"


def returns(browser: Browser) -> list[str]:
    """The ids of the returns, the newest first."""
    return re.findall(r'/return\?in=trip&amp;id=(\w+)"><code>', browser.page("returns"))


@pytest.mark.parametrize("name", PLACES)
def test_a_page_is_made(name: str, site: Site) -> None:
    assert site.logged_in("inspect").page(name).count("<h1>") == 1


def test_the_workspaces_of_the_credential_are_listed_and_no_other(site: Site) -> None:
    text = text_of(site.logged_in("inspect").get("/").text)
    assert "trip epoch" in text
    assert "other" not in text
    assert "other epoch" in text_of(site.logged_in("inspect", workspaces=("trip", "other")).get("/").text)


def test_who_is_away_is_named_with_the_moment(site: Site) -> None:
    text = text_of(site.logged_in("inspect").page("workspace"))
    assert "carl as driver on trip ○ away 2026-03-01 09:00:00 UTC, epoch" in text
    assert "ann as planner on trip ✓ at work 2026-03-01 11:00:00 UTC, epoch" in text


def test_returns_say_what_was_missing_and_whether_they_were_handed_over(site: Site) -> None:
    browser = site.logged_in("inspect")
    text = text_of(browser.page("returns"))
    assert "✕ blocked pickup no" in text
    assert re.search("✓ admitted nothing epoch [0-9]+", text)
    assert len(returns(browser)) == 2
    assert "blocked pickup" not in text_of(browser.page("returns", kind="admitted"))
    assert "No return is like that." in text_of(browser.page("returns", agent="nobody"))


def test_a_return_shows_its_flow_and_both_texts(site: Site) -> None:
    browser = site.logged_in("inspect")
    blocked = text_of(browser.page("return", id=returns(browser)[1]))
    assert "Blocked: nothing is handed over" in blocked
    assert "Invalidate Something ended it" in blocked
    assert (
        "Believed at departure Recorded by bob A taxi of six seats comes to the pickup. "
        "h0 says Sunrise Hotel is booked. Now h1 says Riverside Hotel is booked, for three nights."
    ) in blocked
    assert "Lacking pickup" in blocked


def test_items_of_a_return_are_found_by_state_text_and_id(site: Site) -> None:
    browser = site.logged_in("inspect")
    name = returns(browser)[1]
    fallen = browser.page("return", id=name, state="premise_changed")
    assert re.findall(r'<article[^>]*>\s*<header><h3><a href="[^"]*"><code>(\w+)', items_of(fallen)) == [
        "p0", "taxi", "weather",
    ]  # fmt: skip
    assert "<code>music</code>" in items_of(browser.page("return", id=name, text="BAND"))
    one = text_of(items_of(browser.page("return", id=name, item="taxi")))
    assert "taxi as it is now · every item of this return" in one
    assert "Everybody" not in one


def items_of(page: str) -> str:
    return page[page.index('<h2 id="items">') : page.index('<h2 id="budget">')]


def test_an_item_has_its_history_its_cause_with_both_quotes_and_its_premises(site: Site) -> None:
    browser = site.logged_in("inspect")
    text = text_of(browser.page("item", id="p0"))
    assert "It fell because" in text
    assert "bob recorded p0 epoch" in text
    assert re.search(r"The events against it bob recorded h1 epoch \d+ .* bob recorded p1 epoch \d+", text)
    assert "What it rests on p0 ✕" in text
    assert "h0 ✕ superseded Sunrise Hotel is booked." in text
    assert "What rests on it p0 ✕ superseded Pickup is at 8:00 at Sunrise Hotel. taxi ✕ premise changed" in text
    weather = text_of(browser.page("item", id="weather"))
    assert "weather says “dry on Friday” bob observed on 2026-03-01 10:00:00 UTC “flooded”" in weather


def test_a_slot_is_shown_on_two_axes_of_time(site: Site) -> None:
    page = site.logged_in("inspect").page("slot", slot="pass", task="trip")
    rows = re.findall(r'<tr><th scope="row">([^<]*)</th>\s*(.*?)</tr>', page[page.index('id="times"') :], re.DOTALL)
    assert [text_of(cells) for _, cells in rows] == ["pass pass", "nothing pass_2"], "now, and when it is over"


def test_a_slot_is_read_as_somebody_else(site: Site) -> None:
    text = text_of(site.logged_in("inspect").page("slot", slot="hotel", task="trip", principal="ann", role="planner"))
    assert "For ann as planner" in text


def test_items_are_searched_and_filtered(site: Site) -> None:
    browser = site.logged_in("inspect")
    assert "Riverside Hotel is booked" in browser.page("items", text="riverside", state="stands")
    assert "1 item, newest first." in text_of(browser.page("items", slot="hotel", state="superseded"))
    assert "0 items, newest first." in text_of(browser.page("items", by="nobody"))


def test_epochs_are_those_of_the_log(site: Site) -> None:
    browser = site.logged_in("inspect")
    epochs = list(map(int, re.findall(r'id="epoch-(\d+)"', browser.page("log"))))
    assert epochs == list(range(epochs[0], 0, -1))
    assert f"The log ends at epoch {epochs[0]}." in browser.page("log")
    older = list(map(int, re.findall(r'id="epoch-(\d+)"', browser.page("log", until="5"))))
    assert older == [5, 4, 3, 2, 1]


def test_the_chain_shows_a_head_that_verifies_and_checks_everything(site: Site) -> None:
    browser = site.logged_in("inspect")
    text = text_of(browser.page("chain"))
    assert "✓ the head verifies" in text
    assert "readmit audit head --witness URL" in text
    assert re.search(r"✓ verifies [0-9]+ commits, [0-9]+ events", text_of(browser.page("chain", verify="yes")))


def test_a_decision_is_replayed(site: Site) -> None:
    browser = site.logged_in("inspect")
    assert "✓ The same: blocked, 7 candidates." in text_of(browser.page("replay", id=returns(browser)[1]))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"differences": ("decision", "disposition of h0")}, "✕ 2 differences decision disposition of h0"),
        ({"refused": "a text that it needs was forgotten"}, "○ Not decided again: a text that it needs was forgotten."),
        ({"skipped": "the decision rests on a fault"}, "○ Not decided again: the decision rests on a fault."),
    ],
)
def test_a_replay_names_its_differences_or_why_there_is_none(
    found: dict[str, Any], said: str, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = site.logged_in("inspect")
    name = returns(browser)[1]
    monkeypatch.setattr("readmit.diagnosis.history.replay", lambda *_: Replay(name, "blocked", 7, **found))
    assert said in text_of(browser.page("replay", id=name))


ASKED = {"principal": "carl", "role": "driver", "task": "trip"}


def test_a_return_is_computed_for_anybody_and_never_saved(site: Site) -> None:
    browser = site.logged_in("inspect")
    before = browser.page("log")
    text = text_of(browser.page("ask", **ASKED))
    assert "Return of carl, if it came now Admitted" in text
    assert "Believed at departure Recorded by bob Sunrise Hotel is booked." in text
    changed = text_of(browser.page("ask", **ASKED, policy='{"budgets": {"items": 0}}'))
    assert "Items: 0 of 0" in changed
    assert browser.page("log") == before
    assert len(returns(browser)) == 2


@pytest.mark.parametrize(
    ("asked", "fault"),
    [
        ({"principal": "carl"}, "role: it is missing; give principal, role and task"),
        (ASKED | {"policy": "no"}, "policy: 'no' is not JSON of groups of settings"),
        (ASKED | {"policy": '{"colour": {}}'}, "policy: it has no group 'colour'; it has budgets, evidence"),
        (ASKED | {"policy": '{"returns": {"fill": "sometimes"}}'}, "fill"),
        (ASKED | {"policy": "[" * 9_000}, "policy: "),
        (ASKED | {"purpose": "none"}, ""),
        (ASKED | {"principal": "x" * 5_000}, "principal"),
        (ASKED | {"principal": "owner"}, "the name 'owner' is reserved"),
    ],
)
def test_a_question_that_makes_no_sense_is_answered_with_the_field(
    asked: dict[str, str], fault: str, site: Site
) -> None:
    assert fault in text_of(site.logged_in("inspect").page("ask", **asked))


@pytest.mark.parametrize(
    ("place", "query", "status"),
    [
        ("return", {"id": "none"}, 404),
        ("return", {}, 404),
        ("return", {"id": "x" * 3_000}, 404),
        ("replay", {"id": "\x1b[31m"}, 422),
        ("item", {"id": "none"}, 404),
        ("slot", {"slot": "none"}, 404),
        ("items", {"from": "-1"}, 422),
        ("items", {"from": "9" * 40}, 422),
        ("log", {"until": "x"}, 422),
        ("returns", {"before": "1e3"}, 422),
        ("items", {"text": "x" * 40_000}, 422),
    ],
)
def test_what_is_not_there_or_malformed_is_a_page_that_says_so(
    place: str, query: dict[str, str], status: int, site: Site
) -> None:
    answer = site.logged_in("inspect").get(f"/{place}", params={"in": "trip", **query})
    assert answer.status_code == status, answer.text
    assert "This did not work" in answer.text
    assert "\x1b" not in answer.text


@pytest.mark.parametrize("place", PLACES)
def test_another_teams_workspace_is_like_one_that_is_not_there(place: str, site: Site) -> None:
    browser = site.logged_in("inspect", "write", "admin")
    answers = [browser.get(f"/{place}", params={"in": name}) for name in ("other", "nowhere")]
    assert [one.status_code for one in answers] == [404, 404]
    assert answers[0].text.replace("other", "nowhere") == answers[1].text
    assert SECRET not in answers[0].text


@pytest.mark.parametrize("place", [*PLACES, "item", "slot"])
def test_hostile_texts_stay_texts(place: str, site: Site) -> None:
    query = {"item": {"id": "evil"}, "slot": {"slot": "<b>slot</b>", "task": "trip"}}.get(place, {})
    page = site.logged_in().page(place, **query)
    tags = Tags(page)
    assert {tag for tag, _ in tags.elements} <= set(f"{PLAIN} {FORMS}".split())
    names = {name for _, attributes in tags.elements for name in attributes}
    assert [name for name in names if name.startswith("on") or name in {"style", "srcset"}] == []
    assert {own["src"] for _, own in tags.elements if "src" in own} == {"/inspector.js"}
    led = {str(own[name]) for _, own in tags.elements for name in ("href", "action") if name in own}
    assert [one for one in led if not re.match(r"[/#](?!/)", one)] == []
    assert not re.search("[\u202e\u200b\x1b]", page)


@pytest.mark.slow
def test_every_page_is_made_on_postgresql(fresh_url: Callable[[], str], tmp_path: Path) -> None:
    store = fresh_url()
    furnish(store)
    with inspected(store, tmp_path) as site:
        browser = site.logged_in()
        for name in PLACES:
            assert browser.page(name).count("<h1>") == 1
        blocked = returns(browser)[1]
        assert "Blocked: nothing is handed over" in browser.page("return", id=blocked)
        assert "The same: blocked" in browser.page("replay", id=blocked)
        assert "The events against it" in browser.page("item", id="p0")
        assert "Stands now: h1" in text_of(browser.page("slot", slot="hotel", task="trip"))
        assert browser.press(browser.page("waiting"), "/decide", "Confirm").status_code == 303
        assert SECRET not in browser.page("items") + browser.page("log")
