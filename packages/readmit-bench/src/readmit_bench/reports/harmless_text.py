"""Text from data and models, made harmless: in HTML by autoescape, in Markdown here; hidden characters are shown."""

from __future__ import annotations

import re

from readmit.lab import visible_text

_MARKUP = re.compile(r"([\\`*_\[\]<>|~$&])")
# A list, a heading or a quote begins at the start of a line, and so would these.
_STARTS = re.compile(r"^(\d*)([-+#=.)])(?=[-+#=\s]|$)")
CUT = 300


def one_line(text: object) -> str:
    """On one line, with every character visible."""
    return " ".join(visible_text(str(text)).split())


def in_markdown(text: object) -> str:
    """Text as Markdown shows it literally, in a table, a list or a heading."""
    escaped = _MARKUP.sub(r"\\\1", one_line(text)).replace("\\<", "&lt;").replace("\\>", "&gt;").replace("\\&", "&amp;")
    return _STARTS.sub(r"\1\\\2", escaped)


def cut(text: object, most: int = CUT) -> str:
    """The beginning of a long text."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[:most]}…"
