"""The one place that an agent returns to: ask, read one state, look at due sources, decide, commit, hand over.

Deciding happens outside the write lock. If the log moved meanwhile, the return is decided again on the new
state, the second time with the lock held, so every view is consistent with one epoch.
"""

from __future__ import annotations

import logging
import secrets
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from readmit.log.audit_trail import StoredDecision
from readmit.presence.departure import departure_of, own_name
from readmit.presence.lease import leave_if_over
from readmit.records.acts.event import Checkpoint, EventKind
from readmit.records.base import nfc, require, require_name
from readmit.records.canonical import canonical, checked, digest_of
from readmit.records.decisions import Envelope, Examination, Outcome, Request, Returned
from readmit.records.error_types import ConflictError, PendingAnswers, QuarantineError, RecordError, TamperedError
from readmit.records.identity import Identity
from readmit.records.reasons import Reason
from readmit.records.snapshot import Snapshot
from readmit.returning.due_looks import LookBefore, look_before, look_for, with_looks
from readmit.returning.expose import Asker, Bundle, RetractionBundle, acknowledge, expose, expose_retractions
from readmit.rules.cycle import RULES, Examined, decide, refuse, withhold
from readmit.state.absence import check_purpose
from readmit.state.authority import jumped
from readmit.state.examination import examination
from readmit.state.load import requested
from readmit.telemetry.measures import RETURN_SECONDS, RETURNS
from readmit.telemetry.spans import PRINCIPAL, return_stage, span
from readmit.trust.statement import seal_retractions, seal_view
from readmit.writing.item_content import who
from readmit.writing.new_event import append_own

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from readmit.log.log import Log
    from readmit.records.acts.looks import Looked
    from readmit.records.policy import Policy
    from readmit.sources.lazy_prober import LazyProber
    from readmit.writing.workspace_keys import Keys
    from readmit.writing.writer import Writer

logger = logging.getLogger("readmit")

stages_reported: ContextVar[Callable[[str], object] | None] = ContextVar("stages_reported", default=None)
"""Hears of each stage of a return that begins: ``read``, ``look``, ``decide``, ``commit``."""


class Addressee(NamedTuple):
    """The workload that a view would be sealed for: its return, the hash of its secret, and a number used once."""

    return_id: str
    instance: str
    nonce: str


REHEARSAL = Addressee("rehearsal", "rehearsal", "rehearsal")
"""The addressee of a return that is decided and not committed."""


class DecidedRequest(NamedTuple):
    """A request with its outcome, and the secret with which its workload proves that the view was issued to it."""

    request: Request
    outcome: Outcome
    secret: str = ""


