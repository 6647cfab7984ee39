"""Check the audit of a workspace from end to end.

The chain shows that no row was altered, removed or inserted; the signed head, that the tail was not cut; a head kept
elsewhere, that nothing was rolled back together with its signature; the log, that every return and exposure has its
rows, and every row its return. Rebuilt indexes show that no index hides or forges an event.
"""

from __future__ import annotations

import base64
import hashlib
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from readmit.records.canonical import decode, digest_of
from readmit.records.decisions import Decision, Envelope, Returned
from readmit.records.errors import AuditError, ReadmitError, SealError, StoreError
from readmit.records.events import Acknowledge, EventKind, Exposed
from readmit.seal.statement import encode_view, open_head
from readmit.seal.trust import trusted
from readmit.store.rebuilt import Rebuilt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from readmit.ports.store import AuditRow, Log, StoredDecision
    from readmit.records.events import Event
    from readmit.seal.statement import AuditHead

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class AuditReport(msgspec.Struct, frozen=True):
    """What was checked, and everything that is wrong."""

    rows: int
    events: int
    returns: int
    signed: int
    """The last row that a verified signature covers."""
    kept: int | None
    """The row that the head kept elsewhere covers, if one was given and verifies."""
    problems: tuple[str, ...] = ()

    @property
    def intact(self) -> bool:
        return not self.problems


class _Filed:
    """The rows of one return, collected in one pass.

    A preparation has its own rows: before those of its return, or under its own id if no return followed.
    """

    def __init__(self) -> None:
        self.first = 0
        self.last = 0
        self.candidates = 0
        self.joined = hashlib.sha256()
        self.decision = ""
        self.delivered: set[str] = set()
        """The steps of a delivery that have a row."""

    def add(self, row: AuditRow) -> None:
        if row.kind != "inference" and not self.first:
            self.first = row.seq
        match row.kind:
            case "candidate":
                self.joined.update(b"\n" + row.body if self.candidates else row.body)
                self.candidates += 1
            case "decision":
                self.decision = digest_of(row.body)
                self.last = row.seq
            case "exposure" | "acknowledgement" as step:
                self.delivered.add(step)


def audit(log: Log, *, kept: Envelope | None = None, watch: Callable[[], object] = lambda: None) -> AuditReport:
    """Check chain, signatures and the log. ``kept`` is a signed head that was kept outside the store."""
    try:
        with log.reading():
            return _audit(log, kept, watch)
    except Exception as error:  # noqa: BLE001 - whatever a tampered store makes of the check, it did not pass
        problem = f"the audit could not be read to its end: {type(error).__name__}: {error}"
        return AuditReport(rows=0, events=0, returns=0, signed=0, kept=None, problems=(problem,))


def _audit(log: Log, kept: Envelope | None, watch: Callable[[], object]) -> AuditReport:
    problems: list[str] = []
    changes = log.milestones(EventKind.KEY)
    signed = _newest_head(log, changes, problems)
    outside = None if kept is None else _opened(log, kept, changes, "the head kept elsewhere", problems)
    filed: dict[str, _Filed] = {}
    hashes: dict[int, str] = {}
    wanted = {head.seq for head in (signed, outside) if head is not None}
    rows = 0
    try:
        for row in log.audit.verified():
            rows = row.seq
            if row.seq in wanted:
                hashes[row.seq] = row.hash.hex()
            filed.setdefault(row.return_id, _Filed()).add(row)
            watch()
    except AuditError as error:
        problems.append(str(error))
    matched = {
        name: head is not None and _matches(head, hashes, name, problems)
        for name, head in (("the signed head", signed), ("the head kept elsewhere", outside))
    }
    covered = signed.seq if signed is not None and matched["the signed head"] else 0
    if covered < rows:
        problems.append(
            f"rows {covered + 1} to {rows} are under no verified signature; the next return signs them "
            "if its key is at hand"
        )
    events, returns = _check_log(log, filed, problems, watch)
    return AuditReport(
        rows=rows,
        events=events,
        returns=returns,
        signed=covered,
        kept=outside.seq if outside is not None and matched["the head kept elsewhere"] else None,
        problems=tuple(problems),
    )


def _newest_head(log: Log, changes: Sequence[Event], problems: list[str]) -> AuditHead | None:
    found = log.audit.signed_head()
    if found is None:
        return None
    try:
        envelope = decode(found[1], Envelope, what="signed head")
    except ReadmitError as error:
        problems.append(f"the signed head cannot be read: {error}")
        return None
    return _opened(log, envelope, changes, "the signed head", problems)


