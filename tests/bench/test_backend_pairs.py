"""The backend study in a report: our pairs beside the published ones, and a word where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.bench.reported import memora, plan

from readmit_bench.reports.backend_pairs import LABEL, NO_PAIR, draw_pairs, pair_tables, printed
from readmit_bench.reports.run_scores import score_run

if TYPE_CHECKING:
    from pathlib import Path

    from readmit_bench.reports.tables import Table
    from readmit_bench.results import Result, RunPlan

pytest.importorskip("matplotlib", reason="figures need readmit-bench's dependencies")

PAIR = ("Mem0/Static", "Mem0/readmit")
PLANNED = plan("backends", *PAIR, cases={"memora/50%": 2})
# Static finds everything, what ended too; admission loses one statement of four and keeps out all that ended.
JUDGED = [
    memora(PAIR[0], "50%", 1, (True, True), (False, False)),
    memora(PAIR[0], "50%", 2, (True, True), (True, False)),
    memora(PAIR[1], "50%", 1, (True, False), (True, True)),
    memora(PAIR[1], "50%", 2, (True, True), (True, True)),
]
SEEN = [msgspec.structs.replace(result, memora=None, seen=result.memora) for result in JUDGED]


def table(planned: RunPlan, results: list[Result]) -> Table:
    (made,) = pair_tables(planned, score_run(planned, results))
    return made


def ours(made: Table) -> list[list[str]]:
    return [
        [f"*{cell.text}" if cell.marked else cell.text for cell in row.cells] for row in made.rows if not row.published
    ]


@pytest.mark.parametrize(("results", "source"), [(JUDGED, "this run"), (SEEN, "this run, no judge")])
def test_our_pair_stands_before_the_published_one_of_its_store(results: list[Result], source: str) -> None:
    made = table(PLANNED, results)
    # Static: P 1, F 1/4, w 1/2, so FAMA is the mean of 1/2 and 3/4. Admission: P 3/4, F 1, FAMA as P.
    # Marked is what leads in every draw: VIA and FAMA are the same in one of the two questions.
    assert ours(made) == [
        ["Mem0", "Static", source, "2", "100.00", "25.00", "40.00", "62.50"],
        ["Mem0", "readmit", source, "2", "75.00", "*100.00", "*85.71", "75.00"],
    ]
    assert ("by literal match" in made.note) == ("no judge" in source)
    order = [(row.cells[0].text, row.cells[1].text) for row in made.rows]
    assert order[2:6] == [("Mem0", "Static"), ("Mem0", "readmit"), ("Mem0", "Static"), ("Mem0", "TRACE")]
    assert [row.published for row in made.rows if row.published] == [LABEL] * 8
    assert [row.cells[0].text for row in made.rows if row.starts] == ["ScopedMem", "Mem0", "Memobase", "A-MEM"]


def test_the_published_pairs_are_the_papers() -> None:
    halves = {(half.store, half.method): half.values for half in printed()}
    assert len(halves) == 8
    assert halves["ScopedMem", "TRACE"] == {"via": 52.01, "iir": 74.19, "fama": 39.31}


@pytest.mark.parametrize("results", [JUDGED[:2], JUDGED[:3], [r for r in JUDGED if r.unit == "1"]])
def test_half_a_pair_is_none_and_that_is_said(results: list[Result], tmp_path: Path) -> None:
    made = table(PLANNED, results)
    assert ours(made) == []
    assert made.note == NO_PAIR
    (drawn,) = draw_pairs(PLANNED, score_run(PLANNED, results), tmp_path)
    assert NO_PAIR in drawn.caption
    assert "Filled" not in drawn.caption


def test_the_figure_tells_filled_from_hollow(tmp_path: Path) -> None:
    (drawn,) = draw_pairs(PLANNED, score_run(PLANNED, SEEN), tmp_path)
    assert f"Hollow: published ({LABEL}). Filled: this run" in drawn.caption
    assert "Mem0, Static: 100.0 / 25.0; Mem0, readmit: 75.0 / 100.0" in drawn.alt
    assert {path.name for path in tmp_path.iterdir()} == {"backends.png", "backends.svg"}


def test_other_departures_are_not_the_papers_and_other_studies_have_no_pairs(tmp_path: Path) -> None:
    later = [msgspec.structs.replace(result, block="75%") for result in JUDGED]
    planned = plan("memora", *PAIR, cases={"memora/75%": 2})
    assert ours(table(planned, later)) == []
    plain = plan("memora", "Static", cases={"memora/50%": 1})
    results = [memora("Static", "50%", 1, (True,), (True,))]
    assert pair_tables(plain, score_run(plain, results)) == []
    assert list(draw_pairs(plain, score_run(plain, results), tmp_path)) == []