class Desk:
    """Decides the returns to one workspace and hands their views over."""

    def __init__(self, writer: Writer, keys: Keys, prober: LazyProber) -> None:
        self.writer = writer
        self.keys = keys
        self.prober = prober
        self.log: Log = writer.log

    def as_written_by(self, writer: Writer) -> Desk:
        """A desk for another author."""
        return Desk(writer, self.keys.written_by(writer), self.prober)

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.writer.policy()

    # A return.

    def come_back(
        self,
        identity: Identity,
        *,
        purpose: str | None = None,
        checkpoint: str | None = None,
        id: str | None = None,
        prepare: Callable[[Checkpoint, str], object] | None = None,
    ) -> DecidedRequest:
        """Decide a return and commit it. ``prepare`` brings verdicts up to date first; its failure is a refusal."""
        began = time.perf_counter()
        with span("readmit.return") as note:
            note({PRINCIPAL: identity.principal})
            decided = self._returned(identity, purpose, checkpoint, id, prepare)
            decision = decided.outcome.decision
            reason = str(decision.reasons[0]) if decision.reasons else ""
            note({"readmit.outcome": decision.kind, "readmit.reason": reason, "readmit.epoch": decision.epoch})
        RETURNS.add(1, decision.kind, reason)
        RETURN_SECONDS.add(time.perf_counter() - began, decision.kind)
        return decided

    def _returned(
        self,
        identity: Identity,
        purpose: str | None,
        checkpoint: str | None,
        id: str | None,
        prepare: Callable[[Checkpoint, str], object] | None,
    ) -> DecidedRequest:
        leave_if_over(self.writer, identity)
        departed = departure_of(self.log, identity, checkpoint)
        purpose = None if purpose is None else require_name("purpose", nfc(purpose))
        if purpose is not None:
            check_purpose(self.log, identity, purpose)
        return_id, secret = own_name(identity, id), secrets.token_hex(16)
        unprepared = ""
        if prepare is not None:
            # First, so that what is there now is part of what it looks at.
            with return_stage("prepare"):
                look_for(self, departed, identity, purpose=purpose)
                unprepared = _fault(prepare, departed, return_id)
        addressee = Addressee(return_id, instance_of(secret), secrets.token_hex(16))

        def asked() -> Request:
            return self.ask(departed, identity, purpose=purpose, addressee=addressee)

        with _stage("read"), self.log.reading():
            request = asked()
            read = self._read(departed, request, unprepared)
        with _stage("look"):
            written, examined = look_before(self, request, read) if isinstance(read, Snapshot) else LookBefore()
            if isinstance(read, Snapshot) and written is not None:
                examined = None
                with self.log.reading():
                    before, request = request.epoch, asked()
                    read = with_looks(self.log, read, before, written, request) or self._read(
                        departed, request, unprepared
                    )
        with _stage("decide"):
            outcome = _decided(request, read, examined)
        with _stage("commit"), self.log.atomic():
            if self.log.head != request.epoch:
                request = asked()
                outcome = _decided(request, self._read(departed, request, unprepared))
            return DecidedRequest(request, self._commit(request, outcome), secret)

    def ask(
        self,
        departed: Checkpoint,
        identity: Identity,
        *,
        purpose: str | None,
        addressee: Addressee = REHEARSAL,
        examined_by: str = "",
    ) -> Request:
        """The request of a return at the end of the log: a return, its rehearsal and its preparation ask the same.

        ``examined_by`` names the verifier that examines everything up to there on behalf of this return: a preparation
        asks what it would hand over before it is on record.
        """
        epoch, now, policy = self.log.head, self.writer.clock(), self.policy
        if examined_by:
            looked: Examination | None = Examination(verifier=examined_by, until=epoch)
        else:
            looked = examination(self.log, departed, identity, purpose=purpose, epoch=epoch, policy=policy)
        request = Request(
            return_id=addressee.return_id,
            identity=identity,
            instance=addressee.instance,
            nonce=addressee.nonce,
            purpose=purpose,
            now=now,
            policy=policy,
            checkpoint=departed.id,
            epoch=epoch,
            rules=RULES,
            learnt=self.log.learnt,
            jump=jumped(self.log, now, policy),
            examination=looked,
        )
        return checked(request, what="return")

    def rehearse(
        self, departed: Checkpoint, identity: Identity, *, purpose: str | None, policy: Policy | None = None
    ) -> DecidedRequest:
        """A return as it would be decided at the end of the log, or under another policy.

        Nothing is written, and no source is looked at.
        """
        with self.log.reading():
            request = self.ask(departed, identity, purpose=purpose)
            request = request if policy is None else replace(request, policy=policy)
            return DecidedRequest(request, _decided(request, self._read(departed, request, "", rehearsed=True)))

    def look(self, identity: Identity, *, purpose: str | None = None) -> Looked | None:
        """Look at the due sources of an absent agent's return; none if nothing was written down."""
        self.writer.author.acts_for(identity.principal)
        return look_for(self, departure_of(self.log, identity), identity, purpose=purpose)

    def _read(
        self, departed: Checkpoint, request: Request, unprepared: str, *, rehearsed: bool = False
    ) -> Snapshot | Outcome:
        """The input of a return, or the outcome of one that has none: a failure is a decision too."""
        if unprepared:
            return refuse(request, Reason.INTERNAL_ERROR, unprepared)
        try:
            return requested(self.log, departed, request, rehearsed=rehearsed)
        except Exception as error:  # noqa: BLE001 - whatever failed, the agent gets nothing and the audit gets a row
            return _failed(request, error)

    def _commit(self, request: Request, outcome: Outcome) -> Outcome:
        """Commit decision, audit and log entry together."""
        log = self.log
        if log.audit.decision(request.return_id) is not None:
            raise ConflictError(f"id {request.return_id!r} is already used for another return; choose another id")
        envelope: Envelope | None = None
        try:
            with return_stage("seal"):
                if outcome.decision.view is not None:
                    envelope = seal_view(outcome.decision.view, self.keys.signer())
                elif outcome.decision.retracting is not None:
                    envelope = seal_retractions(outcome.decision.retracting, self.keys.signer())
        except Exception as error:  # noqa: BLE001 - a signer may live elsewhere and fail in its own ways
            logger.warning("return %s could not be signed: %s", request.return_id, error)
            outcome = withhold(request, outcome, Reason.SIGNER_FAILED)
        decision = outcome.decision
        body = canonical(decision)
        first = log.audit.last + 1
        rows = [("experience", note.bound_to, canonical(note)) for note in decision.experiences]
        last = log.audit.append(request.return_id, [*rows, ("decision", "", body)])
        log.audit.keep(outcome.pieces.parts)
        seal = None if envelope is None else canonical(envelope.signatures[0])
        log.audit.decide(request.return_id, StoredDecision(body, seal, first, last))
        # A replay finds both: an altered checkpoint is in the log, and the clock is in the request.
        fault = set(decision.faults) - {Reason.CHECKPOINT_ALTERED, Reason.CLOCK_SKEW}
        returned = Returned(
            request=request,
            kind=decision.kind,
            decision=digest_of(body),
            timed_out=decision.timed_out,
            failed=", ".join(sorted(fault)),
        )
        append_own(log, EventKind.RETURN, returned, id=request.return_id, by=request.identity.principal, at=request.now)
        return outcome

    # Its delivery.

    def expose(self, return_id: str, identity: Identity, secret: str, *, within_batch: bool = False) -> Bundle:
        """Check a view again now and hand it over to the workload it was issued to, which proves it by the secret."""
        self._require_durable(within_batch=within_batch)
        with span("readmit.expose") as note:
            note({PRINCIPAL: identity.principal})
            bundle = expose(self.log, return_id, self._asker(identity, secret))
        self._remember_handing_over()
        return bundle

    def expose_retractions(
        self, return_id: str, identity: Identity, secret: str, *, within_batch: bool = False
    ) -> RetractionBundle:
        """Check the retractions of a blocked return again now, and hand them over to its workload."""
        self._require_durable(within_batch=within_batch)
        with span("readmit.expose") as note:
            note({PRINCIPAL: identity.principal})
            bundle = expose_retractions(self.log, return_id, self._asker(identity, secret))
        self._remember_handing_over()
        return bundle

    def acknowledge(self, return_id: str, identity: Identity, secret: str) -> None:
        """Record that the bundle has arrived: it is not handed over again. Repeating it changes nothing."""
        acknowledge(self.log, return_id, self._asker(identity, secret))

    def _require_durable(self, *, within_batch: bool) -> None:
        if self.log.pending and not within_batch:
            raise QuarantineError("nothing is handed over before it is committed: expose after the batch")

    def _remember_handing_over(self) -> None:
        self.keys.handed_over.raise_to(self.log.head)
        self.keys.pin.flush()

    def _asker(self, identity: Identity, secret: str) -> Callable[[], Asker]:
        asker, instance = who(require("identity", identity, Identity)), instance_of(secret)
        self.writer.author.acts_for(asker.principal)
        return lambda: Asker(asker, instance, self.policy, self.writer.clock(), self.keys.handed_over.read)


