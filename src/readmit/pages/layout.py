"""Parts of every page in HTML: the frame, items with their reasons, events in order."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from readmit.pages.drawings import drawing_style
from readmit.pages.markup import Markup, element, own_markup, together
from readmit.pages.page_values import Happening, Heading, Quote, ShownItem, Tone, Why, cut
from readmit.records.reasons import State
from readmit.text.english import counted
from readmit.text.escapes import format_moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


NOTICE = (
    "For the people who run the workspace. This page shows texts of items that were left out: "
    "never hand it to the returning agent."
)
OPEN = 40
"""A list with up to this many entries is open from the start."""
TEXT_CHARS = 2_000
"""Characters of an item that are shown at once; a longer text is folded."""
SAID_CHARS = 400
"""Most characters shown of the text of one event."""
_FIT = frozenset({State.NOT_NEEDED, State.WITHHELD})
# A sign beside each word, so that nothing depends on color.
_SIGNS: dict[Tone, str] = {"in": "✓", "fit": "○", "out": "✕"}

Anchors = dict[str, str]
"""Item → its place on the page."""


class PageSection(NamedTuple):
    """A part of a page, with a heading to jump to."""

    anchor: str
    title: str
    body: Markup


def document(heading: Heading, opening: Markup, sections: Sequence[PageSection]) -> str:
    """A whole page: one file that fetches nothing and runs nothing."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=content_security()),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{heading.title} · {heading.workspace} · readmit"),
        element("style", own_markup(style())),
    )
    links = (element("li", element("a", part.title, href=f"#{part.anchor}")) for part in sections)
    body = element(
        "body",
        element(
            "header",
            element("p", f"readmit · workspace {heading.workspace}", class_="quiet"),
            element("h1", heading.title),
            element("p", NOTICE, class_="warning"),
            opening,
            facts(heading.facts),
            element("nav", element("ul", *links), aria_label="On this page"),
        ),
        element("main", *(element("section", element("h2", one.title, id=one.anchor), one.body) for one in sections)),
        element(
            "footer", element("p", f"Made {format_moment(heading.made)}. Moments are in UTC, epochs count log entries.")
        ),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


@cache
def style() -> str:
    """The style sheet of a page."""
    return drawing_style() + (resources.files("readmit.pages") / "page.css").read_text(encoding="utf-8")


@cache
def content_security() -> str:
    """The content security policy of a page: no fetch, no script, and only its own style."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def facts(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Names and values."""
    return element("dl", *(together((element("dt", name), element("dd", value))) for name, value in pairs))


def folded(title: str, many: int, body: Markup) -> Markup:
    """A list under its title, closed at first where it is long. On paper it is always open."""
    return element("details", element("summary", title), body, class_="group", open="" if many <= OPEN else None)


def tone_of(state: State) -> Tone:
    """Whether an item is in, fit but not handed over, or out."""
    return "in" if state is State.ADMITTED else "fit" if state in _FIT else "out"


def badge(words: str, tone: Tone) -> Markup:
    """A short word with its sign."""
    return element("span", f"{_SIGNS[tone]} {words.replace('_', ' ')}", class_=f"badge {tone}")


def item_link(name: str, anchors: Mapping[str, str]) -> Markup:
    """An item by its name, with a link if it is on the page."""
    code = element("code", name)
    return element("a", code, href=f"#{anchors[name]}") if name in anchors else code


def anchored(entries: Iterable[ShownItem]) -> Anchors:
    """A place for each item. Ids are not used as such: they may hold any printable character."""
    return {entry.id: f"item-{place}" for place, entry in enumerate(entries, 1)}


def article(entry: ShownItem, anchors: Mapping[str, str], *more: Markup) -> Markup:
    """One item: its text, the reasons that it is in or out, and its other fields."""
    state = () if entry.state is None else (badge(entry.state, tone_of(entry.state)),)
    about = (
        ("By", f"{entry.by}, {format_moment(entry.at)}, epoch {entry.epoch}"),
        *entry.facets,
    )
    return element(
        "article",
        element(
            "header",
            element("h3", element("code", entry.id)),
            *state,
            element("span", entry.kind.replace("_", " "), class_="quiet"),
        ),
        _text(entry.text),
        *more,
        reasons(entry.whys),
        element(
            "dl",
            *(element("div", element("dt", name), element("dd", value, dir="auto")) for name, value in about),
            class_="facets",
        ),
        id=anchors.get(entry.id),
    )


def _text(text: str) -> Markup:
    if len(text) <= TEXT_CHARS:
        return _prose(text)
    title = element("summary", f"The whole text ({len(text)} characters)")
    return together((_prose(cut(text, SAID_CHARS)), element("details", title, _prose(text))))


def _prose(text: str) -> Markup:
    return element("p", text, class_="text", dir="auto")


def reasons(whys: Sequence[Why]) -> Markup:
    """Each reason, with the words on both sides below it."""
    if not whys:
        return Markup()
    lines = (element("li", one.sentence, _quotes(one.quotes)) for one in whys)
    return element("ul", *lines, class_="why")


def _quotes(quotes: Sequence[Quote]) -> Markup:
    if not quotes:
        return Markup()
    said = (
        element("div", element("p", f"{one.label}: {one.text}"), class_="judge")
        if one.label == "Judged by"
        else element("div", element("p", one.label, class_="label"), element("blockquote", f"“{one.text}”", dir="auto"))
        for one in quotes
    )
    return element("figure", *said, class_="quotes")


def event_list(happenings: Sequence[Happening], anchors: Mapping[str, str]) -> Markup:
    """Events in order."""
    linked = (
        element("a", one.words, href=f"#{anchors[one.item]}") if one.item in anchors else one.words
        for one in happenings
    )
    return element("ol", *map(event_entry, happenings, linked), class_="happenings")


def event_entry(one: Happening, words: str, *more: Markup) -> Markup:
    """One event of a list: its words, its place in the log, its text, and more below it."""
    said = (_prose(cut(one.text, SAID_CHARS)),) if one.text else ()
    when = element("span", f"epoch {one.epoch} · {format_moment(one.at)}", class_="when")
    return element("li", words, " ", when, *said, *more, class_=one.lane.replace(" ", "-"))


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table. On a phone each row is a block, and each cell carries its column's name."""
    lines = (
        element(
            "tr",
            element("th", row[0], scope="row"),
            *(element("td", cell, data_label=label) for label, cell in zip(head[1:], row[1:], strict=True)),
        )
        for row in rows
    )
    return element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *(element("th", label, scope="col") for label in head))),
        element("tbody", *lines),
    )


def listing(title: str, entries: Sequence[ShownItem], anchors: Mapping[str, str]) -> Markup:
    """Items under a title that counts them."""
    cards = together(article(entry, anchors) for entry in entries)
    return folded(f"{title} ({counted(len(entries), 'item')})", len(entries), cards)
