"""LangGraph's own savers, opened for one test."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest
    from langgraph.checkpoint.base import BaseCheckpointSaver

SAVERS = ["memory", "sqlite", "postgres"]


@contextmanager
def opened_saver(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[BaseCheckpointSaver[Any]]:
    """A saver of a kind, without the planner's thread."""
    if kind == "memory":
        yield InMemorySaver()
    elif kind == "sqlite":
        with closing(sqlite3.connect(folder / "threads.db", check_same_thread=False)) as connection:
            yield SqliteSaver(connection)
    else:
        with PostgresSaver.from_conn_string(request.getfixturevalue("postgres")) as opened:
            opened.setup()
            opened.delete_thread("planner")
            yield opened
