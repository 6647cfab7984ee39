"""Hand over a view, or the retractions of a blocked return, after checking everything again at that moment.

The recheck and the mark "exposed" are one transaction: an event between issue and exposure is either seen by the
recheck or comes after the exposure. A delivery can get lost after that transaction, so the workload may ask again until
it acknowledges, writes or departs. Each delivery has its own audit row.

Retractions hold no item and admit nobody: the agent stays away until a return of its is admitted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, get_args

import msgspec

from readmit.records.acts.event import Event, EventKind
from readmit.records.acts.operation import Acknowledge, Exposed
from readmit.records.base import Time
from readmit.records.canonical import canonical, decode, digest_of
from readmit.records.decisions import Decision, Envelope, Examination, Returned, ReturnView
from readmit.records.error_types import ExposureError, RecordError, SealError, TamperedError, UnknownError
from readmit.records.evidence import Experience
from readmit.records.identity import Identity
from readmit.records.items import ReadItem
from readmit.records.policy import Policy
from readmit.records.reasons import Reason, State
from readmit.records.retractions import Retractions, RetractionView
from readmit.rules.capture.moment import later
from readmit.rules.cover.newest_first import newest_supporters
from readmit.rules.cycle import examine
from readmit.rules.readmission import render, render_retractions
from readmit.rules.readmission.recheck import Current, recheck, recheck_retractions
from readmit.rules.readmission.retract import out
from readmit.rules.readmission.view import contents, withdrawn
from readmit.state.absence import received, role_of
from readmit.state.authority import lagging
from readmit.state.examination import examination
from readmit.state.load import current
from readmit.trust.statement import open_retractions, open_view
from readmit.trust.trusted_keys import trusted
from readmit.writing.new_event import append_own

if TYPE_CHECKING:
    from readmit.log.log import Log
    from readmit.records.snapshot import Snapshot

logger = logging.getLogger("readmit")


class Bundle(msgspec.Struct, frozen=True):
    """The view that the agent receives, with its items and its readmitted experiences."""

    view: ReturnView
    envelope: Envelope
    items: tuple[ReadItem, ...]
    experiences: tuple[Experience, ...]
    withdrawn: tuple[ReadItem, ...] = ()
    """Items that the agent held and that no longer hold, if the policy hands over their texts."""
    salts: Mapping[str, bytes] = {}
    """By digest, the bytes that the view's digests cover before the content."""

    def __repr__(self) -> str:
        # Without the texts: what is handed over is for the agent, not for a log file.
        held = ", ".join(item.id for item in self.items) or "nothing"
        return f"<Bundle of return {self.view.return_id}: {held}; {len(self.experiences)} experiences>"

    def markdown(self, *, form: render.Form = "full", asked: str = "") -> str:
        """For a prompt. ``form="brief"`` is for a small model: one line a statement, what is needed first.

        The brief form says at the top what of ``asked``, the message that the agent is to answer, has ended. Without a
        message it goes by the duties of the view.
        """
        if form not in get_args(render.Form):
            raise RecordError(f"form: {form!r} is unknown; give {' or '.join(get_args(render.Form))}")
        return render.markdown(
            self.view, self.items, self.experiences, self.withdrawn, self.salts, form=form, asked=asked
        )

    def json(self) -> str:
        """For a program."""
        return render.json_bundle(self.view, self.items, self.experiences, self.withdrawn, self.salts)


class RetractionBundle(msgspec.Struct, frozen=True):
    """The retractions that the agent of a blocked return receives, and no item to act on."""

    notice: RetractionView
    envelope: Envelope
    withdrawn: tuple[ReadItem, ...] = ()
    """The items that the agent held, if the policy hands over their texts."""
    salts: Mapping[str, bytes] = {}
    """By digest, the bytes that the digests cover before the items."""

    def __repr__(self) -> str:
        named = ", ".join(one.id for one in self.retractions.listed) or "nothing"
        return f"<RetractionBundle of return {self.notice.return_id}: {named}>"

    @property
    def retractions(self) -> Retractions:
        return self.notice.retractions

    def markdown(self) -> str:
        """For a prompt."""
        return render_retractions.retractions_markdown(self.notice, self.withdrawn, self.salts)

    def json(self) -> str:
        """For a program."""
        return render_retractions.retractions_json(self.notice, self.withdrawn, self.salts)


