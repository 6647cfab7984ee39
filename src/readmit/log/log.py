"""The workspace log: appends events and keeps the hash chain and the indexes consistent."""

from __future__ import annotations

import secrets
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from functools import lru_cache, partial
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from readmit.log.audit_trail import AuditTrail
from readmit.log.derived_texts import DerivedTexts
from readmit.log.engines.sql import Connection, End, Rows, flush
from readmit.log.event_rows import find_item, parts_of
from readmit.log.indexes.index_rows import Indexes, name_key
from readmit.log.indexes.seen_observations import plain_id
from readmit.log.indexes.stated import ANY
from readmit.log.ledger import SourceLedger
from readmit.log.log_end import Appended, Gathered, LogEnd, Timekeeper, Timing, insert, inserted
from readmit.log.memory_records import MemoryRecords
from readmit.log.reads import LogReads
from readmit.log.tree.state_map import NAME_KEY, key_of
from readmit.records.acts.draft import Draft, StoredEvent
from readmit.records.acts.event import EventKind
from readmit.records.base import utc
from readmit.records.canonical import SALT_BYTES
from readmit.records.error_types import ConflictError, RateError, StoreError, TamperedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from readmit.log.engines.listener import CommitListener
    from readmit.records.acts.kinds import DeclaredKind
    from readmit.trust.commit_record import EventParts
    from readmit.trust.head_sealer import Sealer

_NAME = "INSERT INTO name VALUES (?, ?, ?)"
_NAME_KEY = key_of(NAME_KEY, "")
_NAME_KEY_BYTES = 32
_FILE = "INSERT INTO filed VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_NAMED = "SELECT epoch FROM name WHERE ws = ? AND id = ?"


