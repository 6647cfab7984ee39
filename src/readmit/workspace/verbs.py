"""Verbs about recorded items: one for each kind of event that people write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.acts.event import (
    Close,
    Confirm,
    Dispute,
    EventKind,
    Link,
    Resolve,
    Revoke,
    Settle,
    Supersede,
    Suspect,
)
from readmit.records.arguments import explained
from readmit.records.base import Moment, listed, require_digest, require_id, shown, utc
from readmit.records.error_types import RecordError
from readmit.records.verdicts import Pair, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.writing.writer import Writer


@explained
class Verbs:
    """The verbs of a workspace about existing items."""

    _writer: Writer

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
        return self._writer.write(EventKind.SUPERSEDE, payload, by=by, id=id, at=at)

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
        return self._writer.write(
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
        return self._writer.write(EventKind.CLOSE, payload, by=by, id=id, at=at)

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
        return self._writer.write(EventKind.SETTLE, payload, by=by, id=id, at=at)

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
        return self._writer.log.event(self._writer.write(EventKind.DISPUTE, payload, by=by, id=id, at=at)).name

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
        return self._writer.write(EventKind.RESOLVE, payload, by=by, id=id, at=at)

    def judge(
        self,
        found: Verdict | Pair,
        *,
        signal: str = "unspecified",
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """Store a verdict on a pair; it can only take the item out. A ``Pair`` alone is a suspicion by ``signal``.

        A suspicion says that an observation may change a premise of an item, which is out until a verdict settles it.
        """
        if isinstance(found, Verdict):
            return self._writer.write(EventKind.JUDGE, found, by=by, id=id, at=at)
        if not isinstance(found, Pair):
            raise RecordError(f"found: {shown(found)} is neither a Verdict nor a Pair; give one of them")
        pair = Pair(item=require_id("item", found.item), evidence=require_digest("evidence", found.evidence))
        return self._writer.write(EventKind.SUSPECT, Suspect(pair=pair, signal=signal), by=by, id=id, at=at)

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
        return self._writer.write(
            EventKind.LINK,
            Link(item=require_id("item", item), need=require_id("need", need), withdrawn=withdrawn),
            by=by,
            id=id,
            at=at,
        )

    def confirm(self, item: str, *, by: str | None = None, id: str | None = None, at: Moment | None = None) -> int:
        """Confirm an item that a model drafted."""
        return self._writer.write(EventKind.CONFIRM, Confirm(target=require_id("item", item)), by=by, id=id, at=at)
