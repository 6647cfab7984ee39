"""Tables of a report: figures counted by hand, published rows beside them and never in an average."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.bench.data import SMOKE
from tests.bench.reported import manbench, memora, plan, stale

from readmit.models import StageUsage
from readmit_bench.episodes import Finding, View
from readmit_bench.metrics import MemoraOutcome
from readmit_bench.published import published
from readmit_bench.reports.costs import cost_tables
from readmit_bench.reports.differences import difference_tables
from readmit_bench.reports.run_scores import CEILING, score_run
from readmit_bench.reports.tables import published_tables, score_tables
from readmit_bench.results import Result, RunPlan, read_plan, read_results
from readmit_bench.study_runs import RunOrder, run

pytest.importorskip("numpy", reason="intervals need readmit-bench's dependencies")

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit_bench.reports.tables import Table

SUBSET = "tab:stale-subset-buckets"
YES, NO, MIXED = (True, True, True), (False, False, False), (True, False, True)


def shown(table: Table, *, published: bool = False) -> list[dict[str, str]]:
    """Rows as dictionaries, with an interval after its figure and a star where a cell is marked."""
    names = [column.name.rstrip(" ↑↓") for column in table.columns]
    return [
        {
            name: f"{cell.text} {cell.interval}".strip() + ("*" if cell.marked else "")
            for name, cell in zip(names, row.cells, strict=True)
        }
        for row in table.rows
        if bool(row.published) == published
    ]


def tables(planned: RunPlan, results: Sequence[Result]) -> list[Table]:
    return score_tables(planned, score_run(planned, results))


def costs(planned: RunPlan, results: Sequence[Result], title: str) -> list[dict[str, str]]:
    return shown(next(table for table in cost_tables(planned, results) if table.title == title))


def test_both_aggregation_rules_and_every_metric_of_stale() -> None:
    results = [stale("Static", "early", 0, YES), stale("Static", "late", 0, MIXED), stale("Static", "late", 1, NO)]
    (table,) = tables(plan("stale", "Static"), results)
    rows = {row["Block"]: row for row in shown(table)}
    assert list(rows) == ["early", "late", "average", "pooled"]
    assert [rows["late"][name] for name in ("SR", "PR", "VIA (IPA)")] == [
        "50.00 [0.0, 100.0]",
        "0.00 [0.0, 0.0]",
        "50.00 [0.0, 100.0]",
    ]
    # Equal weights: (1 + 1/3) / 2; pooled: (1 + 2/3 + 0) / 3.
    assert (rows["average"]["Overall"], rows["pooled"]["Overall"]) == ("66.67", "55.56")
    assert (rows["average"]["LS"], rows["pooled"]["LS"]) == ("50.00", "33.33")
    assert (rows["average"]["IIR"], rows["average"]["WSAR"]) == ("50.00", "50.00")
    assert rows["early"]["Overall"] == "100.00", "one unit has no interval"


def test_memora_shows_p_f_w_and_fama() -> None:
    results = [memora("Static", "25%", 0, (True, False), (True,)), memora("Static", "25%", 1, (True, True), (False,))]
    (table,) = tables(plan("memora", "Static"), results)
    (row,) = shown(table)
    # P 1/2 and 1, F 1 and 0, w 1/3: FAMA 1/2 and 2/3.
    assert [row[name].split()[0] for name in ("VIA (P)", "IIR (F)", "w", "FAMA")] == [
        "75.00",
        "50.00",
        "33.33",
        "58.33",
    ]


def test_questions_about_one_history_are_drawn_together() -> None:
    """Ten questions about each of two histories are two things, not twenty."""
    held = [
        msgspec.structs.replace(
            memora("Static", "25%", number, (number < 10,), (True,)), history="one" if number < 10 else "other"
        )
        for number in range(20)
    ]
    (table,) = tables(plan("memora", "Static"), held)
    assert shown(table)[0]["VIA (P)"] == "50.00 [0.0, 100.0]"
    apart = [msgspec.structs.replace(line, history="") for line in held]
    (table,) = tables(plan("memora", "Static"), apart)
    assert shown(table)[0]["VIA (P)"] == "50.00 [30.0, 70.0]"


def test_the_ceiling_of_the_checkpoint_stands_in_the_table_and_in_no_comparison() -> None:
    most = MemoraOutcome(episode="0@25%", presence=(True, True, False), forgetting=(True,))
    seen = MemoraOutcome(episode="0@25%", presence=(True, False, False), forgetting=(False,))
    results = [
        msgspec.structs.replace(memora(name, "25%", 0, (True,), (True,)), memora=None, seen=seen, reach=most)
        for name in ("Static", "readmit-lexical")
    ]
    planned = plan("memora", "Static", "readmit-lexical")
    (table,) = tables(planned, results)
    *_, ceiling = shown(table)
    assert (ceiling["Method"], ceiling["n"], ceiling["VIA"], ceiling["IIR"]) == (CEILING, "1", "66.67", "100.00")
    (compared,) = difference_tables(planned, score_run(planned, results))
    assert [row["Method"] for row in shown(compared)] == ["readmit-lexical"]


def test_published_rows_stand_in_the_same_block_and_in_no_average() -> None:
    results = [stale(m, b, 0, YES) for m in ("Static", "trace-paper") for b in ("early", "middle", "late")]
    (table,) = tables(plan("stale", "Static", "trace-paper"), results)
    beside = shown(table, published=True)
    assert {(row["Block"], row["Method"]) for row in beside} == {
        (block, name) for block in ("early", "middle", "late", "average = pooled") for name in ("Static", "TRACE")
    }
    assert {row["Source"] for row in beside} == {
        "published, tab:qwen-stale", "published, tab:gemini-stale", "published, tab:deepseek-stale",
    }  # fmt: skip
    early = next(r for r in beside if (r["Block"], r["Method"], r["Source"][-10:]) == ("early", "TRACE", "qwen-stale"))
    assert (early["Overall"], early["n"], early["WSAR"]) == ("64.06", "64", "n/a")
    assert all(row["Overall"] == "100.00" for row in shown(table)), "all of ours are right, whatever was published"
    assert not any(cell.marked for row in table.rows if row.published for cell in row.cells)
    assert "tab:gemini-stale Gemini-3-flash" in table.note


def test_an_actor_of_a_published_family_is_read_beside_that_family() -> None:
    results = [stale("Static", block, 0, YES) for block in ("early", "middle")]
    (table,) = tables(plan("stale", "Static", models={"actor": "openai/google-Gemini-3"}), results)
    assert {row["Source"] for row in shown(table, published=True)} == {"published, tab:gemini-stale"}


def test_nothing_is_set_beside_the_score_of_a_view() -> None:
    """The paper's figures are of judged answers, not of what stands in a view."""
    judged = [memora("Static", "25%", n, (True,), (True,)) for n in range(2)]
    seen = [msgspec.structs.replace(line, memora=None, seen=line.memora) for line in judged]
    (table,) = tables(plan("memora", "Static"), seen)
    assert shown(table, published=True) == []
    (table,) = tables(plan("memora", "Static"), judged)
    assert len(shown(table, published=True)) == 3


