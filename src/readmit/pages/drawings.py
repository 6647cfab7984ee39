"""Drawings: timelines, trees of premises, bars of the items of a slot over time, budgets. A template makes them SVG.

Horizontal positions are shares of the width and letters keep their size, so that one drawing fits a phone and a sheet
of paper. Shapes repeat the meaning of colors.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from readmit.pages.page_values import LANES, Fallen, Happening, Lane, SlotItem, Use
from readmit.text.english import counted
from readmit.text.escapes import escaped, format_moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


NARROW = 324
"""Width of a drawing that does not stretch: it fits a phone of 360 pixels."""
LETTER = 6.9
"""Width of a letter in 12 pixels, for a wide typeface: narrower ones leave room, and nothing is cut off."""
PLACES = 48
"""Places on a timeline. Events that fall on the same one are drawn as one larger mark."""
_MARKS: dict[Lane, str] = {
    "observed": "M-4,0 a4,4 0 1,0 8,0 a4,4 0 1,0 -8,0",
    "recorded": "M-4,-4 H4 V4 H-4 Z",
    "taken out": "M-4,-4 L4,4 M4,-4 L-4,4",
    "looked into": "M0,-5 L5,0 L0,5 L-5,0 Z",
}


class Shape(NamedTuple):
    """An element of SVG."""

    name: str
    attributes: Mapping[str, str | float | None]
    inside: str | tuple[Shape, ...] = ()


class Drawing(NamedTuple):
    """Shapes, a description of the drawing in words, and its size; without a width it stretches over the page."""

    words: str
    height: int
    shapes: tuple[Shape, ...]
    width: int | None = None


def _shape(name: str, /, *inside: Shape, **attributes: str | float | None) -> Shape:
    """A shape. ``class_`` is written ``class``, and an underscore as a dash."""
    return Shape(name, {word.rstrip("_").replace("_", "-"): value for word, value in attributes.items()}, inside)


def timeline(departed: Happening, returned: Happening, happenings: Sequence[Happening]) -> Drawing:
    """The events between departure and return, in log order: one line for each sort of event."""
    lanes = [lane for lane in LANES if any(one.lane == lane for one in happenings)]
    first, last = departed.epoch, max(returned.epoch, departed.epoch + 1)
    parts: list[Shape] = []
    for row, lane in enumerate(lanes):
        y = 14 + row * 38
        own = [one for one in happenings if one.lane == lane]
        parts.append(_text(f"{lane} ({len(own)})", 0, y, class_="small"))
        parts.append(_line(0, y + 14, 100, y + 14, class_="rail"))
        for place, heap in _heaps(own, first, last):
            title = heap[0].words if len(heap) == 1 else f"{counted(len(heap), 'event')}, the first: {heap[0].words}"
            mark = _shape("path", _title(title), d=_MARKS[lane], transform=_scale(len(heap)))
            parts.append(_shape("svg", mark, x=f"{place:g}%", y=y + 14, overflow="visible", class_=_class(lane)))
    y = 14 + len(lanes) * 38
    parts += [
        _line(0, y, 100, y, class_="axis"),
        _line(0.2, y - 8, 0.2, y + 4, class_="axis"),
        _line(99.8, y - 8, 99.8, y + 4, class_="axis"),
        _text("departed", 0, y + 18),
        _text("returned", 100, y + 18, text_anchor="end"),
        _text(format_moment(departed.at), 0, y + 33, class_="small"),
        _text(format_moment(returned.at), 100, y + 33, class_="small", text_anchor="end"),
    ]
    words = f"Timeline from departure to return with {counted(len(happenings), 'event')}"
    return Drawing(words, y + 40, tuple(parts))


def _heaps(own: Iterable[Happening], first: int, last: int) -> Iterator[tuple[float, list[Happening]]]:
    heaps: dict[int, list[Happening]] = {}
    for one in own:
        heaps.setdefault(round((one.epoch - first) / (last - first) * PLACES), []).append(one)
    for place, heap in heaps.items():
        yield 2 + 96 * place / PLACES, heap


def _scale(many: int) -> str | None:
    return None if many == 1 else f"scale({min(1.8, 1.2 + many / 40):g})"


def _class(lane: str) -> str:
    return f"mark {lane.replace(' ', '-')}"


INDENT, DEEPEST, LINE, PAD = 16, 6, 15, 7


def premises(tree: Fallen) -> Drawing:
    """A tree of fallen items: the premise on top, its dependents indented below."""
    parts: list[Shape] = []
    height = _box(tree, 0, 1, parts)
    return Drawing(f"What fell with {tree.id}", height + 1, tuple(parts), NARROW)


def _box(tree: Fallen, depth: int, top: int, parts: list[Shape]) -> int:
    """Draw the box of an item and of its dependents; returns where the last one ends."""
    left = INDENT * min(depth, DEEPEST)
    room = NARROW - left - 2 * PAD - 2
    lines = [(line, "name") for line in wrapped(tree.id, room, 2)]
    lines += [(line, "said") for line in wrapped(tree.text, room, 3)]
    lines += [(line, "small") for line in wrapped(tree.note, room, 3)]
    height = len(lines) * LINE + 2 * PAD
    parts.append(_shape("rect", x=left + 1, y=top, width=NARROW - left - 2, height=height, rx=5, class_="box"))
    parts += (
        _text(line, left + PAD + 1, top + PAD + 11 + row * LINE, class_=style, unit="")
        for row, (line, style) in enumerate(lines)
    )
    end = top + height
    for one in tree.resting:
        start = end + 10
        within = _box(one, depth + 1, start, parts)
        if depth < DEEPEST:
            elbow = f"M{left + 8},{top + height} V{start + 14} H{left + INDENT - 4}"
            tip = f"M{left + INDENT - 5},{start + 10} l6,4 l-6,4 Z"
            parts += (_shape("path", d=elbow, class_="arm"), _shape("path", d=tip, class_="tip"))
        end = within
    if tree.more:
        parts.append(_text(f"and {tree.more} more", left + INDENT, end + 18, class_="small", unit=""))
        end += 24
    return end


def slot_bars(items: Sequence[SlotItem], moments: int, first: str, last: str) -> Drawing:
    """A bar for each item of a slot, over the moments at which it stood."""
    parts: list[Shape] = []
    for row, one in enumerate(items):
        y = row * 40
        # Cut for the narrowest screen; the whole text stands below the drawing.
        parts.append(_text(wrapped(f"{one.entry.id} {one.entry.text}", NARROW, 1)[0], 0, y + 13))
        parts.append(_line(0, y + 26, 100, y + 26, class_="rail"))
        for span in one.spans:
            left, right = 100 * span.first / moments, 100 * span.last / moments
            bar, width = _title(f"{one.entry.id} stood"), f"{right - left:g}%"
            parts.append(_shape("rect", bar, x=f"{left:g}%", y=y + 20, width=width, height=12, rx=3, class_="stood"))
        if not one.spans:
            parts.append(_text("never stood", 0, y + 37, class_="small"))
    y = len(items) * 40 + 8
    parts += [
        _line(0, y, 100, y, class_="axis"),
        _text(first, 0, y + 16, class_="small"),
        _text(last, 100, y + 16, class_="small", text_anchor="end"),
    ]
    return Drawing("What stood in the slot over time", y + 24, tuple(parts))


def used(use: Use) -> Drawing:
    """How much of a limit is used."""
    share = min(100.0, 100 * use.used / use.most) if use.most else 0.0
    parts = (
        _shape("rect", x=0, y=1, width="100%", height=10, rx=5, class_="limit"),
        _shape("rect", x=0, y=1, width=f"{share:g}%", height=10, rx=5, class_="stood"),
    )
    return Drawing(f"{use.used} of {use.most}", 12, parts)


def wrapped(text: str, room: float, most: int) -> list[str]:
    """A text in lines that fit, without invisible characters; the rest is cut."""
    fitting = int(room / LETTER)
    lines: list[str] = [""]
    for word in escaped(text).split():
        for part in _broken(word, fitting):
            if lines[-1] and _wide(lines[-1]) + 1 + _wide(part) > fitting:
                lines.append(part)
            else:
                lines[-1] = f"{lines[-1]} {part}".strip()
    if len(lines) > most:
        kept = lines[most - 1]
        while _wide(kept) + 1 > fitting:
            kept = kept[:-1]
        lines = [*lines[: most - 1], f"{kept}…"]
    return [line for line in lines if line]


def _broken(word: str, fitting: int) -> Iterator[str]:
    """A word in pieces that fit on a line."""
    edges, width = [0], 0
    for place, letter in enumerate(word):
        width += _wide(letter)
        if width > fitting:
            edges.append(place)
            width = _wide(letter)
    yield from (word[start:end] for start, end in pairwise((*edges, len(word))))


def _wide(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _title(words: str) -> Shape:
    return Shape("title", {}, words)


def _text(text: str, x: float, y: float, *, class_: str = "", text_anchor: str | None = None, unit: str = "%") -> Shape:
    return Shape("text", {"x": f"{x:g}{unit}", "y": y, "class": class_ or None, "text-anchor": text_anchor}, text)


def _line(x1: float, y1: float, x2: float, y2: float, *, class_: str) -> Shape:
    return _shape("line", x1=f"{x1:g}%", y1=y1, x2=f"{x2:g}%", y2=y2, class_=class_)
