"""The page of one slot: which statement stood when, its replacements, and their reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.pages import drawings as drawing
from readmit.pages import layout
from readmit.pages.layout import PageSection, badge, folded, item_link
from readmit.pages.markup import Markup, element, together
from readmit.pages.page_values import Moment, SlotItem, SlotPage, cut
from readmit.text.english import counted
from readmit.text.escapes import format_moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


BARS = 40
"""Most items drawn, the latest ones."""


def slot_html(page: SlotPage) -> str:
    """One slot over time as a page of its own."""
    anchors = layout.anchored((*(one.entry for one in page.items), *page.apart))
    now = page.moments[-1].standing
    if not now:
        opening = element("p", "Nothing stands in this slot now.", class_="verdict out")
    else:
        entries = (one.entry for one in page.items if one.entry.id in now)
        said = (element("span", f"{entry.id}: {cut(entry.text, layout.SAID_CHARS)}") for entry in entries)
        opening = element("p", "Stands now: ", together(said, "; "), class_="verdict in", dir="auto")
    return layout.document(page.heading, opening, list(_sections(page, anchors)))


def _sections(page: SlotPage, anchors: Mapping[str, str]) -> Iterator[PageSection]:
    yield PageSection("standing", "What stood when", _drawn(page))
    yield PageSection("moments", "What happened", _moments(page, anchors))
    past = element("p", f"{counted(page.past, 'item')} had fallen before these moments.") if page.past else ""
    cards = together((past, *(_item(one, page, anchors) for one in page.items)))
    yield PageSection("items", "Items of the slot", cards)
    if page.apart:
        note = element("p", "These name other principals or roles, and stand only for those.")
        yield PageSection(
            "apart", "Items for others", together((note, layout.listing("For others", page.apart, anchors)))
        )


def _drawn(page: SlotPage) -> Markup:
    items = page.items[-BARS:]
    first, last = (format_moment(page.moments[place].happening.at) for place in (0, -1))
    picture = drawing.inline_drawing(drawing.slot_bars(items, len(page.moments), first, last))
    left = len(page.items) - len(items)
    note = "One step to the right is one event that touches the slot: the line is in log order, not to scale."
    more = f" {counted(left, 'earlier item')} not drawn." if left else ""
    return together((picture, element("p", note + more, class_="quiet")))


def _moments(page: SlotPage, anchors: Mapping[str, str]) -> Markup:
    note = element("p", f"{counted(page.earlier, 'earlier moment')} not shown.") if page.earlier else ""
    rows = element("ol", *(_moment(one, anchors) for one in page.moments), class_="happenings")
    return together((note, folded(counted(len(page.moments), "moment"), len(page.moments), rows)))


def _moment(one: Moment, anchors: Mapping[str, str]) -> Markup:
    standing = together((item_link(name, anchors) for name in one.standing), ", ") if one.standing else "nothing"
    fell = (
        element("p", badge("out", "out"), " ", item_link(name, anchors), " ", why.sentence) for name, why in one.fell
    )
    words = element("strong", one.happening.words)
    return layout.event_entry(one.happening, words, *fell, element("p", "Stands: ", standing))


def _item(one: SlotItem, page: SlotPage, anchors: Mapping[str, str]) -> Markup:
    now = one.entry.id in page.moments[-1].standing
    mark = badge("stands now", "in") if now else badge("does not stand", "out")
    spans = (element("li", _span(span.first, span.last, page)) for span in one.spans)
    stood = element("ul", *spans) if one.spans else element("p", "It never stood.")
    return layout.article(one.entry, anchors, element("p", mark), stood)


def _span(first: int, last: int, page: SlotPage) -> str:
    start = page.moments[first].happening
    words = f"Stood from epoch {start.epoch} ({format_moment(start.at)})"
    if last == len(page.moments):
        return words
    end = page.moments[last].happening
    return f"{words} to epoch {end.epoch} ({format_moment(end.at)}): {end.words}"
