"""A PostgreSQL database: durable commits, one writer of a workspace at a time, transactions that nest.

A transaction starts by locking its workspace's row, as SQLite's starts by locking the file, so that epochs have no
gap and nothing read within it can change. Statements that return nothing wait until something is read or the
transaction ends, and then are sent together: the round trip is what a write costs.
"""

from __future__ import annotations

import weakref
from contextlib import contextmanager, nullcontext
from threading import get_ident
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.pq import TransactionStatus

from readmit.log.engines.connecting.pending_statement import PendingStatement
from readmit.log.engines.connecting.store_address import Address
from readmit.log.engines.locks import Locks
from readmit.log.engines.postgres_client import Unanswered, failure, in_doubt, outgoing, unreplicated
from readmit.log.engines.postgres_dialect import answers, for_rows, only_reads, together, translated, writes_apart
from readmit.log.engines.postgres_schema import DIRECTORY, flaws_of, make, recognize, vacuum
from readmit.log.engines.postgres_signals import Channel, OnServer
from readmit.log.engines.shared_commit import SharedConnection
from readmit.log.engines.sql import ENROLL, FIND, HEAD, FoundRows, Level, Question, Rows, flush
from readmit.log.engines.sqlite_schema import check
from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from readmit.log.log_end import Gathered

