"""Needs that a model planned ask, and do not block: those that no item meets now are open questions.

A need that a person wrote, or confirmed with the plan, blocks. The view says what is open, and its retractions say what
fell since the agent left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.rules.capture.drafted import is_draft

if TYPE_CHECKING:
    from readmit.records.items import Obligation
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot
    from readmit.rules.gate.judge import Gated


class Needs:
    """The dependencies that an item meets now."""

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
        lists = tuple(name for name in duty.lists if name in self._met)
        return msgspec.structs.replace(duty, required=required, critical=critical, lists=lists), questions

    def _known(self) -> frozenset[str]:
        return frozenset(name for held in self._gated.eligible.values() for name in held.item.covers)
