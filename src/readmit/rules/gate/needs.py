"""Needs that a model planned and no item ever met are open questions and do not block.

A need that something met when the agent left, and that has lost its support since, blocks like any other. So does
every need that a person wrote, or confirmed with the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.records.items import Frontier, Obligation
from readmit.records.reasons import Reason, State
from readmit.rules.capture.drafted import is_draft

if TYPE_CHECKING:
    from readmit.records.decisions import Cause
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot
    from readmit.rules.gate.judge import Gated

# Reasons that already applied at departure, whenever they were found.
_ALWAYS = frozenset({State.UNAUTHORIZED, State.NOT_APPLICABLE, State.NOT_YET_VALID})


class Needs:
    """The dependencies that an item meets now, or met when the agent left."""

    def __init__(self, snapshot: Snapshot, gated: Gated, policy: Policy) -> None:
        self._snapshot = snapshot
        self._gated = gated
        self._policy = policy
        self._met: frozenset[str] | None = None

    def asked(self, held: Held, duty: Obligation) -> tuple[Obligation, tuple[str, ...]]:
        """The duty with what it requires in this return, and its open questions."""
        if not is_draft(held, self._snapshot, self._policy):
            return duty, ()
        if self._met is None:
            self._met = self._known()
        questions = tuple(name for name in dict.fromkeys(duty.required) if name not in self._met)
        if not questions:
            return duty, ()
        required = tuple(name for name in duty.required if name in self._met)
        critical = tuple(name for name in duty.critical if name in self._met)
        return msgspec.structs.replace(duty, required=required, critical=critical), questions

    def _known(self) -> frozenset[str]:
        return frozenset(
            name
            for held in self._snapshot.state.held.values()
            if not isinstance(held.item, Obligation | Frontier) and self._stood(held)
            for name in held.item.covers
        )

    def _stood(self, held: Held) -> bool:
        """Whether an item stands, or stood when the agent left."""
        if held.item.id in self._gated.eligible:
            return True
        if held.epoch > self._snapshot.checkpoint.epoch:
            return False
        return not any(self._held_then(held, cause) for cause in self._gated.rejected[held.item.id].causes)

    def _held_then(self, held: Held, cause: Cause) -> bool:
        """Whether a cause against an item existed at departure. If that is unknown, it did not."""
        if cause.reason.state in _ALWAYS:
            return True
        departed = self._snapshot.checkpoint
        if cause.reason is Reason.EXPIRED and held.item.valid.end is not None:
            return held.item.valid.end <= departed.at
        return cause.epoch is not None and cause.epoch <= departed.epoch
