"""Put the lifecycle evidence together: for every item that lost its standing, every cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from readmit.records.decisions import Cause
from readmit.rules_1 import implicit, lifecycle, overrule, premises, replacement

if TYPE_CHECKING:
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot


class Findings(msgspec.Struct, frozen=True):
    """Per item: causes against it that stand, and causes an overseer set aside. Items without any are absent."""

    against: Mapping[str, tuple[Cause, ...]]
    overruled: Mapping[str, tuple[Cause, ...]]


def resolve(snapshot: Snapshot, flaws: Mapping[str, tuple[Cause, ...]], policy: Policy) -> Findings:
    """Explicit lifecycle first, then verdicts, then what rests on premises that fell."""
    state, hidden = snapshot.state, snapshot.background
    everything = _in_log_order(snapshot)
    replaced: dict[str, list[Cause]] = {}
    for name, cause in (
        *replacement.slots(everything, flaws.keys(), snapshot.now),
        *replacement.frontiers(everything, flaws.keys(), snapshot.now),
        *replacement.rebases(everything, (*hidden.rebases, *state.rebases), snapshot.identity.task, snapshot.now),
    ):
        replaced.setdefault(name, []).append(cause)

    known = {held.item.id: held for held in everything}
    resolutions = {
        name: events[-1]
        for name, events in {**hidden.resolutions, **state.resolutions}.items()
        # Nobody settles a dispute for their own return.
        if events[-1].by != snapshot.identity.principal
    }
    critical = implicit.critical_dependencies(snapshot)
    against: dict[str, tuple[Cause, ...]] = {}
    overruled: dict[str, tuple[Cause, ...]] = {}
    fallen: dict[str, tuple[Cause, ...]] = {}
    for held in everything:
        item = held.item
        valid = item.valid
        causes = replaced.get(item.id, [])
        if valid.start is not None or valid.end is not None:
            causes = [*lifecycle.interval(held, snapshot.now), *causes]
        if held.marks:
            causes = [*lifecycle.marks(held, resolutions, snapshot.now), *causes]
            causes += implicit.judged(held, snapshot, policy, critical)
        if item.depends_on:
            causes = causes + premises.fallen(held, known, fallen)
        if causes:
            stand, aside = overrule.split(causes, overrule.honored(held, snapshot, policy))
            if stand:
                against[item.id] = tuple(stand)
            if aside:
                overruled[item.id] = tuple(aside)
        # An unproven premise carries nothing either.
        if item.id in against or item.id in flaws:
            fallen[item.id] = (*against.get(item.id, ()), *flaws.get(item.id, ()))
    return Findings(against, overruled)


def _in_log_order(snapshot: Snapshot) -> list[Held]:
    visible = list(snapshot.state.held.values())
    hidden = [held for name, held in snapshot.background.held.items() if name not in snapshot.state.held]
    return sorted((*hidden, *visible), key=lambda held: held.epoch) if hidden else visible
