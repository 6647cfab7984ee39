"""Pictures of the inspector for its guide. ``python -m tests.docs.inspector_pictures`` takes them with Chromium."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.docs.pictures import FOLDER
from tests.server.inspector.chromium import CHROMIUM, Tab, chromium
from tests.server.inspector.conftest import Site, inspected
from tests.server.inspector.teams import trip
from tests.server.inspector.test_pages_served import returns


class Shot(NamedTuple):
    """A picture of a page: its window, the element that it begins with, and its height."""

    place: str
    width: int
    top: str = "body"
    height: int = 900
    scheme: str = "light"


SHOTS = {
    "agents": Shot("/workspace?in=trip", 1280, height=700),
    "return": Shot("/return?in=trip&id={blocked}", 1280, height=1_560),
    "return-phone": Shot("/return?in=trip&id={blocked}", 390, "#believed", 1_150, "dark"),
    "item": Shot("/item?in=trip&id=p0", 1280, height=1_160),
    "slot": Shot("/slot?in=trip&slot=pass&task=trip", 1280, "#standing", 900),
    "waiting-phone": Shot("/waiting?in=trip", 390, height=1_300),
    "ask": Shot("/ask?in=trip&principal=carl&role=driver&task=trip", 1280, height=1_000),
}


def main() -> None:
    """Take every picture."""
    if not CHROMIUM:
        raise SystemExit("Chromium is not installed")
    with TemporaryDirectory() as made:
        folder = Path(made)
        os.environ["READMIT_KEYS"] = str(folder / "keys")
        trip(folder / "team.db")
        with inspected(folder / "team.db") as site, chromium(folder) as tab:
            take(site, tab)


def take(site: Site, tab: Tab) -> None:
    """Log in and take the pictures."""
    browser = site.logged_in("inspect", "write", "admin")
    blocked = returns(browser)[1]
    name = "readmit-session"
    tab.ask("Network.setCookie", name=name, value=browser.cookies[name], url=site.url)
    for named, shot in SHOTS.items():
        tab.themed(shot.scheme)
        tab.sized(shot.width)
        tab.open(site.url + shot.place.format(blocked=blocked))
        tab.picture(FOLDER / f"inspector-{named}.webp", top=shot.top, height=shot.height)


if __name__ == "__main__":
    main()
