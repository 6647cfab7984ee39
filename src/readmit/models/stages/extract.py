"""Extracts items from raw evidence: the statements, changes and withdrawals in each observation.

Every item has a verbatim quote, and the code binds it to its turn. Items without such a quote are dropped and counted,
and so are quotes of an assistant, a question, a greeting or thanks. An extracted item is a proposal like any other: it
still needs a receipt, an authorized writer and every gate.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from readmit.models.fence import MAX_CHARS, mark_for, pieces, visible_text
from readmit.models.protocols import Failure
from readmit.models.stages.checks import distinct_lines, grounded, line, share, slug
from readmit.models.stages.prompt_files import Section, request
from readmit.models.structured import ask_typed
from readmit.records.error_types import ModelError
from readmit.text.carried import ASSISTANT, says_nothing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from readmit.models.protocols import Ask, Model

PROMPT = "extract@3"
MAX_ITEMS = 16
"""The paper's limit for one observation."""
MIN_CONFIDENCE = Decimal("0.45")
MAX_TOKENS = 4_096
"""The paper's budget for one extraction."""
MAX_PREMISES = 8
WITHOUT = (ASSISTANT,)
"""Speakers from whom no items are drawn by default."""
_STATEMENT_CHARS = 1_000
_SPEAKER_CHARS = 64
# The overhead of a turn: its own line and the speaker.
_TURN_CHARS = 120
_LEAST_CHARS = 10 * _TURN_CHARS


class Turn(msgspec.Struct, frozen=True):
    """One speaker's turn. A document or a tool result is a single turn."""

    by: str
    text: str


