"""Run every gate on every candidate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from readmit.records.decisions import Cause, Disposition
from readmit.records.reasons import Reason, state_of
from readmit.records.snapshot import Held, Snapshot
from readmit.rules.gate import gates

if TYPE_CHECKING:
    from readmit.records.policy import Policy
    from readmit.rules.invalidate.resolve import Findings


class Gated(msgspec.Struct, frozen=True):
    """``E``, and a disposition for everything outside it."""

    eligible: Mapping[str, Held]
    rejected: Mapping[str, Disposition]
    drafted: tuple[str, ...] = ()
    """The eligible items that a model wrote. Most returns have none; later stages check only these."""
    doubted: frozenset[str] = frozenset()
    """The eligible items with an open suspicion. They come after those without."""


def judge(snapshot: Snapshot, findings: Findings, flaws: Mapping[str, tuple[Cause, ...]], policy: Policy) -> Gated:
    """Split the candidates, in log order."""
    identity, purpose = snapshot.identity, snapshot.purpose
    eligible: dict[str, Held] = {}
    rejected: dict[str, Disposition] = {}
    drafted: list[str] = []
    for name, held in snapshot.state.held.items():
        item = held.item
        causes = (
            gates.authorized(item, identity)
            + gates.current(item, findings)
            + gates.applicable(item, identity.task, purpose, policy)
            + gates.proven(item, flaws)
            + gates.fitting(item, policy)
        )
        if causes:
            reasons = distinct(causes)
            rejected[name] = Disposition(
                item=name,
                digest=held.digest,
                state=state_of(reasons),
                reasons=reasons,
                causes=causes,
                overruled=findings.overruled.get(name, ()),
                recovered=findings.recovered.get(name, ()),
                unseen=findings.unseen.get(name, ()),
            )
        else:
            eligible[name] = held
            if item.drafted is not None:
                drafted.append(name)
    return Gated(eligible, rejected, tuple(drafted), findings.doubted.intersection(eligible))


def distinct(causes: tuple[Cause, ...]) -> tuple[Reason, ...]:
    """The reasons of some causes, each once, in order."""
    return tuple(dict.fromkeys(cause.reason for cause in causes))
