"""One connection to a PostgreSQL server: a limit on every wait, any character in a text, no password in an error."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors
from psycopg.adapt import Transformer
from psycopg.generators import execute
from psycopg.pq import ExecStatus
from psycopg.sql import Literal

from readmit.log.engines.postgres_dialect import numbered
from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from psycopg.errors import Diagnostic

    from readmit.log.engines.connecting.store_address import Address

LOCK_SECONDS = 30
STATEMENT_SECONDS = 60
ANSWER_SECONDS = 75
"""Longer than every limit that the server enforces itself, so a longer wait means that it hangs."""
IDLE_SECONDS = 600
"""How long a client that hangs within a transaction may block other writers."""

_MOST_PREPARED = 64
_GOOD = frozenset({ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.EMPTY_QUERY})


class Unanswered(psycopg.OperationalError):
    """The server did not answer in time. The connection is not used again."""


def session_settings(schema: str) -> str:
    """The settings of a session, and the limits on its waits."""
    # A commit that returned is on disk, or replicated if the server is configured for that.
    # Read rows in index order, even while the planner has no statistics for a new table.
    return f"""
    SET enable_bitmapscan TO off;
    SET work_mem TO '32MB';
    SET standard_conforming_strings TO on;
    SET search_path TO {schema}, pg_temp;
    SET lock_timeout TO '{LOCK_SECONDS}s';
    SET statement_timeout TO '{STATEMENT_SECONDS}s';
    SET idle_in_transaction_session_timeout TO '{IDLE_SECONDS}s';
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
    SELECT pg_backend_pid()
    """


class Client(psycopg.Connection[tuple[Any, ...]]):
    """A connection that gives up on a server that hangs."""

    CLOCK = "SELECT clock_timestamp()"
    """Asks for the server's clock, as the last statement that begins a transaction."""

    patience: float | None = None
    """Seconds to wait for an answer, if not as long as usual."""
    _said: tuple[datetime, float] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._planned: dict[str, str] = {}
        self._numbers = count(1)
        self.is_unreplicated = False
        """Whether a commit returned although its standby did not have it."""
        self.add_notice_handler(self._noticed)

    def _noticed(self, said: Diagnostic) -> None:
        # By the place in the server that says so: the words are in its language, and the code is that of any warning.
        self.is_unreplicated |= said.source_function == "SyncRepWaitForLSN"

    def script(self, *steps: str | tuple[str, Sequence[Any]]) -> list[list[tuple[Any, ...]]]:
        """Run several statements in one round trip. Returns the rows of each that returns some.

        Values are as they are sent. Statements with values are prepared once, so that the server plans them once. A
        pipeline of the library would take a round trip more, and several waits on this side.
        """
        parts: list[str] = []
        fresh: dict[str, str] = {}
        for step in steps:
            if isinstance(step, str):
                parts.append(step)
                continue
            statement, values = step
            name = self._planned.get(statement)
            if name is None:
                # A name of its own each time: whether a script that failed had prepared one is unknown.
                name = fresh[statement] = f"readmit{next(self._numbers)}"
                parts.append(f"PREPARE {name} AS {numbered(statement)}")
            parts.append(f"EXECUTE {name}({', '.join(map(_literal, values))})")
        if len(self._planned) + len(fresh) > _MOST_PREPARED:
            parts += [f"DEALLOCATE {self._planned.pop(old)}" for old in list(self._planned)[: len(fresh)]]
        found = self._sent("; ".join(parts))
        self._planned |= fresh
        return found

    def _sent(self, script: str) -> list[list[tuple[Any, ...]]]:
        """The rows of each statement that returns some. Without a cursor, which costs more than the rest of a call."""
        with self.lock:
            self.pgconn.send_query(script.encode())
            results = self.wait(execute(self.pgconn))
        for result in results:
            if result.status not in _GOOD:
                raise errors.error_from_result(result)
        reader, found = Transformer(self), []
        for result in results:
            if result.nfields:
                reader.set_pgresult(result)
                found.append(reader.load_rows(0, result.ntuples, _incoming))
        return found

    def roll_back(self, statement: str) -> None:
        """Undo a transaction or a level of it. The library then drops what it has prepared, and with that all."""
        self._planned.clear()
        self.execute(f"{statement}; DEALLOCATE ALL", prepare=False)

    def start(self, *steps: str | tuple[str, Sequence[Any]]) -> list[list[tuple[Any, ...]]]:
        """Begin a transaction with some statements. If the last one asks for the server's clock, remember it."""
        try:
            found = self.script(*steps)
        except errors.InvalidSqlStatementName:
            # The library drops all that is prepared after a change of the schema.
            self.roll_back("ROLLBACK")
            found = self.script(*steps)
        self._said = (found.pop()[0][0].astimezone(UTC), time.monotonic()) if steps[-1] == self.CLOCK else None
        return found

    @property
    def server_now(self) -> datetime | None:
        """The server's time now, if it was read when the open transaction began."""
        return None if self._said is None else self._said[0] + timedelta(seconds=time.monotonic() - self._said[1])

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return super().wait(_limited(gen, self.patience or ANSWER_SECONDS), *args, **kwargs)
        except Unanswered:
            self.pgconn.finish()
            raise