class Log(LogReads):
    """One workspace in a database. The workspace's number is in every key."""

    def __init__(self, connection: Connection, workspace: str) -> None:
        super().__init__(connection, workspace)
        # Not through the log itself: a reference cycle would keep an unused store open.
        item = partial(find_item, self._rows, workspace)
        self._indexes = Indexes(connection.sql, self._ws, self.commits, item)
        self._timing: Timing | None = None
        self.audit = AuditTrail(connection, self._ws)
        self.derived = DerivedTexts(connection, self._ws, self.commits)
        self.sources = SourceLedger(connection, self._ws, self.commits)
        self.memories = MemoryRecords(connection, self._ws)

    @property
    def store_id(self) -> str:
        """The random id of the store that the workspace is in."""
        return self.connection.store_id

    def atomic(self, *, short: bool = False) -> AbstractContextManager[None]:
        """All or nothing, durable when the outermost ends.

        A ``short`` one runs no code of the caller, so other threads may wait for it to share its commit.
        """
        return self.connection.atomic(short=short)

    @property
    def pending(self) -> bool:
        """Whether a transaction is open, with nothing durable yet."""
        return self.connection.pending

    def reading(self) -> AbstractContextManager[None]:
        """Several reads of one consistent state."""
        return self.connection.reading()

    def backup(self, target: Path) -> int:
        """Copy the committed state to a new file, and return the epoch at which this log ends in it."""
        return self.connection.backup(target)[self.workspace]

    def keyed(self, digest: str) -> str:
        """The name of a content with this digest, in hex: an id that is made of a content must confirm no guess of it.

        It is the digest hashed with a random key, which is in the signed map alone. Forgetting replaces the key: until
        then equal contents have equal names, and afterwards nobody can tell what an older name was made of.
        """
        with self.connection.reading():
            return sha256(self.commits.value(_NAME_KEY) + bytes.fromhex(digest)).hexdigest()

    def renew_name_key(self) -> None:
        """Replace the key of names, within the open transaction."""
        self.commits.assign(_NAME_KEY, secrets.token_bytes(_NAME_KEY_BYTES))

    def listen(self) -> CommitListener:
        """A listener for the next commit, by any process."""
        return self.connection.bell.listen()

    def seal_with(self, sealer: Sealer) -> None:
        """Sign every commit, and check every read, with a workspace's keys."""
        self.commits.sealer = sealer

    def keep_time(self, keeper: Timekeeper) -> None:
        """Set the port that names the clocks which may move the log's moment. Without it, all may."""
        self._timing = Timing(keeper)

    def signed_note(self) -> bytes | None:
        """The newest signed head; none if no key was at hand."""
        with self.reading():
            return self.commits.note()

    def consistency(self, old: int, new: int) -> list[bytes]:
        """The proof that the first ``old`` of ``new`` commits are unchanged."""
        return self.commits.consistency(old, new)

    def commit_records(self) -> Iterator[bytes]:
        """The record of every commit, in order, as it is stored."""
        return self.commits.records()

    def standing(self, *kinds: DeclaredKind, key: str = ANY) -> list[bytes]:
        """The signed digest over ``milestones`` of each kind, empty for none. Another list has another digest."""
        value = self.commits.value
        if self.connection.pending:
            return [value(_milestone(kind, key)) for kind in kinds]
        with self.connection.reading():
            return [value(_milestone(kind, key)) for kind in kinds]

    def parts_of(self, epoch: int, size: int) -> EventParts:
        """The parts of a proof of the event at an epoch, for a head of ``size`` commits."""
        return parts_of(self._rows, epoch, size)

    def close(self) -> None:
        """Close the storage."""
        self.connection.close()

    # Writing.

    def ends(self, draft: Draft) -> int:
        """How much an event at the end of the log would end."""
        return self._indexes.ends(draft)

    def append(
        self, drafts: Sequence[Draft], *, now: datetime, check: Callable[[Draft], None] = lambda _: None
    ) -> list[int]:
        """Commit events in order and return their epochs. An id already used for the same content is a no-op.

        The moment of a draft that is not ``given`` is not part of its content.

        ``check`` sees each new event within the transaction and refuses it by raising. Observations that follow one
        another are all checked before the first of them can be read.
        """
        if len(drafts) == 1 and _is_observation(drafts[0]):
            with self.connection.lock:
                if self.connection.pending and (epoch := self._gather(drafts[0], now, check)) is not None:
                    return [epoch]
        ask = (_NAMED, (self._ws, drafts[0].id)) if len(drafts) == 1 else None
        with self.connection.atomic(short=True, ask=ask):
            before = self._end_in_transaction()
            end = LogEnd(before)
            end.learn(utc(now))
            if not before.epoch:
                self.renew_name_key()
            epochs: list[int] = []
            for observed, run in groupby(drafts, key=_is_observation) if len(drafts) > 1 else ((False, drafts),):
                entries = list(run)
                if observed and len(entries) > 1 and self._name_all(entries, end.epoch + 1):
                    epochs += self._add_all(entries, end, check)
                else:
                    epochs += [self._add(entry, end, check) for entry in entries]
            if end.epoch != before.epoch:
                self.connection.end_of_log = end.moved()
        return epochs

    def _moves(self, entry: Draft) -> bool:
        """Whether the writer's clock may move the log's moment. Refuses a clock that the server's contradicts."""
        return self._timing is None or self._timing.moves(entry, self)

    def _end_in_transaction(self) -> End:
        last = self.commits.head().commit
        return self.connection.end_of_log or End(last.epoch, last.learnt)

    def _gather(self, entry: Draft, now: datetime, check: Callable[[Draft], None]) -> int | None:
        """Buffer an observation of an open transaction, unless its id is taken."""
        sql = self._sql
        gathered = sql.waiting
        if (gathered is not None and gathered.has(entry)) or self._is_taken(entry):
            return None
        check(entry)
        moves = self._moves(entry)
        # The checks may have read something, which flushes the buffer.
        gathered = sql.waiting
        if gathered is None or gathered.full:
            flush(sql)
            gathered = sql.waiting = Gathered(self._end(), self._base, self._write)
        end = self.connection.end_of_log = gathered.add(entry, utc(now), moves=moves)
        return end.epoch

    def _is_taken(self, entry: Draft) -> bool:
        return self._sql.ahead(_NAMED, (self._ws, entry.id)).fetchone() is not None

    def _write(self, entries: Sequence[Draft], appended: Sequence[Appended]) -> None:
        """Write buffered observations. They must be the end of the log; otherwise the transaction failed in between."""
        first = self.head + 1 - len(entries)
        if appended[0].row[0] != self._base + first:
            raise StoreError("an observation of this batch was interrupted half-way: undo the batch and repeat it")
        taken, wanted = self._take_all(entries, first)
        stored = insert(self._sql, "event", [one.row for one in appended])
        self._index_all(first, entries, appended)
        if inserted(taken) != wanted or inserted(stored) != len(entries):
            raise StoreError(
                f"a name or a place of epoch {first} or later is taken: an observation has the digest of "
                "another as its id, or the log was tampered with"
            )

    def _add(self, entry: Draft, end: LogEnd, check: Callable[[Draft], None]) -> int:
        known = self._known(entry, end.epoch + 1, check)
        if known is not None:
            return known
        check(entry)
        bound = self._indexes.bound(entry)
        row, leaf = end.add(self._base, entry, sorted(bound.values()), moves=self._moves(entry))
        self._sql.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        self.connection.changes.leaves.append(leaf)
        self._indexes.add(end.epoch, entry, end.last, leaf, bound)
        return end.epoch

    def _add_all(self, entries: Sequence[Draft], end: LogEnd, check: Callable[[Draft], None]) -> Iterable[int]:
        """Add observations that are all new. They refer to nothing, so none has to be stored before the next."""
        first = end.epoch + 1
        for entry in entries:
            check(entry)
        appended = [end.add(self._base, entry, moves=self._moves(entry)) for entry in entries]
        if inserted(insert(self._sql, "event", [one.row for one in appended])) != len(appended):
            raise StoreError(f"the log has an event at epoch {first} or later, but ends before: it was tampered with")
        self._index_all(first, entries, appended)
        return range(first, end.epoch + 1)

    def _index_all(self, first: int, entries: Sequence[Draft], appended: Sequence[Appended]) -> None:
        leaves = [one.leaf for one in appended]
        self.connection.changes.leaves += leaves
        self._indexes.add_observations(first, entries, leaves)

    def _name_all(self, entries: Sequence[Draft], first: int) -> bool:
        """Reserve the ids and digests of observations at consecutive epochs, or none if one of them is taken."""
        with suppress(_Taken), self.atomic():
            taken, wanted = self._take_all(entries, first)
            if inserted(taken) != wanted:
                raise _Taken
            return True
        return False

    def _take_all(self, entries: Sequence[Draft], first: int) -> tuple[list[Rows], int]:
        """Insert the names of observations, and the digests of those that are not named after them. And how many."""
        ws, key = self._ws, itemgetter(1)
        # In index order, so that each page is visited once.
        names = sorted([(ws, entry.id, epoch) for epoch, entry in enumerate(entries, first)], key=key)
        digests = [(ws, entry.digest, epoch) for epoch, entry in enumerate(entries, first) if _is_filed(entry)]
        rows = insert(self._sql, "name", names) + insert(self._sql, "filed", sorted(digests, key=key))
        return rows, len(names) + len(digests)

    def _known(self, draft: Draft, epoch: int, check: Callable[[Draft], None]) -> int | None:
        """Reserve an event's id for an epoch, or return the epoch of the event that has this id and content.

        A writer without the right to the event learns that, and not that its id is taken.
        """
        ws, sql = self._ws, self._sql
        if (named := sql.execute(_NAMED, (ws, draft.id)).fetchone()) is not None:
            (known,) = named
            query = "SELECT kind, by, at, given, body FROM event WHERE pos = ?"
            self._rows.checked(known)
            kind, by, at, given, body = sql.execute(query, (self._base + known,)).fetchone()
            stored = StoredEvent(kind, by, datetime.fromisoformat(at), bool(given), bytes(body[SALT_BYTES:]))
            if not draft.repeats(stored):
                with suppress(RateError):
                    check(draft)
                raise ConflictError(f"id {draft.id!r} is already used for a different {kind}; choose another id")
            return int(known)
        sql.execute(_NAME, (ws, draft.id, epoch))
        if _is_observation(draft):
            if _is_filed(draft):
                sql.execute(_FILE, (ws, draft.digest, epoch))
        elif self.commits.value(name_key(draft)):
            raise TamperedError(f"{draft.id!r} is in the log, but its name is not: an index row was hidden")
        return None


@lru_cache(1_024)  # asked with every event
def _milestone(kind: DeclaredKind, key: str) -> str:
    return key_of("milestone", str(kind), key)


def _is_observation(entry: Draft) -> bool:
    return entry.kind is EventKind.OBSERVE


def _is_filed(entry: Draft) -> bool:
    """Whether an observation is found through ``filed``, and not through its name."""
    return entry.id != plain_id(entry.digest)


class _Taken(Exception):  # noqa: N818 - not an error: it undoes what was inserted beside a name that is taken
    pass