@pytest.mark.parametrize(
    ("study", "methods", "expected"),
    [
        ("stale-cost", ("Static", "CUPMem"), {("Static", SUBSET), ("CUPMem", SUBSET)}),
        ("ablations", ("trace-without-ii",), {("TRACE without II", "tab:stale-core-ablation")}),
        ("ablations", ("readmit",), {("TRACE", "tab:stale-core-ablation")}),
        ("stale-type1", ("Static", "readmit"), set()),
        ("smoke", ("Static", "readmit"), set()),
    ],
)  # fmt: skip
def test_each_study_has_its_own_table(study: str, methods: tuple[str, ...], expected: set[tuple[str, str]]) -> None:
    results = [stale(m, b, 0, YES) for m in methods for b in ("early", "middle", "late")]
    (table,) = tables(plan(study, *methods), results)
    found = {(row["Method"], row["Source"].removeprefix("published, ")) for row in shown(table, published=True)}
    assert found == expected
    assert ("Tokens / episode" in [column.name.rstrip(" ↓") for column in table.columns]) == (study == "stale-cost")


def test_scales_are_blocks_beside_the_papers_scales() -> None:
    results = [
        manbench("Static", block, number, valid=agents == 4, invalid=False, correct=True, agents=agents)
        for agents in (4, 32) for block in ("old-valid", "old-stale") for number in range(2)
    ]  # fmt: skip
    summary, *by_scale = tables(plan("scale", "Static", "not yet run", agents=(4, 32)), results)
    rows = {row["Block"]: row["VIA"].split()[0] for row in shown(summary)}
    assert rows == {"4": "100.00", "32": "0.00", "average": "50.00"}
    assert {(row["Block"], row["Overall"]) for row in shown(summary, published=True)} == {
        ("4", "77.20"), ("32", "76.18"), ("average", "76.51"),
    }  # fmt: skip
    assert [table.title for table in by_scale] == [
        f"manbench: admission of the two candidates, {agents} active agents" for agents in (4, 32)
    ]


