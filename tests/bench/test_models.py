"""Methods that ask models, in rounds through files: every stage real, the answers by file."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.bench.answers_by_file import answer_all, plain, sections
from tests.bench.data import SMOKE
from tests.cli.run import run as command

from readmit.lab import Status
from readmit.models import Ask, Failure, Reply, Usage
from readmit_bench.checkpoints import checkpoint as checkpoint_of
from readmit_bench.datasets.stale_cases import read_stale
from readmit_bench.methods import admitted
from readmit_bench.methods.cupmem import CUPMem
from readmit_bench.plans.standin import EARLIER, answer_to
from readmit_bench.results import read_plan, read_results
from readmit_bench.study_runs import RunOrder, run, status

pytest.importorskip("inspect_ai", reason="runs with models need readmit-bench's dependencies")
pytest.importorskip("filelock", reason="batch files need readmit[models]")
# inspect and its dependencies leave streams to the garbage collector; that is not ours to mend.
pytestmark = [pytest.mark.usefixtures("swept"), pytest.mark.filterwarnings("ignore")]

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

ROUNDS = {"stale": 6, "memora": 7}
"""As the guide says: what an episode takes with the methods that ask models."""


def in_rounds(
    order: RunOrder, out: Path, batch: Path, say: Callable[..., str] = plain, most: int = 8
) -> tuple[int, list[int]]:
    """Run, answer, run again until nothing is left; how many rounds of answers that took, and how many each."""
    asked: list[int] = []
    while True:
        told = run(order, out)
        if told.complete:
            return len(asked), asked
        assert told.waiting, "neither complete nor waiting"
        assert len(asked) < most, f"more than {most} rounds"
        asked.append(answer_all(batch, len(asked) + 1, say))


def order(batch: Path, study: str, *methods: str, **fields: Any) -> RunOrder:
    model = f"batch:{batch}?model=by-file"
    data = None if study == "smoke" else SMOKE / {"ablations": "stale", "scale": "manbench"}.get(study, study)
    models = {"actor": model} if study in ("manbench", "scale") else {"actor": model, "judge": model}
    return RunOrder(
        study=study, data=data, methods=methods, models=models, embedder="lexical", **{"limit": 1, **fields}
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[int]]:
    """One STALE episode with ``readmit``, run to its end: where, with which files, and how many requests a round."""
    folder = tmp_path_factory.mktemp("finished")
    _, asked = in_rounds(order(folder / "batch", "stale", "readmit"), folder / "out", folder / "batch")
    return folder / "out", folder / "batch", asked


def stand_in(shown: dict[str, str], schema: dict[str, Any] | None) -> str:
    """As a plan's stand-in answers: there is a statement in every session, so no stage is without work."""
    code = "0" * 16
    fenced = (
        f"--- {label} [{code}] begins ---\n{text}\n--- {label} [{code}] ends ---" for label, text in shown.items()
    )
    form = b"" if schema is None else json.dumps(schema).encode()
    stage = "verify" if EARLIER in shown else "other"
    return answer_to(Ask(stage=stage, prompt="", system="", user="\n".join(fenced), max_tokens=1, schema=form))


@pytest.mark.parametrize("study", ROUNDS)
def test_an_episode_takes_no_more_rounds_than_the_guide_says(study: str, tmp_path: Path) -> None:
    batch, out = tmp_path / "batch", tmp_path / "out"
    # Answers by explicit operations alone would make it easy.
    settings = ("memora.changes=asked",)
    methods = order(batch, study, "readmit", "trace-paper", settings=settings)
    rounds, asked = in_rounds(methods, out, batch, stand_in)
    assert rounds <= ROUNDS[study], asked
    results = read_results(out)
    assert [result.failure for result in results] == [""] * len(results)
    ours = {stage.stage for result in results if result.method == "readmit" for stage in result.usage}
    assert ours >= {"extract", "plan", "link", "verify", "answer", "judge"}, "every stage had something to ask"


def test_a_complete_stale_episode_has_every_account(finished: tuple[Path, Path, list[int]]) -> None:
    out, _, asked = finished
    (result,) = read_results(out)
    assert len(asked) <= ROUNDS["stale"]
    assert result.failure == ""
    assert len(result.answers) == 3
    assert result.stale is not None
    stages = {stage.stage for stage in result.usage}
    # The answers by file draw no statement, so there is no pair to judge; ``test_perfect`` plays an episode with them.
    assert stages == {"plan", "extract", "answer", "judge"}
    assert all(stage.input > 0 for stage in result.usage)
    assert result.view is not None
    assert result.view.nothing_stated > 0, "and that is counted"


