"""Checks past returns against the log: their rows, their decisions, their signed views, and the events they rest on.

The events that a view rests on must be on the log as they were decided on. An event that was forged for the moment of a
return leaves its trace there, also after it was put back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.log.engines.sql import SHIFT, SqlSession
from readmit.records.acts.event import EventKind
from readmit.records.acts.kinds import name_in
from readmit.records.canonical import below, decode, digest_of
from readmit.records.decisions import Decision
from readmit.records.error_types import ReadmitError, TamperedError
from readmit.records.identity import own_id
from readmit.trust.statement import open_either

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from readmit.log.audit_trail import AuditRow, AuditTrail, StoredDecision

_ITEM = "SELECT digest FROM event WHERE pos = ? + (SELECT epoch FROM name WHERE ws = ? AND id = ?)"
_ACT = "SELECT kind, by FROM event WHERE pos = ?"
# Of these, the writer that is named is a model or readmit itself.
_BY_OTHERS = ("draft_", "source_")


class _Cause(msgspec.Struct, gc=False):
    reason: str
    epoch: int | None = None
    by: str = ""
    root: str = ""


class _Candidate(msgspec.Struct, gc=False):
    """The events that a disposition rests on, decoded without its other fields."""

    item: str
    digest: str
    causes: tuple[_Cause, ...] = ()
    overruled: tuple[_Cause, ...] = ()


_candidates = msgspec.json.Decoder(list[_Candidate]).decode


class BasisCheck:
    """The items and events that decisions rest on. Sees every piece once, then looks at each item and event once."""

    def __init__(self, sql: SqlSession, ws: int) -> None:
        self._sql = sql
        self._ws = ws
        self._base = ws << SHIFT
        # By what rests on it, the first return that does.
        self._items: dict[tuple[str, str], str] = {}
        self._acts: dict[tuple[int, str], str] = {}

    def candidates(self, name: str, piece: bytes) -> int:
        """Note the events that the candidates in a piece rest on, and return how many there are."""
        listed = _candidates(piece)
        for found in listed:
            self._items.setdefault((EventKind.RECORD.event_id(found.item), found.digest), name)
            for cause in (*found.causes, *found.overruled):
                # What a premise fell by, its own disposition says.
                if cause.epoch is not None and cause.by and not (cause.root or cause.reason.startswith(_BY_OTHERS)):
                    self._acts.setdefault((cause.epoch, cause.by), name)
        return len(listed)

    def view(self, name: str, decision: Decision) -> None:
        """Note the items that a view hands over."""
        if decision.view is not None:
            items, notes, owner = decision.view.items, decision.view.experiences, decision.view.identity.principal
            handed = [(EventKind.RECORD.event_id(one.id), one.digest) for one in items]
            handed += [(EventKind.REMEMBER.event_id(own_id(owner, one.id)), one.digest) for one in notes]
            self._items |= {one: name for one in handed if one not in self._items}

    def flaws(self) -> Iterator[str]:
        """Events that returns rest on and the log does not hold."""
        for (event, digest), name in self._items.items():
            if self._sql.execute(_ITEM, (self._base, self._ws, event)).fetchone() != (digest,):
                what = f"another {name_in(event)!r} than the log holds"
                yield f"return {name!r} was decided on {what}: it read an altered store"
        for (epoch, by), name in self._acts.items():
            kind, writer = self._sql.execute(_ACT, (self._base + epoch,)).fetchone() or ("", "")
            if writer != by or kind == EventKind.OBSERVE:
                what = f"another event {epoch} than the log holds"
                yield f"return {name!r} was decided on {what}: it read an altered store"


class PieceCheck:
    """The pieces that hold the candidates of decisions, each read once: most returns repeat those of earlier ones."""

    def __init__(self, audit: AuditTrail, basis: BasisCheck) -> None:
        self._audit = audit
        self._basis = basis
        self._counts: dict[str, int] = {}

    def __len__(self) -> int:
        """How many pieces the decisions lead to."""
        return len(self._counts)

    def count(self, name: str, root: str) -> int:
        """How many candidates a piece of a return leads to. Raises if one is not there or was altered."""
        if root not in self._counts:
            self._read(name, self._audit.pieces([root]))
        return self._counts[root]

    def _read(self, name: str, pieces: Mapping[str, bytes]) -> None:
        for digest, piece in pieces.items():
            if (names := below(piece)) is None:
                self._counts[digest] = self._basis.candidates(name, piece)
            else:
                self._read(name, self._audit.pieces([one for one in names if one not in self._counts]))
                self._counts[digest] = sum(self._counts[one] for one in names)


class FiledRows:
    """The rows of one return, collected in one pass.

    A preparation has its own rows: before those of its return, or under its own id if no return followed.
    """

    def __init__(self) -> None:
        self.first = 0
        self.last = 0
        self.decision = ""
        self.delivered: set[str] = set()
        """The steps of a delivery that have a row."""

    def add(self, row: AuditRow) -> None:
        if row.kind != "inference" and not self.first:
            self.first = row.seq
        match row.kind:
            case "decision":
                self.decision = digest_of(row.body)
                self.last = row.seq
            case "exposure" | "acknowledgement" as step:
                self.delivered.add(step)


def delivery_flaws(step: str, logged: set[str], audited: set[str]) -> Iterator[str]:
    """Differences between the log and the audit about exposed or acknowledged views."""
    for name in sorted(audited - logged):
        yield f"return {name!r} has an {step} row, but no {step} in the log"
    for name in sorted(logged - audited):
        yield f"return {name!r} has an {step} in the log, but no {step} row"


def return_flaws(
    stored: StoredDecision | None,
    name: str,
    logged: str,
    rows: FiledRows | None,
    keys: Mapping[str, bytes],
    *,
    basis: BasisCheck,
    pieces: PieceCheck,
) -> Iterator[str]:
    """Inconsistencies between a return in the log, its filed decision and its rows."""
    if stored is None:
        yield f"return {name!r} has no filed decision"
        return
    if rows is None:
        yield f"return {name!r} has no audit rows"
        return
    if not digest_of(stored.body) == logged == rows.decision:
        yield f"return {name!r}: the filed decision is not the one in the log and in the audit"
        return
    if (stored.first, stored.last) != (rows.first, rows.last):
        yield f"return {name!r}: rows {rows.first} to {rows.last}, but filed as {stored.first} to {stored.last}"
    decision = decode(stored.body, Decision, what=f"decision of {name!r}")
    basis.view(name, decision)
    try:
        if pieces.count(name, decision.dispositions) != decision.candidates:
            yield f"return {name!r}: it was decided on other candidates than the audit holds"
    except TamperedError as error:
        yield f"return {name!r}: {error}"
    if not _sealed(decision, stored, keys):
        yield f"return {name!r}: its signed view is not the view that was decided"


def _sealed(decision: Decision, stored: StoredDecision, keys: Mapping[str, bytes]) -> bool:
    view = decision.view or decision.retracting
    if view is None or stored.seal is None:
        return view is None and stored.seal is None
    try:
        return open_either(stored.envelope(), keys) == view
    except ReadmitError:
        return False
