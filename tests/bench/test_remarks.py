"""What stands under a score table, and how scales are pooled."""

from __future__ import annotations

import msgspec
import pytest
from tests.bench.reported import manbench, memora, plan, stale

from readmit.models import StageUsage
from readmit_bench.episodes import View
from readmit_bench.reports.differences import difference_tables
from readmit_bench.reports.run_scores import score_run
from readmit_bench.reports.tables import score_tables

# As many eligible episodes as make the share of Old-Stale that the paper prints for Static with 4 agents: 44.26 %.
COUNTS = {4: {"old-valid": 34, "old-stale": 27}, 8: {"old-valid": 1, "old-stale": 1}}


def scale_results(method: str, *, always: bool) -> list[msgspec.Struct]:
    return [
        manbench(method, block, number, valid=always or block == "old-stale", invalid=False, agents=agents)
        for agents, counts in COUNTS.items()
        for block, count in counts.items()
        for number in range(count)
    ]


def test_a_scale_pools_its_conditions_by_episodes_and_scales_weigh_the_same() -> None:
    planned = plan("scale", "Static", "readmit", agents=(4, 8))
    results = [*scale_results("Static", always=False), *scale_results("readmit", always=True)]
    scored = score_run(planned, results)  # type: ignore[arg-type]  # lines made by hand
    line = {name: scored[0].line("Static", name) for name in ("4", "8", "average")}
    found = {name: one.get("via") for name, one in line.items() if one is not None}
    assert found == {
        "4": pytest.approx(100 * 27 / 61),
        "8": pytest.approx(50),
        "average": pytest.approx((100 * 27 / 61 + 50) / 2),
    }
    assert round(found["4"] or 0, 2) == 44.26
    (table,) = difference_tables(planned, scored)
    (row,) = table.rows
    assert f"{100 - (100 * 27 / 61 + 50) / 2:+.2f}" in [cell.text for cell in row.cells]


def test_a_table_says_what_its_construction_gives_away_and_who_has_another_budget() -> None:
    def note(study: str, *results: object) -> str:
        methods = dict.fromkeys(one.method for one in results)  # type: ignore[attr-defined]
        planned = plan(study, *methods)
        (table,) = score_tables(planned, score_run(planned, results))  # type: ignore[arg-type]
        return table.note

    right = (True, True, True)
    assert "same-version) scores 100" in note("manbench", manbench("Static", "old-valid", 1, valid=True, invalid=False))
    told = note("stale", stale("Restore", "early", 1, right), stale("trace-without-sbpr", "early", 1, right))
    assert "drop-last-session rejects" in told
    assert "Restore hands over the departure state whole" in told
    assert "up to 8 private memories beside it" in told
    assert "1,927,417" not in told
    assert "1,927,417" in note("stale-cost", stale("CUPMem", "early", 1, right))


def test_a_memora_table_says_which_views_go_beyond_what_retrieval_fills() -> None:
    def result(method: str, number: int, rows: int) -> object:
        view = View(method=method, rows=tuple(f"r{place}" for place in range(rows)))
        return msgspec.structs.replace(memora(method, "25%", number, (True,), (True,)), view=view)

    results = [result("Static", 1, 12), result("readmit", 1, 12), result("readmit", 2, 14), result("Restore", 1, 40)]
    planned = plan("memora", "Static", "readmit", "Restore")
    (table,) = score_tables(planned, score_run(planned, results))  # type: ignore[arg-type]
    assert "to 16: readmit in 1 of 2 views." in table.note
    wider = plan("memora", "Static", "readmit", "Restore", settings=("memora.facts_initial=14",))
    (table,) = score_tables(wider, score_run(wider, results))  # type: ignore[arg-type]
    assert "Retrieval fills" not in table.note, "the budget is that of the run"


def test_the_cost_of_cupmem_is_shown_beside_the_published_one() -> None:
    usage = (
        StageUsage(stage="cup-chunks", calls=50, input=150_000, output=0),
        StageUsage(stage="cup-invalidate", calls=40, input=30_000, output=0),
        StageUsage(stage="cup-premise", calls=3, input=12_000, output=741),
        StageUsage(stage="judge", calls=1, input=1_000_000, output=0),
    )
    planned = plan("stale-cost", "CUPMem")
    line = msgspec.structs.replace(stale("CUPMem", "early", 1, (True, True, True)), usage=usage)
    (table,) = score_tables(planned, score_run(planned, [line]))
    assert "took 192,741 tokens an episode, 10 % of the published: reading sessions whole 78 %" in table.note
    assert "keeping the memory 16 %, questions 7 %." in table.note
