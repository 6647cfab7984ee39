"""ManBench-Return: what a perfect verifier reaches, what is a dispute, and what the construction gives away."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.bench.answers_by_file import sections
from tests.bench.data import SMOKE, shared

from readmit.models import Ask, Lexical, Opinion, Reply, Usage
from readmit.models.stages.answer import choice_named, position_of
from readmit_bench.actor_answers import chosen
from readmit_bench.checkpoints import checkpoint
from readmit_bench.datasets.manbench_cases import CHALLENGER, DEPARTURE, read_manbench
from readmit_bench.episodes import Case, Dataset
from readmit_bench.judge_free import score_candidates
from readmit_bench.methods import admitted
from readmit_bench.methods.governance import READMIT, TRACE_PAPER, Governance, Tuning
from readmit_bench.methods.governed import Governed
from readmit_bench.methods.readmit_lexical import ReadmitLexical
from readmit_bench.methods.same_version import SameVersion
from readmit_bench.metrics import OLD_STALE, OLD_VALID, average, score_manbench

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit_bench.datasets.manbench_cases import ManBenchLabels
    from readmit_bench.methods import Method
    from readmit_bench.metrics import ManBenchScores


class Perfect:
    """A verifier that always knows the right answer to the question it is asked."""

    name = "perfect"

    def __init__(self, data: Dataset[ManBenchLabels]) -> None:
        self._right = {spaced(case.labels.current.text): case.labels.current.right for case in data.cases}
        self.asked = 0

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        self.asked += len(asks)
        return [self._one(ask) for ask in asks]

    def _one(self, ask: Ask) -> Reply:
        right = self._right.get(spaced(sections(ask.user)["question"]), "")
        said = {"reason": "it is so", "answerable": bool(right), "answer": right, "confidence": 1.0}
        return Reply(text=json.dumps(said), usage=Usage(stage=ask.stage, input=1, output=1), model=self.name)


def spaced(text: str) -> str:
    return " ".join(text.split())


def verified(governance: Governance, data: Dataset[ManBenchLabels]) -> Governed:
    model = Perfect(data)
    return Governed(governance, extractor=model, verifier=model, embedder=Lexical(), tuning=Tuning())


def scores(method: Method, cases: Sequence[Case[ManBenchLabels]]) -> ManBenchScores:
    found: dict[str, list[Any]] = {OLD_VALID: [], OLD_STALE: []}
    for case in cases:
        view = admitted(method, checkpoint(case.episode))
        found[case.labels.condition].append(score_candidates(case, view))
    return average({name: score_manbench(outcomes) for name, outcomes in found.items()})


@pytest.mark.parametrize("governance", [READMIT, TRACE_PAPER], ids=lambda one: one.name)
def test_a_perfect_verifier_is_right_on_the_smoke_data(governance: Governance) -> None:
    data = read_manbench(SMOKE / "manbench")
    reached = scores(verified(governance, data), data.cases)
    assert (reached.via, reached.iir) == (1, 1)


@pytest.mark.slow
def test_a_perfect_verifier_is_right_on_the_development_data() -> None:
    data = read_manbench(shared("manbench"))
    # Every fifth case, which takes both conditions of every task in turn, and the brackets whole.
    cases = [case for number, case in enumerate(data.cases) if number % 5 == 0 or case.labels.task == "dyck_languages"]
    reached = scores(verified(READMIT, data), cases)
    assert min(reached.via, reached.iir) >= 0.98, (float(reached.via), float(reached.iir))


def test_the_same_answer_again_is_no_dispute() -> None:
    data = read_manbench(SMOKE / "manbench")
    changed = next(case for case in data.cases if case.labels.condition == OLD_STALE)
    old, new = changed.episode.rows
    same = msgspec.structs.replace(
        changed.episode, rows=(msgspec.structs.replace(old, text=new.text, answer=new.answer), new)
    )
    model = Perfect(Dataset("manbench", ()))
    ours = Governed(READMIT, extractor=model, verifier=model, embedder=Lexical(), tuning=Tuning())
    for method in (ours, ReadmitLexical()):
        assert admitted(method, checkpoint(same)).rows == (CHALLENGER,)
    assert model.asked == 0
    assert admitted(ours, checkpoint(changed.episode)).blocked
    assert model.asked > 0


BRACKETS = ("] }", "}", "> }", "] ) )")


@pytest.mark.parametrize("answer", BRACKETS)
def test_choices_of_brackets_are_distinguished(answer: str) -> None:
    assert choice_named(answer, BRACKETS) == answer
    opinion = Opinion(answer=answer, confidence=1, model="m")  # type: ignore[arg-type]  # a whole number will do
    assert position_of(opinion, {one: one for one in BRACKETS}, exact=True) == answer
    assert position_of(opinion, {one: one for one in BRACKETS if one != answer}, exact=True) is None
    assert chosen(answer, [(letter, text) for letter, text in zip("ABCD", BRACKETS, strict=True)]) == answer


def test_a_choice_may_be_written_with_quotes_or_a_stop_and_is_never_guessed() -> None:
    assert choice_named('"True."', ("True", "False")) == "True"
    assert choice_named("true", ("True", "TRUE")) is None
    assert choice_named("TRUE", ("True", "TRUE")) == "TRUE"
    assert choice_named("] }", ("}", "> }")) is None


@pytest.mark.parametrize("part", ["smoke", "development"])
def test_comparing_the_version_ids_alone_scores_everything(part: str) -> None:
    data = read_manbench(SMOKE / "manbench" if part == "smoke" else shared("manbench"))
    method = SameVersion()
    reached = scores(method, data.cases)
    assert (reached.via, reached.iir) == (1, 1)
    kept = {case.labels.condition: admitted(method, checkpoint(case.episode)).rows for case in data.cases[:4]}
    assert kept == {OLD_VALID: (DEPARTURE,), OLD_STALE: (CHALLENGER,)}
