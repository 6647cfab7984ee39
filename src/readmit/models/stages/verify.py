"""Judging pairs (paper, "From a possible dependency to a confirmed invalidation").

A request shows several earlier statements and several later observations, with the original texts and their times, and
asks about each pair: how likely is it that relying on the statement now would be a mistake? A pair that the answer
leaves out is asked about once more and then fails: it is never taken for compatible. A score against a statement counts
only if a quote from each side is found; otherwise the verdict is *unsure*. A verdict can only take an item out, so a
misled model can at worst leave an item as it was or withhold it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from math import isqrt
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from readmit.models.fence import MAX_CHARS, mark_for, visible_text
from readmit.models.protocols import Failure, Fault, Usage
from readmit.models.stages.checks import grounded, line, share
from readmit.models.stages.prompt_files import Section, request
from readmit.models.structured import ask_typed
from readmit.records.base import LONGEST_NAME, utc
from readmit.records.canonical import digest, digest_of
from readmit.records.error_types import ModelError
from readmit.records.policy import Policy
from readmit.records.verdicts import Answer, Pair, Verdict, in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from decimal import Decimal

    from readmit.models.protocols import Ask, Model

PROMPT = "verify@3"
MAX_TOKENS = 512
"""The paper's budget for one verification: here, for the judgments of one statement."""
ANSWER_TOKENS = 8_192
"""Most tokens of an answer about several statements, unless one statement may have more."""
PAIR_TOKENS = 4
"""Tokens of an answer for each further pair."""
MOST_PAIRS = 100
"""Most pairs in one request."""
CALL_CHARS = 60_000
"""Most characters of record text in a request about several pairs."""
PROMPT_CHARS = 4_000
"""About as many characters of instructions are in a request, and of numbers and dates."""


UNJUDGED = Failure(
    fault=Fault.MALFORMED,
    message="the answer does not judge the pair exactly once, also when asked again",
    usage=Usage(stage="verify"),
)
"""The failure of an answer in which the pair does not stand, or stands twice."""


class PairCase(msgspec.Struct, frozen=True, kw_only=True):
    """A pair with the texts and moments that a judgment needs."""

    pair: Pair
    item_text: str
    evidence_text: str
    item_at: datetime | None = None
    evidence_at: datetime | None = None
    item_source: str = ""
    """The observation that the item was drawn from, if it says more than the item."""
    critical: bool = False
    """Whether the item supports a critical dependency: its verdict is confirmed if configured."""

    @property
    def statement(self) -> _Shown:
        return _Shown(self.item_text, self.item_at, "" if self.item_source == self.item_text else self.item_source)

    @property
    def observation(self) -> _Shown:
        return _Shown(self.evidence_text, self.evidence_at)


class _Shown(NamedTuple):
    """A statement or an observation as a request shows it."""

    text: str
    at: datetime | None
    source: str = ""

    @property
    def chars(self) -> int:
        return len(self.text) + len(self.source)


class Judgment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model's answer about one pair, in the order of its reasoning."""

    statement: int
    observation: int = 1
    item_quote: str
    evidence_quote: str
    premise: str
    # A score on another scale is asked for again, not clamped: 3 of 10 would become 1.
    stale: Annotated[float, msgspec.Meta(ge=0, le=1)]


