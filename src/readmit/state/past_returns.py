"""Past returns with their decisions and dispositions, as the log and the audit hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.canonical import decode, digest_of
from readmit.records.decisions import Decision, Disposition
from readmit.records.error_types import TamperedError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.log.log import Log
    from readmit.records.decisions import Returned


def recorded(log: Log, return_id: str) -> tuple[Returned, Decision]:
    """A past return, from the log and the audit."""
    returned, stored = log.returned(return_id), log.audit.decision(return_id)
    if stored is None:
        raise UnknownError(f"no decision is filed for return {return_id!r}; see `readmit audit verify`")
    if digest_of(stored.body) != returned.decision:
        raise TamperedError(f"the decision of return {return_id!r} is not the one in the log: it was altered")
    return returned, decode(stored.body, Decision, what="decision")


def dispositions(log: Log, return_id: str) -> Iterator[Disposition]:
    """Every candidate of a past return, in log order."""
    recorded(log, return_id)
    stored = log.audit.decision(return_id)
    if stored is not None:
        for row in log.audit.rows(first=stored.first, last=stored.last):
            if row.kind == "candidates":
                yield from decode(row.body, tuple[Disposition, ...], what=f"audit row {row.seq}")
