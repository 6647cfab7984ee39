"""The recheck before exposure: everything that held at issue must hold at this moment.

Paper, "Sign and readmit a bounded Return View": "Before exposure, TRACE recomputes the digest and rechecks the
event, identity, epoch, expiry, and item predicates." The signature is checked where the envelope is opened.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from readmit.cover.coverage import report, sufficient, supported
from readmit.records.items import InterfaceConstraint, RoleConstraint
from readmit.records.reasons import Reason
from readmit.seal.view import matching_experiences, matching_items

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from readmit.gate.duties import Duties
    from readmit.records.decisions import Examination, ReturnView
    from readmit.records.evidence import Experience
    from readmit.records.identity import Identity
    from readmit.records.items import Item
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held


def recheck(
    view: ReturnView,
    *,
    identity: Identity,
    instance: str,
    return_id: str | None = None,
    now: datetime,
    head: int,
    consumed: bool,
    departed_again: bool,
    newest_return: str,
    eligible: Mapping[str, Held],
    duties: Duties,
    items: Sequence[Item],
    experiences: Sequence[Experience] = (),
    policy: Policy,
    examination: Examination | None = None,
) -> tuple[Reason, ...]:
    """Every check that fails now, in the order of the reason codes; empty means: expose.

    ``identity`` and ``instance`` are those of the workload that asks; ``return_id`` is the return it asks for, if
    it names one rather than presenting the view. ``head`` is the log's last epoch, ``consumed`` says that the view has
    arrived, ``departed_again`` that the agent left after it was issued; ``newest_return`` is the id of that identity's
    newest return. ``eligible`` holds the items that pass every gate now, ``duties`` what is owed now.
    ``items`` and ``experiences`` are the contents that would be handed over; ``examination`` says who has looked for
    implicit changes by now, which matters where the policy requires it.
    """
    present = matching_items(view, items)
    remembered = matching_experiences(view, experiences)
    failed = {
        Reason.NOTHING_OWED: policy.nothing_owed == "block" and not duties.owed,
        Reason.NOT_EXAMINED: policy.examination == "required" and (examination is None or examination.unexamined > 0),
        Reason.BINDING_MISMATCH: (view.identity, view.instance) != (identity, instance)
        or return_id not in (None, view.return_id),
        # A clock before the issue is as wrong as one past the expiry: neither lies within the view's life.
        Reason.VIEW_EXPIRED: not view.issued <= now < view.expires,
        Reason.VIEW_CONSUMED: consumed,
        Reason.VIEW_REPLACED: newest_return != view.return_id,
        Reason.DEPARTED_AGAIN: departed_again,
        Reason.EPOCH_AHEAD: view.epoch > head,
        Reason.ITEM_NO_LONGER_ELIGIBLE: not (
            all(
                named.id in present and named.id in eligible and eligible[named.id].digest == named.digest
                for named in view.items
            )
            and all(named.id in remembered for named in view.experiences)
        ),
        Reason.COVERAGE_LOST: not (
            _covers(view, present, eligible, duties, policy)
            and _constrained(present, eligible, policy)
            and _fits(view, tuple(present.values()), tuple(remembered.values()), policy)
        ),
    }
    return tuple(reason for reason, fails in failed.items() if fails)


def _covers(
    view: ReturnView, present: Mapping[str, Item], eligible: Mapping[str, Held], duties: Duties, policy: Policy
) -> bool:
    """Whether the view still holds what is owed and the evidence for it; a partial one, each duty that it holds."""
    shown = [duty for duty in duties.owed if duty.obligation.id not in view.withheld]
    whole = {duty.obligation.id for duty in duties.whole}
    obligations = [duty.obligation for duty in shown]
    strict = msgspec.structs.replace(policy, gamma=Decimal(1), rho=Decimal(1)) if view.partial else policy
    return (
        all(duty.obligation.id in whole for duty in shown)
        and all(record.id in present for duty in shown for record in duty.records)
        and sufficient(report(obligations, supported(_evidence(present, eligible))), strict)
        # A partial view without a duty would be an empty promise.
        and (not view.partial or bool(shown))
    )


def _evidence(present: Mapping[str, Item], eligible: Mapping[str, Held]) -> list[Item]:
    """What is handed over, each with what links make it evidence for now."""
    return [eligible[name].item if name in eligible else item for name, item in present.items()]


def _constrained(present: Mapping[str, Item], eligible: Mapping[str, Held], policy: Policy) -> bool:
    """Whether the view says every constraint that applies now, where the policy asks for that."""
    said = {(item.kind, item.text, item.slot) for item in _evidence(present, eligible)}
    return policy.constraints == "as_needed" or all(
        (held.item.kind, held.item.text, held.item.slot) in said
        for held in eligible.values()
        if isinstance(held.item, RoleConstraint | InterfaceConstraint)
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
