"""HTML and SVG elements. Every text is escaped unless an element of this module made it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from readmit.text.escapes import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable

# These have no content, and no closing tag in HTML.
_VOID = frozenset({"meta", "br", "hr"})


class Markup(str):
    """A text that is markup already, and is not escaped again."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """An element. ``class_`` is written ``class`` and ``data_label`` with a dash; an attribute of None is left out.

    Links only lead to places on the same page: a page fetches and runs nothing.
    """
    said = {word.rstrip("_").replace("_", "-"): value for word, value in attributes.items() if value is not None}
    if not str(said.get("href", "#")).startswith("#"):
        raise ValueError(f"href: {said['href']!r} leads off the page")
    opening = "".join(f' {word}="{escape_markup(str(value))}"' for word, value in said.items())
    if name in _VOID:
        return Markup(f"<{name}{opening}>")
    return Markup(f"<{name}{opening}>{''.join(map(escape_markup, children))}</{name}>")


def escape_markup(text: str) -> Markup:
    """Escaped text for a page: markup is inert, and invisible characters are written out."""
    return text if isinstance(text, Markup) else Markup(html.escape(escaped(text)))


def together(parts: Iterable[str], between: str = "") -> Markup:
    """Several parts in a row."""
    return Markup(escape_markup(between).join(map(escape_markup, parts)))


def own_markup(text: str) -> Markup:
    """A text of the program's own, such as a style sheet, that is put into a page as it is."""
    return Markup(text)
