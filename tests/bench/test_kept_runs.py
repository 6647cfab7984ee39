"""Kept runs and the page of results: figures with what must be said of them, and no text of the data."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from tests.bench.data import SMOKE
from tests.bench.reported import plan, stale, written
from tests.cli.run import run as run_command

from readmit.errors import RecordError
from readmit.models import StageUsage
from readmit_bench.datasets.memora_cases import read_memora
from readmit_bench.episodes import View
from readmit_bench.kept_runs import KeptRun, digest_of_run, kept_from, results_page, write_kept
from readmit_bench.study_runs import RunOrder, run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "smoke"
    run(RunOrder(study="smoke", methods=("Static", "readmit-lexical"), seed=3), out)
    return out


def test_a_run_is_kept_with_its_digest_and_without_texts(smoke: Path, tmp_path: Path) -> None:
    line = ["bench", "import", str(smoke), "--to", str(tmp_path / "kept"), "--json"]
    said = json.loads(run_command(*line, status=None).output)
    held = Path(said["file"]).read_text()
    assert said["digest"] == digest_of_run(smoke)
    texts = {
        turn.text for case in read_memora(SMOKE / "memora").cases for one in case.episode.sessions for turn in one.turns
    }
    assert not [text for text in texts if text in held]
    page = tmp_path / "results.md"
    ran = run_command("bench", "results", "--kept", tmp_path / "kept", "--to", page)
    assert ran.exit_code == 0, ran.output
    written = page.read_text()
    for table in json.loads(held)["tables"]:
        _, _, under = written.partition(f"### smoke: {table['title']}")
        assert "seed 3; readmit 0.1.0." in under.partition("###")[0], "every table says what it is of"
    assert "### smoke: What views hold" in written, "what a view takes stands beside what it is worth"
    assert "Latency" not in written, "a machine's clock says nothing about the data"
    for expected in (said["digest"], "| Seed | 3 |", "| Models | none |", "Cases planned", "Development data"):
        assert expected in written


def test_tokens_are_kept_and_what_models_called_a_need_is_not(tmp_path: Path) -> None:
    usage = (StageUsage(stage="verify", calls=2, input=600, output=50),)
    view = View(method="readmit", rows=(), blocked=True, missing=("t0.my.secret",))
    refused = stale("readmit", "early", 0, (True,) * 3, usage=usage, view=view)
    kept = kept_from(written(tmp_path / "run", plan("stale", "readmit"), [refused]))
    tables = {table.title: table for table in kept.tables}
    (row,) = tables["Tokens"].rows
    assert row[:3] == ("readmit", "1", "650")
    assert "refused: coverage" in tables["Views, refusals and failures"].columns
    assert "my.secret" not in msgspec.json.encode(kept).decode()


def test_figures_that_are_handed_in_are_marked_and_come_first(smoke: Path, tmp_path: Path) -> None:
    own = kept_from(smoke)
    handed = tmp_path / "handed-in.json"
    handed.write_bytes(msgspec.json.encode(msgspec.structs.replace(own, name="theirs", digest="ab" * 32)))
    folder = tmp_path / "kept"
    write_kept(own, folder)
    write_kept(kept_from(handed, unseen=True), folder)
    page = results_page(folder)
    assert page.index("## theirs") < page.index("## smoke")
    assert "Unseen data: no rule was written with it in view. Digest of the run: `abab" in page


def test_the_figures_of_another_run_are_not_replaced(smoke: Path, tmp_path: Path) -> None:
    own = kept_from(smoke)
    write_kept(own, tmp_path)
    write_kept(own, tmp_path)
    with pytest.raises(RecordError, match="holds another run; give this one another --name"):
        write_kept(msgspec.structs.replace(own, digest="ab" * 32), tmp_path)


WRONG: dict[str, tuple[dict[str, object], str]] = {
    "a name with a path": ({"name": "../x"}, "name: '../x' must be small letters"),
    "no digest": ({"digest": "none"}, "digest: "),
    "a row too long": (
        {"tables": [{"title": "t", "columns": ["a"], "rows": [["1", "2"]]}]},
        "tables: 't' of .* has a row of another length",
    ),
    "a field too many": ({"texts": ["some"]}, "texts"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_is_wrong_is_refused_by_its_field(name: str, smoke: Path, tmp_path: Path) -> None:
    change, says = WRONG[name]
    file = tmp_path / "handed-in.json"
    file.write_bytes(msgspec.json.encode({**msgspec.to_builtins(kept_from(smoke)), **change}))
    with pytest.raises(RecordError, match=says):
        kept_from(file)


def test_the_page_in_the_documentation_is_of_the_runs_kept_there() -> None:
    assert (ROOT / "docs" / "results.md").read_text() == results_page(ROOT / "docs" / "runs")
    for file in (ROOT / "docs" / "runs").glob("*.json"):
        held = msgspec.json.decode(file.read_bytes(), type=KeptRun)
        assert (held.name, file.stat().st_size < 100_000) == (file.stem, True)
