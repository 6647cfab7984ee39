"""An agent's handle: depart, come back, and its private bank."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING

from readmit.presence.lease import begin, followed, is_over, leave_if_over
from readmit.records.acts.event import Checkpoint, EventKind
from readmit.records.arguments import explained
from readmit.records.base import nfc, require_id, require_name
from readmit.records.error_types import ConflictError, LeaseError, PendingAnswers, QuarantineError, UnknownError
from readmit.records.evidence import Experience
from readmit.records.identity import check_giver, own_id
from readmit.returning.carry_out import carry_out, logger
from readmit.returning.due_looks import look_before, look_for
from readmit.returning.expose import instance_of
from readmit.returning.request import Caller, ask
from readmit.rules.capture.checkpoint import checkpoint
from readmit.state.absence import last_absence, received
from readmit.state.authority import check_counts
from readmit.state.private_bank import readable
from readmit.state.roles import check_purpose, check_return, nearest, own_tasks
from readmit.workspace.return_handle import Return

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from readmit.presence.lease import PresentAgent
    from readmit.records.decisions import Request
    from readmit.records.identity import Identity
    from readmit.state.absence import Absence
    from readmit.workspace.workspace import Workspace


@explained
class Agent:
    """One principal in one role on one task. The caller has authenticated it."""

    def __init__(self, workspace: Workspace, identity: Identity) -> None:
        self._workspace = workspace
        self._log = workspace.log
        self._presence: PresentAgent | None = None
        self.identity = identity

    def __repr__(self) -> str:
        who = self.identity
        return f"<Agent {who.principal!r} as {who.role!r} on {who.task!r} in {who.workspace!r}>"

    def present(self, *, lease: timedelta | int, epoch: int | None = None, token: int | None = None) -> PresentAgent:
        """Be present under a lease, which calls through this agent and through the presence renew.

        If it runs out, a sweeper departs for the agent at the last epoch it had seen, and nothing that the agent writes
        is accepted until it returns. ``lease`` is a number of seconds or a timedelta; ``epoch`` says how far the agent
        has followed the log. Another worker of a present agent joins its presence; with a ``token``, only if it is the
        one with this token.
        """
        self._presence = begin(self._workspace, self.identity, lease, epoch, token)
        self._workspace = self._presence.workspace
        return self._presence

    def depart(self, *, id: str | None = None, epoch: int | None = None) -> Checkpoint:
        """Seal what this agent can see now, and quarantine its private bank.

        For an agent that crashed, ``epoch`` says how far it had followed the log.
        """
        now = self._workspace.now()
        with self._log.atomic():
            at = self._log.head if epoch is None else followed(self._log, epoch)
            name = self._given(id)
            if self._log.named(EventKind.DEPART, name) is not None:
                # Unlike other writes, a repetition is refused: the agent may have come back in between, and would stay
                # at work although it departs.
                raise ConflictError(f"id {name!r} is already used for an earlier departure; choose another id")
            departed = checkpoint(self.identity, self._log.seen(self.identity, until=at), id=name, epoch=at, at=now)
            self._workspace.append(EventKind.DEPART, departed, by=self.identity.principal, id=name)
        return departed

    def come_back(
        self,
        *,
        purpose: str | None = None,
        checkpoint: str | None = None,
        id: str | None = None,
        prepare: Callable[[Checkpoint, str], object] | None = None,
    ) -> Return:
        """Decide what this agent may still act on. ``checkpoint`` names a departure other than its last one.

        ``prepare`` gets the departure and the return's id and brings verdicts up to date before anything is
        decided. If it fails, the return is refused; if answers are still awaited, nothing is decided yet.
        """
        leave_if_over(self._workspace, self.identity)
        departed = self.departed(checkpoint)
        purpose = None if purpose is None else require_name("purpose", nfc(purpose))
        if purpose is not None:
            check_purpose(self._log, self.identity, purpose)
        return_id = self._given(id)
        secret = secrets.token_hex(16)
        if prepare is not None:
            # First, so that what is there now is part of what it looks at.
            look_for(self._workspace, departed, self.identity, purpose=purpose)
        unprepared = "" if prepare is None else _fault(prepare, departed, return_id)

        caller = Caller(return_id, instance_of(secret), secrets.token_hex(16))

        def asked() -> Request:
            now, policy = self._workspace.now(), self._workspace.policy
            return ask(self._log, departed, self.identity, purpose=purpose, now=now, policy=policy, caller=caller)

        look = partial(look_before, self._workspace)
        request, outcome = carry_out(
            self._log, departed, asked, self._workspace.signer, look=look, unprepared=unprepared
        )
        return Return(self._workspace, request, outcome.decision, outcome.dispositions, secret=secret)

    def remember(self, text: str, *, bound_to: str, id: str | None = None) -> str:
        """Store a private experience, usable only while its source item is."""
        if self._away():
            raise QuarantineError(f"{self.identity.principal!r} has departed: come back before remembering anything")
        name = f"x{secrets.token_hex(8)}" if id is None else require_id("id", id)
        experience = Experience(
            id=name, owner=self.identity.principal, text=text, bound_to=require_id("bound_to", bound_to)
        )
        # Each private bank has ids of its own.
        own = own_id(experience.owner, name)
        self._workspace.append(EventKind.REMEMBER, experience, by=experience.owner, id=own)
        return name

    def recall(self) -> tuple[Experience, ...]:
        """The private bank of an agent that has not departed. After a return, the bundle holds what came back."""
        if self._away():
            raise QuarantineError(
                f"the private bank of {self.identity.principal!r} is quarantined until it comes back and its view "
                "is exposed"
            )
        if self._presence is not None:
            self._presence.touch()
        return readable(self._log, self.identity)

    def moment(self) -> datetime:
        """What counts as now for this agent, and for its lease."""
        return self._workspace.moment()

    def settle(self, obligation: str, *, reason: str = "") -> int:
        """Settle a duty that this agent owes in its role."""
        if is_over(self._workspace, self.identity):
            raise LeaseError(f"the lease of {self.identity.principal!r} ran out: come back before settling anything")
        return self._workspace.settle(obligation, by=self.identity.principal, reason=reason)

    def departed(self, name: str | None = None) -> Checkpoint:
        """The departure that a return now would be from, or the named one.

        Refused in a role that the agent does not have, and on a task that nothing it may see names.
        """
        found = self._departure(name)
        check_return(self._log, found, self.identity)
        return found

    def _departure(self, name: str | None) -> Checkpoint:
        principal = self.identity.principal
        if name is not None:
            require_id("checkpoint", name)
            event = self._log.named(EventKind.DEPART, name)
            # Another agent's departure gives the same error as an unknown one.
            if event is None or self._log.departure(name).identity.principal != principal:
                raise UnknownError(f"no departure {name!r} of {principal!r} in workspace {self._log.workspace!r}")
            check_counts(self._log, event)
            return self._log.departure(name)
        absence = last_absence(self._log, self.identity)
        if absence is None or self._is_back(absence):
            others = [task for task in own_tasks(self._log, self.identity) if task != self.identity.task]
            meant = nearest(self.identity.task, others)
            raise UnknownError(
                f"{principal!r} has not departed from {self.identity.task!r}{f', {meant}' if meant else ''}: "
                "call depart() first, with the epoch it had reached if it crashed"
            )
        check_counts(self._log, absence.departure)
        return absence.departure.payload  # type: ignore[return-value]  # the kind of the event says which payload it is

    def _given(self, id: str | None) -> str:
        """The id of a departure or a return."""
        return secrets.token_hex(8) if id is None else check_giver(require_id("id", id), self.identity.principal)

    def _is_back(self, absence: Absence) -> bool:
        """Whether there is no absence left to return from. A view that never arrived does not end one."""
        if absence.end is None:
            return False
        return absence.started_anew or received(self._log, absence.end)

    def _away(self) -> bool:
        """Whether its lease ran out, or its last departure was ended neither by an exposed view nor by a reset."""
        absence = last_absence(self._log, self.identity)
        return is_over(self._workspace, self.identity) or (absence is not None and absence.end is None)


def _fault(prepare: Callable[[Checkpoint, str], object], departed: Checkpoint, return_id: str) -> str:
    """The fault of a failed preparation in one word; empty if there was none."""
    try:
        prepare(departed, return_id)
    except PendingAnswers:
        raise
    except Exception as error:  # noqa: BLE001 - whatever failed, the agent gets nothing and the audit gets a row
        logger.exception("return %s could not be prepared", return_id)
        return type(error).__name__
    return ""
