"""ManBench-Return: may the departure answer still be used, or the challenger that replaced it?

Tree: ``data/bbh_all_small/<task>/val_data.json``. Within a task, sorted by ``idx``: even positions are
Old-Valid (same question; active agents promote the misleading answer), odd positions are Old-Stale (the
question becomes the next example, cyclically; active agents solve it). Where the misleading target is not
among the choices, it is the first wrong choice.

With fixed candidates the departure answer is right for its question and the challenger is what the active
agents would say; the actor's own answers replace both (``with_answers``). The challenger supersedes the
departure answer in both conditions: a method can distinguish them only by the task version it can see.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated

import msgspec

from readmit.errors import RecordError
from readmit_bench.datasets.files import Raw, existing, read
from readmit_bench.episodes import Case, Dataset, Episode, Labels, Row, opaque_id
from readmit_bench.metrics import OLD_STALE, OLD_VALID, Condition

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DEPARTURE, CHALLENGER = "departure-answer", "challenger"

# Some tasks accept any of several wordings as one choice; questions print such a choice as a list.
Choice = str | list[str]


class RawExample(Raw, frozen=True, kw_only=True):
    """One example."""

    idx: int
    inputs: str
    targets: Annotated[list[Choice], msgspec.Meta(min_length=1)]
    multiple_choice_targets: Annotated[list[Choice], msgspec.Meta(min_length=2)]
    multiple_choice_scores: list[int]
    parsed_inputs: str
    misleading_target: str


class RawTask(Raw, frozen=True, kw_only=True):
    """One task file."""

    data: Annotated[list[RawExample], msgspec.Meta(min_length=2)]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """An example as the actor sees it, with its right and misleading answers."""

    text: str
    choices: tuple[str, ...]
    right: str
    misleading: str

    @property
    def version(self) -> str:
        """The task-version id the actor sees: it changes exactly when the question does."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


class ManBenchLabels(Labels, frozen=True, kw_only=True):
    """The condition, both questions, and which candidate is valid."""

    task: str
    condition: Condition
    before: Question
    current: Question
    valid: str
    invalid: str

    __repr__ = Labels.__repr__

    @property
    def block(self) -> str:
        return self.condition


def read_manbench(root: Path) -> Dataset[ManBenchLabels]:
    """All examples of all tasks found, with fixed candidates."""
    existing(root, what="ManBench's data/bbh_all_small")
    base = root / "data" / "bbh_all_small"
    files = sorted((base if base.is_dir() else root).glob("*/val_data.json"))
    if not files:
        raise RecordError(f"{root}: holds no data/bbh_all_small/<task>/val_data.json; name the folder of the release")
    cases = tuple(case for file in files for case in _task_cases(file))
    return Dataset("manbench", cases, (f"ManBench-Return: {len(cases)} examples of {len(files)} tasks.",))


def with_answers(
    case: Case[ManBenchLabels],
    departure_answer: str,
    challenger: str,
    *,
    said: Sequence[str] = (),
    room: int | None = None,
) -> Case[ManBenchLabels]:
    """The same case with the agents' real answers; what they ``said`` for the challenger is in its row.

    Both rows fit a view of ``room`` characters.
    """
    old, new = _candidates(case.labels.before, case.labels.current, departure_answer, challenger)
    old = msgspec.structs.replace(old, text=departure_answer[: None if room is None else room // 4])
    joined = "\n\n".join((challenger, *said))
    new = msgspec.structs.replace(new, text=joined[: None if room is None else room - room // 4])
    return Case(msgspec.structs.replace(case.episode, rows=(old, new)), case.labels)


def is_eligible(labels: ManBenchLabels, departure_answer: str, active_answers: Sequence[str]) -> bool:
    """A correct departure answer; on Old-Stale also a quorum of active agents with the right current one."""
    if departure_answer != labels.before.right:
        return False
    if labels.condition == OLD_VALID:
        return True
    return sum(answer == labels.current.right for answer in active_answers) >= quorum(len(active_answers))


def quorum(agents: int) -> int:
    """Three of four; a strict majority at every scale."""
    return agents // 2 + 1


def _task_cases(file: Path) -> list[Case[ManBenchLabels]]:
    task = file.parent.name
    examples = sorted(read(file, RawTask).data, key=lambda example: example.idx)
    if len({e.idx for e in examples}) < len(examples):
        raise RecordError(f"{file}: an idx occurs twice in data; positions would not be defined")
    questions = [_question(example, file) for example in examples]
    cases = []
    for position, (example, before) in enumerate(zip(examples, questions, strict=True)):
        stale = position % 2 == 1
        current = questions[(position + 1) % len(questions)] if stale else before
        challenger = current.right if stale else current.misleading
        name = f"{task}/{example.idx}"
        cases.append(
            Case(
                Episode(
                    id=opaque_id("manbench", name),
                    benchmark="manbench",
                    tasks=(current.text,),
                    departure=0,
                    rows=_candidates(before, current, before.right, challenger),
                    task_version=current.version,
                ),
                ManBenchLabels(
                    case=name,
                    task=task,
                    condition=OLD_STALE if stale else OLD_VALID,
                    before=before,
                    current=current,
                    valid=CHALLENGER if stale else DEPARTURE,
                    invalid=DEPARTURE if stale else CHALLENGER,
                ),
            )
        )
    return cases


def _candidates(before: Question, current: Question, departure_answer: str, challenger: str) -> tuple[Row, ...]:
    return (
        Row(
            id=DEPARTURE,
            text=departure_answer,
            at=1,
            source="returning-agent",
            departure=True,
            slot="answer",
            task_version=before.version,
            answer=departure_answer,
        ),
        Row(
            id=CHALLENGER,
            text=challenger,
            at=2,
            source="active-agents",
            departure=False,
            slot="answer",
            operation="update",
            supersedes=(DEPARTURE,),
            task_version=current.version,
            answer=challenger,
        ),
    )


def _question(example: RawExample, file: Path) -> Question:
    where = f"{file}: idx {example.idx}"
    choices = tuple(_printed(choice) for choice in example.multiple_choice_targets)
    if len(example.multiple_choice_scores) != len(choices):
        raise RecordError(f"{where}: multiple_choice_scores has not one entry for each of {len(choices)} choices")
    right = _printed(example.targets[0])
    if right not in choices:
        raise RecordError(f"{where}: targets names {right!r}, which is not among multiple_choice_targets")
    wrong = [choice for choice, score in zip(choices, example.multiple_choice_scores, strict=True) if score == 0]
    if not wrong:
        raise RecordError(f"{where}: multiple_choice_scores marks no choice as wrong; there is nothing to promote")
    misleading = example.misleading_target if example.misleading_target in wrong else wrong[0]
    return Question(text=example.parsed_inputs, choices=choices, right=right, misleading=misleading)


def _printed(choice: Choice) -> str:
    return choice if isinstance(choice, str) else str(choice)
