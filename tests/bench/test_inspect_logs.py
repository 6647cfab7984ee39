"""What inspect's own tools show of a run: logs that a reader understands, and that never say more than is so."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from tests.bench.data import SMOKE
from tests.bench.endpoint import AnsweringEndpoint
from tests.conftest import ROOT
from tests.models.stand_in import fails

from readmit_bench.results import read_results
from readmit_bench.study_runs import RunOrder, run

pytest.importorskip("inspect_ai", reason="runs with models need readmit-bench's dependencies")
pytest.importorskip("filelock", reason="batch files need readmit[models]")
# inspect and its dependencies leave streams to the garbage collector; that is not ours to mend.
pytestmark = [pytest.mark.usefixtures("swept"), pytest.mark.filterwarnings("ignore")]

if TYPE_CHECKING:
    from pathlib import Path


def order(model: str, *methods: str, **fields: Any) -> RunOrder:
    models = {"actor": model, "judge": model}
    return RunOrder(study="stale", data=SMOKE / "stale", methods=methods, models=models, embedder="lexical", **fields)


def logs(out: Path) -> list[Any]:
    from inspect_ai.log import list_eval_logs, read_eval_log

    return [
        read_eval_log(found, resolve_attachments="full")
        for found in list_eval_logs(str(out / "logs"), descending=False)
    ]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    with AnsweringEndpoint() as server:
        told = run(order(f"openai:m?base_url={server.url}", "Static", "readmit", limit=1), out)
    assert told.complete
    return out


def test_a_finished_sample_shows_view_answers_reasons_and_scores(finished: Path) -> None:
    results = {f"stale-{result.method}".lower(): result for result in read_results(finished)}
    found = {log.eval.task: log for log in logs(finished)}
    assert set(found) == set(results)
    for name, log in found.items():
        (sample,), result = log.samples, results[name]
        assert log.status == "success"
        assert result.view is not None
        assert sample.metadata["state"] == "done"
        assert sample.metadata["view"].keys() == set(result.view.rows)
        assert sample.metadata["left out"].keys() == set(result.view.left_out)
        assert len(sample.metadata["findings"]) == len(result.view.findings)
        said = [message.text for message in sample.messages]
        assert said[0].startswith(f"Handed over by {result.method}:")
        assert all(answer in said for answer in result.answers)
        assert set(sample.scores["admission"].value) == {"overall", "via", "iir"}
        assert sample.scores["admission"].explanation == result.judgment


def test_labels_are_nowhere_before_the_score(finished: Path) -> None:
    """The solvers' part of a transcript, whole: messages, model calls, changes of state."""
    (uid,) = {result.case for result in read_results(finished)}
    (record,) = (one for one in json.loads((SMOKE / "stale" / "smoke.json").read_text()) if one["uid"] == uid)
    after = ""
    for log in logs(finished):
        (sample,) = log.samples
        scoring = next(
            n for n, event in enumerate(sample.events) if event.event == "span_begin" and event.name == "scorers"
        )
        before = "".join(event.model_dump_json() for event in sample.events[:scoring])
        assert record["explanation"][:60] not in before
        assert uid not in before
        after += "".join(event.model_dump_json() for event in sample.events[scoring:])
    assert record["explanation"][:60] in after


def test_inspects_own_commands_read_the_logs(finished: Path) -> None:
    from inspect_ai.log import list_eval_logs

    for found in list_eval_logs(str(finished / "logs")):
        command = [sys.executable, "-m", "inspect_ai", "log", "dump", "--header-only", found.name]
        dumped = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
        assert json.loads(dumped.stdout)["status"] == "success"


def test_a_sample_that_waits_or_is_open_is_shown_as_such(tmp_path: Path) -> None:
    run(order(f"batch:{tmp_path / 'batch'}?model=by-file", "Static", limit=1), tmp_path / "waits")
    (log,) = logs(tmp_path / "waits")
    (sample,) = log.samples
    assert sample.metadata == {"state": "waits for answers by file"}
    assert not sample.scores
    with AnsweringEndpoint(*[fails(401, "wrong key")] * 99) as server:
        run(order(f"openai:m?base_url={server.url}", "Static", limit=1), tmp_path / "open")
    (log,) = logs(tmp_path / "open")
    (sample,) = log.samples
    assert sample.metadata["state"].startswith("open: ")
    assert "wrong key" in sample.metadata["state"]
    assert not sample.scores


def test_a_log_that_a_killed_process_left_does_not_say_for_ever_that_it_runs(tmp_path: Path) -> None:
    from inspect_ai.log import write_eval_log

    waiting = order(f"batch:{tmp_path / 'batch'}?model=by-file", "Static", limit=1)
    run(waiting, tmp_path / "out")
    (log,) = logs(tmp_path / "out")
    log.status = "started"
    write_eval_log(log, log.location)
    run(waiting, tmp_path / "out")
    assert [log.status for log in logs(tmp_path / "out")] == ["cancelled", "success"]


def test_inspect_finds_our_models_by_the_entry_point() -> None:
    project = tomllib.loads((ROOT / "packages" / "readmit-bench" / "pyproject.toml").read_text())["project"]
    declared = project["entry-points"]["inspect_ai"]
    assert list(declared) == ["readmit"], "inspect looks a provider up by the name before the slash"
    from inspect_ai.model import get_model

    importlib.import_module(declared["readmit"])
    assert str(get_model("readmit/batch:requests?model=m", memoize=False)) == "readmit/batch:requests?model=m"
