"""How far a run of a study is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class RunStatus:
    """How far a run is."""

    study: str
    planned: int
    done: int
    failed: int
    ineligible: int
    answers: int
    """Model answers that are kept."""
    tokens: int
    """Their tokens, each answer counted once however many episodes use it."""
    left: Mapping[str, int]
    settings: tuple[str, ...] = ()
    asked: int = 0
    """Answers that were really asked for this time; the others were kept from before."""
    waiting: int = 0
    """Episodes that wait for answers by file."""
    interrupted: int = 0
    """Episodes that are open because a provider gave no answer."""
    outages: Mapping[str, int] = field(default_factory=dict)
    """What providers said instead of an answer, and how often."""
    stopped: str = ""
    """Why nothing more was asked, if so."""
    episodes: int = 0
    """Episodes that were carried out this time without any model."""
    seconds: float = 0.0
    """How long that took, retrieval and scores included."""

    @property
    def complete(self) -> bool:
        return self.done >= self.planned


def as_json(found: RunStatus) -> dict[str, object]:
    """A status for scripts."""
    return {**msgspec.to_builtins(found), "complete": found.complete}
