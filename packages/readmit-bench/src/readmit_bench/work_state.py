"""The work state that all methods share: what the conversations state, drawn from them once by the extractor.

Paper, "Experimental configuration" and "Memora": methods share a post-absence checkpoint, and "work state is inferred
from conversation text". What is taken down is what the user states; a short reply is only understood beside what it
replies to, so the assistant's turns are shown with it. An extracted row has a slot, an operation, the words themselves
as its text, and its premises. If a session could not be read, its turns are its rows, so that a lost answer of the
extractor costs precision but hides nothing.

* STALE: every session, several a request, and of the assistant's turns only the questions that the user replies to
  (``stale_reading``); a setting reads them whole. The probes rank the rows. Observations are items too: a turn from
  which nothing was taken down stays a row.
* Memora: from the question alone one obligation and three to eight queries; question and queries retrieve sessions on
  each side of the departure and rank the rows drawn from them; sessions are read in batches. Facts are what is selected
  from: a turn that states none is no row.
* ManBench: the candidates are the work state; nothing is extracted.

The *source* of a row is its speaker, and that is the user in every session. The agents that processed a
session are not sources: they pass on what one person said, and when that person changes an answer, the one replaces
the other; two of them did not contradict each other. (Taken as sources, round-robin agents would have MemTX
quarantine nearly every update together with what it updates, and the paper's MemTX retains as much as MemStrata.)

Each method builds the checkpoint with its own account. The answers are kept by request, so the account of every method
holds the extraction, as the paper's token totals do, and it is paid for once.
"""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from readmit.inference import Turn
from readmit.lab import ExtractFrom, extract_claims
from readmit.models import Failure
from readmit_bench.evaluation.model_verifier import moment_of
from readmit_bench.retrieval import (
    CLOCK,
    Ranker,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from readmit.lab import Extracted
    from readmit.models import Embedder, Model
    from readmit_bench.episodes import Checkpoint, Row, Session


@dataclass(frozen=True)
class Extracting:
    """How sessions are read: the paper's parameters of one benchmark. The defaults are the product's own."""

    per_call: int = 1
    max_items: int = 16
    min_confidence: Decimal = Decimal("0.45")
    max_tokens: int = 4_096
    max_chars: int = 24_000
    turns: bool = True
    """Whether a turn that gave nothing stays a row. One whose session could not be read always does."""


def drawn(
    model: Model, turns: Checkpoint, how: Extracting, queries: Sequence[str] = (), embedder: Embedder | None = None
) -> Checkpoint:
    """A checkpoint of plain turns, with the statements extracted from them as its rows."""
    own: dict[int, dict[int, Row]] = {}
    for row in turns.rows:
        session, number = divmod(row.at, CLOCK)
        own.setdefault(session, {})[number - 1] = row
    sessions = [session for session in turns.history if session.index in own]
    results = extract_claims(
        model,
        [_observation(session) for session in sessions],
        per_call=how.per_call,
        max_items=how.max_items,
        min_confidence=how.min_confidence,
        max_tokens=how.max_tokens,
        max_chars=how.max_chars,
    )
    rows = [
        row
        for session, result in zip(sessions, results, strict=True)
        for row in (
            own[session.index].values()
            if isinstance(result, Failure)
            else _rows(own[session.index], result.items, turns=how.turns)
        )
    ]
    rows = list(_founded(rows))
    with closing(Ranker(rows, embedder)) as ranker:
        relevance = tuple(ranker.ranking(query) for query in (*turns.tasks, *queries))
    read = tuple(session.index for session, one in zip(sessions, results, strict=True) if not isinstance(one, Failure))
    return msgspec.structs.replace(turns, rows=tuple(rows), relevance=relevance, observations=turns.rows, read=read)


def _observation(session: Session) -> ExtractFrom:
    said = tuple(Turn(turn.speaker, turn.text) for turn in session.turns)
    return ExtractFrom(key=str(session.index), turns=said, at=moment_of(session.at))


def _rows(said_at: dict[int, Row], items: Iterable[Extracted], *, turns: bool) -> list[Row]:
    """What one session states, in time order."""
    by_turn: dict[int, list[tuple[Extracted, str]]] = {number: [] for number in said_at}
    for item in items:
        # Words that only the assistant said are not the user's statement; words that both said are.
        for number in dict.fromkeys((item.turn, *said_at)):
            if number in said_at and (words := verbatim(item.quote, said_at[number].text)):
                by_turn[number].append((item, words))
                break
    rows: list[Row] = []
    for number, turn in sorted(said_at.items()):
        # A turn's withdrawal comes first, because it refers to earlier values; its new statements of that slot follow.
        said = sorted(by_turn[number], key=lambda pair: pair[0].operation != "delete")
        rows += [_row(turn, place, item, words) for place, (item, words) in enumerate(said)]
        if turns and not said:
            rows.append(turn)
    return rows


def _founded(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows of which a withdrawal without an earlier statement is a statement itself: that something is no more."""
    slots: set[str | None] = set()
    for row in rows:
        yield (
            msgspec.structs.replace(row, operation="add")
            if row.operation == "delete" and row.slot not in slots
            else row
        )
        slots.add(row.slot)


def _row(turn: Row, place: int, item: Extracted, words: str) -> Row:
    return msgspec.structs.replace(
        turn,
        id=f"{turn.id}.e{place:02}",
        text=words,
        slot=item.slot,
        operation=item.operation,
        turn=turn.id,
        statement=item.statement,
        premises=item.premises,
    )


def verbatim(quote: str, text: str) -> str:
    """The quote as it is in the text, ignoring differences in white space; empty if it is not found."""
    found = re.search(r"\s+".join(re.escape(word) for word in quote.split()), text)
    return found[0] if found else ""
