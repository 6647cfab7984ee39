"""Remedies for a rejected item: removal of the cause, or a new record of the statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.items import Item, Kind, Obligation
from readmit.records.reasons import Reason
from readmit.records.remedies import BLANK, Remedy, act, come_back, confirm, govern, overrule, prepare, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.diagnosis.trial import Trial
    from readmit.records.decisions import Cause

# The statement may be true but lacks what makes it count: record it again in the same words.
SAID_BADLY = frozenset(
    {
        Reason.UNPROVEN,
        Reason.EVIDENCE_MISSING,
        Reason.WRITER_NOT_ALLOWED,
        Reason.WRITER_NOT_SIGNED,
        Reason.DRAFT_REFUSED,
        Reason.OTHER_TASK,
        Reason.PRINCIPAL_OUT_OF_SCOPE,
        Reason.OUT_OF_SCOPE,
    }
)
# Its later version or time decides: there is nothing to remove.
_FINAL = frozenset({Reason.SETTLED, Reason.FRONTIER_MOVED, Reason.NOT_YET_VALID})


def mended(trial: Trial, item: Item, *, need: str | None = None) -> tuple[Remedy, ...]:
    """The remedies that bring one rejected item back, in order; empty if no act can."""
    causes = trial.judged[item.id].causes
    reasons = {cause.reason for cause in causes}
    if reasons & _FINAL or any(_ran_out(cause) for cause in causes):
        return ()
    if reasons <= SAID_BADLY:
        return (again(trial, item, need=need),)
    if reasons & SAID_BADLY:
        # For example withdrawn and unsourced: setting one aside does not help, and its text must not be repeated.
        return ()
    found = (remedy for cause in causes for remedy in against(trial, item, cause))
    return tuple(dict.fromkeys(found))


def _ran_out(cause: Cause) -> bool:
    """Whether time alone ended it: there is no event that an overseer could set aside."""
    return cause.reason is Reason.EXPIRED and cause.epoch is None


def against(trial: Trial, item: Item, cause: Cause) -> Iterator[Remedy]:
    """The remedies against one cause of a rejection."""
    match cause.reason:
        case Reason.DISPUTED | Reason.CONCURRENT_UPDATE:
            contested = cause.reason is Reason.CONCURRENT_UPDATE
            by = trial.uninvolved(item.by, cause.by) if contested else trial.other_writer(item.by)
            yield act("resolve", cause.ref, keep=[item.id], by=by)
        case Reason.TOO_LARGE:
            yield govern(trial.policy, budgets={"item_chars": item.length})
        case Reason.KIND_NOT_ADMITTED:
            yield govern(trial.policy, paper={"kinds": (*trial.policy.paper.kinds, item.kind)})
        case Reason.OTHER_PURPOSE:
            yield come_back(trial.request.identity, purpose=item.purposes[0])
        case Reason.DRAFT_UNCONFIRMED | Reason.SOURCE_UNCONFIRMED:
            yield confirm(item.id, trial.other_writer(item.by))
        case Reason.SUSPECTED if trial.overseer is None:
            yield prepare(trial.request.identity, purpose=trial.request.purpose)
        case Reason.SOURCE_CHANGED if cause.ref not in {one.evidence for one in item.receipts}:
            # What is there now was observed: say what it says.
            yield again(trial, item, words=False, sources=(cause.ref,))
        case Reason.SOURCE_UNSEEN:
            yield come_back(trial.request.identity, purpose=trial.request.purpose)
        case _:
            yield overrule(item.id, trial.overseer or BLANK)


def again(
    trial: Trial, item: Item, *, need: str | None = None, words: bool = True, sources: Sequence[str] = (BLANK,)
) -> Remedy:
    """A statement recorded again with a source, by an allowed writer; without ``words`` the team fills them in."""
    supports = [name for name in dict.fromkeys((*item.supports, *((need,) if need else ()))) if name != item.slot]
    return write(
        "record",
        item.text if words else BLANK,
        kind=None if item.kind is Kind.FACT else str(item.kind),
        by=trial.writer(item.by),
        slot=item.slot,
        supports=supports or None,
        depends_on=list(item.depends_on) or None,
        sources=list(sources),
        task=trial.request.identity.task if item.scope.task else None,
    )


def reopened(trial: Trial, duty: Obligation, *, roles: Sequence[str] = ()) -> Iterator[Remedy]:
    """A duty opened again by an allowed writer, or for fewer agents; then the end of the old one."""
    yield write(
        "oblige",
        duty.text,
        required=list(duty.required),
        critical=list(duty.critical) or None,
        by=trial.other_writer(duty.by),
        roles=list(roles) or None,
        task=duty.scope.task,
    )
    ends = duty.by if trial.other_writer(duty.by) == duty.by else trial.overseer or BLANK
    yield act("settle", duty.id, by=ends)
