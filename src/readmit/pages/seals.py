"""What is signed about a return, by which key, and whether that verifies now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.pages.values import Seal
from readmit.pages.wording import moment
from readmit.records.canonical import decode
from readmit.records.decisions import Envelope
from readmit.records.errors import RecordError, SealError
from readmit.records.events import EventKind
from readmit.seal.statement import open_head, open_view
from readmit.seal.trust import trusted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from readmit.ports.store import Log
    from readmit.records.decisions import Decision, Returned
    from readmit.records.events import Checkpoint

NO_KEY = "none"


def seals(log: Log, return_id: str, now: datetime) -> Iterator[Seal]:
    """The signed view, if the return has one, and the signed head of the audit that covers its rows."""
    stored = log.audit.decision(return_id)
    keys = trusted(log.milestones(EventKind.KEY), now)
    if stored is not None and stored.envelope is not None:
        what = "Return view"
        try:
            envelope = decode(stored.envelope, Envelope, what="envelope")
            view = open_view(envelope, keys)
        except (RecordError, SealError) as error:
            yield Seal(what=what, key=NO_KEY, verifies=False, note=str(error))
        else:
            note = f"Issued {moment(view.issued)}, to be handed over before {moment(view.expires)}."
            yield Seal(what=what, key=envelope.signatures[0].keyid, verifies=True, note=note)
    signed = log.audit.signed_head()
    if stored is not None and signed is not None:
        what = "Audit"
        try:
            envelope = decode(signed[1], Envelope, what="envelope")
            head = open_head(envelope, keys)
        except (RecordError, SealError) as error:
            yield Seal(what=what, key=NO_KEY, verifies=False, note=str(error))
        else:
            covers = head.seq >= stored.last
            rows = f"rows {stored.first} to {stored.last} of this return"
            note = f"Signed up to row {head.seq}, which {'covers' if covers else 'does not cover'} {rows}."
            yield Seal(what=what, key=envelope.signatures[0].keyid, verifies=covers, note=note)


def digests(returned: Returned, decision: Decision, departed: Checkpoint) -> Iterator[tuple[str, str]]:
    """The digests that bind a decision to what it was made from."""
    yield "Decision", returned.decision
    yield "Dispositions", decision.dispositions
    yield "Checkpoint", departed.digest
    if decision.view is not None:
        yield "Items of the view", decision.view.items_digest
        yield "Policy", decision.view.policy


def deliveries(log: Log, return_id: str) -> Iterator[str]:
    """Whether the view was handed over and arrived."""
    for kind, words in ((EventKind.EXPOSE, "Handed over"), (EventKind.ACKNOWLEDGE, "Acknowledged")):
        if (event := log.named(kind, return_id)) is not None:
            yield f"{words} on {moment(event.at)}, epoch {event.epoch}."
