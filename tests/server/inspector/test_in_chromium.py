"""The inspector in a real Chromium: keyboard, live updates, accessibility by axe-core, both widths, both schemes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Workspace
from tests.server.inspector.chromium import CHROMIUM, Tab, chromium
from tests.server.inspector.test_pages_served import returns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.inspector.conftest import Site

AXE = Path(__file__).parent / "axe" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = (1280, 390)
TAB, ENTER = ("Tab", 9), ("Enter", 13)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")]


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture
def inside(tab: Tab, site: Site) -> Tab:
    """A browser that is logged in, as somebody does it with the keyboard."""
    tab.scripted(on=True)
    tab.themed("light")
    tab.sized(1280)
    tab.ask("Network.clearBrowserCookies")
    tab.open(f"{site.url}/")
    assert tab.run("location.pathname") == "/login"
    tab.press(*TAB)
    tab.press(*TAB)
    assert tab.run("document.activeElement.id") == "key"
    tab.type(site.key())
    tab.run("window.leaving = true")
    tab.press(*ENTER)
    tab.loaded()
    assert tab.run("location.pathname") == "/"
    tab.events.clear()
    return tab


def places(site: Site) -> dict[str, str]:
    """Every page of the inspector, by name."""
    blocked = returns(site.logged_in("inspect"))[1]
    of_trip = {
        "workspace": "", "returns": "", "items": "", "waiting": "", "log": "", "chain": "",
        "ask": "&principal=carl&role=driver&task=trip", "return": f"&id={blocked}", "replay": f"&id={blocked}",
        "item": "&id=p0", "slot": "&slot=hotel&task=trip",
    }  # fmt: skip
    return {"home": "/"} | {name: f"/{name}?in=trip{more}" for name, more in of_trip.items()}


def test_it_complains_of_nothing_and_asks_no_other_host(inside: Tab, site: Site) -> None:
    for place in places(site).values():
        inside.open(site.url + place)
        assert inside.run("document.querySelectorAll('h1').length") == 1
    assert inside.complaints() == []
    assert {url for url in inside.asked() if not url.startswith(site.url)} <= {"about:blank"}


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm ci in tests/server/inspector/axe")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing(width: int, scheme: str, inside: Tab, site: Site) -> None:
    inside.sized(width)
    inside.themed(scheme)
    found: dict[str, Any] = {}
    for name, place in {**places(site), "login": "/login", "error": "/item?in=trip&id=none"}.items():
        inside.open(site.url + place)
        inside.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        inside.run(AXE.read_text(encoding="utf-8") + ";1")
        result = inside.run(
            "axe.run(document, {resultTypes: ['violations']}).then(done => JSON.stringify(done.violations))"
        )
        found |= {
            f"{name}: {one['id']}": [node["html"][:200] + node["failureSummary"][:300] for node in one["nodes"]][:2]
            for one in json.loads(result)
        }
    assert found == {}


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_off(width: int, inside: Tab, site: Site) -> None:
    inside.sized(width)
    outside = """[...document.body.querySelectorAll("*")].filter(node => {
        if (node.closest(".wide, pre, .skip, thead, .hidden")) return false;
        const box = node.getBoundingClientRect();
        return box.width && (box.right > innerWidth + 0.5 || box.left < -0.5);
    }).map(node => node.tagName + ": " + node.textContent.slice(0, 60)).slice(0, 5)"""
    for name, place in places(site).items():
        inside.open(site.url + place)
        inside.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert inside.run(outside) == [], name
        assert inside.run("document.documentElement.scrollWidth") <= width, name


def test_everything_can_be_reached_by_keyboard(inside: Tab, site: Site) -> None:
    inside.open(f"{site.url}/waiting?in=trip")
    inside.press(*TAB)
    assert inside.run("document.activeElement.textContent") == "Skip to the content"
    assert inside.run("document.activeElement.getBoundingClientRect().left") >= 0, "it shows when it has the focus"
    wanted = inside.run("[...document.querySelectorAll('a, button, input:not([type=hidden]), summary')].length")
    reached = inside.run("window.met = new Set([document.activeElement]); 1")
    for _ in range(wanted + 2):
        inside.press(*TAB)
        reached = inside.run(
            "window.met.add(document.activeElement); window.met.delete(document.body); window.met.size"
        )
    assert reached == wanted


def test_a_page_follows_the_log_where_scripts_run(inside: Tab, site: Site) -> None:
    inside.open(f"{site.url}/items?in=trip")
    inside.until("Boolean(document.getElementById('live').dataset.epoch)")
    with Workspace.open(site.store, name="trip") as team:
        source = team.observe("The boat leaves at noon.", by="bob")
        team.record("The boat leaves at noon.", id="boat", task="trip", by="bob", sources=[source])
    inside.until("document.querySelector('main').textContent.includes('The boat leaves at noon.')")
    inside.until("document.getElementById('live').textContent.startsWith('Up to date with epoch')")


def test_a_form_that_somebody_fills_in_is_left_alone(inside: Tab, site: Site) -> None:
    inside.open(f"{site.url}/waiting?in=trip")
    inside.until("Boolean(document.getElementById('live').dataset.epoch)")
    inside.run("document.querySelector('main input[name=reason]').focus(); 1")
    inside.type("Because")
    with Workspace.open(site.store, name="trip") as team:
        team.observe("Something else.", by="bob")
    inside.until("document.getElementById('live').textContent.includes('Reload this page')")
    assert inside.run("document.querySelector('main input[name=reason]').value") == "Because"


def test_a_decision_works_without_scripts(inside: Tab, site: Site) -> None:
    inside.open(f"{site.url}/waiting?in=trip")
    inside.scripted(on=False)
    where = "[...document.querySelectorAll('form.decide')].find(one => one.textContent.includes('Decline'))"
    # The test's own expressions still run; the page's scripts do not.
    inside.run(f"window.leaving = true; {where}.querySelector('button[value=decline]').click(); 1")
    inside.loaded()
    assert "Done: Decline" in inside.run("document.querySelector('main').textContent")


def test_a_blocked_script_would_be_heard(inside: Tab, site: Site) -> None:
    inside.open(f"{site.url}/items?in=trip")
    inside.run("document.body.append(Object.assign(document.createElement('script'), {textContent: 'owned = 1'})); 1")
    inside.run("document.body.append(Object.assign(new Image(), {src: 'https://example.org/x.png'})); 1")
    inside.until("1")
    heard = " ".join(inside.complaints())
    assert inside.run("window.owned === undefined")
    assert heard.count("Content Security Policy") >= 2