class Asker(msgspec.Struct, frozen=True):
    """The workload that asks for a view, the policy in force, and the moment by its clock."""

    identity: Identity
    instance: str
    """The hash of its secret, as ``desk.instance_of`` makes it."""
    policy: Policy
    now: Time
    handed_over: Callable[[], int] = lambda: 0
    """The epoch of the last exposure. Called only if there is something to hand over."""


Sealed = TypeVar("Sealed", ReturnView, RetractionView)
Handed = TypeVar("Handed", Bundle, RetractionBundle)


class _Answer(NamedTuple, Generic[Handed]):
    """Either the bundle, or the checks that failed and what to do."""

    failed: tuple[Reason, ...] = ()
    bundle: Handed | None = None
    advice: str = "Return again to get a new decision"


ALTERED = "The decision that is filed is not the one in the log"
OLDER = (
    "This store ends before the last exposure: an older copy was put back. Put a newer one back, or accept the loss: "
    "`readmit admin restore --help` says how"
)


class _Opened(NamedTuple):
    """Decided return under the state of now, opened for one asker."""

    log: Log
    event: Event
    asker: Asker
    state: Snapshot
    envelope: Envelope


def expose(log: Log, return_id: str, ask: Callable[[], Asker]) -> Bundle:
    """Check a view again and hand it over, or raise ``ExposureError``. Either way the audit has a row.

    ``ask`` is called once the transaction is open: waiting for other writers takes time, and they may change
    the policy. The log has one event, however often the view is handed over.
    """
    with log.atomic():
        asker = ask()
        before = log.named(EventKind.EXPOSE, return_id)
        judged = partial(_judge, before=before)
        failed, bundle, advice = _answer(log, return_id, asker, without=_without_view, opened=open_view, judged=judged)
        again = bundle is not None and before is not None
        entry = Exposed(
            return_id=return_id, instance=asker.instance, agent=asker.identity.agent, refused=tuple(failed), again=again
        )
        log.audit.append(return_id, [("refusal" if failed else "exposure", "", canonical(entry))])
        if not failed and not again:
            append_own(log, EventKind.EXPOSE, entry, id=return_id, by=asker.identity.principal, at=asker.now)
    if bundle is None:
        raise ExposureError(f"view {return_id} was not exposed: {', '.join(failed)}. {advice}", failed)
    return bundle


def expose_retractions(log: Log, return_id: str, ask: Callable[[], Asker]) -> RetractionBundle:
    """Check the retractions of a blocked return again and hand them over, or raise ``ExposureError``."""
    with log.atomic():
        asker = ask()
        failed, bundle, advice = _answer(
            log,
            return_id,
            asker,
            without=_without_retractions,
            opened=open_retractions,
            judged=_judge_retractions,
        )
        entry = Exposed(return_id=return_id, instance=asker.instance, agent=asker.identity.agent, refused=tuple(failed))
        log.audit.append(return_id, [("refusal" if bundle is None else "retraction", "", canonical(entry))])
    if bundle is None:
        named = ", ".join(failed)
        raise ExposureError(f"the retractions of {return_id} were not exposed: {named}. {advice}", failed)
    return bundle