def _stage(name: str) -> AbstractContextManager[object]:
    """A stage that begins: a listener hears of it, and its span is open until the block ends."""
    if (report := stages_reported.get()) is not None:
        report(name)
    return return_stage(name)


def instance_of(secret: object) -> str:
    """The hash of a workload's secret for requests, views and the log, so that a reader cannot impersonate it."""
    if not isinstance(secret, str):
        raise RecordError("secret: it is not a text; give the secret of the return")
    return digest_of(secret.encode(errors="replace"))


def _decided(request: Request, read: Snapshot | Outcome, examined: Examined | None = None) -> Outcome:
    if isinstance(read, Outcome):
        return read
    try:
        return decide(request, read, examined=examined, stage=return_stage)
    except Exception as error:  # noqa: BLE001 - whatever failed, the agent gets nothing and the audit gets a row
        return _failed(request, error)


def _failed(request: Request, error: Exception) -> Outcome:
    if isinstance(error, TamperedError):
        logger.error("return %s: %s", request.return_id, error)
        return refuse(request, Reason.LOG_ALTERED, str(error))
    logger.error("return %s failed", request.return_id, exc_info=error)
    return refuse(request, Reason.INTERNAL_ERROR, type(error).__name__)


def _fault(prepare: Callable[[Checkpoint, str], object], departed: Checkpoint, return_id: str) -> str:
    """The fault of a failed preparation in one word; empty if there was none."""
    try:
        prepare(departed, return_id)
    except PendingAnswers:
        raise
    except Exception as error:
        logger.exception("return %s could not be prepared", return_id)
        return type(error).__name__
    return ""
