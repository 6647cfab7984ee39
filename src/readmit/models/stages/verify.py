"""Judging pairs (paper, "From a possible dependency to a confirmed invalidation").

One pair per request, with the original texts, their times and the returning use. An answer counts only with a
quote from each side that is found there; otherwise the verdict is *unsure*. A verdict can only take an item
out, so the worst that a misled model does here is to leave a suspicion standing or to withhold something.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import msgspec

from readmit.models.fence import MAX_CHARS, visible_text
from readmit.models.stages.checks import grounded, line, share
from readmit.models.stages.wording import Section, request
from readmit.models.structured import answer
from readmit.ports.models import Failure, Fault, Usage
from readmit.records.base import LONGEST_NAME
from readmit.records.canonical import digest, digest_of
from readmit.records.errors import ModelError
from readmit.records.verdicts import Answer, Pair, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.ports.models import Ask, Model

SINGLE = "verify@1"
MANY = "verify-many@1"
MAX_TOKENS = 512
"""The paper's budget for one verification."""
MOST_PAIRS = 32
"""Most pairs in one request."""
CALL_CHARS = 60_000
"""Most characters of record text in a request that judges several pairs."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A pair with everything its judgment rests on."""

    pair: Pair
    item_text: str
    evidence_text: str
    item_at: datetime | None = None
    evidence_at: datetime | None = None
    use: str = ""
    """The returning use, as verdicts name it. Empty: any use."""
    item_source: str = ""
    """The observation that the item was drawn from, where it says more than the item."""
    critical: bool = False
    """Whether the item supports a critical dependency: it is judged alone, and again if the verifier is told to."""


class Judgment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model says of one pair, in the order it should think."""

    premise: str
    item_quote: str
    evidence_quote: str
    answer: Answer
    confidence: float


class Numbered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The same for one of several pairs."""

    pair: int
    judgment: Judgment


