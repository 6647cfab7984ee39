"""``readmit bench retrieval`` and ``readmit bench shares``: measurements on Memora without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from readmit_bench.commands.options import FOLDER, POSITIVE, models, what

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.lab import Invocation

SHARES = (
    "readmit bench shares --data memora --set memora.retrieval=lexical",
    "readmit bench shares --data memora --departure 0.5 --to docs/runs --name memora-rules",
)


@what("--data", type=FOLDER, required=True, metavar="DIR", help="Folder of Memora's release.")
@what("--limit", type=POSITIVE, metavar="N", help="Only N questions.")
@what("--seed", default=0, show_default=True, help="Seed of the questions that --limit takes and of the intervals.")
@what(
    "--set", "settings", multiple=True, metavar="NAME=VALUE",
    help="Change a setting, such as memora.retrieved_after=20. Repeatable.",
)  # fmt: skip
@models("--embedder", default="minilm", show_default=True, metavar="NAME", help="Embedder that ranks facts.")
def retrieval(
    invocation: Invocation, /, *, data: Path, limit: int | None, seed: int, settings: tuple[str, ...], embedder: str
) -> None:
    """Measure how much of what is asked for Memora's checkpoint holds: by words alone, and with facts fused.

    No model is asked. The ceiling of the checkpoint bounds every method's view; the share that ordinary retrieval hands
    over is shown beside it.
    """
    from readmit.lab import emit, progress, show
    from readmit_bench.retrieval_measures import as_json, measure, notes, table
    from readmit_bench.run_embedder import embedder_named
    from readmit_bench.settings import Settings, overridden
    from readmit_bench.studies import planned_cases, study_named

    chosen = overridden(Settings(), settings)
    study = study_named("memora")
    found = planned_cases(study, data, limit=limit, stratified=False, seed=seed, settings=chosen)
    with progress("Retrieving", 2 * len(found.cases)) as advance:
        measured = measure(found.cases, chosen, embedder_named(embedder), seed=seed, watch=advance)
    if invocation.json:
        emit(as_json(measured))
        return
    show(table(measured), "")
    for said in notes(measured):
        show(said)


@what("--data", type=FOLDER, required=True, metavar="DIR", help="Folder of Memora's release.")
@what("--half", type=click.Choice(("other", "chosen")), default="other", show_default=True, help="Whose histories.")
@what("--departure", type=float, multiple=True, metavar="SHARE", help="Only these departures, such as 0.5. Repeatable.")
@what("--case", "named", multiple=True, metavar="NAME", help="Only these cases, of either half. Repeatable.")
@what("--limit", type=POSITIVE, metavar="N", help="Only N cases.")
@what("--seed", default=0, show_default=True, help="Seed of the cases that --limit takes and of the intervals.")
@what("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Change a setting. Repeatable.")
@models(
    "--recorded", type=FOLDER, multiple=True, metavar="DIR", help="Batch directory whose answers are used. Repeatable."
)
@models("--embedder", default="minilm", show_default=True, metavar="NAME", help="Embedder that ranks facts.")
@click.option("--to", type=FOLDER, metavar="DIR", help="Keep the figures in this folder, for `readmit bench results`.")
@click.option("--name", default="memora-rules", show_default=True, metavar="NAME", help="Name of the kept figures.")
def shares(invocation: Invocation, /, *, to: Path | None, name: str, **asked: Any) -> None:
    """Measure what each rule of readmit does to its views on Memora: no rule, each rule alone, all rules.

    The share of what holds that is in the view, and the share of what ended that is not in it. Rules were written on
    every other history, by name; the default is the other half. No model is asked: a reader by rules takes the place of
    extractor, planner and linker, and recorded answers to the same requests come first.
    """
    from readmit.lab import emit, one_line, progress, show
    from readmit_bench.kept_runs import write_kept
    from readmit_bench.rule_shares import as_json, kept_shares, measure, table
    from readmit_bench.shares_order import SharesOrder

    order = SharesOrder(**asked)
    cases = order.cases()
    with progress("Measuring", len(cases)) as advance:
        found = measure(cases, order.how, order.reader(), order.opened_embedder(), watch=advance)
    kept = kept_shares(found, order, cases, name)
    if invocation.json:
        emit(as_json(found))
    else:
        show(table(found, order.seed), "", kept.tables[0].note, kept.short)
    if to is not None:
        show(f"{one_line(str(write_kept(kept, to)))}: figures {kept.digest}")
