"""The studies: which benchmark, which blocks, which methods, with the paper's settings."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from readmit.records.errors import RecordError
from readmit_bench.datasets.manbench import read_manbench
from readmit_bench.datasets.memora import read_memora
from readmit_bench.datasets.memora_files import read_fillers
from readmit_bench.datasets.smoke import SMOKE, SMOKE_NOTE
from readmit_bench.datasets.stale import PAIRS_FILE, STRATA, read_stale
from readmit_bench.episodes import Benchmark, Case, Dataset
from readmit_bench.methods import MODEL_FREE, SHORTCUTS
from readmit_bench.methods.governance import ABLATIONS, READMIT, TRACE_PAPER
from readmit_bench.methods.stores import HALVES, STORES, lacking, stores_of
from readmit_bench.settings import ManBenchSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COMPARISON = ("Static", "Restore", "Reset", "MemStrata", "MemTX")
MODEL_BASED = ("trace-paper", "readmit", *(one.name for one in ABLATIONS), "CUPMem")
BACKED = tuple(f"{store}/{half}" for store in STORES for half in HALVES)
METHODS = (*MODEL_FREE, *SHORTCUTS, *MODEL_BASED, *BACKED)
ONLY: dict[str, Benchmark] = {"CUPMem": "stale", "drop-last-session": "stale", "same-version": "manbench"}
"""Methods that are defined on one benchmark."""
TITLES: dict[Benchmark, str] = {"memora": "Memora", "stale": "STALE", "manbench": "ManBench"}
GOVERNANCE = {one.name: one for one in (TRACE_PAPER, READMIT, *ABLATIONS)}
SUBSET = 20

AnyCase = Case[Any]


@dataclass(frozen=True)
class Study:
    """One experiment of the paper."""

    name: str
    benchmarks: tuple[Benchmark, ...]
    says: str
    model_free: tuple[str, ...] = tuple(MODEL_FREE)
    model_based: tuple[str, ...] = ("trace-paper", "readmit")
    per_block: int | None = None
    agents: tuple[int, ...] = (4,)
    fraction: float | None = None
    stale: Literal["T1", "T2"] = "T2"

    def methods(self, *, models: bool) -> tuple[str, ...]:
        """What runs unless --methods says otherwise."""
        return (*self.model_free, *self.model_based) if models else self.model_free


STUDIES = {
    study.name: study
    for study in (
        Study("smoke", ("memora", "stale", "manbench"), "A few cases that come with the package: does everything run?"),
        Study("memora", ("memora",), "Retention and forgetting at 25, 50 and 75 % departure."),
        Study(
            "stale",
            ("stale",),
            "Implicit invalidation, Type II, by early, middle and late departure.",
            (*MODEL_FREE, "drop-last-session"),
        ),
        Study(
            "stale-type1",
            ("stale",),
            "STALE Type I: a later value of the same attribute. Not among the paper's experiments.",
            (*MODEL_FREE, "drop-last-session"),
            stale="T1",
        ),
        Study(
            "stale-cost",
            ("stale",),
            f"{SUBSET} STALE cases per stratum, with token totals per stage.",
            ("Static", "MemStrata", "MemTX"),
            ("CUPMem", "trace-paper", "readmit"),
            per_block=SUBSET,
        ),
        Study(
            "manbench", ("manbench",), "Propagated conflict: Old-Valid and Old-Stale.", (*MODEL_FREE, "same-version")
        ),
        Study(
            "scale",
            ("manbench",),
            "ManBench-Return with 4, 8, 16 and 32 active agents.",
            ("Static", "readmit-lexical"),
            agents=(4, 8, 16, 32),
        ),
        Study(
            "ablations",
            ("stale",),
            "STALE Type II with one mechanism removed at a time.",
            (),
            ("trace-paper", *(one.name for one in ABLATIONS)),
        ),
        Study(
            "backends",
            ("memora",),
            "The same history in several memory stores, with and without admission, at 50 % departure.",
            BACKED,
            (),
            fraction=0.5,
        ),
    )
}


@dataclass(frozen=True)
class Cases:
    """The planned cases of a study."""

    cases: tuple[AnyCase, ...]
    notes: tuple[str, ...]


def study_named(name: str) -> Study:
    """A study, or an error that lists them."""
    if name not in STUDIES:
        raise RecordError(f"study: {name!r} is none of {', '.join(STUDIES)}")
    return STUDIES[name]


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
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise RecordError(f"methods: {', '.join(unknown)} unknown; use some of {', '.join(METHODS)}")
    needing = [name for name in methods if name in MODEL_BASED]
    if needing and not models:
        raise RecordError(
            f"methods: {', '.join(needing)} ask models; name them with --actor or --extractor and --verifier"
        )
    for name in methods:
        if name in ONLY and study.benchmarks != (ONLY[name],):
            benchmark = TITLES[ONLY[name]]
            raise RecordError(
                f"methods: {name} is defined on {benchmark} only; leave it out or run a {ONLY[name]} study"
            )
    if not methods:
        raise RecordError(f"methods: {study.name} compares methods that ask models; name an --actor")
    return methods


def _usable(methods: Sequence[str]) -> tuple[str, ...]:
    """Those whose memory store is at hand. Named ones are never left out: they are refused (``check_stores``)."""
    absent = {store for store in stores_of(methods) if lacking(store)}
    return tuple(name for name in methods if name.partition("/")[0] not in absent)


def absent_stores(study: Study, methods: Sequence[str], *, models: bool) -> tuple[str, ...]:
    """What a report must say: stores of the study that are not among the methods, with what they lack."""
    missing = set(stores_of(study.methods(models=models))) - set(stores_of(methods))
    told = ((store, lacking(store)) for store in STORES if store in missing)
    return tuple(f"{store} is left out: {why or 'it was not among the methods asked for'}." for store, why in told)


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
    """Read the data and take what was asked for, the same for the same seed."""
    settings = settings or Settings()
    if study.name == "smoke":
        sets = [_read(one, SMOKE / one, study, seed=seed, settings=settings) for one in study.benchmarks]
        notes: tuple[str, ...] = (SMOKE_NOTE,)
    else:
        if data is None:
            raise RecordError(f"data: {study.name} needs --data, the folder of the {study.benchmarks[0]} release")
        sets = [_read(one, data, study, fillers=fillers, seed=seed, settings=settings) for one in study.benchmarks]
        notes = ()
    cases: list[AnyCase] = []
    for dataset in sets:
        notes += dataset.notes
        if study.fraction is not None:
            if study.fraction not in settings.memora.departures:
                raise RecordError(f"memora.departures: {study.name} departs at {study.fraction}; keep it among them")
            own = tuple(case for case in dataset.cases if case.labels.fraction == study.fraction)
            dataset = Dataset(dataset.benchmark, own, dataset.notes)  # noqa: PLW2901  # the same data, narrowed
        cases += _taken(dataset, study, limit=limit, stratified=stratified, seed=seed)
    return Cases(tuple(cases), notes)


def block_of(case: AnyCase) -> str:
    """The block a case is reported in."""
    return str(case.labels.condition if case.episode.benchmark == "manbench" else case.labels.block)


def unit_of(case: AnyCase) -> str:
    """What was sampled: departures of one question belong together."""
    return case.labels.case.rpartition("@")[0] if case.episode.benchmark == "memora" else str(case.labels.case)


def _read(
    benchmark: Benchmark, root: Path, study: Study, *, fillers: Path | None = None, seed: int, settings: Settings
) -> Dataset[Any]:
    if benchmark == "memora":
        return read_memora(root, settings.memora)
    if benchmark == "manbench":
        return read_manbench(root)
    if (root / PAIRS_FILE).exists() and fillers is not None:
        return read_stale(root, kind=study.stale, fillers=read_fillers(fillers), settings=settings.stale, seed=seed)
    if (root / PAIRS_FILE).exists() and not _has_records(root, study.stale):
        raise RecordError(
            f"{root}: holds {PAIRS_FILE} without session text; give --fillers, a Memora folder, for a substitute "
            "haystack"
        )
    return read_stale(root, kind=study.stale, settings=settings.stale, seed=seed)


def _has_records(root: Path, kind: Literal["T1", "T2"]) -> bool:
    try:
        read_stale(root, kind=kind)
    except RecordError:
        return False
    return True


def _taken(dataset: Dataset[Any], study: Study, *, limit: int | None, stratified: bool, seed: int) -> list[AnyCase]:
    """``limit`` units of the data set; ``stratified``: so many of each block. Without a limit, all."""
    cases = list(dataset.cases)
    per_block = study.per_block if limit is None else limit if stratified else None
    if limit is None and per_block is None:
        return cases
    generator = random.Random(seed)  # noqa: S311  # a repeatable choice, not a secret
    units = sorted({unit_of(case) for case in cases})
    generator.shuffle(units)
    place = {unit: number for number, unit in enumerate(units)}
    if per_block is None:
        return [case for case in cases if place[unit_of(case)] < (limit or 0)]
    blocks: defaultdict[str, list[AnyCase]] = defaultdict(list)
    for case in sorted(cases, key=lambda case: place[unit_of(case)]):
        blocks[block_of(case)].append(case)
    short = {name: len(found) for name, found in blocks.items() if len(found) < per_block}
    expected = set(STRATA) if dataset.benchmark == "stale" else set(blocks)
    short |= dict.fromkeys(expected - set(blocks), 0)
    if short:
        said = ", ".join(f"{name} {count}" for name, count in sorted(short.items()))
        raise RecordError(
            f"strata: {per_block} cases per block were asked for, and there are only {said}; lower --limit"
        )
    kept = {case.episode.id for found in blocks.values() for case in found[:per_block]}
    return [case for case in cases if case.episode.id in kept]
