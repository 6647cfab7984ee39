"""What each rule of ``readmit`` does to a view: the share of what holds that is in it, and of what ended that is not.

Every case is played with all rules off, with each rule alone, with all of them and with those that the method has, from
one checkpoint, beside Static and MemTX. Rules were written on every other history, by name, so the cases are those of
the other half.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from readmit.errors import RecordError
from readmit.lab import digest
from readmit_bench.benchmarks import benchmark_named
from readmit_bench.checkpoints import work_state
from readmit_bench.datasets.memora_cases import read_memora
from readmit_bench.episodes import digest_of_cases
from readmit_bench.evaluation.plain_reader import PlainReader
from readmit_bench.evaluation.plain_tables import plain_table
from readmit_bench.intervals import Sample, interval_of, resampled
from readmit_bench.judge_free import reach, score_view
from readmit_bench.kept_runs import KeptRun, KeptTable
from readmit_bench.methods import admitted
from readmit_bench.methods.governance import READMIT, Rules
from readmit_bench.methods.memtx import MemTX
from readmit_bench.methods.static import Static
from readmit_bench.metrics import memora_values
from readmit_bench.notes import notes
from readmit_bench.run_embedder import embedder_named
from readmit_bench.settings import Settings, overridden

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from readmit.models import Embedder
    from readmit_bench.datasets.memora_cases import MemoraLabels
    from readmit_bench.episodes import Case, Checkpoint
    from readmit_bench.methods.method import Method

HALVES = {"other": "the half that no rule was written on", "chosen": "the half that rules were written on"}
NOTE = (
    "Percent, by literal match and polarity. Change: of both shares together, to no rule. FAMA: Memora's score, as if "
    "the view were the answer. In brackets: 95 % bootstrap interval over whole histories. A blocked return holds "
    "nothing. Rows and characters are those of a mean view; asked: pairs for a verifier that finds all compatible."
)
BEFORE, ALL, RUN = "readmit, no rule", "readmit, all rules", "readmit, as it runs"
HEAD = (
    "method",
    "cases",
    "holds, in the view",
    "ended, not in it",
    "change",
    "FAMA",
    "rows",
    "characters",
    "blocked",
    "asked",
)


@dataclass(frozen=True)
class SharesOfView:
    """One view's shares and size."""

    history: str
    holding: float
    ended: float
    fama: float
    """Memora's native score of both, as if the view were the answer."""
    rows: int
    chars: int
    blocked: bool
    asked: int
    """Judgments that the verifier was asked for."""


@dataclass(frozen=True)
class SharesOrder:
    """What is to be measured, as it was asked for."""

    data: Path
    half: str = "other"
    departure: tuple[float, ...] = ()
    named: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0
    settings: tuple[str, ...] = ()
    recorded: tuple[Path, ...] = ()
    embedder: str = "minilm"

    @property
    def how(self) -> Settings:
        """The settings of the run."""
        return overridden(Settings(), self.settings)

    def cases(self) -> list[Case[MemoraLabels]]:
        """The cases, in order."""
        every = read_memora(self.data, self.how.memora).cases
        found = chosen_cases(every, half=self.half, departures=self.departure, named=self.named)
        if self.limit is not None and self.limit < len(found):
            found = random.Random(self.seed).sample(found, self.limit)  # noqa: S311  # repeatable
        return found

    def reader(self) -> PlainReader:
        """What stands in for the models."""
        return PlainReader(self.recorded)

    def opened_embedder(self) -> Embedder:
        """What ranks facts."""
        return embedder_named(self.embedder)

    def facts(self, cases: Sequence[Case[MemoraLabels]]) -> tuple[tuple[str, str], ...]:
        """How the figures came about, named."""
        histories = len({case.labels.cluster for case in cases})
        departures = ", ".join(f"{one:.0%}" for one in sorted({case.labels.fraction for case in cases}))
        some = f"; {self.limit} drawn" if self.limit is not None else ""
        return (
            ("Study", "shares of readmit's rules, in views without a judge"),
            ("Data", f"{self.data.name}; digest {digest_of_cases(cases)[:16]}"),
            ("Cases", f"{len(cases)} of {histories} histories, departure at {departures}{some}"),
            ("Histories", "named cases" if self.named else HALVES[self.half]),
            ("Models", "none; a reader by rules" + (", where no answer is recorded" if self.recorded else "")),
            ("Embedder", self.embedder),
            ("Settings", ", ".join(self.settings) or "those of a run"),
            ("Seed", str(self.seed)),
            ("readmit", version("readmit")),
        )


def chosen_cases(
    cases: Sequence[Case[MemoraLabels]], *, half: str, departures: Sequence[float] = (), named: Sequence[str] = ()
) -> list[Case[MemoraLabels]]:
    """The cases about the histories of one half, or the named ones. No rule was written on the ``other`` half."""
    if named:
        known = {case.labels.case: case for case in cases}
        if unknown := [name for name in named if name not in known]:
            raise RecordError(f"case: {unknown[0]!r} is not in the data; names are as in {next(iter(known), 'none')}")
        return [known[name] for name in named]
    names = sorted({case.labels.cluster for case in cases})
    own = names[half == "other" :: 2]
    return [
        case for case in cases if case.labels.cluster in own and (not departures or case.labels.fraction in departures)
    ]


