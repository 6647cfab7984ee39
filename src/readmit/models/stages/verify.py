"""Judging pairs (paper, "From a possible dependency to a confirmed invalidation").

A request shows one later observation and one or several earlier statements, with the original texts, their times and
the returning use, and asks for one score each: how likely is it that relying on the statement now would be a mistake? A
score against a statement counts only if a quote from each side is found; otherwise the verdict is *unsure*. A verdict
can only take an item out, so a misled model can at worst leave an item as it was or withhold it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import msgspec

from readmit.models.fence import MAX_CHARS, visible_text
from readmit.models.protocols import Failure, Fault, Usage
from readmit.models.stages.checks import grounded, line, share
from readmit.models.stages.prompt_files import Section, request
from readmit.models.structured import ask_typed
from readmit.records.base import LONGEST_NAME
from readmit.records.canonical import digest, digest_of
from readmit.records.error_types import ModelError
from readmit.records.policy import Policy
from readmit.records.verdicts import Answer, Pair, Verdict, in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from decimal import Decimal

    from readmit.models.protocols import Ask, Model

PROMPT = "verify@2"
MAX_TOKENS = 512
"""The paper's budget for one verification."""
MOST_STATEMENTS = 32
"""Most earlier statements in one request."""
CALL_CHARS = 60_000
"""Most characters of record text in a request that judges several statements."""


class PairCase(msgspec.Struct, frozen=True, kw_only=True):
    """A pair with the texts, moments and use that a judgment needs."""

    pair: Pair
    item_text: str
    evidence_text: str
    item_at: datetime | None = None
    evidence_at: datetime | None = None
    use: str = ""
    """The returning use, as verdicts name it. Empty: any use."""
    item_source: str = ""
    """The observation that the item was drawn from, if it says more than the item."""
    critical: bool = False
    """Whether the item supports a critical dependency: it is judged alone, and confirmed if configured."""


class Judgment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer about one earlier statement, in the order of its reasoning."""

    statement: int
    item_quote: str
    evidence_quote: str
    premise: str
    # A score on another scale is asked for again, not clamped: 3 of 10 would become 1.
    stale: Annotated[float, msgspec.Meta(ge=0, le=1)]


class Judgments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer to one request."""

    judgments: Annotated[list[Judgment], msgspec.Meta(max_length=MOST_STATEMENTS)]


