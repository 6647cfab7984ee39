"""The SQLite schema.

``event`` is the log. Everything else about state is an index over it, written in the same transaction:
``audience`` answers "what can this identity see" without touching the rest of the store, ``about`` answers
"what happened to this item", ``binding`` leads from an item to its evidence.

A row's key is ``workspace number << 40 | position``: one integer seek, and the ranges of two workspaces never overlap.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING

from readmit.records.error_types import StoreError, TamperedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from readmit.log.engines.sql import SqlSession

APPLICATION_ID = 0x72646D74  # "rdmt"

VERSION = 1
"""The version of these tables. A store of another version is refused."""
ID = re.compile(r"[0-9a-f]{32}")
"""The random id of a store: 16 bytes in hex."""
STORE = "CREATE TABLE store (id TEXT NOT NULL)"
TABLES = """
    CREATE TABLE workspace (
        ws INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        head INTEGER NOT NULL DEFAULT 0,
        learnt TEXT,
        audit INTEGER NOT NULL DEFAULT 0,
        size INTEGER NOT NULL DEFAULT 0,
        edge BLOB,
        note BLOB
    );
    CREATE TABLE event (
        pos INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        by TEXT NOT NULL,
        at TEXT NOT NULL,
        learnt TEXT NOT NULL,
        body BLOB NOT NULL,
        digest TEXT NOT NULL,
        leaf BLOB NOT NULL,
        signature BLOB,
        given INTEGER NOT NULL
    );
    CREATE TABLE audit (
        pos INTEGER PRIMARY KEY,
        return_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        item TEXT NOT NULL,
        body BLOB NOT NULL
    );
    CREATE TABLE decision (
        ws INTEGER NOT NULL, return_id TEXT NOT NULL, seal BLOB, first INTEGER NOT NULL, last INTEGER NOT NULL,
        PRIMARY KEY (ws, return_id)
    ) WITHOUT ROWID;
    CREATE TABLE piece (ws INTEGER NOT NULL, digest TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (ws, digest));
    -- The tree over commits, and the map of what the indexes answer.
    CREATE TABLE commit_record (
        pos INTEGER PRIMARY KEY,
        epoch INTEGER NOT NULL,
        audit INTEGER NOT NULL,
        body BLOB NOT NULL,
        nodes BLOB NOT NULL,
        note BLOB
    );
    CREATE TABLE node (
        ws INTEGER NOT NULL, level INTEGER NOT NULL, start TEXT NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (ws, level, start)
    );
    CREATE TABLE name (
        ws INTEGER NOT NULL, id TEXT NOT NULL, epoch INTEGER NOT NULL,
        PRIMARY KEY (ws, id)
    ) WITHOUT ROWID;
    CREATE TABLE audience (
        ws INTEGER NOT NULL, class TEXT NOT NULL, task TEXT NOT NULL,
        principal TEXT NOT NULL, role TEXT NOT NULL, epoch INTEGER NOT NULL,
        PRIMARY KEY (ws, class, task, principal, role, epoch)
    ) WITHOUT ROWID;
    CREATE TABLE about (
        ws INTEGER NOT NULL, item TEXT NOT NULL, epoch INTEGER NOT NULL,
        PRIMARY KEY (ws, item, epoch)
    ) WITHOUT ROWID;
    CREATE TABLE slot_item (
        ws INTEGER NOT NULL, task TEXT NOT NULL, slot TEXT NOT NULL, epoch INTEGER NOT NULL,
        PRIMARY KEY (ws, task, slot, epoch)
    ) WITHOUT ROWID;
    CREATE TABLE filed (
        ws INTEGER NOT NULL, digest TEXT NOT NULL, epoch INTEGER NOT NULL,
        PRIMARY KEY (ws, digest)
    ) WITHOUT ROWID;
    CREATE TABLE binding (
        ws INTEGER NOT NULL, item INTEGER NOT NULL, evidence INTEGER NOT NULL,
        PRIMARY KEY (ws, item, evidence)
    ) WITHOUT ROWID;
    CREATE INDEX binding_of_evidence ON binding (ws, evidence);
    CREATE TABLE milestone (
        ws INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, epoch INTEGER NOT NULL,
        PRIMARY KEY (ws, kind, key, epoch)
    ) WITHOUT ROWID;
    -- The items that make the same statement without a slot, and the frontiers of one obligation.
    CREATE TABLE kin (
        ws INTEGER NOT NULL, key TEXT NOT NULL, epoch INTEGER NOT NULL,
        PRIMARY KEY (ws, key, epoch)
    ) WITHOUT ROWID;
    CREATE TABLE derived (
        ws INTEGER NOT NULL, kind TEXT NOT NULL, maker TEXT NOT NULL, source TEXT NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (ws, kind, maker, source)
    ) WITHOUT ROWID;
    -- Memory backends: which sources each native record was formed from, and the reference store.
    CREATE TABLE source (
        ws INTEGER NOT NULL, backend TEXT NOT NULL, record TEXT NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (ws, backend, record)
    ) WITHOUT ROWID;
    CREATE TABLE memory (
        seq INTEGER PRIMARY KEY,
        ws INTEGER NOT NULL, store TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL,
        owner TEXT NOT NULL, text TEXT NOT NULL, key TEXT NOT NULL, at TEXT NOT NULL,
        UNIQUE (ws, store, id)
    );
    CREATE TABLE memory_version (
        ws INTEGER NOT NULL, store TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL,
        text TEXT, at TEXT NOT NULL,
        PRIMARY KEY (ws, store, id, version)
    ) WITHOUT ROWID;
    CREATE TABLE memory_term (
        ws INTEGER NOT NULL, store TEXT NOT NULL, term TEXT NOT NULL, seq INTEGER NOT NULL,
        owner TEXT NOT NULL, count INTEGER NOT NULL, length INTEGER NOT NULL,
        PRIMARY KEY (ws, store, term, seq)
    ) WITHOUT ROWID;
    CREATE INDEX memory_term_of ON memory_term (seq);
    CREATE TABLE memory_store (
        ws INTEGER NOT NULL, store TEXT NOT NULL, version INTEGER NOT NULL,
        records INTEGER NOT NULL, length INTEGER NOT NULL,
        PRIMARY KEY (ws, store)
    ) WITHOUT ROWID;