class Untouched(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The observations that have no bearing on a statement."""

    statement: int
    observations: Annotated[list[int], msgspec.Meta(max_length=MOST_PAIRS)]


class Judgments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer to one request."""

    judgments: Annotated[list[Judgment], msgspec.Meta(max_length=MOST_PAIRS)]
    untouched: Annotated[list[Untouched], msgspec.Meta(max_length=MOST_PAIRS)] = []

    def about(self, statement: int, observation: int) -> Judgment | None:
        """The answer about one pair. One that is not there exactly once is none."""
        own = [one for one in self.judgments if (one.statement, one.observation) == (statement, observation)]
        own += [
            Judgment(
                statement=statement, observation=observation, item_quote="", evidence_quote="", premise="", stale=0
            )
            for one in self.untouched
            for number in one.observations
            if (one.statement, number) == (statement, observation)
        ]
        return own[0] if len(own) == 1 else None


class _Block(msgspec.Struct, frozen=True):
    """The pairs of one request."""

    statements: tuple[_Shown, ...]
    observations: tuple[_Shown, ...]
    cases: Mapping[tuple[int, int], tuple[int, ...]]
    """By the numbers of statement and observation, from 1: the cases that this pair answers."""

    @property
    def chars(self) -> int:
        """The length of the request, the instructions included."""
        return PROMPT_CHARS + sum(one.chars for one in (*self.statements, *self.observations))

    def sections(self, *, swapped: bool) -> list[Section]:
        code = mark_for([visible_text(text) for one in (*self.statements, *self.observations) for text in one[::2]])
        earlier = Section("earlier statements", "\n".join(_numbered("statement", self.statements, code)))
        later = Section("later observations", "\n".join(_numbered("observation", self.observations, code)))
        shown = [later, earlier] if swapped else [earlier, later]
        if len(self.cases) == len(self.statements) * len(self.observations):
            return shown
        beside: dict[int, list[str]] = {}
        for statement, observation in self.cases:
            beside.setdefault(statement, []).append(str(observation))
        listed = (f"statement {number}: observations {', '.join(own)}" for number, own in sorted(beside.items()))
        return [*shown, Section("pairs", "\n".join(listed))]


@dataclass(frozen=True, kw_only=True)
class Verifier:
    """A configuration for judging pairs. Its identity is part of every verdict and of every key."""

    model: Model
    second: Model | None = None
    """A second verifier for critical items; disagreement is *unsure*."""
    swap: bool = False
    """Ask about critical items again with the later texts first; disagreement is *unsure*."""
    per_call: int = MOST_PAIRS
    """Most pairs per request."""
    suspect_at: Decimal = Policy().evidence.suspect_at
    """From this score on, a judgment without both quotes is *unsure*."""
    max_chars: int = MAX_CHARS
    """A pair with a longer text is *unsure* without a request: part of a text is not enough for a judgment."""
    max_tokens: int = MAX_TOKENS
    """Most tokens of the answer about one statement."""
    workspace: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.per_call <= MOST_PAIRS:
            raise ModelError(f"per_call: {self.per_call} is not between 1 and {MOST_PAIRS}")
        if self.second is not None and self.second.name == self.model.name:
            raise ModelError(f"second: {self.second.name} is the first model as well; name another one")

    def verify(self, cases: Sequence[PairCase]) -> list[Verdict | Failure]:
        """One verdict or failure per case, in order. A failure leaves the pair open and may be repeated."""
        long = {at: why for at, case in enumerate(cases) if (why := _too_long(case, self.max_chars))}
        shown = [at for at in range(len(cases)) if at not in long]
        vital = [at for at in shown if cases[at].critical]
        said: dict[int, list[Judgment | Failure]] = {at: [] for at in shown}
        straight, swapped = self._asked(self.model, cases, shown, vital if self.swap else ())
        second = self._asked(self.second, cases, vital)[0] if self.second is not None and vital else {}
        for answers in (straight, swapped, second):
            for at, one in answers.items():
                said[at].append(one)
        return [
            self._unsure(case, long[at]) if at in long else self._joined(case, said[at])
            for at, case in enumerate(cases)
        ]

    def _asked(
        self, model: Model, cases: Sequence[PairCase], straight: Sequence[int], swapped: Sequence[int] = ()
    ) -> tuple[dict[int, Judgment | Failure], dict[int, Judgment | Failure]]:
        """The answers by case, asked in both orders at once. Pairs that an answer leaves out are asked once more."""
        found: tuple[dict[int, Judgment | Failure], ...] = ({}, {})
        left: list[list[int]] = [list(straight), list(swapped)]
        for _ in range(2):
            blocks = [(turned, one) for turned in (False, True) for one in self._blocks(left[turned], cases)]
            asks = [self._ask(one, swapped=turned) for turned, one in blocks]
            for (turned, block), said in zip(blocks, ask_typed(model, asks, Judgments), strict=True):
                for place, own in block.cases.items():
                    one = said if isinstance(said, Failure) else said.about(*place) or UNJUDGED
                    found[turned].update(dict.fromkeys(own, one))
            left = [[at for at in own if found[turned][at] is UNJUDGED] for turned, own in enumerate(left)]
        return found[0], found[1]

    def key(self, case: PairCase) -> str:
        """The key of a stored verdict: model, prompt, pair, texts and workspace."""
        texts = tuple(
            digest_of(text.encode("utf-8", "surrogatepass"))
            for text in (case.item_text, case.item_source, case.evidence_text)
        )
        return digest((self.workspace, self._model_name(case), self._prompt_name(case), case.pair, texts))

    def _model_name(self, case: PairCase) -> str:
        names = [self.model.name, self.second.name] if case.critical and self.second else [self.model.name]
        joined = " + ".join(names)
        return joined if len(joined) <= LONGEST_NAME else f"{joined[: LONGEST_NAME - 65]}…{digest(tuple(names))}"

    def _prompt_name(self, case: PairCase) -> str:
        return f"{PROMPT}+swapped" if case.critical and self.swap else PROMPT

    def _ask(self, block: _Block, *, swapped: bool) -> Ask:
        tokens = self.max_tokens * len(block.statements) + PAIR_TOKENS * (len(block.cases) - 1)
        return request(
            PROMPT,
            block.sections(swapped=swapped),
            workspace=self.workspace,
            max_tokens=min(tokens, max(self.max_tokens, ANSWER_TOKENS)),
            # Longer texts were left out before, and ``_blocks`` bounds their sum.
            max_chars=sys.maxsize,
        )

    def _blocks(self, chosen: Iterable[int], cases: Sequence[PairCase]) -> Iterable[_Block]:
        """The cases in requests: some statements beside some observations, each text once per request."""
        beside: dict[_Shown, dict[_Shown, list[int]]] = {}
        for at in chosen:
            beside.setdefault(cases[at].statement, {}).setdefault(cases[at].observation, []).append(at)
        # Square requests repeat no text more often than another; where pairs are sparse, statements with all of their
        # observations make fewer.
        ways = [list(self._packed(beside, side)) for side in (isqrt(self.per_call), self.per_call)]
        return min(ways, key=lambda blocks: sum(one.chars for one in blocks))

    def _packed(self, beside: Mapping[_Shown, Mapping[_Shown, list[int]]], side: int) -> Iterator[_Block]:
        """Requests in which a statement counts for ``side`` pairs at most."""
        weights = {statement: min(len(own), side) for statement, own in beside.items()}
        for statements in _parts(weights, self.per_call, CALL_CHARS // 2):
            later = Counter(one for statement in statements for one in beside[statement])
            room = CALL_CHARS - sum(one.chars for one in statements)
            for observations in _parts(later, self.per_call, room):
                own = [one for one in statements if not beside[one].keys().isdisjoint(observations)]
                yield _Block(
                    tuple(own),
                    tuple(observations),
                    {
                        (row, column): tuple(beside[statement][seen])
                        for row, statement in enumerate(own, start=1)
                        for column, seen in enumerate(observations, start=1)
                        if seen in beside[statement]
                    },
                )

    def _joined(self, case: PairCase, said: Sequence[Judgment | Failure]) -> Verdict | Failure:
        """One verdict from one or several judgments of a pair: the least sure of those that agree."""
        verdicts: list[Verdict] = []
        for one in said:
            if isinstance(one, Failure):
                return one
            verdict = verdict_of(case, one, suspect_at=self.suspect_at)
            verdicts.append(
                msgspec.structs.replace(verdict, model=self._model_name(case), prompt=self._prompt_name(case))
            )
        if len({verdict.answer for verdict in verdicts}) > 1:
            why = ", ".join(f"{one.answer} ({one.stale})" for one in verdicts)
            return self._unsure(case, f"asked again, the answers were {why}")
        return min(verdicts, key=lambda verdict: verdict.confidence)

    def _unsure(self, case: PairCase, note: str) -> Verdict:
        return Verdict(
            pair=case.pair,
            answer=Answer.UNSURE,
            confidence=share(0),
            model=self._model_name(case),
            prompt=self._prompt_name(case),
            note=note,
        )


def verdict_of(case: PairCase, said: Judgment, *, suspect_at: Decimal) -> Verdict:
    """A judgment as a verdict. One against the statement is *unsure* without both quotes."""
    stale = share(said.stale)
    item_quote = grounded(said.item_quote, case.item_text) or grounded(said.item_quote, case.item_source)
    evidence_quote = grounded(said.evidence_quote, case.evidence_text)
    missing = [side for side, quote in (("earlier", item_quote), ("later", evidence_quote)) if not quote]
    counts = stale < suspect_at or not missing
    likelier, confidence = in_words(stale)
    return Verdict(
        pair=case.pair,
        answer=likelier if counts else Answer.UNSURE,
        confidence=confidence,
        item_quote=item_quote,
        evidence_quote=evidence_quote,
        premise=line(said.premise),
        stale=stale,
        note="" if counts else f"scored {stale}; quote not found in the {' and the '.join(missing)} text",
    )


def _numbered(label: str, shown: Iterable[_Shown], code: str) -> Iterator[str]:
    """Numbered texts, and the sources of statements, each text once. No text contains the code, so none forges one."""
    sources: dict[str, list[str]] = {}
    for number, one in zip(count(1), shown):
        at = "" if one.at is None else f", of {utc(one.at).isoformat(timespec='minutes')}"
        yield f"[{code}] {label} {number}{at}\n{one.text}"
        if one.source:
            sources.setdefault(one.source, []).append(str(number))
    for text, numbers in sources.items():
        yield f"[{code}] source of {label} {' and '.join(numbers)}\n{text}"


def _too_long(case: PairCase, max_chars: int) -> str:
    named = (
        ("earlier statement", case.item_text),
        ("source of the earlier statement", case.item_source),
        ("later observation", case.evidence_text),
    )
    for name, text in named:
        # A hidden character is shown as nine at most.
        if len(text) * 9 > max_chars and (size := len(visible_text(text))) > max_chars:
            return f"not asked: the {name} has {size} characters, and at most {max_chars} are judged"
    return ""


def _parts(weights: Mapping[_Shown, int], most: int, chars: int) -> Iterator[list[_Shown]]:
    """Runs of texts that together weigh so much at most, and have so many characters where there are several."""
    part: list[_Shown] = []
    for one, weight in weights.items():
        whole = [*part, one]
        if part and (sum(map(weights.__getitem__, part)) + weight > most or sum(two.chars for two in whole) > chars):
            yield part
            part = []
        part.append(one)
    if part:
        yield part
