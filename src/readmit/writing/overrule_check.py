"""Refuses an overruling that would set nothing aside: it would return normally and change no return."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import TYPE_CHECKING, get_args

import msgspec

from readmit.records.error_types import ConflictError
from readmit.records.identity import Identity
from readmit.records.reasons import Grant
from readmit.records.verdicts import Verdict
from readmit.rules.invalidate.overrule import reaches
from readmit.writing.slot_check import OF_THE_READER, examined_for
from readmit.writing.supersede_check import Replacements

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.acts.event import Overrule
    from readmit.records.decisions import Cause
    from readmit.records.items import Item
    from readmit.records.policy import Policy


def check_needed(log: Log, item: Item, said: Overrule, policy: Policy, now: datetime) -> None:
    """Refuse it if, for nobody who may return before it lapses, it reaches anything that is against the item."""
    if any(isinstance(event.payload, Verdict) and event.payload.use for event in log.about([item.id], until=log.head)):
        # Such a verdict counts for one purpose of a return, and nobody knows yet which returns there will be.
        return
    found: list[Cause] = []
    # What is against one recording of a statement may count against the others.
    recordings = Replacements(log, now).statement(item.id)
    purpose, grant, last = next(iter(item.purposes), None), said.grant, said.expires - timedelta(microseconds=1)
    # Some doubts count only against what a duty calls critical, and nobody knows yet which duties a return will find.
    policy = msgspec.structs.replace(policy, on_unsure="exclude", invalid_at=policy.suspect_at)
    for reader, moment in product(_readers(log, item), (now, last)):
        examined = examined_for(log, reader, recordings, purpose=purpose, policy=policy, now=moment)
        rejected = examined.gated.rejected.get(item.id)
        against = () if rejected is None else rejected.causes
        if any(
            reaches(grant, log.head + 1, cause) for cause in (*against, *examined.findings.overruled.get(item.id, ()))
        ):
            return
        found += (cause for cause in against if cause.reason.state not in OF_THE_READER)
    if not found:
        raise ConflictError(f"target: nothing is against {item.id!r}, so there is nothing to overrule")
    causes = ", ".join(dict.fromkeys(f"{cause.reason} ({_remedy(cause, log.head + 1)})" for cause in found))
    raise ConflictError(f"grant: {grant!r} sets nothing aside that is against {item.id!r}: {causes}")


def _readers(log: Log, item: Item) -> Iterator[Identity]:
    """An uninvolved reader of the item's task, then the agents that have departed from it."""
    task = item.scope.task
    yield Identity(workspace=log.workspace, principal="", role="", task=task or "")
    for departed in log.agents():
        if task in (None, departed.identity.task):
            yield departed.identity


def _remedy(cause: Cause, epoch: int) -> str:
    meant = next((one for one in get_args(Grant) if reaches(one, epoch, cause)), None)
    return "no grant sets it aside; record it again from later evidence" if meant is None else f"grant={meant!r}"