def _limited(steps: Generator[Any, Any, Any], seconds: float) -> Generator[Any, Any, Any]:
    """Run the same steps until the deadline. The library resumes this generator ten times a second while it waits."""
    end = time.monotonic() + seconds
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > end:
                raise Unanswered(f"the server did not answer within {seconds} seconds")
            wanted = steps.send(ready)
    except StopIteration as done:
        return done.value


# Texts. PostgreSQL accepts every character but NUL, which is therefore escaped as two others.
_ESCAPE = "\x1a"


def outgoing(value: Any) -> Any:
    """A value as it is sent."""
    if not isinstance(value, str):
        return value
    text = str(value)
    if not text.isascii():
        text.encode()  # raises for text that cannot be encoded, as SQLite does
    if "\0" in text or _ESCAPE in text:
        return text.replace(_ESCAPE, f"{_ESCAPE}1").replace("\0", f"{_ESCAPE}0")
    return text


def _literal(value: Any) -> str:
    """A value that is ready to be sent, written out. The connection takes backslashes as they are."""
    match value:
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes() | bytearray():
            return f"'\\x{value.hex()}'"
        case None:
            return "NULL"
        case int() if value is not True and value is not False:
            return str(value)
        case _:
            return Literal(value).as_string()


def rows_of(_: object) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """The factory of rows from what the server sent."""
    return _incoming


def _incoming(values: Sequence[Any]) -> tuple[Any, ...]:
    for value in values:
        if type(value) is str and _ESCAPE in value:
            return tuple(_restored(one) if type(one) is str else one for one in values)
    return tuple(values)


def _restored(text: str) -> str:
    return text.replace(f"{_ESCAPE}0", "\0").replace(f"{_ESCAPE}1", _ESCAPE)


# Errors.


def failure(error: psycopg.Error, address: Address) -> StoreError:
    """The error for a failed statement or connection, with the remedy."""
    match error:
        case Unanswered():
            what = f"{error}, so nothing of this was written; see whether it is overloaded or stopped, then call again"
        case errors.LockNotAvailable():
            what = f"another writer kept the workspace for {LOCK_SECONDS} seconds; call again"
        case errors.QueryCanceled():
            what = f"a statement took longer than {STATEMENT_SECONDS} seconds; call again, in smaller parts"
        case errors.ReadOnlySqlTransaction():
            what = (
                f"{_said(error)}: this server is a standby; name every server in the URL, as in "
                "postgresql://user@one:5432,two:5432/database, and leave out target_session_attrs"
            )
        case errors.InsufficientPrivilege():
            what = f"{_said(error)}; {grant(address)}"
        case errors.ProgramLimitExceeded():
            what = f"{_said(error)}; use shorter names: the parts of a key take at most 2,704 bytes together"
        case errors.UndefinedTable():
            what = f"{_said(error)}; see that the schema {address.schema!r} was not removed, and open the store again"
        case psycopg.OperationalError() | psycopg.InterfaceError() | psycopg.InternalError() if _ended(error):
            what = f"the connection was lost ({_said(error)}), so nothing of this was written; call again to reconnect"
        case _:
            what = _said(error)
    return StoreError(f"storage failed: {what}")


def _ended(error: psycopg.Error) -> bool:
    if error.sqlstate is None:
        return not isinstance(error, psycopg.InternalError)
    return str(error.sqlstate).startswith(("08", "57P")) or isinstance(error, errors.IdleInTransactionSessionTimeout)


def in_doubt(error: psycopg.Error) -> StoreError:
    """The error for a connection lost during COMMIT."""
    return StoreError(
        f"storage failed: the connection was lost while committing ({_said(error)}), so whether this was written is "
        "unknown; repeat it with the same ids, which writes nothing twice"
    )


def unreplicated() -> StoreError:
    """The error for a commit that no longer waits for a standby, which PostgreSQL reports as a success."""
    return StoreError(
        "storage failed: the wait for the standby was canceled, so this is on one server only, and lost if that is; "
        "see that the standby runs, then write once more: what is acknowledged then carries this with it"
    )


def grant(address: Address) -> str:
    """The statement by which a store's owner gives another role access."""
    user, schema = address.user or "this role", address.schema
    return (
        f"let the owner of the schema run: GRANT USAGE ON SCHEMA {schema} TO {user}; "
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {user}"
    )


def _said(error: psycopg.Error) -> str:
    return " ".join((error.diag.message_primary or str(error) or type(error).__name__).split())
