"""What the paper could not report: latency, calls, tokens per stage, refusals, proposals and verdicts."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import mean, quantiles
from typing import TYPE_CHECKING

from readmit_bench.plans.estimate import CHARS_PER_TOKEN
from readmit_bench.reports.tables import Column, Table, columns_of, row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from readmit_bench.reports.tables import TableRow
    from readmit_bench.results import Result, RunPlan

NONE = "–"
TIME = "Latency and calls"
MOST_MISSING = 3

TIME_NOTE = (
    "Milliseconds per episode, of eligible lines as in all tables here. The clock is that of the run that wrote the "
    "line, in which answers kept from before cost nothing; model time is the sum over all calls as they were first "
    "made, side by side or not, and says little where answers came by file. Calls, retries and repairs (answers asked "
    "for again because they did not fit) are totals."
)
PRICE_NOTE = (
    "Prompt and answer tokens of memory processing, governance and answering, as the paper counts them; the "
    "judge's are separate and are in no other column. An admitted item is a row or a store's record in a view."
)
STAGE_NOTE = "The share is of all tokens, the judge's included."
VIEW_NOTE = (
    "Of views that hand something over. Rows are a checkpoint's, or a store's records. Tokens are characters divided "
    f"by {CHARS_PER_TOKEN:.0f}, of the view as the agent reads it: no model's tokenizer is asked. Linked: the share of "
    "rows that support a planned need; a dash where the method links none."
)
REFUSAL_NOTE = (
    "A return refused for want of coverage says which dependencies of the task it could not cover; other refusals name "
    "nothing. “Incomplete, handed over” are views that a method without the gate releases all the same. Failures stay "
    "in every denominator."
)
PAIR_NOTE = (
    "STALE labels one pair of sessions per episode as true. Proposal recall: episodes in which that pair was proposed; "
    "an episode that failed counts as missed. Verifier precision is a lower bound: of all confirmed pairs, those known "
    "to be true; other confirmed pairs may be true as well, and nothing labels them."
)


def cost_tables(plan: RunPlan, results: Sequence[Result]) -> list[Table]:
    """Time, tokens, refusals and verdicts of every method; of eligible lines, like the scores."""
    counted = [result for result in results if result.eligible]
    by_method = {name: [r for r in counted if r.method == name] for name in plan.methods}
    present = {name: own for name, own in by_method.items() if own}
    return [table for table in _tables(present) if table.rows]


def _tables(present: dict[str, list[Result]]) -> Iterator[Table]:
    heads: tuple[str, ...] = (
        "n", "mean", "p50", "p95", "model mean", "model p50", "model p95", "calls", "retries", "repairs",
        "peak context",
    )  # fmt: skip
    yield Table(TIME, columns_of(("Method",), heads), _rows(present, _times), TIME_NOTE)
    asked = {name: own for name, own in present.items() if any(result.usage for result in own)}
    heads = (
        "n", "tokens / episode", "p50", "p95", "judge / episode", "admitted / episode", "tokens / admitted item",
    )  # fmt: skip
    yield Table("Tokens", columns_of(("Method",), heads), _rows(asked, _tokens), PRICE_NOTE)
    stages = tuple(row for name, own in asked.items() for row in _stages(name, own))
    heads = ("calls", "failed", "input / episode", "output / episode", "share of tokens")
    yield Table("Tokens per stage", columns_of(("Method", "Stage"), heads), stages, STAGE_NOTE)
    handing = {name: shown for name, own in present.items() if (shown := [one for one in own if _admitted(one)])}
    heads = (
        "n", "rows / view", "rows p50", "rows p95", "characters / view", "tokens / view", "tokens p95", "tokens / row",
        "rows linked to a need",
    )  # fmt: skip
    yield Table("What views hold", columns_of(("Method",), heads), _rows(handing, _held), VIEW_NOTE)
    heads = (
        "n", "views", "empty", "refused: coverage", "refused: other", "incomplete, handed over", "failed",
    )  # fmt: skip
    refusals = tuple(row_of(name, *_refusals(own)) for name, own in present.items())
    columns = (*columns_of(("Method",), heads), Column("what was missing most", number=False, long=True))
    yield Table("Views, refusals and failures", columns, refusals, REFUSAL_NOTE)
    proposing = {name: own for name, own in present.items() if any(r.view and r.view.findings for r in own)}
    heads = (
        "n", "proposed", "judged", "confirmed", "proposal recall", "true pair confirmed",
        "verifier precision, at least",
    )  # fmt: skip
    yield Table("Proposals and verdicts", columns_of(("Method",), heads), _rows(proposing, _pairs), PAIR_NOTE)


def _rows(present: dict[str, list[Result]], of: Callable[[Sequence[Result]], tuple[str, ...]]) -> tuple[TableRow, ...]:
    return tuple(row_of(name, *of(own)) for name, own in present.items())


def _spread(values: Sequence[float]) -> tuple[str, str, str]:
    """Mean, median and 95th percentile."""
    if len(values) == 1:
        return (f"{values[0]:,.0f}",) * 3
    cut = quantiles(values, n=20, method="inclusive")
    return f"{mean(values):,.0f}", f"{cut[9]:,.0f}", f"{cut[18]:,.0f}"


def _times(own: Sequence[Result]) -> tuple[str, ...]:
    return (
        str(len(own)),
        *_spread([result.milliseconds for result in own]),
        *_spread([sum(stage.milliseconds for stage in result.usage) for result in own]),
        f"{sum(stage.calls for result in own for stage in result.usage):,}",
        f"{sum(result.retries for result in own):,}",
        f"{sum(result.repairs for result in own):,}",
        f"{max(result.peak_context for result in own):,}",
    )


def _tokens(own: Sequence[Result]) -> tuple[str, ...]:
    total = sum(result.tokens for result in own)
    judged = sum(result.judge_tokens for result in own)
    admitted = sum(_admitted(result) for result in own)
    return (
        str(len(own)),
        *_spread([result.tokens for result in own]),
        f"{judged / len(own):,.0f}",
        f"{admitted / len(own):.1f}",
        f"{total / admitted:,.0f}" if admitted else NONE,
    )


def _admitted(result: Result) -> int:
    return 0 if result.view is None else len(result.view.rows) + len(result.view.memories)


def _held(own: Sequence[Result]) -> tuple[str, ...]:
    rows = [_admitted(result) for result in own]
    tokens = [one.characters / CHARS_PER_TOKEN for one in own if one.characters is not None]
    counted = len(tokens) == len(own)
    linked = sum(len(result.view.linked) for result in own if result.view is not None)
    return (
        str(len(own)),
        f"{mean(rows):.1f}",
        *_spread(rows)[1:],
        *((f"{CHARS_PER_TOKEN * mean(tokens):,.0f}", *_spread(tokens)[::2]) if counted else (NONE,) * 3),
        f"{sum(tokens) / sum(rows):,.0f}" if counted else NONE,
        _share(linked, sum(rows)) if linked else NONE,
    )


def _stages(method: str, own: Sequence[Result]) -> Iterator[TableRow]:
    totals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for result in own:
        for stage in result.usage:
            for place, value in enumerate((stage.calls, stage.failed, stage.input, stage.output)):
                totals[stage.stage][place] += value
    tokens = sum(sent + got for _, _, sent, got in totals.values())
    for place, (name, (calls, failed, sent, got)) in enumerate(totals.items()):
        share = f"{100 * (sent + got) / tokens:.1f} %" if tokens else NONE
        per = (f"{sent / len(own):,.0f}", f"{got / len(own):,.0f}")
        yield row_of(method, name, f"{calls:,}", f"{failed:,}", *per, share, starts=not place)


def _refusals(own: Sequence[Result]) -> tuple[str, ...]:
    views = [result.view for result in own if result.view is not None and not result.failure]
    refused = [view for view in views if view.blocked]
    uncovered = [view for view in refused if view.missing]
    missing = Counter(name for view in views for name in dict.fromkeys(view.missing))
    listed = "; ".join(f"{name} ({count})" for name, count in missing.most_common(MOST_MISSING))
    rest = len(missing) - MOST_MISSING
    return (
        str(len(own)),
        str(sum(bool(view.rows or view.memories) for view in views)),
        str(sum(not (view.rows or view.memories or view.blocked) for view in views)),
        str(len(uncovered)),
        str(len(refused) - len(uncovered)),
        str(sum(bool(view.missing) and not view.blocked for view in views)),
        str(sum(bool(result.failure) for result in own)),
        (listed + (f"; {rest} more" if rest > 0 else "")) or NONE,
    )


def _pairs(own: Sequence[Result]) -> tuple[str, ...]:
    findings = [finding for result in own if result.view is not None for finding in result.view.findings]
    with_pairs = {result.benchmark for result in own if result.true_pair}
    labelled = [result for result in own if result.benchmark in with_pairs]
    confirmed = sum(finding.confirmed for finding in findings)
    # Labels name two sessions: several statements of the one against the other are one pair.
    on_stale = {
        (result.episode, finding.row.partition(".")[0], finding.observation)
        for result in labelled
        if result.view is not None
        for finding in result.view.findings
        if finding.confirmed
    }
    proposed = sum(result.true_pair in ("proposed", "confirmed") for result in labelled)
    known = sum(result.true_pair == "confirmed" for result in labelled)
    return (
        str(len(own)),
        f"{len(findings):,}",
        f"{sum(bool(finding.answer) for finding in findings):,}",
        _share(confirmed, len(findings)),
        _share(proposed, len(labelled)),
        _share(known, len(labelled)),
        _share(known, len(on_stale)),
    )


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / whole:.1f} %)" if whole else NONE
