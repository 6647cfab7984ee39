"""Templates of every page: strict, escaped, and without invisible characters."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from readmit.pages import drawings
from readmit.pages.page_values import SIGNS, cut, tone_of
from readmit.pages.project_values import WAITING
from readmit.text.english import counted
from readmit.text.escapes import escaped, format_moment, shorten_digests

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jinja2 import Environment

    from readmit.pages.gather_item import ItemPage
    from readmit.pages.page_values import ReturnPage, ShownItem, SlotPage
    from readmit.pages.project_values import ProjectReport

NOTICE = (
    "For the people who run the workspace. This page shows texts of items that were left out: "
    "never hand it to the returning agent."
)
LIMITS = {
    "open": 40,  # entries of a list that is open from the start
    "text": 2_000,  # characters of an item that are shown at once; a longer text is folded
    "said": 400,  # characters of the text of one event
    "listed": 400,  # events that a timeline lists in words; all of them are drawn
    "stopped": 8,  # items named of those that stop at one stage of a return for the same reason
    "beliefs": 100,  # items that a departing agent held, shown beside the texts that hold now
    "trees": 24,  # trees of premises that are drawn
    "bars": 40,  # items of a slot that are drawn, the latest ones
}


@cache
def page_environment() -> Environment:
    """The templates of pages. The inspector puts its own beside them."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=PackageLoader("readmit.pages"), autoescape=True, undefined=StrictUndefined, auto_reload=False,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters.update(
        moment=format_moment, cut=cut, short=shorten_digests, tone=tone_of, counted=counted,
        epoch_known=lambda epoch: f"known at epoch {epoch}",
        spaced=lambda words: str(words).replace("_", " "),
    )  # fmt: skip
    made.globals.update(
        limits=LIMITS, signs=SIGNS, waiting=WAITING, notice=NOTICE, drawings=drawings, security=content_security(),
        style=Markup(page_style()),  # noqa: S704 - our own style sheet
        drawing_style=Markup(_sheet("drawing.css")),  # noqa: S704 - our own style sheet
    )  # fmt: skip
    return made


def page_text(environment: Environment, template: str, /, **values: Any) -> str:
    """A page from its template. No invisible character is left in it, wherever it came from."""
    return escaped(environment.get_template(template).render(values))


@cache
def page_style() -> str:
    """The style sheet of a page."""
    return _sheet("drawing.css") + _sheet("page.css")


def _sheet(name: str) -> str:
    return (resources.files("readmit.pages") / name).read_text(encoding="utf-8")


@cache
def content_security() -> str:
    """The content security policy of a file: no fetch, no script, and only its own style."""
    digest = base64.b64encode(hashlib.sha256(page_style().encode()).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def return_html(page: ReturnPage) -> str:
    """One past return as a file of its own."""
    return _file("return.html", page, page.entries)


def slot_html(page: SlotPage) -> str:
    """One slot over time as a file of its own."""
    return _file("slot.html", page, (*(one.entry for one in page.items), *page.apart))


def item_html(page: ItemPage) -> str:
    """One item as a file of its own."""
    return _file("one_item.html", page, (page.entry,))


def project_html(report: ProjectReport) -> str:
    """A coding agent's project as a file of its own."""
    return _file("project.html", report, ())


def _file(template: str, page: ReturnPage | SlotPage | ItemPage | ProjectReport, entries: Iterable[ShownItem]) -> str:
    # Ids are not used as anchors: they may hold any printable character.
    anchors = {entry.id: f"item-{place}" for place, entry in enumerate(entries, 1)}
    links = {name: f"#{place}" for name, place in anchors.items()}
    return page_text(
        page_environment(), template, page=page, frame="file.html", place=anchors.get, link=links.get, linked=False
    )


def standalone(drawing: drawings.Drawing) -> str:
    """A drawing as a file of its own, in light and dark."""
    return page_text(page_environment(), "drawing.svg", drawing=drawing, link=None, place=None, linked=False)
