"""Which items of an exposed view still pass the gates: what a returned agent may read of a memory store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.backends.admission import Ground
from readmit.records.acts.event import Close, Event, EventKind, Overrule
from readmit.records.acts.operation import Exposed
from readmit.records.decisions import Returned, ReturnView
from readmit.records.error_types import QuarantineError
from readmit.rules.capture.moment import later
from readmit.rules.cycle import examine
from readmit.rules.readmission.view import contents
from readmit.state.absence import tenure
from readmit.state.authority import lagging
from readmit.state.load import current
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.snapshot import Snapshot
    from readmit.returning.expose import Bundle


class StandingView:
    """Which items of an exposed view still pass the gates, judged again when the log moves or a validity ends."""

    def __init__(self, workspace: Workspace, bundle: Bundle | ReturnView) -> None:
        self._workspace = workspace
        self._view = view = bundle if isinstance(bundle, ReturnView) else bundle.view
        exposed = desk_of(workspace).log.named(EventKind.EXPOSE, view.return_id)
        decision = workspace.returned(view.return_id).decision
        if (
            exposed is None
            or not isinstance(exposed.payload, Exposed)
            or exposed.payload.instance != view.instance
            or decision.view != view
        ):
            raise QuarantineError("this bundle was not exposed by this workspace; expose the return's own view")
        if not isinstance(bundle, ReturnView):
            contents(view, bundle.items, bundle.experiences, bundle.salts)
        self._exposed = exposed.epoch
        self._ground: Ground | None = None
        self._epoch = -1
        self._until: datetime | None = None

    def __call__(self) -> Ground:
        """The basis for judging records; the same object while nothing changes."""
        log = desk_of(self._workspace).log
        with log.reading():
            now, learnt = desk_of(self._workspace).writer.clock(), log.learnt
            if behind := lagging(log, now, self._workspace.admin.policy):
                raise QuarantineError(f"nothing is read while the clock cannot be right: {behind}")
            moment = later(now, learnt)
            moved = log.head != self._epoch or (self._until is not None and moment >= self._until)
            if self._ground is None or moved or moment < self._judged:
                lease_over = self._refuse_departed(moment)
                self._judge(moment)
                self._until = min((one for one in (self._until, lease_over) if one is not None), default=None)
        assert self._ground is not None  # noqa: S101 - set by _judge, for the type checker
        return self._ground

    def _refuse_departed(self, moment: datetime) -> datetime | None:
        """Refuse an agent that is not at work with this view. Gives the moment at which its lease runs out."""
        agent, log = self._view.identity.agent, desk_of(self._workspace).log
        held = tenure(log, agent)
        if held is not None and moment >= held.lease.until:
            raise QuarantineError(
                f"the lease of {self._view.identity.principal!r} ran out at {held.lease.until.isoformat()}: let it "
                "come back, and use the memory of that return"
            )
        departure = log.latest(EventKind.DEPART, agent)
        newest = log.latest(EventKind.RETURN, agent)
        # A view that waits to be exposed has replaced nothing yet: the process that asked for it may have ended.
        while newest is not None and newest.epoch > self._exposed and _waits(log, newest):
            newest = log.latest(EventKind.RETURN, agent, until=newest.epoch - 1)
        if (departure is not None and departure.epoch > self._exposed) or (
            newest is not None and newest.name != self._view.return_id
        ):
            raise QuarantineError(
                f"{self._view.identity.principal!r} has departed or returned since: use the memory of its last return"
            )
        return None if held is None else held.lease.until

    def _judge(self, moment: datetime) -> None:
        log, policy = desk_of(self._workspace).log, self._workspace.admin.policy
        head = log.head
        state = current(log, log.returned(self._view.return_id).request, moment)
        eligible = examine(state, policy).gated.eligible if state.intact else {}
        still = frozenset(
            one.id for one in self._view.items if one.id in eligible and eligible[one.id].digest == one.digest
        )
        # A new object each time: any event may change which items evidence is bound to.
        self._ground = Ground(
            admitted=still, reader=self._view.identity.principal, writers=frozenset(policy.evidence.writers)
        )
        self._epoch, self._judged, self._until = head, moment, _next_turn(state, moment)


def _waits(log: Log, returned: Event) -> bool:
    admitted = isinstance(returned.payload, Returned) and returned.payload.kind == "admitted"
    return admitted and log.named(EventKind.EXPOSE, returned.name) is None


def _next_turn(state: Snapshot, now: datetime) -> datetime | None:
    """The next moment at which time alone changes the result."""
    turns: list[datetime] = []
    for held in (*state.state.held.values(), *state.background.held.values()):
        turns += [moment for moment in (held.item.valid.start, held.item.valid.end) if moment is not None]
        for mark in held.marks:
            turns.append(mark.effective)
            if isinstance(mark.payload, Close):
                turns.append(mark.payload.end)
            elif isinstance(mark.payload, Overrule):
                turns.append(mark.payload.expires)
    return min((turn for turn in turns if turn > now), default=None)
