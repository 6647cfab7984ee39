"""What happens to an item once it is recorded: one verb for each kind of event about it."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from readmit.records.arguments import explained
from readmit.records.base import utc
from readmit.records.events import (
    Close,
    Confirm,
    Dispute,
    EventKind,
    Link,
    Overrule,
    Rebase,
    Resolve,
    Revoke,
    Settle,
    Supersede,
    Suspect,
)
from readmit.records.verdicts import Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.records.kinds import DeclaredKind
    from readmit.records.verdicts import Verdict


@explained
class Verbs(ABC):
    """The verbs of a workspace that touch items which are there."""

    @abstractmethod
    def append(
        self, kind: DeclaredKind, payload: object, *, by: str, id: str | None = None, at: datetime | None = None
    ) -> int:
        """Check an event and commit it. Returns its epoch."""

    @abstractmethod
    def moment(self) -> datetime:
        """What counts as now."""

    @abstractmethod
    def _said(self, kind: DeclaredKind, id: str | None) -> datetime | None:
        """When an event with this id was true, if there is one already."""

    def supersede(
        self, target: str, successor: str, *, by: str, reason: str = "", role: str | None = None, **event: Any
    ) -> int:
        """``successor`` replaces ``target``. Said the other way round later, it is undone. ``role``: see ``settle``."""
        payload = Supersede(target=target, successor=successor, reason=reason, role=role)
        return self.append(EventKind.SUPERSEDE, payload, by=by, **event)

    def revoke(self, target: str, *, by: str, reason: str = "", role: str | None = None, **event: Any) -> int:
        """Withdraw an item: it should not have been relied on. ``role`` as in ``settle``."""
        return self.append(EventKind.REVOKE, Revoke(target=target, reason=reason, role=role), by=by, **event)

    def close_validity(self, target: str, *, end: datetime, by: str, reason: str = "", **event: Any) -> int:
        """The item is true only until ``end``."""
        end = utc(end, field="end")
        return self.append(EventKind.CLOSE, Close(target=target, end=end, reason=reason), by=by, **event)

    def rebase(self, slot: str, *, task: str, by: str, reason: str = "", **event: Any) -> int:
        """A slot, and those below it, start anew: what was recorded about them before no longer applies."""
        return self.append(EventKind.REBASE, Rebase(slot=slot, task=task, reason=reason), by=by, **event)

    def settle(self, obligation: str, *, by: str, reason: str = "", role: str | None = None, **event: Any) -> int:
        """The obligation is done, or no longer owed.

        That is for its author, the overseers, and whoever owes it, who says in which ``role``; and for nobody who is
        away.
        """
        return self.append(EventKind.SETTLE, Settle(target=obligation, reason=reason, role=role), by=by, **event)

    def dispute(self, items: Sequence[str], *, by: str, reason: str = "", id: str | None = None, **event: Any) -> str:
        """Contest items: none of them may be acted on until this is resolved. Returns the dispute's id."""
        name = id or secrets.token_hex(8)
        payload = Dispute(items=tuple(dict.fromkeys(items)), reason=reason)
        self.append(EventKind.DISPUTE, payload, by=by, id=name, **event)
        return name

    def resolve(self, dispute: str, *, keep: Sequence[str] = (), by: str, reason: str = "", **event: Any) -> int:
        """End a dispute: items in ``keep`` stand, the others were wrong."""
        payload = Resolve(dispute=dispute, keep=tuple(keep), reason=reason)
        return self.append(EventKind.RESOLVE, payload, by=by, **event)

    def suspect(self, item: str, evidence: str, *, by: str, signal: str = "unspecified", **event: Any) -> int:
        """Propose that an observation changes a premise of an item. Out until a verdict settles it."""
        pair = Pair(item=item, evidence=evidence)
        return self.append(EventKind.SUSPECT, Suspect(pair=pair, signal=signal), by=by, **event)

    def judge(self, verdict: Verdict, *, by: str, **event: Any) -> int:
        """Store a verdict on a pair. It can only take the item out."""
        return self.append(EventKind.JUDGE, verdict, by=by, **event)

    def link(self, item: str, need: str, *, by: str, withdrawn: bool = False, **event: Any) -> int:
        """Say that an item is evidence for a dependency, or with ``withdrawn`` that it is none after all."""
        return self.append(EventKind.LINK, Link(item=item, need=need, withdrawn=withdrawn), by=by, **event)

    def confirm(self, item: str, *, by: str, **event: Any) -> int:
        """Vouch for an item that a model drafted."""
        return self.append(EventKind.CONFIRM, Confirm(target=item), by=by, **event)

    def overrule(
        self,
        target: str,
        *,
        grant: Literal["restore", "rejustify", "settle"],
        by: str,
        reason: str,
        expires: datetime | timedelta,
        id: str | None = None,
        at: datetime | None = None,
    ) -> int:
        """Set automated rejections of an item aside, for a while and for a reason. Overseers only."""
        # Returns are judged by the moment: an overseer whose clock lags means what they see of it.
        # Said again under the same id, it is meant from the same moment on.
        moment = self._said(EventKind.OVERRULE, id) or self.moment()
        end = moment + expires if isinstance(expires, timedelta) else utc(expires, field="expires")
        payload = Overrule(target=target, grant=grant, reason=reason, expires=end)
        return self.append(EventKind.OVERRULE, payload, by=by, id=id, at=at or moment)
