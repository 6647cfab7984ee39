"""Names that may be meant to be the same, and user text made safe to print."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from readmit.records.reasons import DutyState, State
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence


ALIKE = 0.85
"""Least share of letters in common."""
SHORTEST = 4
"""Letters below which only case and separators may differ: two short names seldom mean the same."""
LONGEST_QUOTE = 160
_SEPARATORS = re.compile(r"[\W_]+")
_NUMBERS = re.compile(r"\d+")


def plain(name: str) -> str:
    """A name without case and separators."""
    return _SEPARATORS.sub("", name.casefold())


def alike(one: str, other: str) -> bool:
    """Whether two different names may be one name, spelled in two ways. Numbers have to agree."""
    if one == other:
        return False
    # The cheap bounds come first: an agent may see thousands of names. Separators are seldom more than a few letters.
    if abs(len(one) - len(other)) > (1 - ALIKE) * (len(one) + len(other)) + SHORTEST:
        return False
    first, second = plain(one), plain(other)
    if first == second:
        return bool(first)
    if min(len(first), len(second)) < SHORTEST or _NUMBERS.findall(first) != _NUMBERS.findall(second):
        return False
    if len(set(first) ^ set(second)) > (1 - ALIKE) * (len(first) + len(second)):
        return False
    return nearness(one, other) >= ALIKE


def nearness(one: str, other: str) -> float:
    """The similarity of two names."""
    return SequenceMatcher(None, plain(one), plain(other), autojunk=False).ratio()


def quoted(text: str) -> str:
    """User text on one line in quotation marks, truncated if long."""
    line = one_line(text)
    return f"“{line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1] + '…'}”"


def state_word(state: State | DutyState) -> str:
    """A state as a word of a sentence."""
    if state is State.SOURCE_CHANGED:
        return "no longer what its source says"
    return state.replace("_", " ")


def joined(names: Sequence[str]) -> str:
    """Names as a list in a sentence."""
    return " and ".join((", ".join(names[:-1]), names[-1]) if len(names) > 1 else names) or "Something"
