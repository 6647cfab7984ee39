"""Lists the workspaces of a file without creating or changing anything."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from readmit.log.engines.sqlite_files import unopened


def names(path: str | Path) -> tuple[str, ...]:
    """The names of a file's workspaces, oldest first; none if there is no such file."""
    file = Path(path)
    if not file.exists():
        return ()
    try:
        # Not `mode=ro`: reading a log that another process left behind may have to recover it first.
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)) as sql:
            if not sql.execute("SELECT 1 FROM sqlite_master WHERE name = 'workspace'").fetchone():
                return ()
            return tuple(name for (name,) in sql.execute("SELECT name FROM workspace ORDER BY ws"))
    except sqlite3.Error as error:
        raise unopened(str(path), error) from error
