"""How the shared extractor reads STALE's long sessions: the user's turns, and the questions that they reply to.

Statements are the user's, so nothing is extracted from the assistant's turns, which make up nine tenths of a STALE
session. A short reply needs the question before it, so that question is shown. Several sessions share a request, as
Memora's do, because the prompt is longer than what one session then holds. All methods start from this state.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from readmit_bench.episodes import Episode, Session, Turn

MOST_CHARS = 300
"""Most characters of a question."""
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


def with_questions_only(episode: Episode) -> Episode:
    """The same episode, with no more of the assistant's turns than the question that the user replies to."""
    return msgspec.structs.replace(episode, sessions=tuple(map(_session, episode.sessions)))


def _session(session: Session) -> Session:
    following = (*session.turns[1:], None) if session.turns else ()
    turns = tuple(
        turn if turn.speaker == "user" else _question(turn, after)
        for turn, after in zip(session.turns, following, strict=True)
    )
    return msgspec.structs.replace(session, turns=turns)


def _question(turn: Turn, after: Turn | None) -> Turn:
    """The last sentence of a turn, if it is a question and the user speaks next. Turns keep their places."""
    replied = after is not None and after.speaker == "user"
    sentences = [one.strip() for one in _SENTENCE.findall(turn.text) if one.strip()] if replied else []
    asked = sentences[-1] if sentences and sentences[-1].endswith("?") else ""
    return msgspec.structs.replace(turn, text=asked[-MOST_CHARS:])
