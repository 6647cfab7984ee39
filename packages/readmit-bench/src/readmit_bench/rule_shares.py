"""What each rule of ``readmit`` does to a view: the share of what holds that is in it, and of what ended that is not.

Every case is played with all rules off, with each rule alone, with all of them and with those that the method has, from
one checkpoint, beside Static and MemTX. Rules were written on every other history, by name, so the cases are those of
the other half.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from readmit.lab import digest
from readmit_bench.benchmarks import benchmark_named
from readmit_bench.checkpoints import work_state
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

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from readmit.models import Embedder
    from readmit_bench.datasets.memora_cases import MemoraLabels
    from readmit_bench.episodes import Case, Checkpoint
    from readmit_bench.evaluation.plain_reader import PlainReader
    from readmit_bench.methods.method import Method
    from readmit_bench.settings import Settings
    from readmit_bench.shares_order import SharesOrder

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
