"""Hand over the retractions of a return that was blocked for what it lacks, after checking them again.

They hold no item and admit nobody: the agent stays away until a return of its is admitted. Each delivery has its own
audit row, committed before anything is handed over.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from readmit.records.acts.event import Event, EventKind
from readmit.records.acts.operation import Exposed
from readmit.records.canonical import canonical, decode, digest_of
from readmit.records.decisions import Decision, Envelope, Returned
from readmit.records.error_types import ExposureError, RecordError, SealError, TamperedError
from readmit.records.items import Item
from readmit.records.reasons import Reason
from readmit.records.retractions import Retractions, RetractionView
from readmit.returning.expose import OLDER, Asker, issued_to, return_of
from readmit.rules.capture.moment import later
from readmit.rules.cycle import examine
from readmit.rules.readmission import render_retractions
from readmit.rules.readmission.recheck import recheck_retractions
from readmit.rules.readmission.retract import out
from readmit.rules.readmission.view import withdrawn
from readmit.state.authority import lagging
from readmit.state.load import current
from readmit.trust.statement import open_retractions
from readmit.trust.trusted_keys import trusted

if TYPE_CHECKING:
    from readmit.log.audit_trail import StoredDecision
    from readmit.log.log import Log

logger = logging.getLogger("readmit")


class RetractionBundle(msgspec.Struct, frozen=True):
    """What the agent of a blocked return receives: what no longer holds, and no item to act on."""

    notice: RetractionView
    envelope: Envelope
    withdrawn: tuple[Item, ...] = ()
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


class _Answer(NamedTuple):
    failed: tuple[Reason, ...] = ()
    bundle: RetractionBundle | None = None
    advice: str = "Return again to get a new decision"


def expose_retractions(log: Log, return_id: str, ask: Callable[[], Asker]) -> RetractionBundle:
    """Check the retractions of a blocked return again and hand them over, or raise ``ExposureError``."""
    with log.atomic():
        asker, event = ask(), return_of(log, return_id)
        failed, bundle, advice = _answer(log, event, asker)
        entry = Exposed(return_id=return_id, instance=asker.instance, agent=asker.identity.agent, refused=tuple(failed))
        log.audit.append(return_id, [("refusal" if bundle is None else "retraction", "", canonical(entry))])
    if bundle is None:
        named = ", ".join(failed)
        raise ExposureError(f"the retractions of {return_id} were not exposed: {named}. {advice}", failed)
    return bundle


def _answer(log: Log, event: Event, asker: Asker) -> _Answer:
    stored = log.audit.decision(event.name)
    assert isinstance(event.payload, Returned)  # noqa: S101 - return_of has seen to it
    if stored is None or digest_of(stored.body) != event.payload.decision:
        return _Answer((Reason.LOG_ALTERED,), advice="The decision that is filed is not the one in the log")
    if not issued_to(event, asker):
        return _Answer((Reason.BINDING_MISMATCH,))
    decision = decode(stored.body, Decision, what="decision")
    if decision.retracting is None or stored.seal is None:
        return _without(decision)
    if advice := lagging(log, asker.now, asker.policy):
        return _Answer((Reason.CLOCK_SKEW,), advice=advice)
    try:
        return _checked(log, event, asker, stored)
    except TamperedError as error:
        return _Answer((Reason.LOG_ALTERED,), advice=str(error))
    except Exception:
        logger.exception("exposure of the retractions of %s failed", event.name)
        return _Answer((Reason.INTERNAL_ERROR,))


def _without(decision: Decision) -> _Answer:
    """Nothing was issued: the return was admitted, reset, or blocked by a fault."""
    if decision.admitted:
        return _Answer((Reason.VIEW_REPLACED,), advice="The return was admitted: expose its view, which holds them")
    if decision.kind == "reset":
        return _Answer(decision.reasons, advice="The return was reset: nothing that the agent held counts any more")
    return _Answer(decision.reasons, advice="A fault blocked the return: nothing is handed over. Return again")


def _checked(log: Log, event: Event, asker: Asker, stored: StoredDecision) -> _Answer:
    assert isinstance(event.payload, Returned)  # noqa: S101 - return_of has seen to it
    moment = later(asker.now, log.learnt)
    try:
        envelope = stored.envelope()
        view = open_retractions(envelope, trusted(log.milestones(EventKind.KEY), moment))
    except (RecordError, SealError):
        return _Answer((Reason.SIGNATURE_INVALID,))
    state = current(log, event.payload.request, moment, identity=asker.identity)
    if not state.intact:
        return _Answer((Reason.CHECKPOINT_ALTERED,))
    held = state.state.held
    items = [held[one.id].item for one in view.retractions.listed if one.id in held]
    latest = log.latest(EventKind.RETURN, view.identity.agent)
    departure = log.latest(EventKind.DEPART, view.identity.agent)
    failed = recheck_retractions(
        view,
        identity=asker.identity,
        instance=asker.instance,
        now=asker.now,
        head=log.head if log.head >= asker.handed_over() else 0,
        newest_return="" if latest is None else latest.name,
        departed_again=departure is not None and departure.epoch > event.epoch,
        out=out(state, examine(state, asker.policy).gated),
        items=items,
        policy=asker.policy,
    )
    if failed:
        return _Answer(failed, advice=OLDER) if Reason.EPOCH_AHEAD in failed else _Answer(failed)
    salts = {held[one.id].digest: held[one.id].salt for one in view.retractions.listed if one.id in held}
    return _Answer((), RetractionBundle(view, envelope, withdrawn(view.retractions, items, salts), salts))
