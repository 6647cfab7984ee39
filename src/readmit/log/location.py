"""The place of a store: a file, or a PostgreSQL database at a URL. Opens, lists and prints it without its password."""

from __future__ import annotations

import os
import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from readmit.log.key_folder import KeyFolder, places_of
from readmit.records.base import shown as shown_value
from readmit.records.error_types import RecordError, StoreError

if TYPE_CHECKING:
    from readmit.log.engines.sql import Connection
    from readmit.log.log import Log

MEMORY = ":memory:"
FORM = "write postgresql://user:password@host:5432/database, with special characters percent-encoded"
# Every URL, of any scheme: what is wrong with one is said without its password. A Path drops one of the slashes.
_URL = re.compile(r"://|^\s*postgres[^/:]*:/", re.IGNORECASE)
# What libpq also takes: "host=… dbname=… password=…".
_KEYWORDS = re.compile(r"^\s*(host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*=", re.IGNORECASE)
_POSTGRESQL = re.compile(r"postgres(ql)?://", re.IGNORECASE)
# From the first colon after the user to the last @: a password that is not percent-encoded can contain anything.
_PASSWORD = re.compile(r"(:/+[^:@]*):.*@", re.DOTALL)
_PARAMETER = re.compile(r"(?<=[?&])((?:ssl)?password=)[^&]*", re.IGNORECASE)
_AND_REST = re.compile(r"(password\s*=).*", re.IGNORECASE | re.DOTALL)


class OpenedStore(NamedTuple):
    """A workspace's log, and the folder of its store's keys; none if the keys are in memory."""

    log: Log
    keys: Path | None


def is_url(place: str | Path) -> bool:
    """Whether a location is a server's, not a file's. Only ``postgresql://`` URLs can be opened."""
    return _URL.search(str(place)) is not None or _KEYWORDS.match(str(place)) is not None


def shown(place: str | Path) -> str:
    """A location without its password."""
    if not is_url(place):
        return str(place)
    if _KEYWORDS.match(str(place)):
        return _AND_REST.sub(r"\1***", str(place))
    return _PARAMETER.sub(r"\1***", _PASSWORD.sub(r"\1:***@", str(place)))


def exists(place: str | Path) -> bool:
    """Whether a store may exist there. A server is contacted only when it is opened."""
    return is_url(place) or Path(place).exists()


def folder_of(place: str | Path) -> Path:
    """The folder of a store: that of its file, or the current one for a server and for memory."""
    return Path.cwd() if is_url(place) or str(place) == MEMORY else Path(place).resolve().parent


def open_store(
    place: str | Path, workspace: str, keys: str | Path | None = None, *, read_only: bool = False
) -> OpenedStore:
    """Open a workspace of a store, creating either if needed. A file that is only read is left as it is.

    The keys of a store are in a folder under its id, so they are found again if it is moved or restored elsewhere. A
    store is refused if another one was seen at its place.
    """
    from readmit.log.log import Log

    _check_place("path", place)
    if keys is not None:
        _check_place("keys", keys)
    if str(place) == MEMORY:
        return OpenedStore(Log(_connected(place), workspace), None)
    folder = KeyFolder.chosen(keys)
    if not read_only:
        folder.make()
        # Before the look at the file, which is there before it is noted: another process may start it in between.
        noted = folder.known(() if is_url(place) else places_of(place))
        if not exists(place):
            folder.check_gone(noted, str(place))
    connection = _connected(place, read_only=read_only)
    try:
        take = folder.check if read_only else folder.learn
        take(_places(place, connection), connection.store_id, shown(place))
        return OpenedStore(Log(connection, workspace), folder.of(connection.store_id))
    except BaseException:
        connection.close()
        raise


class Accepted(NamedTuple):
    """A store that was accepted at its places: its id, and the id of the one that was seen there before."""

    store: str | None
    before: str | None


def accept_store(place: str | Path) -> Accepted:
    """Accept the store at a place, or its absence, as the right one."""
    folder = KeyFolder.chosen(None)
    found: str | None = None
    if exists(place):
        with closing(_connected(place, read_only=True)) as connection:
            places, found = _places(place, connection), connection.store_id
    else:
        places = places_of(place)
    before = next(iter(folder.known(places).values()), None)
    folder.accept(places, found)
    return Accepted(found, before)


def _connected(place: str | Path, *, read_only: bool = False) -> Connection:
    if is_url(place):
        _need_server(place)
        from readmit.log.engines.postgres import PostgresConnection

        return PostgresConnection(str(place))
    if read_only:
        from readmit.log.engines.sqlite_read_only import ReadOnlyConnection

        return ReadOnlyConnection(place)
    from readmit.log.engines.sqlite import SqliteConnection

    return SqliteConnection(place)


def _places(place: str | Path, connection: Connection) -> tuple[str, ...]:
    return connection.places or places_of(place)


def names(place: str | Path) -> tuple[str, ...]:
    """The names of a store's workspaces, oldest first; none if there is no such store. Creates and changes nothing."""
    if is_url(place):
        _need_server(place)
        from readmit.log.engines.postgres_schema import workspaces

        return workspaces(str(place))
    import sqlite3

    from readmit.log.engines.sqlite_files import unopened

    file = Path(place)
    if not file.exists():
        return ()
    try:
        # Not `mode=ro`: reading a log that another process left behind may have to recover it first.
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)) as sql:
            if not sql.execute("SELECT 1 FROM sqlite_master WHERE name = 'workspace'").fetchone():
                return ()
            return tuple(name for (name,) in sql.execute("SELECT name FROM workspace ORDER BY ws"))
    except sqlite3.Error as error:
        raise unopened(str(place), error) from error


def _check_place(field: str, place: object) -> None:
    if not isinstance(place, str | os.PathLike):
        raise RecordError(f"{field}: {shown_value(place)} is not a path; give a text or a Path")


def _need_server(place: str | Path) -> None:
    from importlib.util import find_spec

    if not isinstance(place, str) or not _POSTGRESQL.match(place):
        raise StoreError(f"cannot open {shown(place)}: this is not a URL of a store; {FORM}, or the path of a file")
    if find_spec("psycopg") is None:
        raise StoreError("psycopg is not installed; run: pip install 'readmit[postgres]'")
