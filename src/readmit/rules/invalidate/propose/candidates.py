"""The candidates for pairs: targets, later observations, and which pairs of them are still open.

A pair is open if the observation is later than the item, is not what the item itself was drawn from, and has not
been judged. Other pairs are dropped before any signal runs, so a return pays for new pairs only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    import numpy as np
    from numpy.typing import NDArray


class Signal(StrEnum):
    """Why a pair is proposed."""

    DECLARED_PREMISE = "declared_premise"
    """The observation is about a premise that the item declares."""
    SAME_SLOT = "same_slot"
    """The observation is about the item's own slot, or about a dependency that the item supports."""
    EMBEDDING = "embedding"
    """The whole texts are near each other."""
    PASSAGE = "passage"
    """A sentence of one text is near a sentence of the other: finds a remark inside an unrelated conversation."""
    IMPLIED_FACTS = "implied_facts"
    """Facts that the observation implies are near premises of the item."""
    SCAN = "scan"
    """A model that read the item beside a few later observations named this one (the paper's scan)."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """An older item whose premises may have changed."""

    item: str
    epoch: int
    """The item's position in the log; only later evidence can change its premises."""
    until: int | None = None
    """The position of its repetition: later observations are judged beside the repetition, and both share that."""
    sources: frozenset[str] = frozenset()
    """Digests of the evidence it was drawn from."""
    covers: frozenset[str] = frozenset()
    """Its slot, and the dependencies that it supports."""
    premises: frozenset[str] = frozenset()
    """Items it depends on, directly or through others."""
    premise_slots: frozenset[str] = frozenset()
    critical: bool = False


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of evidence, and what the items bound to it are about."""

    evidence: str
    epoch: int
    covers: frozenset[str] = frozenset()
    """Their slots, and the dependencies that they support."""
    about: frozenset[str] = frozenset()
    """Items that a receipt binds to this evidence."""


class Scored(NamedTuple):
    """One signal's score of one open pair, by position in ``Openings``, relative to the target's other pairs."""

    target: int
    observation: int
    score: float


@dataclass(frozen=True)
class Openings:
    """The open pairs: ``open[i, j]`` says whether target ``i`` may be paired with observation ``j``."""

    targets: tuple[Target, ...]
    observations: tuple[Observation, ...]
    open: NDArray[np.bool_]

    def __len__(self) -> int:
        return int(self.open.sum())


class Scorer(Protocol):
    """A signal: scores the open pairs that it can judge, and leaves out the others."""

    @property
    def signal(self) -> Signal: ...

    def score(self, openings: Openings, depth: int) -> Sequence[Scored]:
        """At most ``depth`` pairs per target, if the signal can score them all."""
        ...


def open_pairs(
    targets: Iterable[Target],
    observations: Iterable[Observation],
    judged: Mapping[str, AbstractSet[str]] | None = None,
) -> Openings:
    """Keep the open pairs; ``judged`` maps an item to the evidence it was already judged against.

    Targets and observations without an open pair are dropped. The result is ordered by epoch, then id, whatever the
    input order.
    """
    import numpy as np

    rows = sorted(targets, key=lambda target: (target.epoch, target.item))
    columns = sorted(observations, key=lambda observation: (observation.epoch, observation.evidence))
    _refuse_duplicates("targets", [row.item for row in rows])
    _refuse_duplicates("observations", [column.evidence for column in columns])
    place = {column.evidence: number for number, column in enumerate(columns)}
    since = np.array([row.epoch for row in rows], dtype=np.int64)
    seen = np.array([column.epoch for column in columns], dtype=np.int64)
    mask = seen[None, :] > since[:, None]
    last = np.array([np.iinfo(np.int64).max if row.until is None else row.until for row in rows], dtype=np.int64)
    mask &= seen[None, :] <= last[:, None]
    for number, row in enumerate(rows):
        for evidence in (*row.sources, *(judged or {}).get(row.item, ())):
            if evidence in place:
                mask[number, place[evidence]] = False
    live_rows, live_columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return Openings(
        targets=tuple(rows[number] for number in live_rows),
        observations=tuple(columns[number] for number in live_columns),
        open=mask[np.ix_(live_rows, live_columns)],
    )


def _refuse_duplicates(field: str, names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{field}: {twice} is listed twice; pass each one once")
