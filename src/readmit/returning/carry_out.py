"""Carry out a return: read one state, decide, and commit decision, audit and log entry together.

Deciding happens outside the write lock. If the log moved meanwhile, the return is decided again on the new
state, the second time with the lock held, so every view is consistent with one epoch.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from readmit.log.audit_trail import StoredDecision
from readmit.records.acts.draft import draft
from readmit.records.acts.event import EventKind
from readmit.records.canonical import canonical, digest_of
from readmit.records.decisions import Outcome, Returned
from readmit.records.error_types import ConflictError, TamperedError
from readmit.records.reasons import Reason
from readmit.records.snapshot import Snapshot
from readmit.returning.due_looks import LookBefore, with_looks
from readmit.rules.cycle import decide, refuse, withhold
from readmit.state.load import requested
from readmit.trust.statement import seal_retractions, seal_view

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.log.log import Log
    from readmit.records.acts.event import Checkpoint
    from readmit.records.decisions import Envelope, Request
    from readmit.rules.cycle import Examined
    from readmit.trust.signer import Signer

logger = logging.getLogger("readmit")


def carry_out(
    log: Log,
    departed: Checkpoint,
    asked: Callable[[], Request],
    signer: Callable[[], Signer],
    *,
    look: Callable[[Request, Snapshot], LookBefore],
    unprepared: str = "",
) -> tuple[Request, Outcome]:
    """Decide a return and commit it. ``asked`` makes the request at the end of the log.

    ``look`` looks at the sources that are due, before anything is decided.
    ``unprepared`` names the failure before the decision; such a return is refused, with an audit row.
    """
    with log.reading():
        request = asked()
        read = _read(log, departed, request, unprepared)
    written, examined = look(request, read) if isinstance(read, Snapshot) else LookBefore()
    if isinstance(read, Snapshot) and written is not None:
        examined = None
        with log.reading():
            epoch, request = request.epoch, asked()
            read = with_looks(log, read, epoch, written, request) or _read(log, departed, request, unprepared)
    outcome = _decided(request, read, examined)
    with log.atomic():
        if log.head != request.epoch:
            request = asked()
            outcome = decided(log, departed, request, unprepared)
        return request, _commit(log, request, outcome, signer)


def decided(
    log: Log, departed: Checkpoint, request: Request, unprepared: str = "", *, rehearsed: bool = False
) -> Outcome:
    """The outcome of a return. A failure is a decision too: nothing is handed over."""
    return _decided(request, _read(log, departed, request, unprepared, rehearsed=rehearsed))


def _read(
    log: Log, departed: Checkpoint, request: Request, unprepared: str, *, rehearsed: bool = False
) -> Snapshot | Outcome:
    """The input of a return, or the outcome of one that has none."""
    if unprepared:
        return refuse(request, Reason.INFERENCE_FAILED, unprepared)
    try:
        return requested(log, departed, request, rehearsed=rehearsed)
    except Exception as error:  # noqa: BLE001 - whatever failed, the agent gets nothing and the audit gets a row
        return _failed(request, error)


def _decided(request: Request, read: Snapshot | Outcome, examined: Examined | None = None) -> Outcome:
    if isinstance(read, Outcome):
        return read
    try:
        return decide(request, read, examined=examined)
    except Exception as error:  # noqa: BLE001 - as above
        return _failed(request, error)


def _failed(request: Request, error: Exception) -> Outcome:
    if isinstance(error, TamperedError):
        logger.error("return %s: %s", request.return_id, error)
        return refuse(request, Reason.LOG_ALTERED, str(error))
    logger.error("return %s failed", request.return_id, exc_info=error)
    return refuse(request, Reason.INTERNAL_ERROR, type(error).__name__)


def _commit(log: Log, request: Request, outcome: Outcome, signer: Callable[[], Signer]) -> Outcome:
    if log.audit.decision(request.return_id) is not None:
        raise ConflictError(f"id {request.return_id!r} is already used for another return; choose another id")
    envelope: Envelope | None = None
    try:
        if outcome.decision.view is not None:
            envelope = seal_view(outcome.decision.view, signer())
        elif outcome.decision.retracting is not None:
            envelope = seal_retractions(outcome.decision.retracting, signer())
    except Exception as error:  # noqa: BLE001 - a signer may live elsewhere and fail in its own ways
        logger.warning("return %s could not be signed: %s", request.return_id, error)
        outcome = withhold(request, outcome, Reason.SIGNER_FAILED)
    decision = outcome.decision
    body = canonical(decision)
    first = log.audit.last + 1
    rows = [("candidates", "", row) for row in outcome.rows]
    rows += [("experience", note.bound_to, canonical(note)) for note in decision.experiences]
    last = log.audit.append(request.return_id, [*rows, ("decision", "", body)])
    sealed = None if envelope is None else canonical(envelope)
    log.audit.decide(request.return_id, StoredDecision(body, sealed, first, last))
    # A replay finds both: an altered checkpoint is in the log, and the clock is in the request.
    fault = set(decision.faults) - {Reason.CHECKPOINT_ALTERED, Reason.CLOCK_SKEW}
    returned = Returned(
        request=request,
        kind=decision.kind,
        decision=digest_of(body),
        timed_out=decision.timed_out,
        failed=", ".join(sorted(fault)),
    )
    entry = draft(EventKind.RETURN, returned, id=request.return_id, by=request.identity.principal, at=request.now)
    log.append([entry], now=request.now)
    return outcome
