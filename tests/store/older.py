"""A store as an earlier release left it: the tables of its first migrations, with the rows that they can hold."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from readmit.store import schema
from readmit.store.location import is_url

if TYPE_CHECKING:
    from tests.postgres import Server


def make_older(place: Path | str, new: Path | str, migrations: int, server: Server | None = None) -> None:
    """Make an empty place an older store with the content of a new one."""
    if is_url(place):
        assert server is not None
        _on_a_server(str(place), str(new), migrations, server)
        return
    _copy_keys(Path(f"{new}.keys"), Path(f"{place}.keys"))
    with closing(sqlite3.connect(place, isolation_level=None)) as old, pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:migrations])
        patch.setattr(schema, "APPEND_ONLY", "")
        schema.migrate(old, lambda _, __: None)
        old.execute("ATTACH ? AS new", (str(new),))
        for (table,) in old.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
            columns = [column for _, column, *_ in old.execute(f"PRAGMA main.table_info({table})")]
            known = {column for _, column, *_ in old.execute(f"PRAGMA new.table_info({table})")}
            if known:
                values = ", ".join(column if column in known else "x''" for column in columns)
                old.execute(f"INSERT INTO main.{table} ({', '.join(columns)}) SELECT {values} FROM new.{table}")


def _on_a_server(place: str, new: str, migrations: int, server: Server) -> None:
    import psycopg

    from readmit.store.postgres import PostgresConnection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("readmit.store.postgres_schema.MIGRATIONS", schema.MIGRATIONS[:migrations])
        PostgresConnection(place).close()
    here, there = place.rpartition("schema=")[2], new.rpartition("schema=")[2]
    with closing(psycopg.connect(server.administrator, dbname="team", autocommit=True)) as client:
        (old_id,) = client.execute(f"SELECT id FROM {here}.store").fetchone() or ("",)
        (new_id,) = client.execute(f"SELECT id FROM {there}.store").fetchone() or ("",)
        folder = Path(os.environ["READMIT_KEYS"])
        _copy_keys(folder / f"{new_id}.keys", folder / f"{old_id}.keys")
        known = _columns(client, there)
        for table, columns in _columns(client, here).items():
            if table in known:
                values = ", ".join(column if column in known[table] else "''" for column in columns)
                names = ", ".join(columns)
                client.execute(f"INSERT INTO {here}.{table} ({names}) SELECT {values} FROM {there}.{table}")
        for table, column in (("workspace", "ws"), ("memory", "seq")):
            if table in _columns(client, here):
                numbers = f"pg_get_serial_sequence('{here}.{table}', '{column}')"
                client.execute(f"SELECT setval({numbers}, coalesce(max({column}), 0) + 1) FROM {here}.{table}")


def _copy_keys(new: Path, old: Path) -> None:
    """The keys, without what this release pins beside them."""
    shutil.copytree(new, old, ignore=shutil.ignore_patterns("*.trust", "*.head"))


def _columns(client: Any, within: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = %s"
    for table, column in client.execute(query, (within,)).fetchall():
        if table != "store":
            found.setdefault(table, []).append(column)
    return found
