"""The recheck before exposure: everything that held at issue must still hold.

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

    ``identity`` and ``instance`` are the requesting workload's; ``return_id`` is the return it names, if it does not
    present the view itself. ``head`` is the log's last epoch, ``consumed`` says that the view was acknowledged,
    ``departed_again`` that the agent left after it was issued; ``newest_return`` is the id of that identity's newest
    return. ``eligible`` holds the items that pass every gate now, ``duties`` what is owed now. ``items`` and
    ``experiences`` are the contents that would be handed over; ``examination`` is the latest search for implicit
    changes, which the policy may require.
    """
    present = matching_items(view, items)
    remembered = matching_experiences(view, experiences)
    failed = {
        Reason.NOTHING_OWED: policy.nothing_owed == "block" and not duties.owed,
        Reason.NOT_EXAMINED: policy.examination == "required" and (examination is None or examination.unexamined > 0),
        Reason.BINDING_MISMATCH: (view.identity, view.instance) != (identity, instance)
        or return_id not in (None, view.return_id),
        # A clock before the issue is as wrong as one past the expiry.
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
        # A partial view must hold at least one duty.
        and (not view.partial or bool(shown))
    )


def _evidence(present: Mapping[str, Item], eligible: Mapping[str, Held]) -> list[Item]:
    """The items of the view, each with the dependencies that links make it support now."""
    return [eligible[name].item if name in eligible else item for name, item in present.items()]


def _constrained(present: Mapping[str, Item], eligible: Mapping[str, Held], policy: Policy) -> bool:
    """Whether the view holds every constraint that applies now, if the policy requires that."""
    said = {(item.kind, item.text, item.slot) for item in _evidence(present, eligible)}
    return policy.constraints == "as_needed" or all(
        (held.item.kind, held.item.text, held.item.slot) in said
        for held in eligible.values()
        if isinstance(held.item, RoleConstraint | InterfaceConstraint)
    )


def _fits(view: ReturnView, items: Sequence[Item], experiences: Sequence[Experience], policy: Policy) -> bool:
    """Whether the view states its true size and stays within the current budgets."""
    chars = sum(item.length for item in items)
    return (
        chars == view.chars
        and chars <= policy.max_chars
        and len(view.items) <= policy.max_items
        and all(item.length <= policy.max_item_chars for item in items)
        and len(view.experiences) <= policy.max_experiences
        and sum(len(one.text) for one in experiences) <= policy.max_experience_chars
    )
