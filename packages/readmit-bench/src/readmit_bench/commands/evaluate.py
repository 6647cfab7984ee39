"""``readmit eval``: how often a verifier is right, and how often the true pair is among those proposed."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from readmit.lab import command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.lab import Invocation
    from readmit_bench.evaluation.pairs import PairReport

EXISTING = click.Path(exists=True, path_type=Path)
SHARE = click.FloatRange(0, 1)


@click.group("eval")
def evaluate() -> None:
    """Measure the two halves of implicit invalidation: proposing pairs, and judging them."""


@click.argument("files", type=EXISTING, nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--verifier",
    metavar="MODEL",
    help="Model that judges: openai:NAME, gguf:PATH or batch:DIR?model=NAME. Not needed if FILE holds judgments.",
)
@click.option(
    "--pairs-per-call",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Most pairs in one request.",
)
@click.option("--swapped", is_flag=True, help="Ask in both orders; disagreement is unsure.")
@click.option("--limit", type=click.IntRange(2), help="Judge a balanced sample of this many cases per file.")
@click.option("--invalid-at", type=SHARE, default="0.5", show_default=True, help="Least score that takes an item out.")
@click.option(
    "--suspect-at", type=SHARE, default="0.3", show_default=True, help="Least score that withholds a critical item."
)
@click.option(
    "--min-confidence",
    type=SHARE,
    default="0.65",
    show_default=True,
    help="Least confidence of an answer that has no score.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of crossing, sampling and the intervals.")
@click.option(
    "--cases", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write one JSON line per case."
)
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="ROC and calibration, .png or .svg."
)
def pairs(
    invocation: Invocation, /, *, files: Sequence[Path], verifier: str | None, pairs_per_call: int, swapped: bool,
    limit: int | None, invalid_at: float, suspect_at: float, min_confidence: float, seed: int, cases: Path | None,
    plot: Path | None,
) -> None:  # fmt: skip
    """Judge labeled pairs: AUC, true and false positive rate at both thresholds, calibration, tokens per pair.

    FILE holds labeled pairs (one JSON object per line: id, old, new, invalidates), STALE pairs, which are crossed
    for negatives, or defeasible NLI. Without --verifier it holds judgments as well (stale or mistaken: a score;
    answer and confidence; item_quote and evidence_quote), and two rules are compared: the score decides, or the
    answer. An unusable judgment confirms nothing and withholds a critical item, as in a return.
    """
    from contextlib import closing

    from readmit import Policy
    from readmit.lab import emit, show
    from readmit.models import open_model
    from readmit_bench.evaluation.model_verifier import model_verifier
    from readmit_bench.evaluation.pairs import evaluate as measured
    from readmit_bench.evaluation.pairs import load_cases
    from readmit_bench.evaluation.plain_tables import pairs_table
    from readmit_bench.evaluation.stored_judgments import holds_judgments, load_stored

    policy = Policy(
        evidence={"invalid_at": Decimal(str(invalid_at)), "suspect_at": Decimal(str(suspect_at))},
        paper={"min_confidence": Decimal(str(min_confidence))},
    )
    judged = [path for path in files if holds_judgments(path)]
    if verifier is None and len(judged) < len(files):
        raise click.UsageError("Give --verifier, or files that hold judgments (a field stale, mistaken or answer).")
    stored = load_stored(judged, policy)
    loaded = [load_cases(path, seed=seed) for path in files if path not in judged]
    every = [stored.cases, *(one.cases for one in loaded)]
    chosen = [case for one in every for case in _sample(one, limit, seed)]
    if verifier is None:
        reports = [measured(chosen, said, policy=policy, rule=rule, seed=seed) for rule, said in stored.said]
    else:
        with closing(open_model(verifier)) as model:
            asked = model_verifier(model, policy=policy, pairs_per_call=pairs_per_call, swap=swapped)
            reports = [measured(chosen, asked, policy=policy, seed=seed)]
    if cases is not None:
        _write_cases(reports, cases)
    if plot is not None:
        from readmit_bench.evaluation.plots import plot_pairs

        plot_pairs(reports[0], plot)
    if invocation.json:
        emit({"skipped": sum(one.skipped for one in loaded), "reports": _plain(reports)})
    else:
        show(pairs_table(*reports))


@click.option("--pairs", type=EXISTING, metavar="FILE", help="JSON Lines with id, old and new, or STALE's pairs.")
@click.option(
    "--fillers", type=EXISTING, metavar="DIR", help="Unrelated sessions: .txt, .jsonl with text, or Memora's files."
)
@click.option("--data", type=EXISTING, metavar="DIR", help="Instead: a folder with stale/ and memora/.")
@click.option(
    "--embedder",
    default="minilm",
    show_default=True,
    metavar="NAME",
    help="minilm, lexical or openai:MODEL:DIMENSIONS.",
)
@click.option(
    "--seeds", type=click.IntRange(1), default=1, show_default=True, help="How many histories are drawn per pair."
)
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Recall curves, .png or .svg."
)
def proposals(
    invocation: Invocation, /, *, pairs: Path | None, fillers: Path | None, data: Path | None, embedder: str,
    seeds: int, plot: Path | None,
) -> None:  # fmt: skip
    """Recall of the true pair per signal and combined, at k per target and at n pairs per return.

    Histories have fifty sessions, built around each pair: --pairs and --fillers take any data. Optional fields of a
    pair are premises, implied (lists of texts) and places (two session numbers). --data takes the development data
    instead, around each STALE Type II pair; if the filler is not the benchmark's own, the report calls the haystack a
    substitute.
    """
    from readmit.lab import emit, show
    from readmit.models import open_embedder
    from readmit_bench.evaluation.plain_tables import proposals_table
    from readmit_bench.evaluation.proposals import measure_all
    from readmit_bench.evaluation.supplied_data import measure_given, read_filler, read_pairs

    if data is not None and pairs is None and fillers is None:
        measured = measure_all(data, open_embedder(embedder), range(seeds))
    elif data is None and pairs is not None and fillers is not None:
        known, written = read_pairs(pairs)
        measured = measure_given(known, written, read_filler(fillers), open_embedder(embedder), range(seeds))
    else:
        raise click.UsageError("Give --pairs and --fillers, or --data.")
    if plot is not None:
        from readmit_bench.evaluation.plots import plot_proposals

        plot_proposals(measured, plot)
    if invocation.json:
        emit({"proposals": [_plain(one) for one in measured]})
    else:
        show(proposals_table(measured))


def _sample(cases: Sequence[Any], limit: int | None, seed: int) -> list[Any]:
    import random

    if limit is None or limit >= len(cases):
        return list(cases)
    generator = random.Random(f"{seed}:sample")  # noqa: S311 - a seeded experiment
    kinds = [[case for case in cases if case.invalidates is kind] for kind in (True, False)]
    return [case for kind in kinds for case in generator.sample(kind, min(len(kind), limit // 2))]


def _plain(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value, str_keys=True)


def _write_cases(reports: Sequence[PairReport], path: Path) -> None:
    import msgspec

    rows = ({"rule": report.rule, **_plain(one)} for report in reports for one in report.judged)
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


evaluate.add_command(
    command(
        "pairs",
        store=False,
        examples=(
            "readmit eval pairs pairs.jsonl --verifier openai:gpt-5-mini",
            "readmit eval pairs pairs.jsonl --verifier 'batch:answers?model=gpt-5&shared=true' --pairs-per-call 4",
            "readmit eval pairs scores.jsonl",
        ),
    )(pairs)
)
evaluate.add_command(
    command(
        "proposals",
        store=False,
        examples=(
            "readmit eval proposals --pairs pairs.jsonl --fillers sessions",
            "readmit eval proposals --data ../shared/data --json",
        ),
    )(proposals)
)
