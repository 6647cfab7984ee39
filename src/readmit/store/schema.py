"""The SQLite schema as numbered migrations.

``event`` is the log. Everything else about state is an index over it, written in the same transaction:
``audience`` answers "what can this identity see" without touching the rest of the store, ``about`` answers
"what happened to this item", ``binding`` leads from an item to its evidence.

A row's key is ``workspace number << 40 | position``: one integer seek, and the ranges of two workspaces never overlap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.errors import StoreError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

APPLICATION_ID = 0x72646D74  # "rdmt"
SHIFT = 40
MASK = (1 << SHIFT) - 1

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE workspace (
        ws INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        head INTEGER NOT NULL DEFAULT 0,
        link BLOB NOT NULL,
        audit INTEGER NOT NULL DEFAULT 0,
        audit_hash BLOB NOT NULL
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
        link BLOB NOT NULL
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
    CREATE TABLE slot_reach (
        ws INTEGER NOT NULL, task TEXT NOT NULL, slot TEXT NOT NULL,
        principal TEXT NOT NULL, role TEXT NOT NULL,
        PRIMARY KEY (ws, task, slot, principal, role)
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
    CREATE TABLE milestone (
        ws INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, epoch INTEGER NOT NULL,
        PRIMARY KEY (ws, kind, key, epoch)
    ) WITHOUT ROWID;
    CREATE TABLE invalidation (
        ws INTEGER NOT NULL, by TEXT NOT NULL, learnt TEXT NOT NULL, epoch INTEGER NOT NULL,
        PRIMARY KEY (ws, by, learnt, epoch)
    ) WITHOUT ROWID;
    CREATE TABLE decision (
        ws INTEGER NOT NULL, return_id TEXT NOT NULL, body BLOB NOT NULL, envelope BLOB,
        first INTEGER NOT NULL, last INTEGER NOT NULL,
        PRIMARY KEY (ws, return_id)
    ) WITHOUT ROWID;
    CREATE TABLE audit (
        pos INTEGER PRIMARY KEY,
        return_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        item TEXT NOT NULL,
        body BLOB NOT NULL,
        hash BLOB NOT NULL
    );
    CREATE TABLE audit_head (
        ws INTEGER NOT NULL, seq INTEGER NOT NULL, envelope BLOB NOT NULL,
        PRIMARY KEY (ws, seq)
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE derived (
        ws INTEGER NOT NULL, kind TEXT NOT NULL, maker TEXT NOT NULL, source TEXT NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (ws, kind, maker, source)
    ) WITHOUT ROWID;
    """,
    # Memory backends: which sources each native record was formed from, and the reference store.
    """
    CREATE TABLE source (
        ws INTEGER NOT NULL, backend TEXT NOT NULL, record TEXT NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (ws, backend, record)
    ) WITHOUT ROWID;
    CREATE TABLE source_evidence (
        ws INTEGER NOT NULL, backend TEXT NOT NULL, record TEXT NOT NULL, digest TEXT NOT NULL,
        PRIMARY KEY (ws, backend, record, digest)
    ) WITHOUT ROWID;
    CREATE TABLE source_version (
        ws INTEGER NOT NULL, backend TEXT NOT NULL, version INTEGER NOT NULL,
        PRIMARY KEY (ws, backend)
    ) WITHOUT ROWID;
    CREATE INDEX binding_of_evidence ON binding (ws, evidence);
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
    """,
    # Suspicions and verdicts count against a writer's limit as well.
    """
    INSERT INTO invalidation SELECT pos >> 40, by, learnt, pos & 1099511627775 FROM event
    WHERE kind IN ('suspect', 'judge');
    """,
    # The last moment that a log has learnt, which names are slots and which dependencies, and who opened duties.
    """
    ALTER TABLE workspace ADD COLUMN learnt TEXT;
    CREATE TABLE term (
        ws INTEGER NOT NULL, name TEXT NOT NULL, use TEXT NOT NULL,
        PRIMARY KEY (ws, name, use)
    ) WITHOUT ROWID;
    CREATE TABLE duty (
        ws INTEGER NOT NULL, by TEXT NOT NULL, learnt TEXT NOT NULL, epoch INTEGER NOT NULL,
        PRIMARY KEY (ws, by, learnt, epoch)
    ) WITHOUT ROWID;
    """,
    # The items that make the same statement without a slot, and the frontiers of one obligation.
    """
    CREATE TABLE kin (
        ws INTEGER NOT NULL, key TEXT NOT NULL, epoch INTEGER NOT NULL,
        PRIMARY KEY (ws, key, epoch)
    ) WITHOUT ROWID;
    """,
    # How much a writer has ended up to an event, and what was stated last about a slot or an obligation.
    """
    ALTER TABLE invalidation ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE holder (
        ws INTEGER NOT NULL, use TEXT NOT NULL, name TEXT NOT NULL, task TEXT NOT NULL, readers TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        PRIMARY KEY (ws, use, name, task, readers)
    ) WITHOUT ROWID;
    """,
    # One tree over commits in place of two hash chains, and the digests of what the indexes answer.
    """
    ALTER TABLE event DROP COLUMN link;
    ALTER TABLE event ADD COLUMN leaf BLOB;
    ALTER TABLE event ADD COLUMN signature BLOB;
    ALTER TABLE audit DROP COLUMN hash;
    ALTER TABLE workspace DROP COLUMN link;
    ALTER TABLE workspace DROP COLUMN audit_hash;
    ALTER TABLE workspace ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE workspace ADD COLUMN edge BLOB;
    ALTER TABLE workspace ADD COLUMN note BLOB;
    DROP TABLE audit_head;
    CREATE TABLE commit_record (
        ws INTEGER NOT NULL, number INTEGER NOT NULL, epoch INTEGER NOT NULL, audit INTEGER NOT NULL,
        body BLOB NOT NULL, nodes BLOB NOT NULL, note BLOB,
        PRIMARY KEY (ws, number)
    ) WITHOUT ROWID;
    CREATE INDEX commit_of_epoch ON commit_record (ws, epoch, number);
    CREATE TABLE node (
        ws INTEGER NOT NULL, level INTEGER NOT NULL, start TEXT NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (ws, level, start)
    );
    """,
)