def test_stores_are_read_beside_the_same_store() -> None:
    methods = ("ScopedMem/Static", "ScopedMem/readmit")
    results = [memora(m, "50%", n, (True,), (True,)) for m in methods for n in range(2)]
    (table,) = tables(plan("backends", *methods), results)
    assert {(row["Method"], row["FAMA"]) for row in shown(table, published=True)} == {
        ("ScopedMem/Static", "39.13"), ("ScopedMem/readmit", "39.31"),
    }  # fmt: skip


def test_a_lead_is_marked_only_where_its_interval_leaves_out_zero() -> None:
    results = [stale("Static", "early", n, NO) for n in range(10)]
    results += [stale("MemTX", "early", n, YES if n == 0 else NO) for n in range(10)]
    (table,) = tables(plan("stale", "Static", "MemTX"), results)
    assert [row["Overall"][-1] for row in shown(table)] == ["]", "]"]
    results += [stale("readmit", "early", n, YES) for n in range(10)]
    (table,) = tables(plan("stale", "Static", "MemTX", "readmit"), results)
    assert [row["Overall"].endswith("*") for row in shown(table)] == [False, False, True]
    (table,) = tables(plan("stale", "Static", "MemTX", "readmit"), results[:-1])
    assert not any(row["Overall"].endswith("*") for row in shown(table)), "not the same episodes"


def test_the_best_of_a_block_is_marked_and_none_where_all_are_alike() -> None:
    results = [manbench("Static", "old-valid", n, valid=True, invalid=True) for n in range(2)]
    results += [manbench("Reset", "old-valid", n, valid=False, invalid=False) for n in range(2)]
    (table,) = tables(plan("manbench", "Static", "Reset"), results)
    static, reset = shown(table)
    assert static["VIA"].endswith("*")
    assert reset["IIR"].endswith("*")
    assert reset["WSAR"] == "0.00 [0.0, 0.0]*", "lower is better there"
    assert (static["HM"], reset["HM"]) == ("0.00 [0.0, 0.0]", "0.00 [0.0, 0.0]")
    assert "Overall" not in static, "without answers there is none"


def test_by_construction_the_simple_methods_score_fifty_fifty_on_manbench(tmp_path: Path) -> None:
    run(RunOrder(study="manbench", data=SMOKE / "manbench"), tmp_path)
    (table,) = tables(read_plan(tmp_path), read_results(tmp_path))
    rows = {row["Method"]: row for row in shown(table) if row["Block"] == "average"}
    for name in ("Static", "Restore"):
        assert [rows[name][metric].rstrip("*") for metric in ("VIA", "IIR")] == ["50.00 [50.0, 50.0]"] * 2
    assert rows["Reset"]["VIA"] == "0.00 [0.0, 0.0]"
    assert rows["Reset"]["IIR"] == "100.00 [100.0, 100.0]", "and readmit-lexical refuses as much: nobody leads"