def acknowledge(log: Log, return_id: str, ask: Callable[[], Asker]) -> None:
    """Record that a view has arrived at its workload. Repeating it changes nothing."""
    with log.atomic():
        asker = ask()
        issued = issued_to(return_of(log, return_id), asker)
        if issued and log.named(EventKind.EXPOSE, return_id) is None:
            raise UnknownError(f"return {return_id!r} was not handed over: expose it first")
        if issued and log.named(EventKind.ACKNOWLEDGE, return_id) is not None:
            return
        if issued:
            entry = Acknowledge(return_id=return_id, instance=asker.instance)
            log.audit.append(return_id, [("acknowledgement", "", canonical(entry))])
            append_own(log, EventKind.ACKNOWLEDGE, entry, id=return_id, by=asker.identity.principal, at=asker.now)
        else:
            refused = Exposed(
                return_id=return_id,
                instance=asker.instance,
                agent=asker.identity.agent,
                refused=(Reason.BINDING_MISMATCH,),
            )
            log.audit.append(return_id, [("refusal", "", canonical(refused))])
    if not issued:
        raise ExposureError(
            f"view {return_id} was issued to another workload: acknowledge it with the secret of its own return",
            (Reason.BINDING_MISMATCH,),
        )


def return_of(log: Log, return_id: str) -> Event:
    """The return with this id."""
    event = log.named(EventKind.RETURN, return_id)
    if event is None or not isinstance(event.payload, Returned):
        raise UnknownError(f"no return {return_id!r} in workspace {log.workspace!r}; see `readmit audit list`")
    return event


def issued_to(event: Event, asker: Asker) -> bool:
    """Whether a workload is the one that a return was decided for."""
    assert isinstance(event.payload, Returned)  # noqa: S101 - return_of has seen to it
    request = event.payload.request
    return (request.identity, request.instance) == (asker.identity, asker.instance)


def _answer(
    log: Log,
    return_id: str,
    asker: Asker,
    *,
    without: Callable[[Decision], _Answer[Handed] | None],
    opened: Callable[[Envelope, Mapping[str, bytes]], Sealed],
    judged: Callable[[_Opened, Sealed], _Answer[Handed]],
) -> _Answer[Handed]:
    """Open the bundle that was decided and check it now, in the order in which each step may rely on the last."""
    event = return_of(log, return_id)
    assert isinstance(event.payload, Returned)  # noqa: S101 - return_of has seen to it
    stored = log.audit.decision(return_id)
    if stored is None or digest_of(stored.body) != event.payload.decision:
        return _Answer((Reason.LOG_ALTERED,), advice=ALTERED)
    if not issued_to(event, asker):
        # Before anything is judged: no other workload learns how the view stands.
        return _Answer((Reason.BINDING_MISMATCH,))
    decision = decode(stored.body, Decision, what="decision")
    if (refused := without(decision)) is not None:
        return refused
    if stored.seal is None:
        return _Answer((Reason.LOG_ALTERED,), advice=ALTERED)
    learnt = log.learnt
    if advice := lagging(log, asker.now, asker.policy):
        return _Answer((Reason.CLOCK_SKEW,), advice=advice)
    moment = later(asker.now, learnt)
    try:
        envelope = stored.envelope()
        view = opened(envelope, trusted(log.milestones(EventKind.KEY), moment))
    except (RecordError, SealError):
        return _Answer((Reason.SIGNATURE_INVALID,))
    try:
        # The requesting identity is judged, not the one the view was issued to.
        state = current(log, event.payload.request, moment, identity=asker.identity)
        if not state.intact:
            return _Answer((Reason.CHECKPOINT_ALTERED,))
        answer = judged(_Opened(log, event, asker, state, envelope), view)
        return answer._replace(advice=OLDER) if Reason.EPOCH_AHEAD in answer.failed else answer
    except TamperedError as error:
        return _Answer((Reason.LOG_ALTERED,), advice=str(error))
    except Exception:
        logger.exception("exposure of %s failed", return_id)
        return _Answer((Reason.INTERNAL_ERROR,))


