"""The studies: which benchmark, which blocks, which methods, with the paper's settings."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from readmit.errors import RecordError
from readmit_bench.benchmarks import Study, benchmark_named, benchmarks
from readmit_bench.datasets.smoke import SMOKE, SMOKE_NOTE
from readmit_bench.episodes import Case, Dataset
from readmit_bench.methods import entry_named
from readmit_bench.methods.stores import STORES, lacking, stores_of
from readmit_bench.settings import ManBenchSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

AnyCase = Case[Any]
SMOKE_STUDY = Study(
    "smoke",
    ("memora", "stale", "manbench"),
    "A few cases that come with the package: does everything run?",
    in_paper=False,
    shipped=True,
)


@cache
def studies() -> Mapping[str, Study]:
    """Every study, by name."""
    return {study.name: study for study in (SMOKE_STUDY, *(s for one in benchmarks().values() for s in one.studies))}


@dataclass(frozen=True)
class Cases:
    """The planned cases of a study."""

    cases: tuple[AnyCase, ...]
    notes: tuple[str, ...]


def study_named(name: str) -> Study:
    """A study, or an error that lists them."""
    if name not in studies():
        raise RecordError(f"study: {name!r} is none of {', '.join(studies())}")
    return studies()[name]


def staffed(study: Study, settings: Settings) -> Study:
    """The study with as many active agents as the settings say, unless their number is what it varies."""
    agents = settings.manbench.active_agents
    if len(study.agents) == 1:
        return replace(study, agents=(agents,))
    if agents != ManBenchSettings().active_agents:
        varied = ", ".join(map(str, study.agents))
        raise RecordError(f"manbench.active_agents: {study.name} runs with {varied} of them; leave the setting out")
    return study


def chosen_methods(study: Study, names: Sequence[str], *, models: bool) -> tuple[str, ...]:
    """The methods to run, checked: a method that asks models needs some."""
    methods = tuple(dict.fromkeys(names)) or _usable(study.methods(models=models))
    chosen = [entry_named(name) for name in methods]
    needing = [entry.name for entry in chosen if entry.asks_models]
    if needing and not models:
        raise RecordError(
            f"methods: {', '.join(needing)} ask models; name them with --actor or --extractor and --verifier"
        )
    for entry in chosen:
        if entry.only and study.benchmarks != (entry.only,):
            title = benchmark_named(entry.only).title
            raise RecordError(
                f"methods: {entry.name} is defined on {title} only; leave it out or run a {entry.only} study"
            )
    if not methods:
        raise RecordError(f"methods: {study.name} compares methods that ask models; name an --actor")
    return methods


def _usable(methods: Sequence[str]) -> tuple[str, ...]:
    """Methods whose memory store is available. Named ones are never dropped: they are refused (``check_stores``)."""
    absent = {store for store in stores_of(methods) if lacking(store)}
    return tuple(name for name in methods if name.partition("/")[0] not in absent)


def absent_stores(study: Study, methods: Sequence[str], *, models: bool) -> tuple[str, ...]:
    """What a report must say: stores of the study that are not among the methods, with what they lack."""
    missing = set(stores_of(study.methods(models=models))) - set(stores_of(methods))
    left_out = ((store, lacking(store)) for store in STORES if store in missing)
    return tuple(f"{store} is left out: {why or 'it was not among the methods asked for'}." for store, why in left_out)


def planned_cases(
    study: Study,
    data: Path | None,
    *,
    limit: int | None,
    stratified: bool,
    seed: int,
    fillers: Path | None = None,
    settings: Settings | None = None,
) -> Cases:
    """Read the data and take the wanted episodes, the same for the same seed."""
    settings = settings or Settings()
    if data is None and not study.shipped:
        raise RecordError(f"data: {study.name} needs --data, the folder of the {study.benchmarks[0]} release")
    cases: list[AnyCase] = []
    notes: tuple[str, ...] = (SMOKE_NOTE,) if study.shipped else ()
    for name in study.benchmarks:
        root = SMOKE / name if study.shipped or data is None else data
        found = benchmark_named(name).load(root, study, fillers=fillers, seed=seed, settings=settings)
        notes += found.notes
        cases += _taken(found, study, limit=limit, stratified=stratified, seed=seed)
    return Cases(tuple(cases), notes)


def _taken(dataset: Dataset[Any], study: Study, *, limit: int | None, stratified: bool, seed: int) -> list[AnyCase]:
    """``limit`` units of the data set; ``stratified``: so many of each block. Without a limit, all."""
    cases = list(dataset.cases)
    per_block = study.per_block if limit is None else limit if stratified else None
    if limit is None and per_block is None:
        return cases
    generator = random.Random(seed)  # noqa: S311  # a repeatable choice, not a secret
    units = sorted({case.labels.unit for case in cases})
    generator.shuffle(units)
    place = {unit: number for number, unit in enumerate(units)}
    if per_block is None:
        return [case for case in cases if place[case.labels.unit] < (limit or 0)]
    blocks: defaultdict[str, list[AnyCase]] = defaultdict(list)
    for case in sorted(cases, key=lambda case: place[case.labels.unit]):
        blocks[case.labels.block].append(case)
    short = {name: len(found) for name, found in blocks.items() if len(found) < per_block}
    short |= dict.fromkeys(set(benchmark_named(dataset.benchmark).strata) - set(blocks), 0)
    if short:
        said = ", ".join(f"{name} {count}" for name, count in sorted(short.items()))
        raise RecordError(
            f"strata: {per_block} cases per block were asked for, and there are only {said}; lower --limit"
        )
    kept = {case.episode.id for found in blocks.values() for case in found[:per_block]}
    return [case for case in cases if case.episode.id in kept]