def test_paired_differences_are_over_the_episodes_both_have() -> None:
    """Ten episodes where the second method is right and the first is not; an eleventh that only one has."""
    results = [stale("Static", "early", n, NO) for n in range(10)]
    results += [stale("readmit", "early", n, YES) for n in range(10)] + [stale("readmit", "early", 10, NO)]
    planned = plan("stale", "Static", "readmit")
    (table,) = difference_tables(planned, score_run(planned, results))
    (row,) = shown(table)
    assert (row["Method"], row["Reference"], row["n"]) == ("readmit", "Static", "10")
    assert row["Δ Overall"] == "+100.00 [+100.0, +100.0]*"


def test_a_difference_whose_interval_holds_zero_is_not_marked() -> None:
    results = [stale("trace-paper", "early", n, YES if n % 2 else NO) for n in range(20)]
    results += [stale("readmit", "early", n, NO if n % 2 else YES) for n in range(20)]
    planned = plan("stale", "trace-paper", "readmit")
    (table,) = difference_tables(planned, score_run(planned, results))
    (row,) = shown(table)
    assert row["Reference"] == "trace-paper"
    assert row["Δ LS"].startswith("+0.00 [-")
    assert not row["Δ LS"].endswith("*")


def test_pairing_is_tighter_than_two_independent_intervals() -> None:
    """Hard and easy episodes alike for both, and one that only the second gets right."""
    results = [stale("Static", "early", n, YES if n < 50 else NO) for n in range(100)]
    results += [stale("readmit", "early", n, YES if n < 58 else NO) for n in range(100)]
    planned = plan("stale", "Static", "readmit")
    (table,) = difference_tables(planned, score_run(planned, results))
    text = shown(table)[0]["Δ LS"]
    low, high = (float(part) for part in text.partition("[")[2].rstrip("]*").split(", "))
    assert 2 < low < 8 < high < 15, "independent intervals would be some 27 points wide"


def usage(stage: str, calls: int, sent: int, got: int) -> StageUsage:
    return StageUsage(stage=stage, calls=calls, input=sent, output=got, milliseconds=7)


def test_what_it_took() -> None:
    spent = (usage("answer", 2, 90, 10), usage("judge", 1, 1000, 0))
    view = View(method="Static", rows=("a", "b"))
    results = [
        stale(
            "Static", "early", n, YES, view=view, usage=spent, milliseconds=n, retries=1, repairs=2, peak_context=5 + n
        )
        for n in range(101)
    ]
    planned = plan("stale", "Static")
    (times,) = costs(planned, results, "Latency and calls")
    assert [times[name] for name in ("mean", "p50", "p95", "model mean")] == ["50", "50", "95", "14"]
    assert [times[name] for name in ("calls", "retries", "repairs", "peak context")] == ["303", "101", "202", "105"]
    (tokens,) = costs(planned, results, "Tokens")
    assert tokens["tokens / episode"] == "100", "the judge's are not the method's"
    assert (tokens["judge / episode"], tokens["tokens / admitted item"]) == ("1,000", "50")
    stages = costs(planned, results, "Tokens per stage")
    assert [(row["Stage"], row["input / episode"]) for row in stages] == [("answer", "90"), ("judge", "1,000")]


def test_what_views_hold_in_rows_and_tokens_and_how_much_of_it_a_need_asked_for() -> None:
    linking = View(method="readmit", rows=("a", "b", "c", "d"), linked=("a", "b", "c"))
    plain = View(method="Static", rows=("a", "b", "c", "d", "e"))
    refused = View(method="readmit", rows=(), blocked=True)
    results = [
        stale("readmit", "early", 1, YES, view=linking, characters=400),
        stale("readmit", "early", 2, NO, view=refused, characters=0),
        stale("Static", "early", 1, YES, view=plain, characters=1000),
        stale("old", "early", 1, YES, view=plain),
    ]
    ours, static, old = costs(plan("stale", "readmit", "Static", "old"), results, "What views hold")
    assert ours["n"] == "1", "a refused return hands nothing over"
    assert (ours["rows / view"], ours["tokens / view"], ours["tokens / row"]) == ("4.0", "100", "25")
    assert ours["characters / view"] == "400"
    assert ours["rows linked to a need"] == "3 of 4 (75.0 %)"
    assert (static["rows / view"], static["tokens / view"], static["rows linked to a need"]) == ("5.0", "250", "–")
    assert (old["rows / view"], old["tokens / view"]) == ("5.0", "–"), "a line that was not counted is not zero"


