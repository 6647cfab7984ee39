"""Memora's files as released, and a cluster as read from them.

Tree: ``{weekly,monthly,quarterly}/<persona>/conversations/session_NNNN.json`` beside
``evaluation_questions_<persona>.json``; a folder, a ``.tar.xz``, or a folder that holds one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from readmit.errors import RecordError
from readmit_bench.datasets.files import Raw, existing, parse, tree
from readmit_bench.episodes import Session, Turn
from readmit_bench.settings import PERIODS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit_bench.settings import Period

FILLER_TYPE = "no_memory"

_SESSION = re.compile(r"(?:.*/)?(weekly|monthly|quarterly)/([^/]+)/conversations/session_\d+\.json")
_QUESTIONS = re.compile(r"(?:.*/)?(weekly|monthly|quarterly)/([^/]+)/evaluation_questions_[^/]+\.json")


class RawTurn(Raw, frozen=True, kw_only=True):
    """A turn; ``share_memory`` is an annotation and stays unread."""

    speaker: Literal["user_agent", "ai_agent"]
    message: str


class RawSession(Raw, frozen=True, kw_only=True):
    """A session file."""

    session_id: int
    session_type: str
    date: str
    conversation: list[RawTurn]
    operation: str | None = None
    actual_operation: str | None = None
    operation_converted: str | None = None

    @property
    def effective_operation(self) -> str | None:
        """What the session did in the end: some were converted after they were planned."""
        if self.actual_operation:
            return self.actual_operation
        if self.operation_converted and "_to_" in self.operation_converted:
            return self.operation_converted.rpartition("_to_")[2]
        return self.operation


class RawCriterion(Raw, frozen=True, kw_only=True):
    """One yes/no sub-question of the judge."""

    evaluation_question: str
    expected_answer: Literal["yes", "no"]
    evaluation_type: Literal["memory_presence", "forgetting_absence"]


class RawEvaluation(Raw, frozen=True, kw_only=True):
    """The judge's sub-questions."""

    evaluation_questions: list[RawCriterion]


class RawForgotten(Raw, frozen=True, kw_only=True):
    """A value that must no longer be used, and the session that ended it."""

    session_id: int
    value: str | int | float | None = None


class RawForgetting(Raw, frozen=True, kw_only=True):
    """The items that were updated or deleted."""

    forgotten_items: list[RawForgotten] = msgspec.field(default_factory=list)


class RawQuestion(Raw, frozen=True, kw_only=True):
    """One question. The shape of ``memory_evidence`` differs with the kind of question."""

    question_id: str
    question: str
    memory_evidence: Any
    evaluation: RawEvaluation
    forgetting_evidence: RawForgetting | None = None


class RawQuestions(Raw, frozen=True, kw_only=True):
    """A cluster's questions by task: remembering, reasoning, recommending."""

    questions: dict[str, list[RawQuestion]]


@dataclass
class Cluster:
    """One persona in one period, as read."""

    name: str
    sessions: dict[int, RawSession] = field(default_factory=dict)
    questions: dict[str, list[RawQuestion]] | None = None
    file: str = ""


def read_fillers(root: Path) -> tuple[Session, ...]:
    """Small talk without any memory in it, for a substitute STALE haystack."""
    sessions = [
        visible_session(raw)
        for cluster in read_clusters(root)
        for _, raw in sorted(cluster.sessions.items())
        if raw.session_type == FILLER_TYPE
    ]
    if not sessions:
        raise RecordError(f"{root}: no session has session_type {FILLER_TYPE!r}; name a Memora folder that has some")
    return tuple(sessions)


def read_clusters(root: Path, periods: Sequence[Period] = PERIODS) -> tuple[Cluster, ...]:
    """The clusters of some periods below the root, in the order of their names, checked for completeness."""
    clusters: defaultdict[str, Cluster] = defaultdict(lambda: Cluster(""))
    source = _source(root)
    for name, data in tree(source):
        found = _SESSION.fullmatch(name)
        if found is not None and found[1] in periods:
            raw = parse(data, RawSession, file=f"{source}: {name}")
            cluster = clusters["/".join(found.groups())]
            if raw.session_id in cluster.sessions:
                raise RecordError(f"{source}: {name}: session_id {raw.session_id} occurs twice in its folder")
            cluster.sessions[raw.session_id] = raw
        elif (found := _QUESTIONS.fullmatch(name)) is not None and found[1] in periods:
            cluster = clusters["/".join(found.groups())]
            cluster.questions = parse(data, RawQuestions, file=f"{source}: {name}").questions
            cluster.file = f"{source}: {name}"
    if not clusters:
        raise RecordError(f"{root}: holds no {' or '.join(periods)} folder; name the folder of the Memora release")
    for name, cluster in clusters.items():
        cluster.name = name
        if cluster.questions is None:
            raise RecordError(f"{source}: {name} has no evaluation_questions file; fetch the release again")
        if len(cluster.sessions) < 2:  # noqa: PLR2004  # a departure needs a session on each side
            raise RecordError(f"{source}: {name}/conversations holds {len(cluster.sessions)} sessions; fetch it again")
    return tuple(clusters[name] for name in sorted(clusters))


def visible_session(raw: RawSession) -> Session:
    """The conversation alone: type, operation and turn annotations are left out."""
    return Session(
        index=raw.session_id,
        at=raw.date,
        turns=tuple(
            Turn(speaker="user" if turn.speaker == "user_agent" else "assistant", text=turn.message)
            for turn in raw.conversation
        ),
    )


def _source(root: Path) -> Path:
    existing(root, what="the Memora release")
    if root.is_file() or any((root / period).is_dir() for period in PERIODS):
        return root
    archives = sorted(root.glob("*.tar.xz"))
    if len(archives) == 1:
        return archives[0]
    return root
