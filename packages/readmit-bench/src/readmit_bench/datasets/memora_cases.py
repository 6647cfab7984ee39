"""Memora: the paper's 137 questions, re-derived by rule from the official release.

With R the last session id, departure at fraction f is clamp(round(R·f), 1, R − 1). A question is eligible
at f when some memory evidence lies at or before departure and some after it, and some forgotten value
is updated or deleted in a later session while its text occurs in a session at or before departure. One
that is eligible at any fraction runs at all of them.

Sessions listed only in a proposal's or an e-mail's ``session_history`` are not evidence, because it binds no value to a
session.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.errors import RecordError
from readmit_bench.datasets.memora_files import read_clusters, visible_session
from readmit_bench.episodes import Case, Dataset, Episode, Labels, Session, Wanted, opaque_id
from readmit_bench.polarity import polarities
from readmit_bench.settings import PERIODS, MemoraSettings
from readmit_bench.spellings import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from readmit_bench.datasets.memora_files import Cluster, RawQuestion, RawSession
    from readmit_bench.polarity import Polarity


# Which answer satisfies a criterion. A release that expects others would be scored the wrong way round.
EXPECTED = {"memory_presence": "yes", "forgetting_absence": "no"}


class MemoraLabels(Labels, frozen=True, kw_only=True):
    """The rubric: values that hold at return, values that ended, and the judge's sub-questions."""

    cluster: str
    task: str
    question: str
    fraction: float
    valid: tuple[str, ...]
    stale: tuple[str, ...]
    presence: tuple[str, ...]
    forgetting: tuple[str, ...]

    __repr__ = Labels.__repr__

    @property
    def block(self) -> str:
        """The departure point, as the tables name it."""
        return f"{self.fraction:.0%}"

    @property
    def unit(self) -> str:
        return self.case.rpartition("@")[0]

    @property
    def history(self) -> str:
        """All questions of a persona and period are asked of one."""
        return self.cluster

    def statements(self) -> tuple[tuple[Wanted, ...], tuple[Wanted, ...]]:
        # An ended value was liked or planned, so it counts as handed over where the view speaks for it.
        return (
            tuple(Wanted(value, _asked(value, self.presence)) for value in self.valid),
            tuple(Wanted(value, "for") for value in self.stale),
        )


def _asked(value: str, criteria: Iterable[str]) -> Polarity:
    """How the rubric asks for a value: "Does the response avoid recommending X?" wants it spoken against."""
    said = (polarities(value, criterion) for criterion in criteria)
    return "against" if "against" in next((one for one in said if one), ()) else "for"


@dataclass(frozen=True)
class Evidence:
    """A value the rubric names, and the session it comes from."""

    value: str | None
    session: int


def read_memora(root: Path, settings: MemoraSettings | None = None) -> Dataset[MemoraLabels]:
    """Every eligible question at every departure, from the folder or archive."""
    settings = settings or MemoraSettings()
    cases: list[Case[MemoraLabels]] = []
    clusters = read_clusters(root, settings.periods)
    for cluster in clusters:
        cases += _cases(cluster, settings)
    questions = {(case.labels.cluster, case.labels.question) for case in cases}
    periods = ", ".join(p for p in PERIODS if any(c.name.startswith(p) for c in clusters))
    with_questions = len({cluster for cluster, _ in questions})
    note = f"Memora: {len(questions)} questions in {with_questions} of {len(clusters)} clusters ({periods})."
    return Dataset("memora", tuple(cases), (note,))


def departure(last: int, fraction: float) -> int:
    """The last session before the absence."""
    return min(max(round(last * fraction), 1), last - 1)


