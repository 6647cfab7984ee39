"""The recheck before exposure: everything that held at issue must hold at this moment.

Paper, "Sign and readmit a bounded Return View": "Before exposure, TRACE recomputes the digest and rechecks the
event, identity, epoch, expiry, and item predicates." The signature is checked where the envelope is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.cover.coverage import report, sufficient, supported
from readmit.records.items import Frontier, Obligation
from readmit.records.reasons import Reason
from readmit.seal.view import matching_experiences, matching_items

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from readmit.records.decisions import ReturnView
    from readmit.records.evidence import Experience
    from readmit.records.identity import Identity
    from readmit.records.items import Item
    from readmit.records.policy import Policy


def recheck(
    view: ReturnView,
    *,
    identity: Identity,
    instance: str,
    return_id: str | None = None,
    now: datetime,
    head: int,
    consumed: bool,
    newest_return: str,
    departed_again: bool = False,
    eligible: Mapping[str, str],
    owed: Sequence[Item],
    items: Sequence[Item],
    experiences: Sequence[Experience] = (),
    policy: Policy,
) -> tuple[Reason, ...]:
    """Every check that fails now, in the order of the reason codes; empty means: expose.

    ``identity`` and ``instance`` are those of the workload that asks; ``return_id`` is the return it asks for, if
    it names one rather than presenting the view. ``head`` is the log's last epoch, ``consumed`` says that the view has
    arrived, ``newest_return`` is the id of that identity's newest return, and ``departed_again`` says that it left
    after the view was issued. ``eligible`` maps the items that pass every
    gate now to their digests. ``owed`` holds the obligations open now and may hold their current frontiers.
    ``items`` and ``experiences`` are the contents that would be handed over.
    """
    present = matching_items(view, items)
    remembered = matching_experiences(view, experiences)
    failed = {
        Reason.BINDING_MISMATCH: (view.identity, view.instance) != (identity, instance)
        or return_id not in (None, view.return_id),
        # A clock before the issue is as wrong as one past the expiry: neither lies within the view's life.
        Reason.VIEW_EXPIRED: not view.issued <= now < view.expires,
        Reason.VIEW_CONSUMED: consumed,
        Reason.VIEW_REPLACED: newest_return != view.return_id,
        Reason.DEPARTED_AGAIN: departed_again,
        Reason.EPOCH_AHEAD: view.epoch > head,
        Reason.ITEM_NO_LONGER_ELIGIBLE: not (
            all(eligible.get(named.id) == named.digest and named.id in present for named in view.items)
            and all(named.id in remembered for named in view.experiences)
        ),
        Reason.COVERAGE_LOST: not (
            _covers(present, owed, policy) and _fits(view, tuple(present.values()), tuple(remembered.values()), policy)
        ),
    }
    return tuple(reason for reason, fails in failed.items() if fails)


def _covers(present: Mapping[str, Item], owed: Sequence[Item], policy: Policy) -> bool:
    """Whether the view still holds what is owed and the evidence for it."""
    obligations = list({item.id: item for item in owed if isinstance(item, Obligation)}.values())
    with_frontier = {item.obligation for item in present.values() if isinstance(item, Frontier)}
    return (
        all(item.id in present for item in owed)
        and (not policy.require_frontier or all(item.id in with_frontier for item in obligations))
        and sufficient(report(obligations, supported(present.values())), policy)
    )


def _fits(view: ReturnView, items: Sequence[Item], experiences: Sequence[Experience], policy: Policy) -> bool:
    """Whether the view says its size truly and keeps to the budgets in force now."""
    chars = sum(item.length for item in items)
    return (
        chars == view.chars
        and chars <= policy.max_chars
        and len(view.items) <= policy.max_items
        and all(item.length <= policy.max_item_chars for item in items)
        and len(view.experiences) <= policy.max_experiences
        and sum(len(one.text) for one in experiences) <= policy.max_experience_chars
    )
