"""Drops unsigned events from a snapshot, for the time in which the policy required signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.log.log import Log
    from readmit.records.acts.event import Event
    from readmit.records.snapshot import Held, Sighting, Snapshot, WorkState
    from readmit.trust.writer_signatures import Authority


def vetted(snapshot: Snapshot, log: Log, authority: Authority) -> Snapshot:
    """A snapshot in which unsigned events have no effect. Items and evidence stay, marked, to give a reason."""
    seen = _Vetting(log, authority)
    return replace(
        snapshot,
        state=seen.state(snapshot.state),
        background=seen.state(snapshot.background),
        evidence={digest: seen.sighting(one) for digest, one in snapshot.evidence.items()},
        unsigned=frozenset(
            held.epoch
            for state in (snapshot.state, snapshot.background)
            for held in state.held.values()
            if not authority.counts(log.event(held.epoch))
        ),
    )


class _Vetting:
    def __init__(self, log: Log, authority: Authority) -> None:
        self._log = log
        self._authority = authority

    def state(self, state: WorkState) -> WorkState:
        resolutions = {name: self._counting(events) for name, events in state.resolutions.items()}
        return replace(
            state,
            held={name: self._held(held) for name, held in state.held.items()},
            resolutions={name: events for name, events in resolutions.items() if events},
            bank=self._counting(state.bank),
        )

    def sighting(self, one: Sighting) -> Sighting:
        if self._authority.counts(self._log.event(one.epoch)):
            return one
        return replace(one, intact=False, signed=False)

    def _held(self, held: Held) -> Held:
        return replace(held, marks=self._counting(held.marks)) if held.marks else held

    def _counting(self, events: Iterable[Event]) -> tuple[Event, ...]:
        return tuple(event for event in events if self._authority.counts(event))