def evidence(value: Any) -> Iterator[Evidence]:
    """Every leaf of ``memory_evidence`` that is bound to a session, whatever its shape."""
    if isinstance(value, dict):
        if isinstance(value.get("session_id"), int):
            stated = value.get("value", value.get("item"))
            yield Evidence(None if stated is None else str(stated), value["session_id"])
        for name, inner in value.items():
            if name != "session_id":
                yield from evidence(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from evidence(inner)


def eligible(question: RawQuestion, cut: int, sessions: Mapping[int, RawSession], texts: Mapping[int, str]) -> bool:
    """Whether the question has something to keep, something to learn and something to forget at this cut."""
    positions = [item.session for item in evidence(question.memory_evidence)]
    if not (any(p <= cut for p in positions) and any(p > cut for p in positions)):
        return False
    forgotten = question.forgetting_evidence.forgotten_items if question.forgetting_evidence else []
    return any(
        item.value is not None
        and item.session_id > cut
        and item.session_id in sessions
        and sessions[item.session_id].effective_operation in ("update", "delete")
        and _occurs(fold(item.value), cut, texts)
        for item in forgotten
    )


def _occurs(value: str, cut: int, texts: Mapping[int, str]) -> bool:
    return bool(value) and any(value in text for position, text in texts.items() if position <= cut)


def _cases(cluster: Cluster, settings: MemoraSettings) -> Iterator[Case[MemoraLabels]]:
    last = max(cluster.sessions)
    texts = {i: fold(" ".join(turn.message for turn in raw.conversation)) for i, raw in cluster.sessions.items()}
    # One tuple for all episodes of the cluster: they share the history, and the index over it.
    history = tuple(visible_session(raw) for _, raw in sorted(cluster.sessions.items()))
    for task, questions in (cluster.questions or {}).items():
        for question in questions:
            cuts = {fraction: departure(last, fraction) for fraction in settings.departures}
            if any(eligible(question, cut, cluster.sessions, texts) for cut in cuts.values()):
                labels = _labels(cluster, task, question)
                for fraction, cut in cuts.items():
                    yield _case(labels, question.question, history, fraction=fraction, cut=cut)


def _labels(cluster: Cluster, task: str, question: RawQuestion) -> MemoraLabels:
    criteria = question.evaluation.evaluation_questions
    for one in criteria:
        if one.expected_answer != EXPECTED[one.evaluation_type]:
            raise RecordError(
                f"{cluster.file}: question {question.question_id}: expected_answer: {one.expected_answer!r} for "
                f"{one.evaluation_type}, which is met by {EXPECTED[one.evaluation_type]!r}; fetch the release again"
            )
    valid = _distinct(item.value for item in evidence(question.memory_evidence))
    ended = question.forgetting_evidence.forgotten_items if question.forgetting_evidence else []
    forgotten = _distinct(None if item.value is None else str(item.value) for item in ended)
    # A value that was dropped and resumed is valid and is not also one to reject, unless it is the only one.
    held = {fold(value) for value in valid}
    stale = tuple(value for value in forgotten if fold(value) not in held) or forgotten
    labels = MemoraLabels(
        case=f"{cluster.name}/{question.question_id}",
        cluster=cluster.name,
        task=task,
        question=question.question_id,
        fraction=0.0,
        valid=valid,
        stale=stale,
        presence=tuple(c.evaluation_question for c in criteria if c.evaluation_type == "memory_presence"),
        forgetting=tuple(c.evaluation_question for c in criteria if c.evaluation_type == "forgetting_absence"),
    )
    for part, found in (
        ("evaluation.memory_presence", labels.presence),
        ("evaluation.forgetting_absence", labels.forgetting),
    ):
        if not found:
            raise RecordError(f"{cluster.file}: question {question.question_id}: no {part}; fetch the release again")
    return labels


def _case(
    labels: MemoraLabels, question: str, history: tuple[Session, ...], *, fraction: float, cut: int
) -> Case[MemoraLabels]:
    name = f"{labels.case}@{fraction:g}"
    episode = Episode(
        id=opaque_id("memora", name), benchmark="memora", tasks=(question,), departure=cut, sessions=history
    )
    return Case(episode, msgspec.structs.replace(labels, case=name, fraction=fraction))


def _distinct(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple({fold(value): value for value in values if value is not None and fold(value)}.values())
