"""The judges: one typed call per episode. An unreadable answer is a failure, never a pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from readmit.errors import RecordError
from readmit.models import Failure, ask_typed
from readmit_bench.metrics import MemoraOutcome, StaleOutcome
from readmit_bench.prompt_requests import request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models import Model
    from readmit_bench.datasets.memora_cases import MemoraLabels
    from readmit_bench.datasets.stale_cases import StaleLabels
    from readmit_bench.episodes import Episode

CRITERIA_TOKENS = 2_048


class Probes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The judge's verdict on one STALE episode."""

    reason: str
    first_passes: bool
    second_passes: bool
    third_passes: bool


class Checked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One criterion."""

    number: int
    answer: Literal["yes", "no"]


class CriteriaAnswers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The judge's verdict on one Memora response."""

    answers: list[Checked]


def judge_stale(
    judge: Model, episode: Episode, labels: StaleLabels, answers: Sequence[str], *, max_tokens: int
) -> tuple[StaleOutcome, str]:
    """The three probes in one call, and the judge's reason."""
    sections = [
        ("earlier statement", labels.old),
        ("later statement", labels.new),
        ("why the earlier one ended", labels.explanation),
    ]
    for name, task, said in zip(("first", "second", "third"), episode.tasks, answers, strict=True):
        sections += [(f"{name} question", task), (f"{name} answer", said or "(no answer)")]
    ask = request("judge-probes@1", "judge", sections, max_tokens=max_tokens)
    (said_of,) = ask_typed(judge, [ask], Probes)
    if isinstance(said_of, Failure):
        raise RecordError(f"judge: {said_of.fault}: {said_of.message}")
    outcome = StaleOutcome(
        episode=episode.id, sr=said_of.first_passes, pr=said_of.second_passes, ipa=said_of.third_passes
    )
    return outcome, said_of.reason


def judge_memora(judge: Model, episode: Episode, labels: MemoraLabels, response: str) -> tuple[MemoraOutcome, str]:
    """Every sub-question in one call: present where presence is asked for, absent where forgetting is."""
    asked = (*labels.presence, *labels.forgetting)
    numbered = "\n".join(f"{number}. {question}" for number, question in enumerate(asked, start=1))
    sections = [("request", episode.tasks[0]), ("response", response or "(no answer)"), ("questions", numbered)]
    ask = request("judge-criteria@1", "judge", sections, max_tokens=CRITERIA_TOKENS)
    (said,) = ask_typed(judge, [ask], CriteriaAnswers)
    if isinstance(said, Failure):
        raise RecordError(f"judge: {said.fault}: {said.message}")
    found = {one.number: one.answer for one in said.answers}
    if len(found) < len(said.answers) or found.keys() != set(range(1, len(asked) + 1)):
        raise RecordError(f"judge: answered {sorted(found)} of the questions 1 to {len(asked)}; once each is required")
    split = len(labels.presence)
    outcome = MemoraOutcome(
        episode=episode.id,
        presence=tuple(found[n] == "yes" for n in range(1, split + 1)),
        forgetting=tuple(found[n] == "no" for n in range(split + 1, len(asked) + 1)),
    )
    return outcome, "; ".join(f"{n}: {found[n]}" for n in sorted(found))