def ways() -> dict[str, Rules]:
    """All rules off, each alone, all on, and those that the method has."""
    off = {one.name: False for one in fields(Rules)}
    alone = {f"readmit, {name} alone": Rules(**{**off, name: True}) for name in off}
    return {BEFORE: Rules(**off), **alone, ALL: Rules(**dict.fromkeys(off, True)), RUN: READMIT.rules}


def measure(
    cases: Sequence[Case[MemoraLabels]],
    settings: Settings,
    reader: PlainReader,
    embedder: Embedder,
    *,
    watch: Callable[[], None] = lambda: None,
) -> dict[str, list[SharesOfView]]:
    """The shares of every way in every case; the last line is what any view of the checkpoint could hold."""
    found: dict[str, list[SharesOfView]] = {}
    for case in cases:
        checkpoint = work_state(case.episode, settings, reader, embedder)
        methods: dict[str, Method] = {
            "Static": Static(),
            "MemTX": MemTX(),
            **_governed(case, settings, reader, embedder),
        }
        for name, method in methods.items():
            found.setdefault(name, []).append(_shares(case, method, checkpoint, reader))
        most = float(memora_values(reach(case, checkpoint))["via"])
        size = SharesOfView(case.labels.cluster, most, 1.0, most, len(checkpoint.rows), 0, blocked=False, asked=0)
        found.setdefault("ceiling of the checkpoint", []).append(size)
        watch()
    return found


def _governed(
    case: Case[MemoraLabels], settings: Settings, reader: PlainReader, embedder: Embedder
) -> Mapping[str, Method]:
    from readmit_bench.methods.governed import Governed

    tuning = benchmark_named(case.episode.benchmark).tuning(settings)
    return {
        name: Governed(
            replace(READMIT, rules=rules), extractor=reader, verifier=reader, embedder=embedder, tuning=tuning
        )
        for name, rules in ways().items()
    }


def _shares(case: Case[MemoraLabels], method: Method, checkpoint: Checkpoint, reader: PlainReader) -> SharesOfView:
    before = reader.judgments
    view = admitted(method, checkpoint)
    values = memora_values(score_view(case, view, checkpoint))
    return SharesOfView(
        history=case.labels.cluster,
        holding=float(values["via"]),
        ended=float(values["iir"]),
        fama=float(values["fama"]),
        rows=len(view.rows),
        chars=len(notes(view, checkpoint)),
        blocked=view.blocked,
        asked=reader.judgments - before,
    )


def table(found: Mapping[str, Sequence[SharesOfView]], seed: int) -> str:
    """Percent. The change is that of the two shares together, against no rule, with its interval over histories."""
    return plain_table(HEAD, [_row(name, own, found[BEFORE], seed) for name, own in found.items()])


def _row(name: str, own: Sequence[SharesOfView], before: Sequence[SharesOfView], seed: int) -> tuple[str, ...]:
    def mean(of: Callable[[SharesOfView], float]) -> float:
        return sum(map(of, own)) / len(own)

    return (
        name,
        f"{len(own):,}",
        f"{100 * mean(lambda one: one.holding):.1f}",
        f"{100 * mean(lambda one: one.ended):.1f}",
        "" if own is before else _change(own, before, seed),
        f"{100 * mean(lambda one: one.fama):.1f}",
        f"{mean(lambda one: one.rows):.1f}",
        f"{mean(lambda one: one.chars):,.0f}",
        str(sum(one.blocked for one in own)),
        f"{mean(lambda one: one.asked):.1f}",
    )


def _change(own: Sequence[SharesOfView], before: Sequence[SharesOfView], seed: int) -> str:
    gains = [one.holding + one.ended - old.holding - old.ended for one, old in zip(own, before, strict=True)]
    samples = [Sample(one.history, "", gain) for one, gain in zip(own, gains, strict=True)]
    said = _signed(sum(gains) / len(gains))
    if len({one.history for one in own}) == 1:
        return said
    bounds = interval_of(resampled(samples, seed=seed).tolist(), seed=seed)
    return f"{said} [{_signed(bounds.low)}, {_signed(bounds.high)}]"


def _signed(change: float) -> str:
    # Adding nothing makes a zero of a negative one.
    return f"{round(100 * change, 1) + 0.0:+.1f}"


def kept_shares(
    found: Mapping[str, Sequence[SharesOfView]], order: SharesOrder, cases: Sequence[Case[MemoraLabels]], name: str
) -> KeptRun:
    """The figures as a kept run. Their digest is that of how they came about and of each view's shares."""
    facts = order.facts(cases)
    rows = tuple(_row(way, own, found[BEFORE], order.seed) for way, own in found.items())
    return KeptRun(
        name=name,
        digest=digest((facts, as_json(found))),
        facts=facts,
        short=f"{'; '.join(f'{what}: {said}' for what, said in facts)}.",
        left_out=("A reader by rules compares rules with each other and estimates no model's figures.",),
        tables=(KeptTable(title="what each rule does", columns=HEAD, rows=rows, note=NOTE),),
    )


def as_json(found: Mapping[str, Sequence[SharesOfView]]) -> dict[str, Any]:
    """The same for scripts: each view's shares."""
    return {
        name: [{one.name: getattr(view, one.name) for one in fields(SharesOfView)} for view in own]
        for name, own in found.items()
    }
