"""The mandatory structure: what the returning role owes, and whether it is fit to be handed over.

An obligation stays owed until somebody settles, replaces or withdraws it. If it is merely disputed, suspected
or unproven it is still owed but cannot be handed over, so the structure is incomplete and the return is not
admitted: no obligation is ever silently dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.records.items import Frontier, Item, Obligation
from readmit.records.reasons import Reason, State

if TYPE_CHECKING:
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Snapshot
    from readmit.rules_1.judge import Gated

# States that end an obligation or frontier rather than obscure it.
_ENDED = frozenset(
    {
        State.UNAUTHORIZED,
        State.REVOKED,
        State.SUPERSEDED,
        State.EXPIRED,
        State.NOT_YET_VALID,
        State.NOT_APPLICABLE,
    }
)


class Duties(msgspec.Struct, frozen=True):
    """``O``, the records that must be in the view, and those that should be but cannot."""

    obligations: tuple[Obligation, ...]
    mandatory: tuple[Item, ...]
    absent: tuple[str, ...]


def duties(snapshot: Snapshot, gated: Gated, policy: Policy) -> Duties:
    """What is owed, each obligation followed by its frontier."""
    live = _live(snapshot, gated)
    owed = [item for item in live if isinstance(item, Obligation)]
    # Only one that is not eligible can come beside another: the one that can be handed over is the current one.
    moved = sorted((item for item in live if isinstance(item, Frontier)), key=lambda item: item.id in gated.eligible)
    frontiers = {item.obligation: item for item in moved}
    mandatory: list[Item] = []
    absent: list[str] = []
    for obligation in owed:
        frontier = frontiers.get(obligation.id)
        if frontier is None and policy.require_frontier:
            absent.append(obligation.id)
        for item in filter(None, (obligation, frontier)):
            if item.id in gated.eligible:
                mandatory.append(item)
            else:
                absent.append(item.id)
    return Duties(tuple(owed), tuple(mandatory), tuple(dict.fromkeys(absent)))


def _live(snapshot: Snapshot, gated: Gated) -> list[Item]:
    """Obligations and frontiers that nothing has ended."""
    live: list[Item] = []
    for name, held in snapshot.state.held.items():
        if not isinstance(held.item, Obligation | Frontier):
            continue
        verdict = gated.rejected.get(name)
        if verdict is None:
            live.append(held.item)
            continue
        ended = any(reason.state in _ENDED for reason in verdict.reasons)
        # Whoever may not write cannot impose a duty either: otherwise anyone could block every return.
        imposed = Reason.WRITER_NOT_ALLOWED not in verdict.reasons
        if not ended and imposed:
            live.append(held.item)
    return live
