"""The site of the inspector: addresses, headers, and templates that make answers."""

from __future__ import annotations

from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from starlette.responses import HTMLResponse, Response

from readmit.pages.page_templates import page_environment, page_style, page_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Environment

    from readmit.server.caller import Caller
    from readmit.server.inspector.browser_sessions import BrowserSession

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
PAGES = {
    "home": "/", "login": "/login", "logout": "/logout", "workspace": "/workspace", "returns": "/returns",
    "return": "/return", "replay": "/replay", "items": "/items", "item": "/item", "slot": "/slot", "ask": "/ask",
    "waiting": "/waiting", "decide": "/decide", "log": "/log", "chain": "/chain", "live": "/live",
    "style": "/inspector.css", "script": "/inspector.js",
}  # fmt: skip
"""The addresses of the site. Names stand in the query: they may hold any printable character."""


class Visit(NamedTuple):
    """A request for a page, by a caller who may inspect."""

    session: BrowserSession
    caller: Caller
    workspace: str
    query: Mapping[str, str]

    def may(self, right: str) -> bool:
        """Whether the caller's credential has a right."""
        return right in self.caller.rights

    def place(self, page: str, **query: object) -> str:
        """The address of a page of this workspace."""
        return address(page, **{"in": self.workspace}, **query)


def address(page: str, **query: object) -> str:
    """The address of a page, without the fields that are empty."""
    said = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{PAGES[page]}?{urlencode(said)}" if said else PAGES[page]


@cache
def site_environment() -> Environment:
    """The templates of the inspector, beside those of the pages that are files."""
    from jinja2 import ChoiceLoader, PackageLoader

    pages = page_environment()
    assert pages.loader is not None  # noqa: S101 - made with one
    made = pages.overlay(loader=ChoiceLoader([PackageLoader("readmit.server.inspector"), pages.loader]))
    made.globals = {**pages.globals, "to": address}
    return made


def page_of(template: str, visit: Visit, **values: Any) -> str:
    """A page of a workspace. Links of items lead to their pages unless ``link`` says otherwise."""
    links = {"link": partial(_item, visit), "place": _no_place, "linked": True}
    return page_text(site_environment(), template, visit=visit, here=visit.place, frame="site.html", **links | values)


def _item(visit: Visit, name: str) -> str:
    return visit.place("item", id=name) if name else ""


def _no_place(_: str) -> None:
    return None


def html(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A page as an answer."""
    return HTMLResponse(text, status, {**HEADERS, **(headers or {})})


def plain_page(template: str, status: int = 200, **values: Any) -> Response:
    """A page without a workspace: logging in, the list of workspaces, or an error."""
    return html(page_text(site_environment(), template, **values), status)


@cache
def asset(name: str) -> bytes:
    """The style sheet or the script of the site."""
    own = (resources.files("readmit.server.inspector") / name).read_text(encoding="utf-8")
    return (page_style() + own if name.endswith(".css") else own).encode()
