"""Limits of an episode, changed settings, and the accounts of a run with models."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.bench.data import SMOKE
from tests.bench.endpoint import AnsweringEndpoint, stage_of
from tests.cli.run import run as command
from tests.models.stand_in import hangs

from readmit.errors import RecordError
from readmit_bench.results import read_plan, read_results
from readmit_bench.study_runs import RunOrder, run, status

pytest.importorskip("inspect_ai", reason="runs with models need readmit-bench's dependencies")
pytest.importorskip("openai", reason="endpoints need readmit[models]")
# inspect and its dependencies leave streams to the garbage collector; that is not ours to mend.
pytestmark = [pytest.mark.usefixtures("swept"), pytest.mark.filterwarnings("ignore")]

if TYPE_CHECKING:
    from pathlib import Path


def order(server: AnsweringEndpoint, *methods: str, **fields: Any) -> RunOrder:
    model = f"openai:m?base_url={server.url}"
    models = {"actor": model, "judge": model}
    methods = methods or ("Static",)
    return RunOrder(
        study="stale", data=SMOKE / "stale", methods=methods, models=models, embedder="lexical", limit=1, **fields
    )


def test_a_token_limit_is_a_failure_that_names_it(tmp_path: Path) -> None:
    with AnsweringEndpoint() as server:
        whole = run(order(server), tmp_path / "whole")
        (taken,) = read_results(tmp_path / "whole")
        told = run(order(server, token_limit=taken.tokens - 1), tmp_path / "less")
        assert run(order(server, token_limit=taken.tokens), tmp_path / "enough").failed == 0
    assert (whole.failed, told.done, told.failed) == (0, 1, 1)
    (result,) = read_results(tmp_path / "less")
    assert result.failure == f"token limit: {taken.tokens} tokens, more than {taken.tokens - 1} (--token-limit)"
    assert result.stale is not None
    assert not result.stale.sr


def test_a_token_limit_counts_answers_from_before(tmp_path: Path) -> None:
    """Killed and resumed, an episode meets the limit where it would have met it undisturbed."""
    with AnsweringEndpoint() as server:
        limited = order(server, token_limit=100)
        run(limited, tmp_path)
        (first,) = read_results(tmp_path)
        (tmp_path / "results.jsonl").unlink()
        told = run(limited, tmp_path)
        (again,) = read_results(tmp_path)
    assert told.asked == 0
    assert again.failure == first.failure
    assert first.failure.startswith("token limit: ")


def test_a_time_limit_is_a_failure_that_names_it(tmp_path: Path) -> None:
    with AnsweringEndpoint(rule=lambda body: hangs if stage_of(body) == "answer" else None) as server:
        told = run(order(server, time_limit=4), tmp_path)
    (result,) = read_results(tmp_path)
    assert (told.failed, told.interrupted) == (1, 0)
    assert result.failure == "time limit: more than 4 s (--time-limit)"


def test_changed_settings_hold_are_reported_and_belong_to_the_run(tmp_path: Path) -> None:
    with AnsweringEndpoint() as server:
        changed = order(server, settings=("stale.answer_tokens=77", "stale.retrieved_union=12"))
        told = run(changed, tmp_path)
        assert {
            body["max_completion_tokens"] for body in server.bodies if stage_of(body) == "answer"
        } == {77}, "what is set is what is sent"  # fmt: skip
        with pytest.raises(RecordError, match=r"holds another run \(settings differ\)"):
            run(order(server), tmp_path)
    assert told.settings == read_plan(tmp_path).settings == ("stale.answer_tokens=77", "stale.retrieved_union=12")
    shown = command("bench", "status", str(tmp_path), status=None).output
    assert "Settings changed: stale.answer_tokens=77, stale.retrieved_union=12." in shown


@pytest.mark.parametrize("change", ["stale.nonsense=3", "stale.answer_tokens=many", "answer_tokens=3", "stale.seed"])
def test_a_setting_that_is_none_is_refused_before_anything_runs(change: str, tmp_path: Path) -> None:
    ran = command("bench", "run", "smoke", "--out", str(tmp_path / "out"), "--set", change, status=None)
    assert ran.exit_code == 1
    assert change.partition("=")[0] in ran.output
    assert not (tmp_path / "out").exists()


def test_accounts_are_whole_per_method_and_paid_once_per_run(tmp_path: Path) -> None:
    with AnsweringEndpoint() as server:
        told = run(order(server, "Static", "readmit"), tmp_path)
        asked = len(server.bodies)
    assert (told.answers, told.asked) == (asked, asked)
    static, readmit = sorted(read_results(tmp_path), key=lambda result: result.method)
    for result in (static, readmit):
        judged = [stage for stage in result.usage if stage.stage == "judge"]
        assert result.judge_tokens == sum(stage.tokens for stage in judged) > 0
        assert result.tokens == sum(stage.tokens for stage in result.usage) - result.judge_tokens
    # Both methods read the same sessions: each is charged with it, and it is paid for once.
    assert sum(stage.replayed for result in (static, readmit) for stage in result.usage) > 0
    assert told.tokens < static.tokens + static.judge_tokens + readmit.tokens + readmit.judge_tokens
    assert told.tokens == sum(len(body["messages"][-1]["content"]) // 4 + 9 for body in server.bodies)
    with AnsweringEndpoint() as server:
        again = status(tmp_path)
    assert (again.asked, again.answers, again.tokens) == (0, told.answers, told.tokens)


def test_every_study_and_method_is_listed() -> None:
    from readmit_bench.methods import entries
    from readmit_bench.studies import studies

    shown = command("bench", "list", status=None).output
    assert all(f"{name}: " in shown for name in (*studies(), *entries()))
    listed = json.loads(command("bench", "list", "--set", "--json", status=None).output)
    assert listed["settings"]["stale.retrieved_union"] == 30
    assert listed["settings"]["memora.departures"] == "0.25,0.5,0.75"