@dataclass(frozen=True, kw_only=True)
class Verifier:
    """A configuration for judging pairs. Its identity is part of every verdict and of every key."""

    model: Model
    second: Model | None = None
    """A second verifier for critical items; disagreement is *unsure*."""
    swap: bool = False
    """Ask about critical items again with the later text first; disagreement is *unsure*."""
    batch_size: int = 1
    """Most earlier statements per request, beside one later observation. Critical items are always judged alone."""
    suspect_at: Decimal = Policy().suspect_at
    """From this score on, a judgment without both quotes is *unsure*."""
    max_chars: int = MAX_CHARS
    """A pair with a longer text is *unsure* without a request: part of a text is not enough for a judgment."""
    max_tokens: int = MAX_TOKENS
    """Of the answer about one statement."""
    workspace: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.batch_size <= MOST_STATEMENTS:
            raise ModelError(f"batch_size: {self.batch_size} is not between 1 and {MOST_STATEMENTS}")
        if self.second is not None and self.second.name == self.model.name:
            raise ModelError(f"second: {self.second.name} is the first model as well; name another one")

    def verify(self, cases: Sequence[PairCase]) -> list[Verdict | Failure]:
        """One verdict or failure per case, in order. A failure leaves the pair open and may be repeated."""
        long = {at: why for at, case in enumerate(cases) if (why := _too_long(case, self.max_chars))}
        shown = [at for at in range(len(cases)) if at not in long]
        vital = [[at] for at in shown if cases[at].critical]
        others = _groups([at for at in shown if not cases[at].critical], cases, self.batch_size)
        straight = sorted([*vital, *others])
        swapped = vital if self.swap else []
        said: dict[int, list[Judgment | Failure]] = {at: [] for at in shown}
        asks = [self._ask([cases[at] for at in group], swapped=False) for group in straight]
        asks += [self._ask([cases[at] for at in group], swapped=True) for group in swapped]
        _hand_out(ask_typed(self.model, asks, Judgments), [*straight, *swapped], said)
        if self.second is not None:
            asks = [self._ask([cases[at] for at in group], swapped=False) for group in vital]
            _hand_out(ask_typed(self.second, asks, Judgments), vital, said)
        return [
            self._unsure(case, long[at]) if at in long else self._joined(case, said[at])
            for at, case in enumerate(cases)
        ]

    def key(self, case: PairCase) -> str:
        """The key of a stored verdict: model, prompt, pair, use, texts and workspace."""
        texts = tuple(
            digest_of(text.encode("utf-8", "surrogatepass"))
            for text in (case.item_text, case.item_source, case.evidence_text)
        )
        return digest((self.workspace, self._model_name(case), self._prompt_name(case), case.pair, case.use, texts))

    def _model_name(self, case: PairCase) -> str:
        names = [self.model.name, self.second.name] if case.critical and self.second else [self.model.name]
        joined = " + ".join(names)
        return joined if len(joined) <= LONGEST_NAME else f"{joined[: LONGEST_NAME - 65]}…{digest(tuple(names))}"

    def _prompt_name(self, case: PairCase) -> str:
        return f"{PROMPT}+swapped" if case.critical and self.swap else PROMPT

    def _ask(self, group: Sequence[PairCase], *, swapped: bool) -> Ask:
        earlier = list(_earlier(group))
        later = Section("later observation", group[0].evidence_text, group[0].evidence_at)
        use = [Section("use", group[0].use)] if group[0].use else []
        return request(
            PROMPT,
            [later, *earlier, *use] if swapped else [*earlier, later, *use],
            workspace=self.workspace,
            max_tokens=self.max_tokens * len(group),
            max_chars=self.max_chars,
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
            use=case.use,
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
        use=case.use,
        stale=stale,
        note="" if counts else f"scored {stale}; quote not found in the {' and the '.join(missing)} text",
    )


def _hand_out(
    answers: Iterable[Judgments | Failure], groups: Iterable[Sequence[int]], said: dict[int, list[Judgment | Failure]]
) -> None:
    """Assign each case the judgment of its statement."""
    for group, one in zip(groups, answers, strict=True):
        for number, at in enumerate(group, start=1):
            said[at].append(one if isinstance(one, Failure) else _picked(one, number))


def _picked(said: Judgments, number: int) -> Judgment | Failure:
    own = [one for one in said.judgments if one.statement == number]
    if len(own) == 1:
        return own[0]
    message = f"the answer judges statement {number} {len(own)} times; once is required"
    return Failure(fault=Fault.MALFORMED, message=message, usage=Usage(stage="verify"))


def _earlier(group: Sequence[PairCase]) -> Iterator[Section]:
    """The numbered statements and their sources, each text once."""
    sources: dict[str, list[str]] = {}
    for number, case in enumerate(group, start=1):
        yield Section(f"earlier statement {number}", case.item_text, case.item_at)
        if case.item_source and case.item_source != case.item_text:
            sources.setdefault(case.item_source, []).append(str(number))
    for text, numbers in sources.items():
        yield Section(f"source of earlier statement {' and '.join(numbers)}", text)


def _too_long(case: PairCase, max_chars: int) -> str:
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


def _groups(chosen: Iterable[int], cases: Sequence[PairCase], size: int) -> Iterator[list[int]]:
    """Cases about the same observation and use, as many per request as fit."""
    shared: dict[tuple[object, ...], list[int]] = {}
    for at in chosen:
        case = cases[at]
        shared.setdefault((case.pair.evidence, case.evidence_text, case.evidence_at, case.use), []).append(at)
    for members in shared.values():
        group: list[int] = []
        chars = 0
        for at in members:
            own = len(cases[at].item_text) + len(cases[at].item_source)
            if group and (len(group) == size or chars + own > CALL_CHARS):
                yield group
                group = []
            if not group:
                chars = len(cases[at].evidence_text) + len(cases[at].use)
            group.append(at)
            chars += own
        yield group