"""

# The log and the audit are append-only, for other programs on the same file too.
APPEND_ONLY_TABLES = ("event", "audit", "commit_record", "decision", "piece")


def guard(table: str, verb: str) -> str:
    """The trigger that keeps a table append-only."""
    return (
        f"CREATE TRIGGER {table}_{verb}_refused BEFORE {verb} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    )


APPEND_ONLY = tuple(guard(table, verb) for table in APPEND_ONLY_TABLES for verb in ("update", "delete"))


def is_made(connection: sqlite3.Connection) -> bool:
    """Whether a database has the tables, or is empty. Any other is refused before anything is changed."""
    # In this order: another process may be creating the tables now, and marks the file in the same transaction.
    tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID and (application or tables):
        raise StoreError("this SQLite file belongs to another program; name a new file")
    if application == APPLICATION_ID:
        check_version(version)
    return application == APPLICATION_ID


def store_id(sql: SqlSession) -> str:
    """The id of a store. The folder of its keys is named by it, so whatever else is in its place is refused."""
    try:
        found = [row[0] for row in sql.execute("SELECT id FROM store").fetchall()]
    except sqlite3.Error as error:
        raise TamperedError(f"store.id: it cannot be read ({error}); put a backup back") from error
    if len(found) != 1 or not isinstance(found[0], str) or not ID.fullmatch(found[0]):
        raise TamperedError("store.id: it is not one id of 32 lower-case hex digits; put a backup back")
    return found[0]


def check_version(version: int) -> None:
    """Refuse the tables of another release."""
    if version != VERSION:
        raise StoreError(
            f"the store has schema {version}, and this readmit reads and writes schema {VERSION} alone: "
            "open it with the release that made it, or name a new store"
        )


def make(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty database."""
    if is_made(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have made them while this one waited for the lock.
        if not is_made(connection):
            for statement in (STORE, *TABLES.split(";\n"), *APPEND_ONLY):
                connection.execute(statement)
            connection.execute("INSERT INTO store VALUES (?)", (secrets.token_hex(16),))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


# Statistics change the order in which rows are searched for, never which rows there are.
_OBJECTS = """
    SELECT type, name, sql FROM main.sqlite_master
    WHERE NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4')) ORDER BY type, name
"""


def flaws_of(sql: SqlSession) -> list[str]:
    """Differences of a database from this schema: tables, indexes, triggers and views by name, and its encoding."""
    (encoding,) = sql.execute("PRAGMA encoding").fetchone()
    other = [] if encoding == "UTF-8" else [f"its texts are encoded in {encoding}, not UTF-8"]
    return other + schema_differences(_objects(sql), _wanted())


def schema_differences(found: Iterable[tuple[str, str]], wanted: Mapping[str, str]) -> list[str]:
    """The objects of a database that are not those that are wanted, each as its name and its definition."""
    flaws, left = [], dict(wanted)
    for name, text in found:
        if name not in left:
            flaws.append(f"the {name} is none of readmit's: it was added")
        elif left.pop(name) != text:
            flaws.append(f"the {name} is not as readmit made it: it was altered")
    return flaws + [f"the {name} is not there: it was removed" for name in left]


def check(flaws: Iterable[str]) -> None:
    """Refuse a database with another schema. A single index can show one query rows that another does not see."""
    if said := "; ".join(flaws):
        raise TamperedError(f"the schema of the store was changed: {said}; undo this, or put a backup back")


def _objects(sql: SqlSession) -> list[tuple[str, str]]:
    found = sql.execute(_OBJECTS).fetchall()
    return [(f"{kind} {name!r}", " ".join(str(text).split())) for kind, name, text in found]


@cache
def _wanted() -> Mapping[str, str]:
    """The objects of an empty store, each by name with its definition."""
    with made() as empty:
        return dict(_objects(empty))


def made() -> closing[sqlite3.Connection]:
    """An empty database with the tables."""
    empty = sqlite3.connect(":memory:", isolation_level=None)
    make(empty)
    return closing(empty)
