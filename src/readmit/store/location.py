"""Where a store is: a file, or a PostgreSQL database behind a URL. Opens, lists and prints it without its password."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from readmit.records.base import shown as shown_value
from readmit.records.errors import RecordError, StoreError

if TYPE_CHECKING:
    from readmit.store.log import SqlLog

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
    """A workspace's log, and the path beside which its keys are stored; none if the keys are in memory."""

    log: SqlLog
    beside: Path | None


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


def open_store(place: str | Path, workspace: str, keys: str | Path | None = None) -> OpenedStore:
    """Open a workspace of a store, creating either if needed.

    A file's keys are beside it. A server's are in ``keys``, ``$READMIT_KEYS`` or the user's data folder, under the
    store's id, so they are found again if the server is renamed or restored from a backup elsewhere.
    """
    from readmit.store.log import SqlLog

    _check_place("path", place)
    if keys is not None:
        _check_place("keys", keys)
    if not is_url(place):
        from readmit.store.connection import SqliteConnection

        file = None if str(place) == MEMORY else Path(place)
        if file is not None and keys is not None:
            if not Path(keys).is_dir():
                raise StoreError(f"keys: the folder {keys} does not exist; make it with `mkdir -p {keys}`")
            file = Path(keys, file.name)
        return OpenedStore(SqlLog(SqliteConnection(place), workspace), file)
    _need_server(place)
    from readmit.store.postgres import PostgresConnection

    folder = _made(_data_folder() if keys is None else Path(keys))
    connection = PostgresConnection(str(place))
    try:
        return OpenedStore(SqlLog(connection, workspace), folder / connection.store_id)
    except BaseException:
        connection.close()
        raise


def names(place: str | Path) -> tuple[str, ...]:
    """The names of a store's workspaces, oldest first; none if there is no such store. Creates and changes nothing."""
    if is_url(place):
        _need_server(place)
        from readmit.store.postgres_schema import workspaces

        return workspaces(str(place))
    from readmit.store.names import names

    return names(place)


def _check_place(field: str, place: object) -> None:
    if not isinstance(place, str | os.PathLike):
        raise RecordError(f"{field}: {shown_value(place)} is not a path; give a text or a Path")


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"keys: cannot make {folder}: {error.strerror}; set READMIT_KEYS to a folder for signing keys"
        ) from error
    return folder


def _data_folder() -> Path:
    if named := os.environ.get("READMIT_KEYS"):
        return Path(named)
    if data := os.environ.get("XDG_DATA_HOME"):
        return Path(data, "readmit")
    try:
        return Path.home() / ".local" / "share" / "readmit"
    except RuntimeError:
        raise StoreError("keys: there is no home folder; set READMIT_KEYS to a folder for signing keys") from None


def _need_server(place: str | Path) -> None:
    from importlib.util import find_spec

    if not isinstance(place, str) or not _POSTGRESQL.match(place):
        raise StoreError(f"cannot open {shown(place)}: this is not a URL of a store; {FORM}, or the path of a file")
    if find_spec("psycopg") is None:
        raise StoreError("psycopg is not installed; run: pip install 'readmit[postgres]'")
