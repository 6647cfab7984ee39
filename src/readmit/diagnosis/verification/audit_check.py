"""Check a workspace from end to end: its log, its audit, its indexes, and whether they are the ones that were signed.

The tree of commits shows that nothing was altered, removed, inserted or moved. The signed head and the pin beside the
keys show that the tree is the right one and was not rolled back. The log shows that every return and exposure has its
rows and its decision, and every row its return.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from readmit.diagnosis.history import replay
from readmit.diagnosis.verification.return_check import (
    BasisCheck,
    FiledRows,
    PieceCheck,
    delivery_flaws,
    return_flaws,
)
from readmit.log.log import Log
from readmit.log.tree.index_check import IndexCheck
from readmit.log.tree.index_touched import TouchedCheck, draft_of
from readmit.log.tree.log_check import LogCheck, Reached
from readmit.log.tree.state_map import Root, remnants
from readmit.records.acts.event import EventKind, KeyChange
from readmit.records.canonical import decode
from readmit.records.error_types import SealError, StoreError, TamperedError
from readmit.text.english import counted
from readmit.trust.head_sealer import LogSealer, keys_after, origin_of
from readmit.trust.merkle import tree_hash, verify_consistency
from readmit.trust.notes import LogCheckpoint, NoteKey, open_note
from readmit.trust.trusted_keys import public_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from readmit.log.audit_trail import AuditRow
    from readmit.records.acts.kinds import DeclaredKind
    from readmit.records.acts.operation import Acknowledge, Exposed
    from readmit.records.decisions import Returned

_NO_ROWS = tree_hash(()).hex()
_DELIVERIES = {EventKind.EXPOSE: "exposure", EventKind.ACKNOWLEDGE: "acknowledgement"}


class AuditReport(msgspec.Struct, frozen=True):
    """The result of a check: counts and flaws."""

    commits: int
    events: int
    rows: int
    returns: int
    """How many returns were looked at."""
    since: int = 0
    """The last commit that was not looked at again, because an earlier check found everything up to it intact."""
    kept: int | None = None
    """How many commits the head kept elsewhere covers, if one was given and the log extends it."""
    notes: tuple[str, ...] = ()
    """Remarks that are no flaws."""
    problems: tuple[str, ...] = ()
    reached: Reached | None = None
    """The point from which the next check can go on; none if there are problems."""

    @property
    def intact(self) -> bool:
        return not self.problems


def audit(
    log: Log,
    *,
    kept: bytes | None = None,
    since: Reached | None = None,
    full: bool = False,
    watch: Callable[[], object] = lambda: None,
) -> AuditReport:
    """Check everything that is signed. ``kept`` is a signed head that was kept outside the store.

    With ``since``, where an earlier check ended, older rows are not looked at again. ``full`` looks at everything, and
    also decides again what was handed over.
    """
    problems: list[str] = []
    if not isinstance(log, Log):
        raise StoreError("only a log in a database can be verified")
    try:
        with log.reading():
            return _Audit(log, None if full else since, problems, watch).run(kept, full=full)
    except Exception as error:  # noqa: BLE001 - whatever a tampered store makes of the check, it did not pass
        problems.append(f"the store could not be read to its end: {type(error).__name__}: {error}")
        return AuditReport(commits=0, events=0, rows=0, returns=0, problems=tuple(problems))


class _Audit:
    """One check of one workspace."""

    def __init__(self, log: Log, since: Reached | None, problems: list[str], watch: Callable[[], object]) -> None:
        self._log = log
        self._problems = problems
        self._notes: list[str] = []
        self._watch = watch
        sql, ws = log.connection.sql, log.ws
        start = since if since is not None and since.workspace == log.workspace else Reached(log.workspace)
        self._check = LogCheck(log.connection, ws, start, problems)
        self._returns: dict[str, str] = {}
        """Return → digest of its decision, from the log."""
        self._filed: dict[str, FiledRows] = {}
        self._basis = BasisCheck(sql, ws)
        self._delivered: dict[str, set[str]] = {step: set() for step in _DELIVERIES.values()}
        self._kinds: dict[str, Callable[[bytes], None]] = {str(EventKind.RETURN): self._return}
        self._kinds |= {str(kind): partial(self._delivery, kind, step) for kind, step in _DELIVERIES.items()}

    def run(self, kept: bytes | None, *, full: bool) -> AuditReport:
        check, log, problems = self._check, self._log, self._problems
        problems += log.connection.schema_flaws()
        on_first_use = self._check_head()
        query = "SELECT size, note FROM workspace WHERE ws = ?"
        size, note = log.connection.sql.execute(query, (log.ws,)).fetchone()
        if size < check.since.size:
            problems.append(
                f"the store has {size} commits, and {check.since.size} were verified before: it was rolled back"
            )
        with suppress(TamperedError):
            # A map that was altered is reported with the indexes.
            check.erased = remnants(log.commits)
        check.run(self._kinds, self._row, self._watch)
        before, keys = self._check_keys()
        self._check_note(note, before)
        if (last := check.last) is not None and not problems and check.head != log.commits.tree_head:
            problems.append("the tree of commits is not the one that the signed head covers")
        if not check.since.size:
            root = Root(last.level, bytes.fromhex(last.state)) if last is not None else None
            if root is not None:
                IndexCheck(log.connection.sql, log.ws, check.leaves, problems).run(root)
        elif not problems:
            self._check_touched()
        self._check_returns()
        if full:
            self._replay()
        covered = None if kept is None else self._check_kept(kept)
        if on_first_use:
            self._notes.append(
                "nothing was known here of this workspace: its own first key was trusted, which shows that the log "
                "is whole, not whose it is; name the key with --key or READMIT_TRUST"
            )
        if check.since.size:
            self._notes.append(
                f"everything up to commit {check.since.size} was found intact before, and was not looked at again; "
                "--full does"
            )
        edge = check.tree.frontier
        reached = Reached(log.workspace, edge.size, check.epoch, check.audit, edge.to_bytes(), keys)
        return AuditReport(
            commits=edge.size,
            events=check.epoch,
            rows=check.audit,
            returns=len(self._returns),
            since=check.since.size,
            kept=covered,
            notes=tuple(self._notes),
            problems=tuple(dict.fromkeys(problems)),
            reached=None if problems else reached,
        )

    # Whose log it is.

    def _check_head(self) -> bool:
        """Whether the head is signed and extends the pinned one; returns whether the key was trusted on first use."""
        sealer = self._log.commits.sealer
        unknown = isinstance(sealer, LogSealer) and sealer.is_first_use
        try:
            self._log.commits.head()
        except TamperedError as error:
            self._problems.append(str(error))
            return False
        return unknown

    def _check_note(self, note: bytes | None, keys: Mapping[str, bytes]) -> None:
        """Whether the newest head is signed. A refusal is filed even where no key is at hand."""
        head, origin = self._check.head, origin_of(self._log.store_id, self._log.workspace)
        last = self._check.last
        if last is None:
            return
        if note is None:
            if last.rows == _NO_ROWS and head.size > 1:
                self._problems.append(f"commit {head.size}, the last one, is not signed: its signature was removed")
            else:
                self._notes.append(
                    f"commit {head.size}, the last one, is not signed: no key was at hand; the next one signs it"
                )
            return
        try:
            if _opened(note, origin, keys) != LogCheckpoint(origin, head.size, head.root):
                raise SealError("it is of another state of the log")  # noqa: TRY301 - one report for every flaw
        except SealError as error:
            self._problems.append(f"the signature of commit {head.size}, the last one, does not verify: {error}")

    def _check_keys(self) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """Follow the keys from commit to commit; returns those that count before and after the last commit.

        Each change is signed by a key that counted before it. The first commit is signed by the key that it trusts.
        """
        origin = origin_of(self._log.store_id, self._log.workspace)
        before = keys = dict(self._check.since.keys)
        for head, note, bodies in self._check.key_commits:
            what = f"commit {head.size}, which changes the keys,"
            if not bodies:
                self._problems.append(f"commit {head.size} has a signed note of its own, but changes no key")
                continue
            before, keys = keys, keys_after(keys, _changes(bodies))
            if note is None:
                self._problems.append(f"{what} has no signed note: it was removed")
                continue
            try:
                said = _opened(note, origin, before or keys)
            except SealError as error:
                self._problems.append(f"{what} is not signed by a key that counted before it: {error}")
                continue
            if said != LogCheckpoint(origin, head.size, head.root):
                self._problems.append(f"{what} has the signed note of another state of the log")
        changed = bool(self._check.key_commits) and self._check.key_commits[-1].head == self._check.head
        return before or keys if changed else keys, keys

    def _check_kept(self, kept: bytes) -> int | None:
        """How many commits a head that was kept elsewhere covers, if the log extends it.

        A key that was retired since then still counts; a revoked one does not.
        """
        origin, head = origin_of(self._log.store_id, self._log.workspace), self._check.head
        what = "the head kept elsewhere"
        try:
            said = _opened(kept, origin, self._keys_ever(revoked=False))
            if said.origin != origin:
                raise SealError(f"it is of the log {said.origin!r}, not {origin!r}")  # noqa: TRY301 - one report
        except SealError as error:
            self._problems.append(f"{what} does not verify: {error}")
            return None
        if said.size > head.size:
            self._problems.append(
                f"{what} covers {said.size} commits, and the store has {head.size}: it was rolled back"
            )
            return None
        proof = self._log.commits.consistency(said.size, head.size)
        if not verify_consistency(said.size, said.root, head.size, head.root, proof):
            self._problems.append(
                f"{what} covers other commits than the first {said.size} of this log: it was rewritten"
            )
            return None
        return said.size

    # What the log and the audit hold.

    def _return(self, body: bytes) -> None:
        returned: Returned = EventKind.RETURN.decode(body)
        self._returns[returned.request.return_id] = returned.decision

    def _delivery(self, kind: DeclaredKind, step: str, body: bytes) -> None:
        payload: Exposed | Acknowledge = kind.decode(body)
        self._delivered[step].add(payload.return_id)

    def _row(self, row: AuditRow) -> None:
        self._watch()
        filed = self._filed.get(row.return_id)
        if filed is None:
            filed = self._filed[row.return_id] = FiledRows()
        filed.add(row)

    def _check_returns(self) -> None:
        # A past view stays what it was, whatever became of its key.
        keys, audit = self._keys_ever(revoked=True), self._log.audit
        pieces = PieceCheck(audit, self._basis)
        for name, decision in self._returns.items():
            filed = self._filed.get(name)
            self._problems += return_flaws(
                audit.decision(name), name, decision, filed, keys, basis=self._basis, pieces=pieces
            )
        for name, rows in self._filed.items():
            # A later check sees exposures of earlier returns.
            if (rows.decision if self._check.since.size else rows.first) and name not in self._returns:
                self._problems.append(f"rows of return {name!r} belong to no return in the log")
        for step, logged in self._delivered.items():
            audited = {name for name, rows in self._filed.items() if step in rows.delivered}
            self._problems += delivery_flaws(step, logged, audited)
        self._problems += self._basis.flaws()
        if not self._check.since.size:
            query = "SELECT return_id FROM decision WHERE ws = ?"
            for (name,) in self._log.connection.sql.execute(query, (self._log.ws,)):
                if name not in self._returns:
                    self._problems.append(f"the table 'decision' has a row for {name!r}, which is no return in the log")
            query = "SELECT count(*) FROM piece WHERE ws = ?"
            (stored,) = self._log.connection.sql.execute(query, (self._log.ws,)).fetchone()
            if stored > len(pieces):
                beyond = counted(stored - len(pieces), "row")
                self._problems.append(f"the table 'piece' has {beyond} that no decision leads to")

    def _keys_ever(self, *, revoked: bool) -> Mapping[str, bytes]:
        """Every key that was ever trusted, with or without those that were revoked."""
        changes = _changes(body for commit in self._check.key_commits for body in commit.changes)
        if self._check.since.size:
            older = self._log.milestones(EventKind.KEY, until=self._check.since.epoch)
            changes += [event.payload for event in older if isinstance(event.payload, KeyChange)]
        gone = () if revoked else {change.key for change in changes if change.change == "revoke"}
        return {one.key: public_of(one) for one in changes if one.change == "trust" and one.key not in gone}

    def _check_touched(self) -> None:
        """The index rows of events since the last check."""
        log, check = self._log, self._check
        touched = TouchedCheck(log.connection.sql, log.ws, log.commits, log.item, self._problems)
        for event in log.tail(since=check.since.epoch):
            touched.event(event, draft_of(event, log), check.leaf(event.epoch))
        touched.run()

    def _replay(self) -> None:
        """Replay the decision of every exposed return."""
        for name in sorted(self._delivered["exposure"]):
            again = replay(self._log, name)
            if again.refused:
                self._notes.append(f"return {name!r} was not decided again: {again.refused}")
            if again.differences:
                self._problems.append(
                    f"return {name!r} was handed over, and the log leads to another: {', '.join(again.differences)}"
                )


def _changes(bodies: Iterable[bytes]) -> list[KeyChange]:
    return [decode(body, KeyChange, what="key change") for body in bodies]


def _opened(note: bytes, origin: str, keys: Mapping[str, bytes]) -> LogCheckpoint:
    return LogCheckpoint.from_text(open_note(note, [NoteKey(origin, public) for public in keys.values()]).text)
