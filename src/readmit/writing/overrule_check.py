"""Refuses an overruling that would set nothing aside: it would return normally and change no return."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING

from readmit.records.error_types import ConflictError
from readmit.records.identity import Identity
from readmit.rules.invalidate.overrule import reaches
from readmit.writing.slot_check import OF_THE_READER, examined_for
from readmit.writing.supersede_check import Replacements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.log.log import Log
    from readmit.records.acts.event import Overrule
    from readmit.records.decisions import Cause
    from readmit.records.items import Item
    from readmit.records.policy import Policy


def check_needed(log: Log, item: Item, said: Overrule, policy: Policy, now: datetime) -> None:
    """Refuse an overruling that reaches no cause against the item for any agent who may return before it lapses."""
    found: list[Cause] = []
    # What is against one recording of a statement may count against the others.
    recordings = Replacements(log, now).statement(item.id)
    purpose, last = next(iter(item.purposes), None), said.expires - timedelta(microseconds=1)
    # Some doubts count only against what a duty calls critical, and nobody knows yet which duties a return will find.
    policy = policy.changed(paper={"on_unsure": "exclude"}, evidence={"invalid_at": policy.evidence.suspect_at})
    for reader, moment in product(_readers(log, item), (now, last)):
        examined = examined_for(log, reader, recordings, purpose=purpose, policy=policy, now=moment)
        rejected = examined.gated.rejected.get(item.id)
        against = () if rejected is None else rejected.causes
        if any(reaches(log.head + 1, cause) for cause in (*against, *examined.findings.overruled.get(item.id, ()))):
            return
        found += (cause for cause in against if cause.reason.state not in OF_THE_READER)
    if not found:
        raise ConflictError(f"target: nothing is against {item.id!r}, so there is nothing to overrule")
    causes = ", ".join(dict.fromkeys(str(cause.reason) for cause in found))
    raise ConflictError(
        f"target: no overruling restores {item.id!r}, which is out for {causes}; record it again from later evidence"
    )


def _readers(log: Log, item: Item) -> Iterator[Identity]:
    """An uninvolved reader of the item's task, then the agents that have departed from it."""
    task = item.scope.task
    yield Identity(workspace=log.workspace, principal="", role="", task=task or "")
    for departed in log.agents():
        if task in (None, departed.identity.task):
            yield departed.identity
