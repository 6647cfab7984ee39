"""Classifies a sentence: a statement, a question, or only a greeting, thanks or a request for attention."""

from __future__ import annotations

import re

from readmit.text.english import common_words, straight, word_list

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
# A verb before its subject makes a question. "Do it" and "have a rest" are none: what may follow depends on the verb.
_WHO = r"(?:i|you|he|she|we|they)"
_THING = r"(?:it|this|that|these|those|there|the|my|your|his|her|our|their|any|anyone|anybody|anything)"
_BE = r"(?:is|are|was|were|does|did|can|could|may|might|must|shall|should|will|would)(?:n't)?|can't|won't"
_INVERTED = rf"(?:(?:am|{_BE}|(?:do|have|has|had)(?:n't)?)\s+{_WHO}|(?:{_BE})\s+{_THING})\b"
# Questions without a question mark.
_QUESTION = re.compile(
    r"(?:(?:and|but|so|or|well|ok|okay|also|hey|hi|hello|please)\b[,.!]?\s+)*"
    r"(?:(?:who|what|when|where|why|how|which|whose|whom)"
    rf"(?:'s\b|'re\b|\s+(?:am|{_BE}|do|have|has|had)\b|(?:\s+(?!{_WHO}\b)\w+){{1,3}}?\s+{_INVERTED})|{_INVERTED})",
    re.IGNORECASE,
)
_CLOSING = "\"')]}*_ \t"
_COURTESY = frozenset(word_list("courtesy"))


def asks(sentence: str) -> bool:
    """Whether a sentence is a question."""
    said = straight(sentence).strip()
    return said.rstrip(_CLOSING).endswith(("?", "？")) or _QUESTION.match(said.lstrip("\"'([*_ ")) is not None  # noqa: RUF001


def is_courtesy(sentence: str) -> bool:
    """Whether a sentence is only greetings, thanks and requests for help."""
    words = _WORD.findall(straight(sentence).casefold())
    return all(word in _COURTESY or word in common_words() for word in words)


def states(sentence: str) -> bool:
    """Whether a sentence says something about the world."""
    return not asks(sentence) and not is_courtesy(sentence)
