"""Reports: whole, escaped, without foreign scripts, and the same twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.bench.data import SMOKE

from readmit.bench.reporting.pages import write_report
from readmit.bench.reporting.tables import cost_tables, published_tables, score_tables
from readmit.bench.results import RESULTS, read_plan, read_results
from readmit.bench.running import Order, run
from readmit.records.errors import RecordError

pytest.importorskip("jinja2", reason="reports need readmit[bench]")
pytest.importorskip("matplotlib", reason="figures need readmit[bench]")

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def smoke(tmp_path: Path) -> Path:
    run(Order(study="smoke"), tmp_path / "smoke")
    return tmp_path / "smoke"


def test_one_command_writes_everything(smoke: Path, tmp_path: Path) -> None:
    page = write_report([smoke], tmp_path / "report", episodes=4)
    html, markdown = page.read_text(), page.with_suffix(".md").read_text()
    for text in (html, markdown):
        assert "Smoke data written for this project" in text
        assert "published, tab:qwen-memora" in text
        assert "No answers were asked for" in text
        assert "readmit-lexical" in text
    figures = {path.name for path in (tmp_path / "report" / "smoke").iterdir() if path.is_file()}
    assert {"plane-memora.png", "plane-memora.svg", "plane-stale.svg", "plane-manbench.svg"} <= figures
    pages = list((tmp_path / "report" / "smoke" / "episodes").iterdir())
    assert len(pages) == 4
    assert all("History" in one.read_text() for one in pages)


def test_the_same_results_give_the_same_bytes(smoke: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write_report([smoke], one, episodes=3)
    write_report([smoke], two, episodes=3)
    files = [path.relative_to(one) for path in one.rglob("*") if path.is_file()]
    assert len(files) > 8
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in files)


EVIL = "<script>alert('x')</script>| **bold** \n| row"


def test_what_models_and_data_say_is_text(smoke: Path, tmp_path: Path) -> None:
    lines = [
        msgspec.structs.replace(result, case=EVIL, failure=EVIL, answers=(EVIL,), judgment=EVIL)
        for result in read_results(smoke)
    ]
    (smoke / RESULTS).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    page = write_report([smoke], tmp_path / "report", episodes=2)
    pages = [page, *(tmp_path / "report" / "smoke" / "episodes").iterdir()]
    for one in pages:
        text = one.read_text()
        assert "<script" not in text
        assert "&lt;script&gt;" in text
        assert "http" not in text.replace("http-equiv", ""), "nothing is loaded from elsewhere"
    markdown = page.with_suffix(".md").read_text()
    failing = [line for line in markdown.splitlines() if line.startswith("- Static, ")]
    assert failing
    assert all("| row" not in line.replace("\\|", "") for line in failing)


def test_published_figures_are_marked_with_their_table() -> None:
    tables = published_tables(["stale"], "ablations")
    assert [table.published for table in tables] == ["tab:stale-core-ablation"]
    assert all(table.title.startswith("Published") for table in published_tables(["memora", "manbench"], "smoke"))


def test_by_construction_the_simple_methods_score_fifty_fifty_on_manbench(tmp_path: Path) -> None:
    run(Order(study="manbench", data=SMOKE / "manbench"), tmp_path)
    (table,) = score_tables(read_plan(tmp_path), read_results(tmp_path))
    shown = {row[0]: row for row in table.rows if row[1] == "average"}
    via, iir = table.columns.index("VIA"), table.columns.index("IIR")
    for name in ("Static", "Restore"):
        assert (shown[name][via], shown[name][iir]) == ("50.00 [50.0, 50.0]", "50.00 [50.0, 50.0]")
    assert (shown["Reset"][via], shown["Reset"][iir]) == ("0.00 [0.0, 0.0]", "100.00 [100.0, 100.0]")


def test_a_failure_counts_in_the_table(smoke: Path) -> None:
    results = read_results(smoke)
    plan = read_plan(smoke)
    failed = [msgspec.structs.replace(result, failure="lost") for result in results]
    (costs, *_) = cost_tables(plan, failed)
    assert {row[costs.columns.index("failed")] for row in costs.rows} == {"18"}


def test_a_directory_without_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"holds no run\.json"):
        write_report([tmp_path], tmp_path / "report")
