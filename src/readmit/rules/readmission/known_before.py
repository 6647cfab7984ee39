"""The items that an agent held when it left: seen or handed to it, and those of them that had fallen by then."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from readmit.records.items import Frontier, Item, Obligation
from readmit.records.reasons import state_of
from readmit.records.retractions import FALLEN
from readmit.rules.invalidate.resolve import Findings, resolve

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from readmit.records.decisions import Cause
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot, WorkState


def words_of(item: Item) -> tuple[object, ...]:
    """The words of an item for its reader: saying them twice adds nothing. A duty is an act, so each is its own."""
    about = item.obligation if isinstance(item, Frontier) else item.id if isinstance(item, Obligation) else None
    return item.text, item.kind, item.slot, about


class KnownBefore:
    """The items that one agent held, and whether each stood at its departure."""

    def __init__(
        self, snapshot: Snapshot, findings: Findings, flaws: Mapping[str, tuple[Cause, ...]], policy: Policy
    ) -> None:
        self._snapshot = snapshot
        self._against = findings.against
        self._flaws = flaws
        self._policy = policy

    def has(self, name: str) -> bool:
        """Whether the agent could see an item when it left, or was handed it."""
        departed, held = self._snapshot.checkpoint, self._snapshot.state.held[name]
        seen = held.epoch <= departed.epoch and departed.identity.may_see(held.item.scope)
        return seen or name in self._snapshot.handed

    def fell_before(self, names: Collection[str]) -> frozenset[str]:
        """The held items that had fallen already when the agent left, and that no view handed it."""
        questionable = self._questionable([name for name in names if name not in self._snapshot.handed])
        return frozenset(questionable) & self._fallen_then if questionable else frozenset()

    def _questionable(self, names: Collection[str]) -> list[str]:
        """The items that must be judged again: something was against them by then, or something else said."""
        departed, everything = self._snapshot.checkpoint.epoch, self._snapshot.state.held
        subjects = {subject for name in names if (subject := _subject(everything[name].item)) is not None}
        said: dict[str, int] = {}
        for held in everything.values() if subjects else ():
            item = held.item
            about = item.obligation if type(item) is Frontier else item.slot
            if about is not None and about in subjects and held.epoch <= departed:
                said[about] = said.get(about, 0) + 1
        return [
            name
            for name in names
            if said.get(_subject(everything[name].item) or "", 0) > 1
            or any(mark.epoch <= departed for mark in everything[name].marks)
            or any(cause.epoch is None or cause.epoch <= departed for cause in self._against.get(name, ()))
        ]

    @cached_property
    def _fallen_then(self) -> frozenset[str]:
        then = resolve(_at_departure(self._snapshot), self._flaws, self._policy).against
        return frozenset(
            name for name, causes in then.items() if state_of(tuple(cause.reason for cause in causes)) in FALLEN
        )


def _subject(item: Item) -> str | None:
    """The slot, or the obligation of a frontier, that several items may be about."""
    return item.obligation if isinstance(item, Frontier) else item.slot


def _at_departure(snapshot: Snapshot) -> Snapshot:
    departed = snapshot.checkpoint
    return replace(
        snapshot,
        now=departed.at,
        state=_until(snapshot.state, departed.epoch),
        background=_until(snapshot.background, departed.epoch),
        sources={name: one for name, one in snapshot.sources.items() if one.epoch <= departed.epoch},
        fresh_at=None,
    )


def _until(state: WorkState, epoch: int) -> WorkState:
    resolutions = {
        name: kept
        for name, events in state.resolutions.items()
        if (kept := tuple(event for event in events if event.epoch <= epoch))
    }
    return replace(
        state,
        epoch=epoch,
        held={name: _then(one, epoch) for name, one in state.held.items() if one.epoch <= epoch},
        resolutions=resolutions,
    )


def _then(held: Held, epoch: int) -> Held:
    if not held.marks or held.marks[-1].epoch <= epoch:
        return held
    return replace(held, marks=tuple(mark for mark in held.marks if mark.epoch <= epoch))