def _opened(log: Log, envelope: Envelope, changes: Sequence[Event], what: str, problems: list[str]) -> AuditHead | None:
    """A head whose signature counts. A key retired since then still counts for what it signed before."""
    try:
        head = open_head(envelope, trusted(changes, _LONG_AGO))
        if envelope.signatures[0].keyid not in trusted(changes, head.at):
            raise SealError("its key was retired before it was signed")  # noqa: TRY301 - one report for every flaw
    except SealError as error:
        problems.append(f"{what} does not verify: {error}")
        return None
    if head.workspace != log.workspace:
        problems.append(f"{what} is of workspace {head.workspace!r}, not {log.workspace!r}")
        return None
    return head


def _matches(head: AuditHead, hashes: Mapping[int, str], what: str, problems: list[str]) -> bool:
    if head.seq in hashes and hashes[head.seq] == head.hash:
        return True
    gone = "is not there" if head.seq not in hashes else "is another one"
    problems.append(f"{what} covers row {head.seq}, but that row {gone}: the audit was cut or rewritten")
    return False


def _check_log(log: Log, filed: dict[str, _Filed], problems: list[str], watch: Callable[[], object]) -> tuple[int, int]:
    events = returns = 0
    returned: set[str] = set()
    delivered: dict[str, set[str]] = {"exposure": set(), "acknowledgement": set()}
    try:
        with closing(Rebuilt(log.workspace)) as rebuilt:
            for event in rebuilt.append(log.tail()):
                events += 1
                if isinstance(event.payload, Returned):
                    returns += 1
                    return_id = event.payload.request.return_id
                    returned.add(return_id)
                    problems += _return_flaws(log, event.payload, filed.get(return_id))
                elif isinstance(event.payload, Exposed | Acknowledge):
                    step = "exposure" if event.kind is EventKind.EXPOSE else "acknowledgement"
                    delivered[step].add(event.payload.return_id)
                watch()
            problems += rebuilt.differences(log)
    except StoreError as error:
        problems.append(str(error))
        return events, returns
    for return_id, rows in filed.items():
        if rows.first and return_id not in returned:
            problems.append(f"rows of return {return_id!r} belong to no return in the log")
    for step, named in delivered.items():
        problems += _delivery_flaws(step, named, {name for name, rows in filed.items() if step in rows.delivered})
    return events, returns


def _delivery_flaws(step: str, logged: set[str], audited: set[str]) -> Iterator[str]:
    """Differences between the log and the audit about exposed or acknowledged views."""
    for name in sorted(audited - logged):
        yield f"return {name!r} has an {step} row, but no {step} in the log"
    for name in sorted(logged - audited):
        yield f"return {name!r} has an {step} in the log, but no {step} row"


def _return_flaws(log: Log, event: Returned, rows: _Filed | None) -> Iterator[str]:
    """Inconsistencies between a return in the log, its filed decision and its rows."""
    name = event.request.return_id
    stored = log.audit.decision(name)
    if stored is None:
        yield f"return {name!r} has no filed decision"
        return
    if rows is None:
        yield f"return {name!r} has no audit rows"
        return
    if not digest_of(stored.body) == event.decision == rows.decision:
        yield f"return {name!r}: the filed decision is not the one in the log and in the audit"
        return
    if (stored.first, stored.last) != (rows.first, rows.last):
        yield f"return {name!r}: rows {rows.first} to {rows.last}, but filed as {stored.first} to {stored.last}"
    decision = decode(stored.body, Decision, what=f"decision of {name!r}")
    if (decision.candidates, decision.dispositions) != (rows.candidates, rows.joined.hexdigest()):
        yield f"return {name!r}: its candidates' rows are not those it was decided on"
    if not _sealed(decision, stored):
        yield f"return {name!r}: its signed view is not the view that was decided"


def _sealed(decision: Decision, stored: StoredDecision) -> bool:
    if decision.view is None or stored.envelope is None:
        return decision.view is None and stored.envelope is None
    try:
        envelope = decode(stored.envelope, Envelope, what="envelope")
        return envelope.payload == base64.b64encode(encode_view(decision.view)).decode("ascii")
    except ReadmitError:
        return False
