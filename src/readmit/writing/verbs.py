"""Verbs about recorded items: one for each kind of event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, get_args

from readmit.records.acts.event import (
    Close,
    Confirm,
    Dispute,
    EventKind,
    Link,
    Overrule,
    Resolve,
    Revoke,
    Settle,
    Supersede,
    Suspect,
)
from readmit.records.acts.held_back import Approve, Decline
from readmit.records.acts.moments import Void
from readmit.records.acts.reassignment import Reassign
from readmit.records.arguments import explained
from readmit.records.base import Moment, listed, require, require_choice, require_digest, require_id, utc
from readmit.records.error_types import RecordError
from readmit.records.policy import Policy, unreserved
from readmit.records.reasons import Grant
from readmit.records.verdicts import Pair, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.log.log import Log
    from readmit.records.acts.kinds import DeclaredKind


@explained
class Verbs(ABC):
    """The verbs of a workspace about existing items."""

    log: Log

    @abstractmethod
    def append(
        self,
        kind: DeclaredKind,
        payload: object,
        *,
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """Check an event and commit it. Returns its epoch."""

    @abstractmethod
    def moment(self) -> datetime:
        """What counts as now."""

    @abstractmethod
    def _put(
        self, kind: DeclaredKind, payload: object, *, by: str | None, id: str | None, at: Moment | None,
        clock: datetime | None = None,
    ) -> int:  # fmt: skip
        """Append an event. ``clock`` is its moment if none was given."""

    @abstractmethod
    def _said(self, kind: DeclaredKind, id: str | None, by: str | None) -> datetime | None:
        """When an event with this id was true, if there is one already."""

    def supersede(
        self,
        target: str,
        successor: str,
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """``successor`` replaces ``target``. The reverse call undoes it."""
        payload = Supersede(
            target=require_id("target", target), successor=require_id("successor", successor), reason=reason
        )
        return self.append(EventKind.SUPERSEDE, payload, by=by, id=id, at=at)

    def revoke(
        self,
        target: str,
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """Withdraw an item: it should not have been relied on."""
        return self.append(
            EventKind.REVOKE, Revoke(target=require_id("target", target), reason=reason), by=by, id=id, at=at
        )

    def close_validity(
        self,
        target: str,
        *,
        end: Moment,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """The item is true only until ``end``."""
        payload = Close(target=require_id("target", target), end=utc(end, field="end"), reason=reason)
        return self.append(EventKind.CLOSE, payload, by=by, id=id, at=at)

    def settle(
        self,
        obligation: str,
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """The obligation is done, or no longer owed.

        Allowed for its author, the overseers, and agents that owe it in a role that those who govern gave
        them (``reassign``), or in which they signed a departure; never while away.
        """
        payload = Settle(target=require_id("obligation", obligation), reason=reason)
        return self.append(EventKind.SETTLE, payload, by=by, id=id, at=at)

    def dispute(
        self,
        items: Sequence[str],
        *,
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> str:
        """Contest items: none of them may be acted on until this is resolved. Returns the dispute's id."""
        contested = [require_id(f"items[{n}]", one) for n, one in enumerate(listed("items", items))]
        payload = Dispute(items=tuple(dict.fromkeys(contested)), reason=reason)
        return self.log.event(self.append(EventKind.DISPUTE, payload, by=by, id=id, at=at)).name

    def resolve(
        self,
        dispute: str,
        *,
        keep: Sequence[str] = (),
        by: str | None = None,
        reason: str = "",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """End a dispute: items in ``keep`` stand, the others were wrong."""
        payload = Resolve(dispute=require_id("dispute", dispute), keep=listed("keep", keep), reason=reason)
        return self.append(EventKind.RESOLVE, payload, by=by, id=id, at=at)

    def suspect(
        self,
        item: str,
        evidence: str,
        *,
        by: str | None = None,
        signal: str = "unspecified",
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """Propose that an observation changes a premise of an item. Out until a verdict settles it."""
        pair = Pair(item=require_id("item", item), evidence=require_digest("evidence", evidence))
        return self.append(EventKind.SUSPECT, Suspect(pair=pair, signal=signal), by=by, id=id, at=at)

    def judge(self, verdict: Verdict, *, by: str | None = None, id: str | None = None, at: Moment | None = None) -> int:
        """Store a verdict on a pair. It can only take the item out."""
        return self.append(EventKind.JUDGE, require("verdict", verdict, Verdict), by=by, id=id, at=at)

    def link(
        self,
        item: str,
        need: str,
        *,
        by: str | None = None,
        withdrawn: bool = False,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """Say that an item is evidence for a dependency, or with ``withdrawn`` that it is not after all."""
        return self.append(
            EventKind.LINK,
            Link(item=require_id("item", item), need=require_id("need", need), withdrawn=withdrawn),
            by=by,
            id=id,
            at=at,
        )

    def confirm(self, item: str, *, by: str | None = None, id: str | None = None, at: Moment | None = None) -> int:
        """Confirm an item that a model drafted."""
        return self.append(EventKind.CONFIRM, Confirm(target=require_id("item", item)), by=by, id=id, at=at)

    def approve(self, waiting: str, *, by: str | None = None, reason: str = "") -> int:
        """Let through what hit its writer's limit and waits. For the owner and overseers."""
        payload = Approve(waiting=require_id("waiting", waiting), reason=reason)
        return self.append(EventKind.APPROVE, payload, by=by, id=waiting)

    def decline(self, waiting: str, *, by: str | None = None, reason: str = "") -> int:
        """Refuse for good what hit its writer's limit and waits. For the owner and overseers."""
        payload = Decline(waiting=require_id("waiting", waiting), reason=reason)
        return self.append(EventKind.DECLINE, payload, by=by, id=waiting)

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
        return self.append(EventKind.REASSIGN, payload, by=by, id=id, at=at)

    def void(self, event: int, *, by: str | None = None, reason: str = "", id: str | None = None) -> int:
        """Void the date of an event whose host's clock was ahead, never its effect. For the owner and overseers.

        ``event`` is its epoch. The log's moment is what it was before, or the clock if that is later.
        """
        return self.append(EventKind.VOID, Void(event=event, reason=reason), by=by, id=id)

    def govern(self, policy: Policy, *, by: str | None = None, id: str | None = None, at: Moment | None = None) -> int:
        """Put a policy in force from here on."""
        return self.append(EventKind.GOVERN, require("policy", policy, Policy), by=by, id=id, at=at)

    def overrule(
        self,
        target: str,
        *,
        grant: Grant,
        by: str | None = None,
        reason: str,
        expires: Moment | timedelta,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """Set automated rejections of an item aside, for a while and for a reason. Overseers only."""
        require_choice("grant", grant, get_args(Grant))
        # Returns are judged by the log's moment, so the duration starts there even if the overseer's clock lags. A
        # repetition under the same id starts at the same moment.
        moment = self._said(EventKind.OVERRULE, id, by) or self.moment()
        try:
            end = moment + expires if isinstance(expires, timedelta) else utc(expires, field="expires")
        except OverflowError:
            raise RecordError(f"expires: {expires} from now is beyond the year 9999; give less") from None
        payload = Overrule(target=require_id("target", target), grant=grant, reason=reason, expires=end)
        return self._put(EventKind.OVERRULE, payload, by=by, id=id, at=at, clock=moment)
