"""The signatures about a return: signed document, key, and whether it verifies now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.diagnosis.verification.head_proofs import signed_head, verifier_key
from readmit.pages.event_words import format_moment
from readmit.pages.page_values import Seal
from readmit.records.acts.event import EventKind
from readmit.records.canonical import decode
from readmit.records.decisions import Decision, Envelope
from readmit.records.error_types import ReadmitError, RecordError, SealError
from readmit.trust.notes import verify_note
from readmit.trust.statement import open_either
from readmit.trust.tlog import LogCheckpoint
from readmit.trust.trusted_keys import trusted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from readmit.log.audit_trail import StoredDecision
    from readmit.log.log import Log
    from readmit.records.acts.event import Checkpoint
    from readmit.records.decisions import Returned

NO_KEY = "none"


def seals(log: Log, return_id: str, now: datetime) -> Iterator[Seal]:
    """The signed view or retractions, if the return has any, and the signed head of the log that covers its rows."""
    stored = log.audit.decision(return_id)
    keys = trusted(log.milestones(EventKind.KEY), now)
    if stored is not None and stored.envelope is not None:
        decision = decode(stored.body, Decision, what="decision")
        what = "Return view" if decision.view is not None else "Retractions"
        try:
            envelope = decode(stored.envelope, Envelope, what="envelope")
            view = open_either(envelope, keys)
        except (RecordError, SealError) as error:
            yield Seal(what=what, key=NO_KEY, verifies=False, note=str(error))
        else:
            note = f"Issued {format_moment(view.issued)}, to be handed over before {format_moment(view.expires)}."
            yield Seal(what=what, key=envelope.signatures[0].keyid, verifies=True, note=note)
    if stored is not None:
        yield _of_log(log, stored, keys)


def _of_log(log: Log, stored: StoredDecision, keys: Mapping[str, bytes]) -> Seal:
    """The signed head of the log, which covers the rows of the return."""
    what = "Log"
    try:
        note = signed_head(log)
        signers = {verifier_key(log, public): key for key, public in keys.items()}
        text, found = verify_note(note, signers)
        key = signers[found[0].key] if found else NO_KEY
    except ReadmitError as error:
        return Seal(what=what, key=NO_KEY, verifies=False, note=str(error))
    size = LogCheckpoint.from_text(text).size
    said = f"Signed up to commit {size}, which covers rows {stored.first} to {stored.last} of this return."
    return Seal(what=what, key=key, verifies=bool(found), note=said)


def digests(returned: Returned, decision: Decision, departed: Checkpoint) -> Iterator[tuple[str, str]]:
    """The digests of a decision's inputs."""
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
            yield f"{words} on {format_moment(event.at)}, epoch {event.epoch}."