class Judgments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model says of several pairs."""

    pairs: Annotated[list[Numbered], msgspec.Meta(max_length=MOST_PAIRS)]


@dataclass(frozen=True, kw_only=True)
class Verifier:
    """A way of judging pairs. What identifies it is part of every verdict and of every key."""

    model: Model
    second: Model | None = None
    """Asked as well about critical items; disagreement is *unsure*."""
    swap: bool = False
    """Ask about critical items again with the later text first; disagreement is *unsure*."""
    batch_size: int = 1
    """Pairs per request. Critical items are always judged alone."""
    max_chars: int = MAX_CHARS
    """A pair with a longer text is not asked about and is *unsure*: part of a text is no ground for a judgment."""
    max_tokens: int = MAX_TOKENS
    workspace: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.batch_size <= MOST_PAIRS:
            raise ModelError(f"batch_size: {self.batch_size} is not between 1 and {MOST_PAIRS}")
        if self.second is not None and self.second.name == self.model.name:
            raise ModelError(f"second: {self.second.name} is the first model as well; name another one")

    def verify(self, cases: Sequence[Case]) -> list[Verdict | Failure]:
        """One verdict or failure per case, in order. A failure settles nothing and may be asked again."""
        results: dict[int, Verdict | Failure] = {}
        alone: list[int] = []
        grouped: list[int] = []
        for at, case in enumerate(cases):
            if long := _too_long(case, self.max_chars):
                results[at] = self._unsure(case, long)
            else:
                (alone if self._alone(case) else grouped).append(at)
        results |= zip(alone, self._judged_alone([cases[at] for at in alone]), strict=True)
        results |= zip(grouped, self._judged_together([cases[at] for at in grouped]), strict=True)
        return [results[at] for at in range(len(cases))]

    def key(self, case: Case) -> str:
        """What a stored verdict is found by: who judged, by which prompt, which pair, use and texts, for whom."""
        texts = tuple(
            digest_of(text.encode("utf-8", "surrogatepass"))
            for text in (case.item_text, case.item_source, case.evidence_text)
        )
        return digest((self.workspace, self._model_name(case), self._prompt_name(case), case.pair, case.use, texts))

    def _alone(self, case: Case) -> bool:
        return case.critical or self.batch_size == 1

    def _model_name(self, case: Case) -> str:
        names = [self.model.name, self.second.name] if case.critical and self.second else [self.model.name]
        joined = " + ".join(names)
        return joined if len(joined) <= LONGEST_NAME else f"{joined[: LONGEST_NAME - 65]}…{digest(tuple(names))}"

    def _prompt_name(self, case: Case) -> str:
        if not self._alone(case):
            return MANY
        return f"{SINGLE}+swapped" if case.critical and self.swap else SINGLE

    def _judged_alone(self, cases: Sequence[Case]) -> Iterator[Verdict | Failure]:
        twice = [at for at, case in enumerate(cases) if case.critical and self.swap]
        asked = [*range(len(cases)), *twice]
        asks = [self._ask(case, swapped=False) for case in cases]
        asks += [self._ask(cases[at], swapped=True) for at in twice]
        said: list[list[Judgment | Failure]] = [[] for _ in cases]
        for at, one in zip(asked, answer(self.model, asks, Judgment), strict=True):
            said[at].append(one)
        if self.second is not None:
            asked = [at for at, case in enumerate(cases) if case.critical]
            asks = [self._ask(cases[at], swapped=False) for at in asked]
            for at, one in zip(asked, answer(self.second, asks, Judgment), strict=True):
                said[at].append(one)
        for case, own in zip(cases, said, strict=True):
            yield self._joined(case, own)

    def _ask(self, case: Case, *, swapped: bool) -> Ask:
        parts = [*_earlier(case, "earlier statement"), _later(case, "later observation")]
        return request(
            SINGLE,
            [*(reversed(parts) if swapped else parts), *_use(case)],
            workspace=self.workspace,
            max_tokens=self.max_tokens,
            max_chars=self.max_chars,
        )

    def _judged_together(self, cases: Sequence[Case]) -> Iterator[Verdict | Failure]:
        groups = list(_groups(cases, self.batch_size))
        for group, said in zip(groups, answer(self.model, [self._ask_many(g) for g in groups], Judgments), strict=True):
            for number, case in enumerate(group, start=1):
                yield said if isinstance(said, Failure) else self._picked(case, number, said)

    def _ask_many(self, group: Sequence[Case]) -> Ask:
        parts: list[Section] = []
        for number, case in enumerate(group, start=1):
            parts += _earlier(case, f"pair {number} earlier statement")
            parts.append(_later(case, f"pair {number} later observation"))
            parts += _use(case, f"pair {number} ")
        return request(
            MANY, parts, workspace=self.workspace, max_tokens=self.max_tokens * len(group), max_chars=self.max_chars
        )

    def _picked(self, case: Case, number: int, said: Judgments) -> Verdict | Failure:
        own = [one for one in said.pairs if one.pair == number]
        if len(own) != 1:
            message = f"the answer judges pair {number} {len(own)} times; once is required"
            return Failure(fault=Fault.MALFORMED, message=message, usage=Usage(stage="verify"))
        return self._checked(case, own[0].judgment)

    def _joined(self, case: Case, said: Sequence[Judgment | Failure]) -> Verdict | Failure:
        verdicts: list[Verdict] = []
        for one in said:
            if isinstance(one, Failure):
                return one
            verdicts.append(self._checked(case, one))
        if len({verdict.answer for verdict in verdicts}) > 1:
            return self._unsure(case, "asked again, the answers were " + ", ".join(one.answer for one in verdicts))
        return min(verdicts, key=lambda verdict: verdict.confidence)

    def _checked(self, case: Case, said: Judgment) -> Verdict:
        """A decided answer without both quotes is not a decision, in either direction."""
        item_quote = grounded(said.item_quote, case.item_text) or grounded(said.item_quote, case.item_source)
        evidence_quote = grounded(said.evidence_quote, case.evidence_text)
        sides = [("earlier", item_quote), ("later", evidence_quote)]
        missing = [side for side, quote in sides if not quote]
        counts = said.answer is Answer.UNSURE or not missing
        return Verdict(
            pair=case.pair,
            answer=said.answer if counts else Answer.UNSURE,
            confidence=share(said.confidence),
            item_quote=item_quote,
            evidence_quote=evidence_quote,
            premise=line(said.premise),
            use=case.use,
            model=self._model_name(case),
            prompt=self._prompt_name(case),
            note="" if counts else f"answered {said.answer}; quote not found in the {' and the '.join(missing)} text",
        )

    def _unsure(self, case: Case, note: str) -> Verdict:
        return Verdict(
            pair=case.pair,
            answer=Answer.UNSURE,
            confidence=share(0),
            use=case.use,
            model=self._model_name(case),
            prompt=self._prompt_name(case),
            note=note,
        )


def _earlier(case: Case, label: str) -> Iterator[Section]:
    yield Section(label, case.item_text, case.item_at)
    if case.item_source and case.item_source != case.item_text:
        yield Section(f"{label} source", case.item_source)


def _later(case: Case, label: str) -> Section:
    return Section(label, case.evidence_text, case.evidence_at)


def _use(case: Case, prefix: str = "") -> Iterator[Section]:
    if case.use:
        yield Section(f"{prefix}use", case.use)


def _too_long(case: Case, max_chars: int) -> str:
    named = (
        ("earlier statement", case.item_text),
        ("source of the earlier statement", case.item_source),
        ("later observation", case.evidence_text),
        ("use", case.use),
    )
    for name, text in named:
        # A hidden character is shown as nine at most.
        if len(text) * 9 > max_chars and (size := len(visible_text(text))) > max_chars:
            return f"not asked: the {name} has {size} characters, and at most {max_chars} are judged"
    return ""


def _groups(cases: Sequence[Case], size: int) -> Iterator[list[Case]]:
    group: list[Case] = []
    chars = 0
    for case in cases:
        own = len(case.item_text) + len(case.item_source) + len(case.evidence_text) + len(case.use)
        if group and (len(group) == size or chars + own > CALL_CHARS):
            yield group
            group, chars = [], 0
        group.append(case)
        chars += own
    if group:
        yield group
