"""Checks of every answer in code: quotes, confidences, names and lengths."""

from __future__ import annotations

import re
import sys
from decimal import Decimal

from readmit.models.fence import visible_text
from readmit.models.protocols import Failure, Fault, Usage

NOTE_CHARS = 2_000
_SHOWN = re.compile(r"\\u\{([0-9a-f]{1,6})\}")
AROUND = " \t\n\"'.,;:!?()[]“”\u2018\u2019«»„…"
"""Characters around a quote or a short answer that are not part of it."""
# Each character maps to one character, so that positions stay the same.
_STRAIGHT = str.maketrans("\u2018\u2019\u201a\u201c\u201d\u201e\u2010\u2011\u2012\u2013\u2014", "'''\"\"\"-----")
_NOT_SLOT = re.compile(r"[^a-z0-9.]+")
_SLOT_CHARS = 128


def grounded(quote: str, text: str) -> str:
    r"""The quote in the text's own characters; empty if the text does not contain it.

    Models see hidden characters as ``\u{…}``, straighten quotation marks and dashes, and put quotation marks around
    what they copy. The result is taken from the text itself, so that it passes the rule of ``records.verdicts``.
    """
    flat = " ".join(text.split())
    revealed = _SHOWN.sub(_character, quote)
    wanted = [" ".join(one.split()) for one in dict.fromkeys((quote, revealed, revealed.strip(AROUND)))]
    place = _place(flat, wanted) or _place(flat.translate(_STRAIGHT), [one.translate(_STRAIGHT) for one in wanted])
    return flat[place][:NOTE_CHARS].strip() if place else ""


def _place(flat: str, wanted: list[str]) -> slice | None:
    places = ((flat.find(one), len(one)) for one in wanted if one)
    return next((slice(at, at + length) for at, length in places if at >= 0), None)


def share(confidence: float) -> Decimal:
    """A confidence between 0 and 1, exact to three digits."""
    return Decimal(round(min(1.0, max(0.0, confidence)) * 1_000)) / 1_000


def line(text: str, limit: int = NOTE_CHARS) -> str:
    """A model's own words as one visible line of bounded length."""
    flat = " ".join(visible_text(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def distinct_lines(texts: list[str], most: int, limit: int = 300) -> tuple[str, ...]:
    """The first ``most`` different lines."""
    return tuple(dict.fromkeys(filter(None, (line(text, limit) for text in texts))))[:most]


def slug(name: str) -> str:
    """A model's name for a slot or dependency as an id; empty if no usable character is left."""
    parts = (_NOT_SLOT.sub("_", part).strip("_") for part in name.strip().lower().split("."))
    return ".".join(filter(None, parts))[:_SLOT_CHARS].rstrip("._")


def too_long(stage: str, what: str, chars: int, limit: int) -> Failure:
    """The failure for a text that does not fit whole into a request."""
    message = f"{what} has {chars} characters and at most {limit} are shown; split it, or raise max_chars"
    return Failure(fault=Fault.TOO_LONG, message=message, usage=Usage(stage=stage))


def _character(shown: re.Match[str]) -> str:
    code = int(shown[1], 16)
    return chr(code) if code <= sys.maxunicode else shown[0]
