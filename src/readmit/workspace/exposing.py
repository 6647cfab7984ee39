"""Hand a view over, once, after checking everything again at that moment.

The recheck and the mark "exposed" are one transaction: an event that lands between issue and exposure is either
seen by the recheck or comes after the exposure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.cycle import examine
from readmit.records.base import Time
from readmit.records.canonical import canonical, decode
from readmit.records.decisions import Envelope, Returned, ReturnView
from readmit.records.errors import ExposureError, RecordError, SealError, UnknownError
from readmit.records.events import EventKind, Exposed, draft
from readmit.records.evidence import Experience
from readmit.records.identity import Identity
from readmit.records.items import Item
from readmit.records.policy import Policy
from readmit.records.reasons import Reason
from readmit.seal import render
from readmit.seal.recheck import recheck
from readmit.seal.statement import open_view
from readmit.seal.trust import trusted
from readmit.seal.view import contents
from readmit.workspace.loading import snapshot
from readmit.workspace.returning import logger, sign_head

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.ports.signer import Signer
    from readmit.ports.store import Log
    from readmit.records.events import Checkpoint
    from readmit.records.snapshot import Snapshot


class Bundle(msgspec.Struct, frozen=True):
    """What the agent receives: the view, its items and its readmitted experiences."""

    view: ReturnView
    envelope: Envelope
    items: tuple[Item, ...]
    experiences: tuple[Experience, ...]

    def markdown(self) -> str:
        """For a prompt."""
        return render.markdown(self.view, self.items, self.experiences)

    def json(self) -> str:
        """For a program."""
        return render.json_bundle(self.view, self.items, self.experiences)


class Asker(msgspec.Struct, frozen=True):
    """The workload that asks for a view, the policy in force, and the moment."""

    identity: Identity
    instance: str
    policy: Policy
    now: Time
    handed_over: int = 0
    """How far the log had come when something was last handed over."""


def expose(log: Log, return_id: str, ask: Callable[[], Asker], signer: Callable[[], Signer]) -> Bundle:
    """Check a view again and hand it over, or raise ``ExposureError``. Either way the audit has a row.

    ``ask`` is called once the transaction is open: waiting for other writers takes time, and they may change
    the policy.
    """
    with log.atomic():
        asker = ask()
        failed, bundle = _recheck(log, return_id, asker)
        entry = Exposed(return_id=return_id, instance=asker.instance, refused=tuple(failed))
        log.audit.append(return_id, [("refusal" if failed else "exposure", "", canonical(entry))])
        if not failed:
            marked = draft(EventKind.EXPOSE, entry, id=return_id, by=asker.identity.principal, at=asker.now)
            log.append([marked], now=asker.now)
        sign_head(log, asker.now, signer)
    if bundle is None:
        raise ExposureError(
            f"view {return_id} was not exposed: {', '.join(failed)}. Return again to get a new decision", failed
        )
    return bundle


def _recheck(log: Log, return_id: str, asker: Asker) -> tuple[tuple[Reason, ...], Bundle | None]:
    event = log.named(f"return:{return_id}")
    stored = log.audit.decision(return_id)
    if event is None or stored is None or not isinstance(event.payload, Returned):
        raise UnknownError(f"no return {return_id!r} in workspace {log.workspace!r}")
    if stored.envelope is None:
        raise UnknownError(f"return {return_id!r} was {event.payload.kind}: it has no view to expose")
    try:
        envelope = decode(stored.envelope, Envelope, what="envelope")
        view = open_view(envelope, trusted(log.milestones(EventKind.KEY), asker.now))
    except (RecordError, SealError):
        return (Reason.SIGNATURE_INVALID,), None
    try:
        departed = checkpoint_named(log, event.payload.request.checkpoint)
        # The identity that asks is judged, not the one the view was issued to.
        state = snapshot(log, departed, asker.identity, epoch=log.head, purpose=view.purpose, now=asker.now)
        failed, items, experiences = _judge(log, return_id, view=view, asker=asker, state=state)
        return failed, None if failed else Bundle(view, envelope, *contents(view, items, experiences))
    except Exception:  # noqa: BLE001 - whatever failed, the agent gets nothing and the audit gets a row
        logger.exception("exposure of %s failed", return_id)
        return (Reason.INTERNAL_ERROR,), None


def _judge(
    log: Log, return_id: str, *, view: ReturnView, asker: Asker, state: Snapshot
) -> tuple[tuple[Reason, ...], list[Item], list[Experience]]:
    if not state.intact:
        return (Reason.CHECKPOINT_ALTERED,), [], []
    examined = examine(state, asker.policy)
    held = state.state.held
    items = [held[named.id].item for named in view.items if named.id in held]
    bank = [one.payload for one in state.state.bank if isinstance(one.payload, Experience)]
    latest = log.latest(EventKind.RETURN, view.identity.agent)
    failed = recheck(
        view,
        return_id=return_id,
        identity=asker.identity,
        instance=asker.instance,
        now=asker.now,
        # What lies behind the last exposure was restored from before it.
        head=log.head if log.head >= asker.handed_over else 0,
        consumed=log.named(f"expose:{return_id}") is not None,
        newest_return="" if latest is None else latest.id.removeprefix("return:"),
        departed_again=False,
        eligible=examined.gated.eligible,
        duties=examined.duties,
        items=items,
        experiences=bank,
        policy=asker.policy,
    )
    return failed, items, bank


def checkpoint_named(log: Log, name: str) -> Checkpoint:
    """A departure checkpoint by id."""
    event = log.named(f"depart:{name}")
    if event is None:
        raise UnknownError(f"no departure {name!r} in workspace {log.workspace!r}")
    return event.payload  # type: ignore[return-value]  # the id's prefix says which payload it is
