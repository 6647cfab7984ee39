"""Which cases the shares of rules are measured on, and how the figures say so.

Rules were written on every other history, by name, so the usual cases are those of the other half.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from readmit.errors import RecordError
from readmit_bench.datasets.memora_cases import read_memora
from readmit_bench.episodes import digest_of_cases
from readmit_bench.evaluation.plain_reader import PlainReader
from readmit_bench.run_embedder import embedder_named
from readmit_bench.settings import Settings, overridden

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit.models import Embedder
    from readmit_bench.datasets.memora_cases import MemoraLabels
    from readmit_bench.episodes import Case

HALVES = {"other": "the half that no rule was written on", "chosen": "the half that rules were written on"}


@dataclass(frozen=True)
class SharesOrder:
    """An order for the shares of some cases: data, half, departures, settings and seed."""

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
