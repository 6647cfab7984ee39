"""The recheck before exposure: everything that held at issue must still hold.

Paper, "Sign and readmit a bounded Return View": "Before exposure, TRACE recomputes the digest and rechecks the
event, identity, epoch, expiry, and item predicates." The signature is checked where the envelope is opened.
"""

from __future__ import annotations

from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from readmit.records.reasons import Reason, State
from readmit.records.retractions import FALLEN, Retractions, RetractionView
from readmit.rules.cover.coverage import report, required, sufficient, supported
from readmit.rules.gate.constraints import statement
from readmit.rules.readmission.view import NO_SALTS, Salts, matching_experiences, matching_items

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from readmit.records.decisions import Examination, ReturnView
    from readmit.records.evidence import Experience
    from readmit.records.identity import Identity
    from readmit.records.items import Item
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held
    from readmit.rules.gate.duties import Duties


class Current(NamedTuple):
    """The state that bundles are checked against: the workload that asks, and log and policy as they are now."""

    identity: Identity
    """With ``instance``, the requesting workload's."""
    instance: str
    now: datetime
    head: int
    """The last epoch of the log."""
    newest_return: str
    """The id of the newest return of the same identity."""
    departed_again: bool
    """Whether the agent left after the bundle was issued."""
    policy: Policy
    out: Mapping[str, State] = MappingProxyType({})
    """The items that the workload may see and should not rely on now."""


def recheck(
    view: ReturnView,
    now: Current,
    *,
    return_id: str | None = None,
    consumed: bool,
    eligible: Mapping[str, Held],
    duties: Duties,
    items: Sequence[Item],
    experiences: Sequence[Experience] = (),
    salts: Salts = NO_SALTS,
    newest: Mapping[str, Item] = MappingProxyType({}),
    examination: Examination | None = None,
) -> tuple[Reason, ...]:
    """Every check that fails now, in the order of the reason codes; empty means: expose.

    ``return_id`` is the return that the workload names, if it does not present the view itself. ``consumed`` says that
    the view was acknowledged. ``eligible`` holds the items that pass every gate now, ``duties`` what is owed now.
    ``items`` and ``experiences`` are the contents that would be handed over, with their ``salts``; ``newest`` holds, by
    dependency, the item that a view with that dependency must hold; ``examination`` is the latest search for implicit
    changes, which the policy may require.
    """
    policy = now.policy
    present = matching_items(view, items, salts)
    remembered = matching_experiences(view, experiences, salts)
    failed = {
        Reason.NOTHING_OWED: policy.returns.fill == "block" and not duties.owed,
        Reason.NOT_EXAMINED: policy.returns.examination == "required"
        and (examination is None or examination.unexamined > 0),
        Reason.VIEW_OUTDATED: not (
            all(
                named.id in present and named.id in eligible and eligible[named.id].digest == named.digest
                for named in view.items
            )
            and all(named.id in remembered for named in view.experiences)
            and still_retracted(view.retractions, now, items)
            and _covers(view, present, eligible, duties, policy)
            and _up_to_date(view, _evidence(present, eligible), duties, newest)
            and _constrained(present, duties)
            and _fits(view, tuple(present.values()), tuple(remembered.values()), policy)
        ),
    }
    failed |= _expired(view, now)
    failed[Reason.BINDING_MISMATCH] |= return_id not in (None, view.return_id)
    failed[Reason.VIEW_CONSUMED] |= consumed
    return tuple(reason for reason in Reason if failed.get(reason))


def recheck_retractions(view: RetractionView, now: Current, items: Sequence[Item]) -> tuple[Reason, ...]:
    """Recheck the retractions of a blocked return. They may be asked for again: they permit no action."""
    failed = _expired(view, now) | {Reason.VIEW_OUTDATED: not still_retracted(view.retractions, now, items)}
    return tuple(reason for reason in Reason if failed.get(reason))


def _expired(view: ReturnView | RetractionView, now: Current) -> dict[Reason, bool]:
    """The checks of any bundle, whatever it holds."""
    return {
        Reason.BINDING_MISMATCH: (view.identity, view.instance) != (now.identity, now.instance),
        # A clock before the issue is as wrong as one past the expiry.
        Reason.VIEW_EXPIRED: not view.issued <= now.now < view.expires,
        Reason.VIEW_CONSUMED: now.departed_again,
        Reason.VIEW_REPLACED: now.newest_return != view.return_id,
        Reason.EPOCH_AHEAD: view.epoch > now.head,
    }


def still_retracted(retractions: Retractions, now: Current, items: Sequence[Item]) -> bool:
    """Whether everything that is said to have fallen is still out, what is in doubt does not stand, and all of it fits.

    What fell after the decision is not listed, and is no reason to refuse: the view says at which epoch it was decided.
    """
    quoted = {one.id for one in retractions.listed if one.with_text}
    texts = [item for item in items if item.id in quoted]
    return (
        all(now.out.get(one.id) in FALLEN for one in retractions.fallen)
        and all(one.id in now.out for one in retractions.in_doubt)
        and len(texts) == len(quoted)
        and len(retractions.listed) <= now.policy.budgets.retractions
        and sum(item.length for item in texts) <= now.policy.budgets.retraction_chars
    )


def _covers(
    view: ReturnView, present: Mapping[str, Item], eligible: Mapping[str, Held], duties: Duties, policy: Policy
) -> bool:
    """Whether the view still holds the owed duties and their evidence; a partial one, each duty that it holds."""
    shown = [duty for duty in duties.owed if duty.obligation.id not in view.withheld]
    whole = {duty.obligation.id for duty in duties.whole}
    obligations = [duty.obligation for duty in shown]
    strict = policy.changed(paper={"gamma": Decimal(1), "rho": Decimal(1)}) if view.partial else policy
    return (
        all(duty.obligation.id in whole for duty in shown)
        and all(record.id in present for duty in shown for record in duty.records)
        and sufficient(report(obligations, supported(_evidence(present, eligible))), strict)
        # A partial view must hold at least one duty.
        and (not view.partial or bool(shown))
    )


def _up_to_date(view: ReturnView, shown: Sequence[Item], duties: Duties, newest: Mapping[str, Item]) -> bool:
    """Whether the view still says what the newest item says for each need."""
    needs = required(duty.obligation for duty in duties.owed if duty.obligation.id not in view.withheld)
    said = {(item.kind, item.text, item.slot) for item in shown}
    return all((item.kind, item.text, item.slot) in said for need, item in newest.items() if need in needs)


def _evidence(present: Mapping[str, Item], eligible: Mapping[str, Held]) -> list[Item]:
    """The items of the view, each with the dependencies that links make it support now."""
    return [eligible[name].item if name in eligible else item for name, item in present.items()]


def _constrained(present: Mapping[str, Item], duties: Duties) -> bool:
    """Whether the view holds every constraint that applies now."""
    said = {statement(item) for item in present.values()}
    return all(statement(one.constraint) in said for one in duties.limits if one.state.owed)


def _fits(view: ReturnView, items: Sequence[Item], experiences: Sequence[Experience], policy: Policy) -> bool:
    """Whether the view states its true size and stays within the current budgets."""
    chars = sum(item.length for item in items)
    return (
        chars == view.chars
        and chars <= policy.budgets.chars
        and len(view.items) <= policy.budgets.items
        and all(item.length <= policy.budgets.item_chars for item in items)
        and len(view.experiences) <= policy.budgets.experiences
        and sum(len(one.text) for one in experiences) <= policy.budgets.experience_chars
    )
