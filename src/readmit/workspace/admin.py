"""``workspace.admin``: verbs of the owner, the overseers and the operator of the store."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from readmit.presence.lease import Sweep, Sweeper
from readmit.records.acts.event import Event, EventKind, Overrule
from readmit.records.acts.operation import Approve, Decline, Reassign, Void
from readmit.records.arguments import explained
from readmit.records.base import Moment, require, require_flag, require_id, utc
from readmit.records.error_types import RecordError
from readmit.records.policy import Policy, unreserved
from readmit.writing.forget import Forgotten, forget
from readmit.writing.limits import waiting
from readmit.writing.passed_plans import Notice, notices
from readmit.writing.workspace_keys import Keys, Writers

if TYPE_CHECKING:
    from readmit.log.log import Log
    from readmit.records.acts.kinds import DeclaredKind
    from readmit.returning.desk import Desk


@explained
class Admin:
    """Verbs of those who govern and operate a workspace. Their rights are checked as for every other write."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._writer = desk.writer

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._writer.policy()

    @property
    def log(self) -> Log:
        """The log itself, for adapters of memory stores and for tools that read it."""
        self._writer.check_operator("admin.log")
        return self._desk.log

    @property
    def keys(self) -> Keys:
        """The keys that the workspace signs with, and those that it trusts."""
        self._writer.check_operator("admin.keys")
        return self._desk.keys

    @property
    def writers(self) -> Writers:
        """The keys that principals sign with. Changed by the owner and the overseers."""
        return Writers(self._writer)

    def backup(self, path: str | Path) -> int:
        """Copy the store, with all its workspaces, to a new file. Returns the epoch at which this log ends in it."""
        self._writer.check_operator("admin.backup")
        return self._writer.log.backup(Path(path))

    def sweep(self, *, trust_clock: bool = False) -> Sweep:
        """Depart for every agent whose lease ran out, once. ``Sweeper`` says when the clock must be trusted."""
        return self.sweeper(trust_clock=trust_clock).sweep()

    def sweeper(self, *, trust_clock: bool = False) -> Sweeper:
        """A sweeper that looks at the leases again and again, and so can tell by itself which ran out."""
        return Sweeper(self._writer, trust_clock=require_flag("trust_clock", trust_clock))

    def waiting(self) -> tuple[Event, ...]:
        """The acts that hit a limit and wait for an overseer to ``approve`` or ``decline`` them, in order."""
        self._writer.check_operator("admin.waiting")
        return tuple(waiting(self._writer.log))

    def notices(self, *, by: str | None = None) -> tuple[Notice, ...]:
        """Plans that later news passed over, so that their slot is or will be contested, until somebody settles it.

        For a writer, those that it wrote one side of. Items for particular principals are not named to others.
        """
        by = self._writer.author.name if by is None else self._writer.author.of(by)
        return tuple(notices(self._writer.log, by, self.policy, self._writer.now()))

    def approve(self, waiting: str, *, by: str | None = None, reason: str = "") -> int:
        """Let through what hit its writer's limit and waits. For the owner and overseers."""
        payload = Approve(waiting=require_id("waiting", waiting), reason=reason)
        return self._writer.write(EventKind.APPROVE, payload, by=by, id=waiting)

    def decline(self, waiting: str, *, by: str | None = None, reason: str = "") -> int:
        """Refuse for good what hit its writer's limit and waits. For the owner and overseers."""
        payload = Decline(waiting=require_id("waiting", waiting), reason=reason)
        return self._writer.write(EventKind.DECLINE, payload, by=by, id=waiting)

    def reassign(
        self,
        principal: str,
        *,
        task: str,
        role: str,
        was: str | None = None,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """Say which role an agent has on a task: it comes back in ``role``, if it departed as ``was``.

        For the owner and overseers. For a return it holds in the absence in which it is written, or in the next one if
        the agent is at work; from then on the agent departs in its new role. It may settle what that role owes.
        """
        unreserved("principal", principal)
        payload = Reassign(principal=principal, task=task, was=was, role=role, reason=reason)
        return self._writer.write(EventKind.REASSIGN, payload, by=by, id=id, at=at)

    def void(self, event: int, *, by: str | None = None, reason: str = "", id: str | None = None) -> int:
        """Void the date of an event whose host's clock was ahead, never its effect. For the owner and overseers.

        ``event`` is its epoch. The log's moment is what it was before, or the clock if that is later.
        """
        return self._writer.write(EventKind.VOID, Void(event=event, reason=reason), by=by, id=id)

    def govern(self, policy: Policy, *, by: str | None = None, id: str | None = None, at: Moment | None = None) -> int:
        """Put a policy in force from here on."""
        return self._writer.write(EventKind.GOVERN, require("policy", policy, Policy), by=by, id=id, at=at)

    def forget(self, *targets: str, reason: str, by: str | None = None) -> Forgotten:
        """Take texts out for good: of items, observations and memories, with everything that quotes them.

        They and what rests on them no longer count. Who did it and why stays on the log. Owner and overseers only.
        """
        return forget(self._writer, targets, by=by, reason=reason)

    def overrule(
        self,
        target: str,
        *,
        by: str | None = None,
        reason: str,
        expires: Moment | timedelta,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """Restore an item that was rejected, for a while and for a reason. Overseers only."""
        # Returns are judged by the log's moment, so the duration starts there even if the overseer's clock lags. A
        # repetition under the same id starts at the same moment.
        moment = self._said(id, by) or self._writer.now()
        try:
            end = moment + expires if isinstance(expires, timedelta) else utc(expires, field="expires")
        except OverflowError:
            raise RecordError(f"expires: {expires} from now is beyond the year 9999; give less") from None
        payload = Overrule(target=require_id("target", target), reason=reason, expires=end)
        return self._writer.write(EventKind.OVERRULE, payload, by=by, id=id, at=at, moment=moment)

    def write(
        self,
        kind: DeclaredKind,
        payload: object,
        *,
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """Write an event of a kind that another package declares (``readmit.events.declare``). Returns its epoch."""
        return self._writer.write(kind, payload, by=by, id=id, at=at)

    def _said(self, id: str | None, by: str | None) -> datetime | None:
        """The moment of the overruling that has this id already, if there is one."""
        self._writer.giver(by, id)
        event = None if id is None else self._writer.log.named(EventKind.OVERRULE, id)
        return None if event is None else event.at