class ExtractFrom(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of raw evidence."""

    key: str
    """The caller's name for it, such as the digest of the evidence."""
    turns: tuple[Turn, ...]
    at: datetime | None = None

    @classmethod
    def of(cls, key: str, text: str, *, by: str = "", at: datetime | None = None) -> ExtractFrom:
        """An observation without turns: a message, a document, a tool result."""
        return cls(key=key, turns=(Turn(by, text),), at=at)


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """One statement drawn from an observation."""

    slot: str
    statement: str
    operation: Literal["add", "update", "delete"]
    quote: str
    turn: int
    """Position of the turn that holds the quote."""
    confidence: Decimal
    premises: tuple[str, ...] = ()


class Drop(StrEnum):
    """Why a proposed item was dropped."""

    QUOTE_NOT_FOUND = "quote_not_found"
    """No turn of the observation holds its quote."""
    TURN_UNCLEAR = "turn_unclear"
    """Several turns hold its quote, and it names none of them."""
    LOW_CONFIDENCE = "low_confidence"
    """The confidence is below the minimum."""
    NO_SLOT = "no_slot"
    """The slot key has no usable character."""
    NO_STATEMENT = "no_statement"
    """The statement is empty."""
    REPEATED = "repeated"
    """An earlier item of the observation states the same."""
    ASSISTANT = "assistant"
    """Only turns of excluded speakers contain the quote, such as an assistant's."""
    SAYS_NOTHING = "says_nothing"
    """The quote occurs only in questions, greetings or thanks."""
    HELD_BACK = "held_back"
    """The quoted sentences are too long to be recorded."""
    NO_OBSERVATION = "no_observation"
    """The claim names an observation that was not in the request."""
    OVER_LIMIT = "over_limit"
    """The observation already has as many items as allowed."""


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """The items of one observation, and the dropped ones."""

    key: str
    items: tuple[Extracted, ...] = ()
    dropped: tuple[Drop, ...] = ()

    def counts(self) -> Mapping[Drop, int]:
        """How many were dropped, per reason."""
        return Counter(self.dropped)


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One item as the model proposes it."""

    observation: int
    turn: int
    quote: str
    slot: str
    statement: str
    operation: Literal["add", "update", "delete"]
    premises: list[str]
    confidence: float


class Claims(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer to one extraction request."""

    # A model that proposes more does not stop.
    items: Annotated[list[Claim], msgspec.Meta(max_length=96)]


class _Part(msgspec.Struct, frozen=True):
    """A run of one observation's turns that is shown in one request."""

    observation: int
    turns: tuple[tuple[int, str, str], ...]
    """Position, speaker and text."""
    chars: int


def extract_claims(
    model: Model,
    observations: Sequence[ExtractFrom],
    *,
    workspace: str = "",
    per_call: int = 1,
    max_items: int = MAX_ITEMS,
    min_confidence: Decimal = MIN_CONFIDENCE,
    without: Sequence[str] = WITHOUT,
    max_tokens: int = MAX_TOKENS,
    max_chars: int = MAX_CHARS,
) -> list[Extraction | Failure]:
    """One extraction or failure per observation, in order.

    ``per_call`` observations share a request as far as ``max_chars`` allows; one that is longer is read in several
    requests, and fails if any of them does. ``max_items`` counts per observation and request. ``without`` names
    speakers whose turns are shown for context but give no items.
    """
    if per_call < 1 or max_chars < _LEAST_CHARS:
        raise ModelError(f"per_call: {per_call}, max_chars: {max_chars}; at least 1 and {_LEAST_CHARS} are needed")
    leave_out = frozenset(name.strip().casefold() for name in without)
    parts = [part for at, one in enumerate(observations) for part in _parts(at, one, max_chars)]
    calls = list(_packed(parts, per_call, max_chars))
    asks = [_ask(observations, call, workspace, max_tokens, max_chars) for call in calls]
    said: dict[int, list[list[Claim] | Failure]] = {at: [] for at in range(len(observations))}
    strays: dict[int, int] = {}
    for call, one in zip(calls, ask_typed(model, asks, Claims), strict=True):
        for number, part in enumerate(call, start=1):
            own = one if isinstance(one, Failure) else [claim for claim in one.items if claim.observation == number]
            said[part.observation].append(own)
        if not isinstance(one, Failure):
            lost = sum(not 1 <= claim.observation <= len(call) for claim in one.items)
            strays[call[0].observation] = strays.get(call[0].observation, 0) + lost
    return [
        _extraction(
            one,
            said[at],
            strays.get(at, 0),
            max_items=max_items,
            min_confidence=min_confidence,
            leave_out=leave_out,
        )
        for at, one in enumerate(observations)
    ]


def _parts(at: int, observation: ExtractFrom, max_chars: int) -> Iterator[_Part]:
    """The observation in parts that fit a request, cut between turns if possible."""
    shown: list[tuple[int, str, str]] = []
    chars = 0
    for number, turn in enumerate(observation.turns):
        if not turn.text.strip():
            continue
        for piece in pieces(turn.text, max_chars - _TURN_CHARS):
            size = len(visible_text(piece)) + _TURN_CHARS
            if shown and chars + size > max_chars:
                yield _Part(at, tuple(shown), chars)
                shown, chars = [], 0
            shown.append((number, line(turn.by, _SPEAKER_CHARS) or "unnamed", piece))
            chars += size
    if shown:
        yield _Part(at, tuple(shown), chars)


def _packed(parts: Sequence[_Part], per_call: int, max_chars: int) -> Iterator[list[_Part]]:
    call: list[_Part] = []
    for part in parts:
        # Two parts of one observation never fit one request: the first was closed because the second did not fit.
        if call and (len(call) == per_call or sum(one.chars for one in call) + part.chars > max_chars):
            yield call
            call = []
        call.append(part)
    if call:
        yield call


def _ask(
    observations: Sequence[ExtractFrom], call: Sequence[_Part], workspace: str, max_tokens: int, max_chars: int
) -> Ask:
    # Turns are separated by a code that no turn contains, so that no text can forge a turn.
    code = mark_for([visible_text(text) for part in call for turn in part.turns for text in turn[1:]])
    sections = [
        Section(f"observation {number}", _shown(part, code), observations[part.observation].at)
        for number, part in enumerate(call, start=1)
    ]
    return request(PROMPT, sections, workspace=workspace, max_tokens=max_tokens, max_chars=max_chars)


def _shown(part: _Part, code: str) -> str:
    return "\n".join(f"[{code}] turn {number}, {by}\n{text}" for number, by, text in part.turns)


def _extraction(
    observation: ExtractFrom,
    said: Sequence[list[Claim] | Failure],
    strays: int,
    *,
    max_items: int,
    min_confidence: Decimal,
    leave_out: frozenset[str],
) -> Extraction | Failure:
    items: list[Extracted] = []
    dropped = [Drop.NO_OBSERVATION] * strays
    seen: set[tuple[str, str, str]] = set()
    for claims in said:
        if isinstance(claims, Failure):
            return claims
        kept = 0
        for claim in claims:
            item = _checked(claim, observation, min_confidence, leave_out)
            if isinstance(item, Extracted):
                identity = (item.slot, item.statement, item.operation)
                item = Drop.REPEATED if identity in seen else Drop.OVER_LIMIT if kept == max_items else item
            if isinstance(item, Drop):
                dropped.append(item)
                continue
            seen.add((item.slot, item.statement, item.operation))
            items.append(item)
            kept += 1
    return Extraction(key=observation.key, items=tuple(items), dropped=tuple(dropped))


def _checked(
    claim: Claim, observation: ExtractFrom, min_confidence: Decimal, leave_out: frozenset[str]
) -> Extracted | Drop:
    slot, statement, confidence = slug(claim.slot), line(claim.statement, _STATEMENT_CHARS), share(claim.confidence)
    if not statement:
        return Drop.NO_STATEMENT
    if not slot:
        return Drop.NO_SLOT
    if confidence < min_confidence:
        return Drop.LOW_CONFIDENCE
    quotes = {at: quote for at, turn in enumerate(observation.turns) if (quote := grounded(claim.quote, turn.text))}
    if not quotes:
        return Drop.QUOTE_NOT_FOUND
    # Words that both speakers said count as the user's.
    quotes = {at: quote for at, quote in quotes.items() if _speaker(observation.turns[at]) not in leave_out}
    if not quotes:
        return Drop.ASSISTANT
    turn = claim.turn if claim.turn in quotes else next(iter(quotes))
    if claim.turn not in quotes and len(quotes) > 1:
        return Drop.TURN_UNCLEAR
    if says_nothing(quotes[turn], observation.turns[turn].text):
        return Drop.SAYS_NOTHING
    return Extracted(
        slot=slot,
        statement=statement,
        operation=claim.operation,
        quote=quotes[turn],
        turn=turn,
        confidence=confidence,
        premises=distinct_lines(claim.premises, MAX_PREMISES),
    )


def _speaker(turn: Turn) -> str:
    return turn.by.strip().casefold()