def _without_view(decision: Decision) -> _Answer[Bundle] | None:
    """A return that was not admitted has nothing to hand over, and its own workload learns why."""
    if decision.admitted:
        return None
    if decision.kind == "reset":
        return _Answer(decision.reasons, advice="The return was reset: there is no view, and its bank is empty")
    lacking = f"; missing: {', '.join(decision.missing)}" if decision.missing else ""
    alone = "" if decision.retracting is None else ", or hand over what no longer holds: expose_retractions()"
    advice = f"The return was blocked: there is no view{lacking}. Return again later{alone}"
    return _Answer(decision.reasons, advice=advice)


def _without_retractions(decision: Decision) -> _Answer[RetractionBundle] | None:
    """No retractions were issued: the return was admitted, reset, or blocked by a fault."""
    if decision.retracting is not None:
        return None
    if decision.admitted:
        return _Answer((Reason.VIEW_REPLACED,), advice="The return was admitted: expose its view, which holds them")
    if decision.kind == "reset":
        return _Answer(decision.reasons, advice="The return was reset: nothing that the agent held counts any more")
    return _Answer(decision.reasons, advice="A fault blocked the return: nothing is handed over. Return again")


def _judge(case: _Opened, view: ReturnView, before: Event | None) -> _Answer[Bundle]:
    log, event, asker, state, envelope = case
    examined = examine(state, asker.policy)
    held = state.state.held
    names = (*(one.id for one in view.items), *(one.id for one in view.retractions.listed))
    items = [held[name].item for name in names if name in held]
    bank = [one.payload for one in state.state.bank if isinstance(one.payload, Experience)]
    remembered = {one.digest for one in view.experiences}
    salts = {held[name].digest: held[name].salt for name in names if name in held}
    salts |= {one.digest: one.salt for one in state.state.bank if one.digest in remembered}
    if role_of(log, state.checkpoint, asker.identity) != asker.identity.role:
        # It was reassigned since.
        return _Answer((Reason.BINDING_MISMATCH,))
    failed = recheck(
        view,
        _current(case, out(state, examined.gated)),
        return_id=event.name,
        consumed=before is not None and received(log, before),
        eligible=examined.gated.eligible,
        duties=examined.duties,
        items=items,
        experiences=bank,
        salts=salts,
        newest=newest_supporters(examined.snapshot, examined.gated, examined.duties.obligations, asker.policy),
        examination=_examined(log, state, asker.policy),
    )
    if failed:
        return _Answer(failed)
    retracted = withdrawn(view.retractions, items, salts)
    return _Answer((), Bundle(view, envelope, *contents(view, items, bank, salts), retracted, salts))


def _judge_retractions(case: _Opened, view: RetractionView) -> _Answer[RetractionBundle]:
    state = case.state
    held = [state.state.held[one.id] for one in view.retractions.listed if one.id in state.state.held]
    items = [one.item for one in held]
    if failed := recheck_retractions(view, _current(case, out(state, examine(state, case.asker.policy).gated)), items):
        return _Answer(failed)
    salts = {one.digest: one.salt for one in held}
    return _Answer((), RetractionBundle(view, case.envelope, withdrawn(view.retractions, items, salts), salts))


def _current(case: _Opened, fallen: Mapping[str, State]) -> Current:
    log, asker = case.log, case.asker
    latest = log.latest(EventKind.RETURN, asker.identity.agent)
    departure = log.latest(EventKind.DEPART, asker.identity.agent)
    return Current(
        identity=asker.identity,
        instance=asker.instance,
        now=asker.now,
        # A log that ends before the last exposure was restored from an older state.
        head=log.head if log.head >= asker.handed_over() else 0,
        newest_return="" if latest is None else latest.name,
        departed_again=departure is not None and departure.epoch > case.event.epoch,
        policy=asker.policy,
        out=fallen,
    )


def _examined(log: Log, state: Snapshot, policy: Policy) -> Examination | None:
    """The current examination for implicit changes. Read only if it matters."""
    if policy.returns.examination == "optional":
        return None
    return examination(log, state.checkpoint, state.identity, purpose=state.purpose, epoch=log.head, policy=policy)
