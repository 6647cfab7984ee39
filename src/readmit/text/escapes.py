"""Makes untrusted text safe to show: escapes invisible characters, and quotes so that no text closes the quote."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from readmit.text.hidden import replace_hidden

if TYPE_CHECKING:
    from collections.abc import Iterable


QUOTE_CHARS = 300
"""Most characters shown of a quote beside its item."""
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")


def shorten_quote(quote: str) -> str:
    """A quote, cut where it is long."""
    return quote if len(quote) <= QUOTE_CHARS else quote[:QUOTE_CHARS] + "…"


def json_text(value: object, *, indent: int | None = None) -> str:
    """JSON safe to print: the exact values, with invisible characters and terminal controls escaped."""
    separators = (",", ":") if indent is None else (",", ": ")
    return escaped_json(json.dumps(value, ensure_ascii=False, separators=separators, indent=indent))


def escaped_json(text: str) -> str:
    """JSON with its control and invisible characters escaped."""
    # Only strings can contain such characters, and there an escape means the same character.
    return replace_hidden(text, lambda character: json.dumps(character)[1:-1])


def escaped(text: str) -> str:
    """Text safe to print: invisible and control characters are written out. Line feeds and tabs stay."""
    return replace_hidden(text, lambda character: rf"\u{{{ord(character):04x}}}")


def one_line(text: str) -> str:
    """User text on one line, safe to print."""
    return " ".join(escaped(text).split())


def shorten_digests(text: str) -> str:
    """A text in which every digest is named by its beginning."""
    return _DIGEST.sub(r"\1…", text)


def block(text: str) -> Iterable[str]:
    """A fenced block that no line inside can close."""
    safe = escaped(text.replace("\r\n", "\n"))
    fence = _fence(safe, least=3)
    return f"{fence}text", safe, fence


def inline_code(text: str) -> str:
    """A name or id on one line, as code."""
    safe = escaped(text).replace("\n", r"\u{000a}")
    fence = _fence(safe, least=1)
    return f"{fence}{safe}{fence}" if "`" not in safe else f"{fence} {safe} {fence}"


def _fence(text: str, *, least: int) -> str:
    """A run of backticks longer than any inside the text."""
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))


def iso_moment(of: datetime) -> str:
    """A moment as ISO 8601."""
    return of.isoformat().replace("+00:00", "Z")


def format_moment(of: datetime) -> str:
    """A moment as people read it, to the second."""
    return f"{of:%Y-%m-%d %H:%M:%S} UTC"


def iso_day(of: datetime) -> str:
    """The day of a moment, in UTC, as ISO 8601."""
    return of.astimezone(UTC).date().isoformat()