# The log and the audit are append-only, for other programs on the same file too.
APPEND_ONLY_TABLES = ("event", "audit", "commit_record", "decision")
_VERBS = ("update", "delete")
APPEND_ONLY = "".join(
    f"""
    CREATE TRIGGER IF NOT EXISTS {table}_{verb}_refused BEFORE {verb} ON {table}
    BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END;
    """
    for table in APPEND_ONLY_TABLES
    for verb in _VERBS
)


def recognize(connection: sqlite3.Connection) -> int:
    """The schema version of a readmit or empty database. Others are refused before anything is changed."""
    # In this order: another process may be creating the tables now, and marks the file in the same transaction.
    tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID and (application or tables):
        raise StoreError("this SQLite file belongs to another program; name a new file")
    if version > len(MIGRATIONS):
        raise newer(version)
    return version


def newer(version: int) -> StoreError:
    """The store was made by a later release."""
    return StoreError(f"the store has schema {version}, this readmit knows {len(MIGRATIONS)}: install a newer readmit")


def migrate(connection: sqlite3.Connection, fill: Callable[[sqlite3.Connection, int], None]) -> None:
    """Bring a database to the newest schema, or refuse one that is not ours or is newer than this code.

    ``fill`` then fills the new tables from a workspace's log.
    """
    version = recognize(connection)
    if version == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated while this one waited for the lock.
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == len(MIGRATIONS):
            connection.execute("COMMIT")
            return
        _drop_triggers(connection)
        for number in range(version, len(MIGRATIONS)):
            for statement in MIGRATIONS[number].split(";\n"):
                connection.execute(statement)
        for (ws,) in connection.execute("SELECT ws FROM workspace").fetchall():
            fill(connection, ws)
        _create_triggers(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _drop_triggers(connection: sqlite3.Connection) -> None:
    for table in APPEND_ONLY_TABLES:
        for verb in _VERBS:
            connection.execute(f"DROP TRIGGER IF EXISTS {table}_{verb}_refused")


def _create_triggers(connection: sqlite3.Connection) -> None:
    for statement in APPEND_ONLY.split("END;"):
        if statement.strip():
            connection.execute(statement + "END;")
