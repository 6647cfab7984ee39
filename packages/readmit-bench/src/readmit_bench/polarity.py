"""Whether a text speaks for a thing or against it: "I like X" does not say that X is to be avoided.

For scoring a view without a judge. A sentence is cut where a contrast begins ("but", "rather than", ", not"). In the
part that names the thing, the nearest words that take a stance decide, those before the thing first: "like" speaks for
it, "avoid" against it, and a denial beside such a word reverses it ("do not like", "no longer avoid"). A denial or an
ending by itself speaks against it ("X is not for me", "take this off my list: X"). If nothing takes a stance, the thing
is named without objection, which counts as for.

The words are general English. They are separate from ``plain_turns.py``, because a method must not be scored by the
rules it reads by.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from readmit_bench.spellings import fold_typeset

if TYPE_CHECKING:
    from collections.abc import Iterator

Polarity = Literal["for", "against"]

_SENTENCE = re.compile(r"(?<=[.!?])[\"')]*\s+|\n+")
_CONTRAST = re.compile(
    r";\s+|\s+-+\s+|,?\s+(?=(?:but|however|though|although|whereas|except|rather than|instead of|as opposed to)\b)"
    r"|,\s+(?=(?:and )?not\b)|,?\s+(?=and (?:not|no longer|never)\b)"
)
_STANCE = re.compile(
    r"(?P<against>\b(?:avoid|skip|exclude|omit|reject|refuse|dislike|hate|loathe|detest|despise)(?:s|d|ed|ped|ted)?\b"
    r"|\b(?:avoid|skipp|exclud|omitt|reject|refus|dislik|hat|loath|detest|despis)ing\b"
    r"|\b(?:allergic to|averse to|sick of|tired of|bored (?:of|by|with)|fed up|put off|turned off)\b"
    r"|\b(?:rather than|instead of|as opposed to|except|apart from|other than)\b"
    r"|\b(?:not|never|no longer|no|none|neither|nor|without|hardly|barely|cannot)\b|n't\b"
    r"|\b(?:stop|quit|drop|cancel|remove|delete|scrap)(?:s|d|ed|ped|led)?\b"
    r"|\b(?:stopp|quitt|dropp|cancel|cancell|remov|delet|scrapp)ing\b"
    r"|\b(?:used to|formerly|previously|gave up|given up|giving up|called off|lost interest|fell out of)\b"
    r"|\b(?:take|took|taken|taking|cross|crossed|strike|struck)\b[^.!?;]{0,20}?\boff\b)"
    r"|(?P<for>\b(?:like|love|enjoy|adore|prefer|appreciate|recommend|favou?rite)(?:s|d|ed|red)?\b"
    r"|\b(?:lik|lov|enjoy|ador|preferr|appreciat|recommend)ing\b"
    r"|\b(?:fan of|fond of|keen on|drawn to|interested in|into)\b)"
)
_NO_DENIAL = re.compile(r"\bany ?more\b|\bany longer\b|\bnot only\b|\bno doubt\b|\bno problem\b|\bwhy not\b")
_BESIDE = 2
"""Words between two stances that belong together, as in "not really a fan of"."""


class Spoken:
    """A text, split once and queried about many things."""

    def __init__(self, text: str) -> None:
        self.folded = fold_typeset(text)
        self._parts = tuple(_parts(text))

    def polarities(self, thing: str) -> frozenset[Polarity]:
        """How the text speaks of a thing, wherever it names it literally; nothing where it does not."""
        wanted = fold_typeset(thing)
        found = frozenset(_read(part, wanted) for part in self._parts if wanted and wanted in part)
        # A name that is itself split, such as one with a full stop, still counts as named.
        return found or (frozenset(("for",)) if wanted and wanted in self.folded else frozenset())


def polarities(thing: str, text: str) -> frozenset[Polarity]:
    """The same for a text that is queried once."""
    return Spoken(text).polarities(thing)


def _parts(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        yield from (part for part in _CONTRAST.split(fold_typeset(sentence)) if part)


def _read(part: str, thing: str) -> Polarity:
    before, _, after = part.partition(thing)
    stances = _stances(before)[-1:] or _stances(after)[:1]
    return "against" if stances == [-1] else "for"


def _stances(text: str) -> list[int]:
    """1 for, −1 against: one for each run of such words that stand together."""
    plain = _NO_DENIAL.sub(" ", text)
    found: list[int] = []
    end = -1
    for match in _STANCE.finditer(plain):
        sign = 1 if match["for"] else -1
        if found and len(plain[end : match.start()].split()) <= _BESIDE and "," not in plain[end : match.start()]:
            found[-1] *= sign
        else:
            found.append(sign)
        end = match.end()
    return found
