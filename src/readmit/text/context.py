"""The context of a sentence: neighbors that change its meaning, and clauses that stand without the rest.

A sentence can be denied, attributed or invented by its neighbor ("I had a dream. Account 666 is ours."). And a clause
means less alone than in its sentence, unless it is one of several that "and", "but" or a semicolon join.

The words are declared in ``word_lists.txt``, by what they do. Nothing is taken from a benchmark.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import dropwhile, pairwise
from typing import TYPE_CHECKING, NamedTuple

from readmit.text.english import common_words, sentences, straight, word_list
from readmit.text.sayings import asks, is_courtesy
from readmit.text.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_CLAUSES = 12
"""Most clauses of a sentence that are compared one by one; of a longer one, only the whole is."""
_LONGEST_VERDICT = 7
_LONGEST_FRAGMENT = 2
"""Words of a sentence that says too little by itself: it is about its neighbor."""
_LONGEST_AFTERTHOUGHT = 5
"""Words of a joined clause that may say of the clause before that it is over, or made up."""
_QUOTATION = str.maketrans(dict.fromkeys("„‟«»‹›「」『』", '"'))  # noqa: RUF001
_FENCE = "```"
# An apostrophe before a word opens a quotation; one inside or behind a word does so as rarely as it closes one.
_SINGLE = re.compile(r"(?<![^\W_])'(?=[^\W_])")
_SINGLE_END = re.compile(r"(?<=[^\s])'(?![^\W_])")
_BRACKET, _BRACKET_END = re.compile(r"(?<![:;=-])[(\[]"), re.compile(r"[)\]]")
_JOINT = re.compile(r"(?P<pause>[,;])?\s+(?:and|but)\s+|;\s+", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_UNCHECKED = re.compile(r"\[\s?\]|☐")
_BULLET = re.compile(r"(?:[-*•>–]|\(?\d{1,3}[.)])\s")
# What sets a part of a sentence over the rest: a label, a pause, a quotation, a bracket, a dash.
_SETTING = re.compile(r"[:,](?!\d)|[\"()\[\]{}…]|\s-+\s")
_LABEL = re.compile(r":(?!\d)")
_LIST = re.compile(rf":\s+{_BULLET.pattern}|:\s*$")
_STOPS = frozenset(".!?…。！？\"')")  # noqa: RUF001
_OPENERS = re.compile(rf"(?:(?:{'|'.join(word_list('opening'))})(?![\w'-])[,!.]?\s*)+", re.IGNORECASE)


def _stems(*names: str) -> frozenset[str]:
    return frozenset(one.stem for name in names for word in word_list(name) for one in tokens(word))


# Words that reverse a sentence, or make it less than the speaker's own plain statement. For other languages, only plain
# denials.
_UNTRUE = _stems("denying", "reporting", "inventing")
_MARKING = _UNTRUE | _stems("negating")
_TURNING = _MARKING | _stems("turning", "turning in other languages")
_FRAMING, _JUDGING = _stems("framing"), _stems("judging")
_ANNOUNCING = frozenset(word_list("announcing"))
# A sentence that begins with one of these takes back the one before it, or warns of the one behind it.
_TAKING_BACK = tuple(f"{phrase.replace('_', ' ')} " for phrase in word_list("taking back"))
_BEFORE_TAKING_BACK = frozenset((*word_list("opening"), *word_list("courtesy"), *word_list("hesitating")))
_ENDING, _HANDLING = _stems("ending"), _stems("handling")
_AT_LAST = [["this"], ["these"], ["following"], ["below"], ["follows"]]
_ANAPHOR = re.compile(
    rf"\b(?:the|this|that|these|those)\s+(?:{'|'.join((*word_list('reporting'), *word_list('denying')))})s?\b",
    re.IGNORECASE,
)
# What speaks of another sentence, or says that another one is quoted.
_OF_TEXT = re.compile(
    r"\b(?:next|following|previous|preceding|last|first|second)\s+(?:sentence|line|paragraph|statement|claim|message)s?\b"
    r"|\b(?:sentence|line|paragraph|statement|claim|message)s?\s+(?:below|above|under)\b"
    r"|\bunquote\b|\bend\s+(?:of\s+)?quote\b|\b(?:his|her|their|\w+'s)\s+words\b|^\W*source:",
    re.IGNORECASE,
)
# The head of a letter that was pasted, and the line above one.
_LETTER = re.compile(
    r"(?:^|\s)From:\s.{0,200}?\s(?:Sent|Date|To|Subject):\s|-{3,}\s*(?:Original|Forwarded)\s+message", re.IGNORECASE
)
_LEANING = frozenset((*word_list("referring"), *word_list("connecting")))
_DEMONSTRATIVE = common_words("demonstratives")
_POINTING = _DEMONSTRATIVE | {"it", "which", "all"}
_SUBJECT = common_words("articles", "personal pronouns", "possessives", "demonstratives", "quantities", "indefinites")
_GOVERNING = common_words("prepositions", "conjunctions", "questions")


def meaning_marks(text: str) -> Counter[str]:
    """The words of a text that deny, doubt, condition, defer, end, report or invent, and its quotation marks."""
    plain = _quoted(text)
    found = Counter(one.stem for one in tokens(plain) if one.stem in _TURNING)
    found['"'] = plain.count('"') + len(_SINGLE.findall(plain))
    # Not done yet.
    found["[ ]"] = len(_UNCHECKED.findall(plain))
    return +found


def _quoted(text: str) -> str:
    """The text with one kind of quotation mark. A fence around what somebody pasted is one too."""
    return straight(text).translate(_QUOTATION).replace(_FENCE, '"')


def units(text: str) -> Iterator[tuple[int, int]]:
    """The beginning and the end of each sentence of a flat text. A quotation or a bracket is never cut."""
    begun, is_open = 0, _Open()
    for start, end in sentences(text):
        is_open = is_open.after(text[start:end])
        if not is_open:
            yield begun, end
            begun, is_open = end, _Open()
    if begun < len(text):
        yield begun, len(text)


def clauses(sentence: str) -> Iterator[str]:
    """The sentence, and each run of its joined clauses that leaves out nothing but plain clauses or an opening."""
    yield sentence
    opened = _OPENERS.match(sentence)
    if opened is not None:
        sentence = sentence[opened.end() :]
        yield sentence
    joints = list(_JOINT.finditer(sentence))[:MOST_CLAUSES]
    if not joints or len(joints) == MOST_CLAUSES:
        return
    begins = [0, *(one.end() for one in joints if _is_plain(sentence[: one.start()]) and _opens_clause(one))]
    ends = [*(one.start() for one in joints if _is_plain(rest := sentence[one.end() :]) and not _points_back(rest))]
    ends.append(len(sentence))
    yield from (sentence[begin:end] for begin in begins for end in ends if begin < end)


def leans(sentence: str) -> bool:
    """Whether a sentence begins with a pronoun that stands for something else, a connective or a bullet."""
    first = _WORD.search(sentence)
    return _BULLET.match(sentence) is not None or (first is not None and straight(first[0]).casefold() in _LEANING)


def is_tied(before: str, after: str) -> bool:
    """Whether one of two neighboring sentences denies, attributes or invents what the other says."""
    return (
        (leans(after) and _is_marked(before))
        or any(_is_verdict(one) or _is_fragment(one) or _OF_TEXT.search(straight(one)) for one in (before, after))
        or _judges(after)
    )


def frames(sentence: str) -> bool:
    """Whether a sentence introduces, denies, attributes or invents what the rest of its paragraph says."""
    if _LIST.search(sentence) or _FRAMING.intersection(_words_of(sentence)):
        return True
    words = _WORD.findall(sentence.casefold())
    announced = _LABEL.search(sentence) is not None or not _ANNOUNCING.isdisjoint(words)
    return announced and (words[-1:] in _AT_LAST or not (_UNTRUE | _HANDLING).isdisjoint(_words_of(sentence)))


def pastes(sentence: str) -> bool:
    """Whether a sentence holds the head of a letter: its sender says what follows."""
    return _LETTER.search(sentence) is not None


def heads(before: str, paragraph: str) -> bool:
    """Whether the last sentence of a paragraph is about the next one: it ends in a colon, or heads a list."""
    ending = before.rstrip()[-1:]
    return ending == ":" or (ending not in _STOPS and _BULLET.match(paragraph) is not None)


@lru_cache(maxsize=4096)
def _words_of(sentence: str) -> tuple[str, ...]:
    return tuple(one.stem for one in tokens(sentence))


def _first_word(sentence: str) -> str:
    first = _WORD.search(straight(sentence))
    # "That's" is "that".
    return "" if first is None else first[0].casefold().partition("'")[0]


def _is_marked(sentence: str) -> bool:
    return any(one in _MARKING for one in _words_of(sentence))


def _is_verdict(sentence: str) -> bool:
    """Whether a sentence is only about whether another one is true: "Not!", "I don't think so.", "Just kidding."."""
    if _takes_back(sentence):
        return True
    found = _words_of(sentence)
    if len(found) > _LONGEST_VERDICT or _TURNING.isdisjoint(found):
        return False
    return not _FRAMING.isdisjoint(found) or all(
        one in _TURNING or one in _JUDGING or one in common_words() or one in _AUXILIARY for one in found
    )


def _takes_back(sentence: str) -> bool:
    """Whether a sentence cancels another one: "Scratch that.", "Sorry, wrong chat.", "No, the other way round."."""
    words = _WORD.findall(straight(sentence).casefold())
    said = f"{' '.join(dropwhile(_BEFORE_TAKING_BACK.__contains__, words))} "
    return said.startswith(_TAKING_BACK)


def _judges(after: str) -> bool:
    """Whether a sentence points at another one and says of it that it is true, untrue, reported or invented."""
    plain = straight(after)
    if _ANAPHOR.search(plain) is not None:
        return True
    # "That's" is "that", and in "says that" it points at nothing.
    words = [word.partition("'")[0] for word in _WORD.findall(plain.casefold())]
    pointing = {*words[:1], *words[-1:]} & _POINTING
    if len(words) <= _LONGEST_VERDICT:
        pointing |= {word for before, word in pairwise(words) if word in _DEMONSTRATIVE and not _is_marked(before)}
    return bool(pointing) and not (_UNTRUE | _JUDGING | _ENDING).isdisjoint(_words_of(after))


def _is_fragment(sentence: str) -> bool:
    """Whether a sentence is one or two words and no courtesy: "Balderdash!", "End quote.", "Really?"."""
    words = _WORD.findall(sentence)
    return 0 < len(words) <= _LONGEST_FRAGMENT and (asks(sentence) or not is_courtesy(sentence))


def _points_back(clause: str) -> bool:
    """Whether a joined clause is short and points at the one before: "and that is over", "; I made it up"."""
    words = [word.partition("'")[0] for word in _WORD.findall(straight(clause).casefold())]
    return len(words) <= _LONGEST_AFTERTHOUGHT and not _POINTING.isdisjoint(words)


_AUXILIARY = frozenset({"be", "<self>", "<own>"})


class _Open(NamedTuple):
    """How many quotations and brackets a text opens and does not close."""

    double: int = 0
    single: int = 0
    brackets: int = 0

    def __bool__(self) -> bool:
        return self.double % 2 == 1 or self.single > 0 or self.brackets > 0

    def after(self, sentence: str) -> _Open:
        plain = _quoted(sentence)
        return _Open(
            self.double + plain.count('"'),
            self.single + len(_SINGLE.findall(plain)) - len(_SINGLE_END.findall(plain)),
            self.brackets + len(_BRACKET.findall(plain)) - len(_BRACKET_END.findall(plain)),
        )


def _is_plain(part: str) -> bool:
    """Whether an omitted clause leaves the meaning of the others as it is."""
    said = straight(part).strip(" ,;.!")
    return _SETTING.search(said) is None and len(_WORD.findall(said)) > 1 and _first_word(part) not in _GOVERNING


def _opens_clause(joint: re.Match[str]) -> bool:
    """Whether the following words are a clause by themselves: after a pause, or with a subject of their own."""
    first = _WORD.match(joint.string, joint.end())
    if joint["pause"] or ";" in joint[0] or first is None:
        return True
    return first[0][0].isupper() or _first_word(first[0]) in _SUBJECT
