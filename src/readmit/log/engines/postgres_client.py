"""One connection to a PostgreSQL server: a limit on every wait, any character in a text, no password in an error."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors
from psycopg.adapt import Transformer
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.generators import execute
from psycopg.pq import ExecStatus
from psycopg.sql import Literal

from readmit.log.engines.postgres_dialect import numbered
from readmit.log.location import FORM, shown
from readmit.records.error_types import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

CONNECT_SECONDS = 10
LOCK_SECONDS = 30
STATEMENT_SECONDS = 60
ANSWER_SECONDS = 75
"""Longer than every limit that the server enforces itself, so a longer wait means that it hangs."""
IDLE_SECONDS = 600
"""How long a client that hangs within a transaction may block other writers."""

DEFAULT_SCHEMA = "readmit"
_MOST_PREPARED = 64
_GOOD = frozenset({ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.EMPTY_QUERY})
# Parameters of the URL that are not libpq's.
_OURS = ("schema=", "clock=")
_SCHEMA = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")


class Unanswered(psycopg.OperationalError):
    """The server did not answer in time. The connection is not used again."""


class Address:
    """A parsed store URL. Never shows its password."""

    def __init__(self, url: str) -> None:
        self.shown = shown(url)
        scheme, separator, rest = url.partition("://")
        # A scheme is the same in capitals, which libpq does not know.
        base, _, query = f"{scheme.lower()}{separator}{rest}".partition("?")
        parameters = [one for one in query.split("&") if one]
        ours = dict(one.split("=", 1) for one in parameters if one.startswith(_OURS))
        self.schema = ours.get("schema", DEFAULT_SCHEMA)
        self.simulated = ours.get("clock") == "simulated"
        """Whether the workspaces live in simulated time, which is not compared with the server's clock."""
        if not self.simulated and "clock" in ours:
            raise StoreError(f"cannot open {self.shown}: clock: write clock=simulated, or leave it out")
        if not _SCHEMA.fullmatch(self.schema):
            raise StoreError(
                f"cannot open {self.shown}: schema: this is not a name for one; use lower-case letters, digits and _"
            )
        theirs = "&".join(one for one in parameters if not one.startswith(_OURS))
        try:
            given: dict[str, Any] = conninfo_to_dict(f"{base}?{theirs}" if theirs else base)
            given.setdefault("connect_timeout", CONNECT_SECONDS)
            self.user, self.database = str(given.get("user") or ""), str(given.get("dbname") or "")
            self._host, self._port = (str(given.get(name) or "") for name in ("host", "port"))
            self._conninfo = make_conninfo(**given, fallback_application_name="readmit", client_encoding="utf-8")
        except (psycopg.Error, UnicodeError):
            # The library's own message may quote any part of the URL.
            raise StoreError(f"cannot open {self.shown}: this is not an address of PostgreSQL; {FORM}") from None

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    def place(self, client: Client) -> str:
        """The address of the store, alike for every user. Its hosts are the URL's: a server names none itself."""
        host, port = self._host or client.info.host, self._port or client.info.port
        host = host if host.startswith("/") else host.lower()
        return f"postgresql://{host}:{port}/{client.info.dbname}?schema={self.schema}"

    def connect(self) -> Client:
        """A new connection, with its limits set."""
        try:
            client = Client.connect(self._conninfo, autocommit=True, row_factory=_rows)
        except (psycopg.Error, UnicodeError) as error:
            said = " ".join(str(error).split())
            raise StoreError(f"cannot open {self.shown}: {said}; {_remedy(said, self)}") from None
        try:
            client.execute(_settings(self.schema), prepare=False)
            encoding = client.info.parameter_status("server_encoding")
        except psycopg.Error as error:
            client.close()
            raise StoreError(f"cannot open {self.shown}: {' '.join(str(error).split())}") from None
        if encoding != "UTF8":
            client.close()
            raise StoreError(
                f"cannot open {self.shown}: the database is encoded in {encoding}; "
                f"make one that can hold every text: createdb --encoding UTF8 --template template0 NAME"
            )
        return client


def _settings(schema: str) -> str:
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
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
    """


class Client(psycopg.Connection[tuple[Any, ...]]):
    """A connection that gives up on a server that hangs."""

    CLOCK = "SELECT clock_timestamp()"
    """Asks for the server's clock, as the last statement that begins a transaction."""

    _said: tuple[datetime, float] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._planned: dict[str, str] = {}
        self._numbers = count(1)

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
            return super().wait(_limited(gen), *args, **kwargs)
        except Unanswered:
            self.pgconn.finish()
            raise


def _limited(steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Run the same steps until the deadline. The library resumes this generator ten times a second while it waits."""
    end = time.monotonic() + ANSWER_SECONDS
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > end:
                raise Unanswered(f"the server did not answer within {ANSWER_SECONDS} seconds")
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


def _rows(_: object) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
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


def grant(address: Address) -> str:
    """The statement by which a store's owner gives another role access."""
    user, schema = address.user or "this role", address.schema
    return (
        f"let the owner of the schema run: GRANT USAGE ON SCHEMA {schema} TO {user}; "
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {user}"
    )


def _said(error: psycopg.Error) -> str:
    return " ".join((error.diag.message_primary or str(error) or type(error).__name__).split())


def _remedy(said: str, address: Address) -> str:
    if "password" in said or "authentication" in said or "pg_hba" in said:
        return "check the user and the password in the URL, or keep the password in ~/.pgpass"
    if "database" in said and "does not exist" in said:
        return f"make it: createdb {address.database}"
    if "role" in said and "does not exist" in said:
        return f"make it: createuser {address.user}"
    return "check the host and the port in the URL, and that the server runs"


class PendingStatement:
    """A statement that waits to be sent."""

    __slots__ = ("_flush", "cursor", "statement", "values")

    def __init__(self, flush: Callable[[], None], statement: str, values: Sequence[Any] = ()) -> None:
        self._flush = flush
        self.values = values
        self.statement = statement
        self.cursor: psycopg.Cursor[Any] | None = None

    def send(self, client: Client) -> None:
        self.cursor = client.execute(self.statement, self.values or None, binary=True)

    def _answered(self) -> psycopg.Cursor[Any]:
        if self.cursor is None:
            self._flush()
        if self.cursor is None:
            raise StoreError("storage failed: this statement was undone before it was sent")
        return self.cursor

    @property
    def rowcount(self) -> int:
        return self._answered().rowcount

    def fetchone(self) -> Any:
        return self._answered().fetchone()

    def fetchall(self) -> list[Any]:
        return self._answered().fetchall()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._answered())