def test_refusals_for_want_of_coverage_are_distinguished() -> None:
    views = (
        View(method="m", rows=("a",)),
        View(method="m", rows=()),
        View(method="m", rows=(), blocked=True, missing=("t0.place", "t1.time")),
        View(method="m", rows=(), blocked=True, missing=("t0.place",)),
        View(method="m", rows=(), blocked=True),
        View(method="m", rows=("a",), missing=("t9.who",)),
    )
    results = [stale("m", "early", n, NO, view=view) for n, view in enumerate(views)]
    results += [stale("m", "early", 6, NO, failure="lost"), stale("m", "early", 7, NO, eligible=False)]
    (row,) = costs(plan("stale", "m"), results, "Views, refusals and failures")
    assert row == {
        "Method": "m", "n": "7", "views": "2", "empty": "1", "refused: coverage": "2", "refused: other": "1",
        "incomplete, handed over": "1", "failed": "1", "what was missing most": "t0.place (2); t1.time (1); t9.who (1)",
    }  # fmt: skip


def test_precision_of_the_verifier_is_a_lower_bound_and_a_failure_is_a_miss() -> None:
    def finding(answer: str, row: str = "s1.t1", *, sure: bool = False) -> Finding:
        return Finding(row=row, observation="2/user/after", answer=answer, confirmed=sure)

    confirmed = [finding("invalidates", row, sure=True) for row in ("s1.t1.e00", "s1.t1.e01", "s3.t1")]
    confirming = View(method="m", rows=(), findings=(*confirmed, finding("invalidates"), finding("")))
    rejecting = View(method="m", rows=(), findings=(finding("compatible"),))
    results = [
        stale("m", "early", 0, YES, view=confirming, true_pair="confirmed"),
        stale("m", "early", 1, YES, view=rejecting, true_pair="proposed"),
        stale("m", "early", 2, YES, view=rejecting, true_pair="missed"),
        stale("m", "early", 3, NO, failure="lost"),
    ]
    (row,) = costs(plan("stale", "m"), results, "Proposals and verdicts")
    assert (row["proposed"], row["judged"], row["confirmed"]) == ("7", "6", "3 of 7 (42.9 %)")
    assert row["proposal recall"] == "2 of 4 (50.0 %)"
    assert row["true pair confirmed"] == "1 of 4 (25.0 %)"
    assert row["verifier precision, at least"] == "1 of 2 (50.0 %)"


def test_a_failure_counts_in_every_denominator() -> None:
    results = [stale("m", "early", 0, YES), stale("m", "early", 1, NO, failure="lost")]
    (table,) = tables(plan("stale", "m"), results)
    (row,) = shown(table)
    assert (row["n"], row["Overall"].split()[0]) == ("2", "50.00")


def test_lines_that_are_not_eligible_count_nowhere() -> None:
    results = [manbench("m", "old-valid", n, valid=True, invalid=False) for n in range(2)]
    results.append(manbench("m", "old-valid", 2, valid=False, invalid=True, eligible=False))
    (table,) = tables(plan("manbench", "m"), results)
    assert [(row["n"], row["VIA"].split()[0]) for row in shown(table)] == [("2", "100.00")]


def test_the_appendix_holds_every_published_table_whole() -> None:
    found = published_tables(["memora", "stale", "manbench"])
    assert len(found) == len(published().tables)
    assert all(table.published and all(row.published for row in table.rows) for table in found)
    assert sum(len(table.rows) for table in found) == sum(len(table.rows) for table in published().tables)
    (ablation,) = (table for table in found if table.published == "tab:stale-core-ablation")
    assert [cell.text for cell in ablation.rows[1].cells] == [
        "Pooled",
        "TRACE without II",
        "26.50",
        "34.00",
        "19.50",
        "18.00",
    ]
