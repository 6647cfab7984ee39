"""Past returns with their decisions and dispositions, as the log and the audit hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from readmit.records.acts.looks import Resource
from readmit.records.canonical import decode, digest_of
from readmit.records.decisions import Cause, Decision, Disposition, Returned
from readmit.records.error_types import TamperedError, UnknownError
from readmit.records.reasons import Reason
from readmit.records.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.log.log import Log


def recorded(log: Log, return_id: str) -> tuple[Returned, Decision]:
    """A past return, from the log and the audit."""
    returned, stored = log.returned(return_id), log.audit.decision(return_id)
    if stored is None:
        raise UnknownError(f"no decision is filed for return {return_id!r}; see `readmit audit verify`")
    if digest_of(stored.body) != returned.decision:
        raise TamperedError(f"the decision of return {return_id!r} is not the one in the log: it was altered")
    return returned, decode(stored.body, Decision, what="decision")


def worded(log: Log, one: Disposition) -> Disposition:
    """A disposition with the words that models quoted against it or for it: the audit holds none, the log does."""
    return replace(
        one,
        causes=tuple(_worded(log, cause) for cause in one.causes),
        recovered=tuple(_worded(log, cause) for cause in one.recovered),
    )


def _worded(log: Log, cause: Cause) -> Cause:
    if cause.note or cause.epoch is None or cause.reason not in {Reason.PREMISE_CHANGED, Reason.RECOVERED}:
        return cause
    match log.event(cause.epoch).payload:
        case Verdict(premise=premise, evidence_quote=quote):
            return replace(cause, note=premise or quote)
        case Resource(quote=quote):
            return replace(cause, note=quote)
    return cause


def dispositions(log: Log, return_id: str) -> Iterator[Disposition]:
    """Every candidate of a past return, in log order."""
    recorded(log, return_id)
    stored = log.audit.decision(return_id)
    if stored is not None:
        for row in log.audit.rows(first=stored.first, last=stored.last):
            if row.kind == "candidates":
                yield from decode(row.body, tuple[Disposition, ...], what=f"audit row {row.seq}")
