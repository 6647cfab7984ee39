"""The published tables re-aggregate to their own averages, except where the report says so."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest

from readmit_bench.published import Published, PublishedTable, discrepancies, published

ACTORS = ("Qwen3.5-122B-A10B", "Gemini-3-flash", "DeepSeek-v4-flash-0731")


def test_the_main_table_is_complete() -> None:
    for benchmark in ("memora", "stale", "manbench"):
        for actor in ACTORS:
            table = published().table("tab:main-results", benchmark=benchmark, actor=actor)
            assert [row.method for row in table.rows] == ["Static", "Restore", "Reset", "MemStrata", "MemTX", "TRACE"]


def test_figures_spot_checked_by_eye() -> None:
    main = published().table("tab:main-results", benchmark="stale", actor="Gemini-3-flash").row("All", "TRACE")
    assert main is not None
    assert main.values == {"overall": Decimal("88.81"), "via": Decimal("89.99"), "iir": Decimal("87.73")}
    cup = published().table("tab:stale-subset-buckets").row("Early", "CUPMem")
    assert cup is not None
    assert cup.values["tokens"] == 2_127_613
    scale = published().table("tab:agent-scale").row("32", "TRACE")
    assert scale is not None
    assert scale.values["overall"] == Decimal("95.85")


def test_every_discrepancy_is_in_one_block_of_one_table() -> None:
    """All other aggregates, identities, counts and repeated figures agree within rounding."""
    assert {(d.table, d.block) for d in discrepancies()} == {("tab:qwen-stale", "Pooled")}


def test_the_known_discrepancies() -> None:
    listed = {(d.method, d.metric, str(d.printed)) for d in discrepancies()}
    assert ("Reset", "pr", "3.00") in listed
    assert ("Static", "overall", "28.33") in listed
    assert ("Restore", "sr", "14.00") in listed
    assert not any(method == "TRACE" for method, _, _ in listed)
    first = str(discrepancies()[0])
    assert "tab:qwen-stale" in first
    assert "its blocks give" in first


@pytest.mark.parametrize(
    ("label", "block", "method", "metric", "message"),
    [
        ("tab:gemini-memora", "Average", "TRACE", "fama", "its blocks give"),
        ("tab:deepseek-manbench", "Old-Stale", "TRACE", "wsar", "complement of IIR"),
        ("tab:manbench-formal", "Old-Valid", "Static", "rsr", "complement of OVERALL"),
        ("tab:gemini-stale", "Early", "Static", "overall", "mean of SR, PR and IPA"),
        ("tab:gemini-stale", "Late", "TRACE", "sr", "no count out of 72"),
        ("tab:stale-core-ablation", "Pooled", "TRACE", "ls", "tab:qwen-stale"),
        ("tab:agent-scale-average", "Average", "TRACE", "via", "four scales"),
        ("tab:backend-portability", "ScopedMem", "Static", "iir", "tab:qwen-memora"),
        ("tab:stale-subset-buckets", "Aggregate", "TRACE", "tokens", "its blocks give"),
    ],
)
def test_a_changed_figure_is_found(label: str, block: str, method: str, metric: str, message: str) -> None:
    def changed(table: PublishedTable) -> PublishedTable:
        if table.label != label:
            return table
        rows = tuple(
            msgspec.structs.replace(r, values={**r.values, metric: r.values[metric] + Decimal("2.17")})
            if (r.block, r.method) == (block, method)
            else r
            for r in table.rows
        )
        return msgspec.structs.replace(table, rows=rows)

    data = published()
    altered = Published(source=data.source, tables=tuple(changed(t) for t in data.tables))
    new = set(map(str, discrepancies(altered))) - set(map(str, discrepancies()))
    assert any(message in line and metric in line for line in new), new
