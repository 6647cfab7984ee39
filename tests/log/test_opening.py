"""Opening a store that somebody else is making at the same moment."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING

import pytest

from readmit.errors import StoreError
from readmit.log.engines import sqlite as connection
from readmit.log.engines.sqlite import SqliteConnection

if TYPE_CHECKING:
    from pathlib import Path


def test_a_new_file_that_another_connection_prepares_is_waited_for(tmp_path: Path) -> None:
    # SQLite itself does not wait here: it answers "database is locked" at once.
    file = tmp_path / "team.db"
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.3, other.execute, ("ROLLBACK",))
    release.start()
    SqliteConnection(file).close()
    release.join()
    other.close()


def test_a_new_file_that_stays_locked_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    file = tmp_path / "team.db"
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"cannot open .*team\.db: database is locked"):
        SqliteConnection(file)
    other.close()