# Most statements that wait. More would only use memory.
_WAITING = 256
_COMMIT = "COMMIT"
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresConnection(SharedConnection):
    """A PostgreSQL store. Reconnects at the start of a transaction, never within one."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._address = Address(url)
        self._ws: int | None = None
        self.waiting: Gathered | None = None
        self._queue: list[PendingStatement] = []
        self._answered: dict[Question, list[tuple[Any, ...]]] = {}
        """Answers of the server in the open transaction: to its beginning, and, if it only reads, in short."""
        self._open = True
        self._client = self._address.connect()
        self._closing = weakref.finalize(self, self._client.close)
        try:
            self.store_id = make(self._client, self._address)
            self.places = self._address.places(self._client)
            check(self.schema_flaws())
        except psycopg.Error as error:
            self._client.close()
            raise failure(error, self._address) from None
        except BaseException:
            self._client.close()
            raise
        self.locks = Locks(OnServer(self._address, self.store_id))
        self.bell = Channel(self._address, self.store_id)

    @property
    def sql(self) -> PostgresConnection:
        """The connection that statements go to."""
        return self

    @property
    def server_now(self) -> datetime | None:
        """The time of the server's clock in the open transaction; none in simulated time."""
        return self._client.server_now

    def schema_flaws(self) -> list[str]:
        """Differences of the schema from the one that readmit made, as far as every server shows it alike."""
        return flaws_of(self._client, self._address)

    def enroll(self, workspace: str) -> int:
        """The number of a workspace, assigned when it is first opened."""
        with self.lock:
            self._start("BEGIN", DIRECTORY)
            try:
                name = outgoing(workspace)
                row = self._run(translated(FIND), (name,)).fetchone()
                if row is None:
                    self._run(translated(ENROLL), (name,))
                    row = self._run(translated(FIND), (name,)).fetchone()
                self._run(_COMMIT)
            except BaseException:
                self._give_up()
                raise
            self._ws = self.bell.ws = int(row[0])
            return self._ws

    # Transactions.

    def _begin_reading(self) -> None:
        self._begin(_READ)

    def _end_reading(self) -> None:
        if self._client.closed or self._client.info.transaction_status is not TransactionStatus.INTRANS:
            self._give_up()
            return
        try:
            # Nothing was written. A rollback would drop the prepared statements.
            self._client.execute(_COMMIT)
        except psycopg.Error:
            self._client.close()

    def begin(self, *, short: bool = False, ask: Question | None = None) -> Level:
        """Open a transaction, or a level within one. A short one may share a commit with others."""
        self._acquire(short=short)
        level = self._depth
        if self._reads:
            self.lock.release()
            raise StoreError("storage failed: nothing can be written while one state is being read")
        try:
            if level:
                flush(self)
                self._queue.append(PendingStatement(self.flush, f"SAVEPOINT level{level}"))
            else:
                self._open_turn(short=short, ask=ask)
        except BaseException:
            self.lock.release()
            raise
        self._depth, self._owner = level + 1, get_ident()
        return Level(level, self._end_of_log, self.changes.mark(), short)

    def _open_turn(self, *, short: bool, ask: Question | None) -> None:
        """Begin a transaction, or go on in the one in which the work of others waits."""
        if not short:
            self._commit_group()
        if self._group is not None:
            self._queue.append(PendingStatement(self.flush, "SAVEPOINT level0"))
            self.turn += 1
            return
        self._begin("BEGIN", ask)

    def _begin(self, opening: str, ask: Question | None = None) -> None:
        """Begin a transaction, and read with it where the log ends: one that may write locks the workspace's row."""
        if (watcher := self._watcher()) is not None:
            watcher.opening()
        reads = opening is _READ
        steps: list[str | Question] = [opening, self._serving]
        asked: list[Question] = [] if self._ws is None else [(HEAD, (self._ws,)), *([] if ask is None else [ask])]
        for query, values in asked:
            locked = " FOR UPDATE" if query is HEAD and not reads else ""
            steps.append((translated(query) + locked, tuple(map(outgoing, values))))
        if not reads and not self._address.simulated:
            # After the lock: waiting for it takes time.
            steps.append(self._client.CLOCK)
        self._answered = dict(zip(asked, self._start(*steps), strict=True))
        self.turn += 1

    def end(self, opened: Level, *, undo: bool) -> None:
        """Close a level: keep its writes, or roll them back."""
        level, before, mark, short = opened
        kept, group, joined = False, None, not level and self._group is not None
        try:
            if undo:
                return
            flush(self)
            if level or (short and (group := self._join()) is not None):
                # Flush first: the level counts only if its writes succeeded.
                self.flush()
                if level or joined:
                    self._queue.append(PendingStatement(self.flush, f"RELEASE level{level}"))
            else:
                self._commit()
            kept = True
        finally:
            try:
                if not kept:
                    self._undo(level, joined=joined and self._group is not None)
            finally:
                if not kept:
                    self._end_of_log = before
                    self.changes.undo(mark)
                    if group is not None and not joined:
                        self._group = None
                if not level:
                    self._close_turn()
                self._depth = level
                self.lock.release()
        if group is not None:
            self._wait_for(group)

    def _undo(self, level: int, *, joined: bool) -> None:
        self.waiting = None
        if not level and not joined:
            self._give_up()
            return
        unsent = [one.statement for one in self._queue]
        if (mark := f"SAVEPOINT level{level}") in unsent:
            del self._queue[unsent.index(mark) :]
            return
        self._queue.clear()
        # Without a connection there is nothing to roll back; the outermost level raises.
        if not self._client.closed:
            self._roll_back_to(level)
        if joined and not self._client.closed:
            self._queue.append(PendingStatement(self.flush, "RELEASE level0"))

    def _roll_back_to(self, level: int) -> None:
        try:
            self._client.roll_back(f"ROLLBACK TO level{level}")
        except psycopg.Error as error:
            raise failure(error, self._address) from error

    def _commit(self) -> None:
        group, self._group = self._group, None
        try:
            self._seal_and_send()
        except BaseException as error:
            self._give_up()
            if group is not None:
                group.fail(error)
            raise
        if group is not None:
            group.done.set()

    def _seal_and_send(self) -> None:
        if self._client.info.transaction_status is TransactionStatus.INERROR:
            # The server would accept this COMMIT without an error and roll back.
            raise StoreError("storage failed: a statement of this transaction failed, so nothing of it was written")
        sealing = self._watcher() if self.changes else None
        if sealing is not None:
            sealing.seal()
        waiting, self._queue = self._queue, []
        connected = not self._client.closed
        try:
            if sealing is not None and writes_apart(one.statement for one in waiting):
                whole = together(tuple(one.statement for one in waiting), self.bell.name)
                self._client.script((whole, [value for one in waiting for value in one.values]), _COMMIT)
            else:
                sign = [] if sealing is None else [f"NOTIFY {self.bell.name}"]
                self._send([*waiting, *(PendingStatement(self.flush, one) for one in (*sign, _COMMIT))])
        except psycopg.Error as error:
            lost = connected and self._client.closed
            raise in_doubt(error) if lost else failure(error, self._address) from error
        if self._client.is_unreplicated:
            self._client.is_unreplicated = False
            raise unreplicated()
        if sealing is not None:
            sealing.sealed()

    def _give_up(self) -> None:
        """Roll the transaction back."""
        self._queue.clear()
        if self._client.closed or self._client.info.transaction_status is TransactionStatus.IDLE:
            return
        try:
            self._client.roll_back("ROLLBACK")
        except psycopg.Error:
            # The server rolls back the transaction of a lost connection.
            self._client.close()

    def _start(self, *steps: str | Question) -> list[list[tuple[Any, ...]]]:
        """Begin a transaction, on a new connection if the old one was lost: nothing depends on it yet."""
        self._answered = {}
        if not self._open:
            raise StoreError("storage failed: this store is closed; open it again")
        try:
            if not self._client.closed:
                try:
                    return self._client.start(*steps)
                except psycopg.OperationalError as error:
                    if isinstance(error, Unanswered) or not self._client.closed:
                        raise
            self._reconnect()
            return self._client.start(*steps)
        except psycopg.Error as error:
            self._give_up()
            raise failure(error, self._address) from error

    def _reconnect(self) -> None:
        self._closing()
        self._client = self._address.connect()
        self._closing = weakref.finalize(self, self._client.close)
        if recognize(self._client, self._address) != self.store_id:
            self._client.close()
            raise StoreError(f"storage failed: {self._address.shown} is another store than before; open it again")

    @property
    def _serving(self) -> str:
        return f"SET LOCAL readmit.ws TO '{'' if self._ws is None else self._ws}'"

    @contextmanager
    def rewriting(self, table: str) -> Iterator[None]:
        """Let the open transaction change rows of an append-only table. Afterwards it refuses changes again."""
        self.execute(f"ALTER TABLE {table} DISABLE TRIGGER append_only")
        yield
        self.execute(f"ALTER TABLE {table} ENABLE TRIGGER append_only")

    def _compact(self) -> str:
        return vacuum(self._client)

    def backup(self, target: Path) -> dict[str, int]:
        """A server is copied by its own tools."""
        raise StoreError(
            f"a store on a server is backed up with the server's tools; run: pg_dump --format=custom "
            f"--schema={self._address.schema} --file={target} {self._address.shown}"
        )

    def close(self) -> None:
        with self.lock:
            self._commit_group()
            self._open = False
            self.locks.close()
            self.bell.close()
            self._closing()

    # Statements.

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Rows:
        """Run one statement, at once if it may return rows."""
        statement = translated(query)
        given = [outgoing(value) for value in values]
        with self.lock:
            flush(self)
            if not self._depth and not self._reads:
                with self.reading() if only_reads(query) else self.atomic():
                    return self._run(statement, given)
            if answers(query):
                return self._answer(query, values, statement, given)
            return self._run(statement, given, waiting=_WAITING)

    def _answer(self, query: str, values: Sequence[Any], statement: str, given: Sequence[Any]) -> Rows:
        """The rows of a read. An answer of a read-only transaction stays the same; else only the log's end does."""
        asked = (query, tuple(values))
        if (found := self._answered.get(asked)) is None:
            rows = self._run(statement, given)
            if not self._reads or rows.rowcount > 1:
                return rows
            found = self._answered[asked] = rows.fetchall()
        elif not self._reads and query is not HEAD:
            del self._answered[asked]
        return FoundRows(found)

    def ahead(self, query: str, values: Sequence[Any], /) -> Rows:
        """Run one read without writing the buffered observations first."""
        return self._run(translated(query), [outgoing(value) for value in values])

    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> None:
        """Run one statement for each row; inserts take many rows at a time."""
        with self.lock, nullcontext() if self._depth else self.atomic():
            for statement, values in for_rows(query, rows):
                self.execute(statement, values)

    def flush(self) -> None:
        """Send the statements that wait."""
        waiting, self._queue = self._queue, []
        try:
            if waiting:
                self._send(waiting)
        except psycopg.Error as error:
            raise failure(error, self._address) from error

    def _run(self, statement: str, values: Sequence[Any] = (), *, waiting: int = 1) -> Rows:
        """Send the statements that wait and one more, if there are so many then, and return its result."""
        asked = PendingStatement(self.flush, statement, values)
        self._queue.append(asked)
        if len(self._queue) >= waiting:
            self.flush()
        return asked

    def _send(self, waiting: Sequence[PendingStatement]) -> None:
        # The last statement is sent outside the pipeline: the library ends a pipeline in a way that stops the server's
        # idle timeout, and a client that hangs then would keep its lock forever. After a commit there is no lock.
        apart = 0 if waiting[-1].statement == _COMMIT else 1
        together, alone = waiting[: len(waiting) - apart], waiting[len(waiting) - apart :]
        if len(together) > 1:
            with self._client.pipeline():
                for one in together:
                    one.send(self._client)
        else:
            alone = waiting
        for one in alone:
            one.send(self._client)