def test_the_work_state_is_paid_for_once_and_stands_in_every_account(tmp_path: Path) -> None:
    batch, out = tmp_path / "batch", tmp_path / "out"
    methods = ("Static", "MemStrata", "MemTX", "trace-paper")
    in_rounds(order(batch, "stale", *methods), out, batch)
    results = {result.method: result for result in read_results(out)}
    assert set(results) == set(methods)
    assert [result.failure for result in results.values()] == [""] * 4
    extracted = {name: next(s for s in one.usage if s.stage == "extract") for name, one in results.items()}
    # Fifty sessions, six in a request.
    assert {(stage.calls, stage.tokens) for stage in extracted.values()} == {(9, extracted["Static"].tokens)}
    asked = [json.loads(line)["body"]["messages"][0]["content"] for line in _lines(batch / "requests.jsonl")]
    assert sum(system.startswith("You take down what people state in observations") for system in asked) == 9
    for result in results.values():
        stages = [stage.stage for stage in result.usage]
        assert len(stages) == len(set(stages))
        assert result.tokens == sum(stage.tokens for stage in result.usage if stage.stage != "judge")


def test_memora_is_planned_once_for_all_and_once_in_each_account(tmp_path: Path) -> None:
    batch, out = tmp_path / "batch", tmp_path / "out"
    rounds, _ = in_rounds(order(batch, "memora", "Static", "trace-paper", "readmit"), out, batch)
    assert rounds <= ROUNDS["memora"]
    results = read_results(out)
    assert len(results) == 9
    for result in results:
        assert [stage.calls for stage in result.usage if stage.stage == "plan"] == [1]
    asked = [json.loads(line)["body"]["messages"][0]["content"] for line in _lines(batch / "requests.jsonl")]
    assert sum(system.startswith("You plan what has to be known") for system in asked) == 1


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines()


def test_a_run_that_waits_says_so_in_its_exit_status(tmp_path: Path) -> None:
    model = f"batch:{tmp_path / 'batch'}?model=by-file"
    line = ["bench", "run", "smoke", "--out", str(tmp_path / "out"), "--methods", "Reset", "--limit", "1"]
    ran = command(*line, "--actor", model, "--judge", model, status=None)
    assert ran.exit_code == Status.WAITING, ran.output
    assert "5 episodes wait for answers by file" in ran.output


def test_each_ablation_removes_its_mechanism_and_no_other(tmp_path: Path) -> None:
    batch, out = tmp_path / "batch", tmp_path / "out"
    rounds, _ = in_rounds(order(batch, "ablations"), out, batch)
    assert rounds <= ROUNDS["stale"]
    by_method = {result.method: result for result in read_results(out)}
    assert set(by_method) == set(read_plan(out).methods)
    full = by_method["trace-paper"]
    stages = {name: {stage.stage for stage in result.usage} for name, result in by_method.items()}
    assert {"scan", "verify"} <= stages["trace-paper"]
    assert stages["trace-without-ii"] == stages["trace-paper"] - {"scan", "verify"}
    for name in ("trace-without-oas", "trace-without-cvg", "trace-without-sbpr"):
        assert stages[name] == stages["trace-paper"]
        assert by_method[name].view is not None
        assert full.view is not None
        assert by_method[name].view.findings == full.view.findings  # type: ignore[union-attr]
    assert not by_method["trace-without-cvg"].view.blocked  # type: ignore[union-attr]


class Answering:
    """The same answers without files, for a method that asks one thing after the other."""

    name = "answering"

    def __init__(self) -> None:
        self.stages: Counter[str] = Counter()

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        self.stages.update(ask.stage for ask in asks)
        return [
            Reply(
                text=plain(sections(ask.user), json.loads(ask.schema) if ask.schema else None),
                usage=Usage(stage=ask.stage, input=1, output=1),
                model=self.name,
            )
            for ask in asks
        ]


def test_cupmem_writes_session_by_session_and_answers_from_its_memory() -> None:
    model = Answering()
    checkpoint = checkpoint_of(read_stale(SMOKE / "stale").cases[0].episode)
    method = CUPMem(model, answer_tokens=64)
    view = admitted(method, checkpoint)
    assert model.stages["cup-chunks"] == 50
    assert min(model.stages[name] for name in ("cup-extract", "cup-update", "cup-affected")) > 10
    assert view.rows
    assert view.left_out, "what was invalidated is not in the view"
    assert not set(view.left_out) & set(view.rows)
    answers = method.respond(model, checkpoint, view)
    assert len(answers) == 3
    assert [model.stages[name] for name in ("cup-parse", "cup-premise", "cup-ground", "answer")] == [3, 3, 3, 3]


def test_manbench_with_an_actor_counts_only_eligible_episodes(tmp_path: Path) -> None:
    batch, out = tmp_path / "batch", tmp_path / "out"
    rounds, _ = in_rounds(order(batch, "manbench", "Static", "readmit", limit=9), out, batch, most=12)
    results = read_results(out)
    assert len(results) == 18
    eligible = [result for result in results if result.eligible]
    assert 0 < len(eligible) < len(results)
    assert [result.manbench for result in eligible if result.manbench is None or result.manbench.correct is None] == []
    assert all(result.manbench is None for result in results if not result.eligible)
    old_valid = [r for r in eligible if r.block == "old-valid" and r.method == "Static"]
    assert all("\n\n" in r.candidates["challenger"] for r in old_valid), "what the active agents said is shown"
    assert rounds >= 5


def test_the_scale_study_runs_at_every_scale(tmp_path: Path) -> None:
    from readmit_bench import studies

    batch, out = tmp_path / "batch", tmp_path / "out"
    in_rounds(order(batch, "scale", "Static", limit=2), out, batch, most=40)
    assert {result.agents for result in read_results(out)} == set(studies.study_named("scale").agents)


def nonsense(shown: dict[str, str], schema: dict[str, Any] | None) -> str:
    if "first answer" in shown or "questions" in shown:
        return "As a judge, I feel that this is rather good."
    return plain(shown, schema)


def test_a_judge_that_answers_nonsense_is_a_failure_that_stays_in_the_denominator(tmp_path: Path) -> None:
    batch, out = tmp_path / "batch", tmp_path / "out"
    in_rounds(order(batch, "smoke", "Static"), out, batch, nonsense)
    judged = [result for result in read_results(out) if result.benchmark != "manbench"]
    assert len(judged) == 4
    for result in judged:
        assert "does not have the requested form" in result.failure
        assert result.repairs == 1
    stale = next(result.stale for result in judged if result.benchmark == "stale")
    assert stale is not None
    assert not any((stale.sr, stale.pr, stale.ipa))
    memora = next(result.memora for result in judged if result.benchmark == "memora")
    assert memora is not None
    assert not any((*memora.presence, *memora.forgetting))
    assert status(out).failed == 4


def half(shown: dict[str, str], schema: dict[str, Any] | None) -> str:
    """A judge that leaves the last question out."""
    text = plain(shown, schema)
    return json.dumps({"answers": json.loads(text)["answers"][:-1]}) if "questions" in shown else text


def test_a_judge_that_skips_a_question_does_not_pass(tmp_path: Path) -> None:
    batch, out = tmp_path / "batch", tmp_path / "out"
    in_rounds(order(batch, "memora", "Static"), out, batch, half)
    assert all("once each is required" in result.failure for result in read_results(out))


def test_no_request_of_a_method_or_actor_holds_a_label(finished: tuple[Path, Path, list[int]]) -> None:
    out, batch, _ = finished
    (uid,) = (result.case for result in read_results(out))
    (record,) = (one for one in json.loads((SMOKE / "stale" / "smoke.json").read_text()) if one["uid"] == uid)
    requests = [json.loads(line)["body"]["messages"] for line in (batch / "requests.jsonl").read_text().splitlines()]
    holding = [messages for messages in requests if record["explanation"] in messages[-1]["content"]]
    assert len(holding) == 1
    assert "You judge how an assistant handles" in holding[0][0]["content"]


def test_no_answer_is_paid_for_twice(finished: tuple[Path, Path, list[int]], tmp_path: Path) -> None:
    """Stopped anywhere, also with its results lost, a run asks for nothing that it was given before."""
    out, batch, asked = finished
    shutil.copytree(out, tmp_path / "out")
    (tmp_path / "out" / "results.jsonl").unlink()
    before = (batch / "requests.jsonl").read_bytes()
    for file in batch.glob("responses*.jsonl"):
        file.rename(file.with_suffix(".away"))
    told = run(order(batch, "stale", "readmit"), tmp_path / "out")
    for file in batch.glob("responses*.away"):
        file.rename(file.with_suffix(".jsonl"))
    assert told.complete
    assert told.answers == sum(asked)
    assert (batch / "requests.jsonl").read_bytes() == before


def test_recorded_answers_repeat_a_run(tmp_path: Path) -> None:
    batch, out = tmp_path / "batch", tmp_path / "out"
    in_rounds(order(batch, "memora", "readmit"), out, batch)
    recorded = f"recorded:{batch}?model=by-file"
    again = RunOrder(
        study="memora", data=SMOKE / "memora", methods=("readmit",), models={"actor": recorded, "judge": recorded},
        embedder="lexical", limit=1,
    )  # fmt: skip
    run(again, tmp_path / "again")
    both = [{r.key: (r.view, r.memora) for r in read_results(folder)} for folder in (tmp_path / "again", out)]
    assert both[0] == both[1]
