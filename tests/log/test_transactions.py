"""One connection: transactions that nest, threads that take turns, storage errors in our words."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.errors import StoreError
from readmit.log.engines import sqlite
from tests.crash.team import verify
from tests.postgres import on_server
from tests.scene import START

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from readmit.log.engines.sql import Connection


def opened(place: Path | str) -> Connection:
    if on_server(place):
        from readmit.log.engines.postgres import PostgresConnection

        return PostgresConnection(str(place))
    return sqlite.SqliteConnection(place)


@pytest.fixture
def other(place: Path | str) -> Iterator[Connection]:
    made = opened(place)
    yield made
    made.close()


@pytest.fixture
def connection(place: Path | str) -> Iterator[Connection]:
    made = opened(place)
    made.sql.execute("CREATE TABLE t (x INTEGER PRIMARY KEY)")
    yield made
    made.close()


def rows(connection: Connection) -> list[int]:
    return [x for (x,) in connection.sql.execute("SELECT x FROM t ORDER BY x")]


def put(connection: Connection, x: int) -> None:
    connection.sql.execute("INSERT INTO t VALUES (?)", (x,))


def put_twice(connection: Connection, x: int) -> None:
    with connection.atomic():
        put(connection, x)
        put(connection, x)


def test_an_inner_failure_undoes_the_inner_part_alone(connection: Connection) -> None:
    with connection.atomic():
        put(connection, 1)
        with pytest.raises(StoreError):
            put_twice(connection, 2)
        with connection.atomic():
            put(connection, 3)
            with connection.atomic():
                put(connection, 4)
    assert rows(connection) == [1, 3, 4]


def test_an_outer_failure_undoes_everything(connection: Connection) -> None:
    def interrupted() -> None:
        with connection.atomic():
            with connection.atomic():
                put(connection, 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert rows(connection) == []
    with connection.atomic():
        put(connection, 2)
    assert rows(connection) == [2]


def test_a_storage_error_is_reported_in_our_words_and_leaves_the_connection_usable(connection: Connection) -> None:
    with connection.atomic():
        put(connection, 1)
    with pytest.raises(StoreError, match="storage failed"), connection.atomic():
        put(connection, 1)
    with pytest.raises(StoreError, match="storage failed"), connection.reading():
        connection.sql.execute("SELECT nonsense")
    with connection.atomic():
        put(connection, 2)
    assert rows(connection) == [1, 2]


def test_a_reader_sees_one_state(other: Connection, connection: Connection) -> None:
    """The other is opened first: a store with a table of a test in it is refused."""
    with other.reading():
        assert rows(other) == []
        with connection.atomic():
            put(connection, 1)
        assert rows(other) == []
    assert rows(other) == [1]


def test_a_commit_is_on_disk(tmp_path: Path) -> None:
    connection = sqlite.SqliteConnection(tmp_path / "b.db")
    assert connection.sql.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.sql.execute("PRAGMA synchronous").fetchone() == (2,), "FULL"
    connection.close()


def test_threads_take_turns(place: Path | str) -> None:
    """A transaction belongs to one thread; the others wait, and no event of one lands in another's batch."""
    team = Workspace.open(place, clock=lambda: START)
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(10):
                with team.batch():
                    for part in range(4):
                        team.record("text", by="bob", id=f"{name}-{number}.{part}")
        except BaseException as error:  # noqa: BLE001 - reported below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    events = [event.id for event in team._desk.log.tail() if event.id.startswith("item:")]
    assert len(events) == 160
    for start in range(0, 160, 4):
        batch = {name.rpartition(".")[0] for name in events[start : start + 4]}
        assert len(batch) == 1, "a batch is one run of the log"
    team.close()
    verify(place).close()


def test_what_a_level_wrote_and_nobody_read_is_undone_with_it(place: Path | str) -> None:
    """The log's end goes back with the events: the next one takes their place, and the chain holds."""
    with Workspace.open(place, clock=lambda: START) as team:

        def abandoned() -> None:
            with team.batch():
                team.record("two", by="bob", id="two")
                raise KeyError

        with team.batch():
            team.record("one", by="bob", id="one")
            before = team.epoch
            with pytest.raises(KeyError):
                abandoned()
            assert team.epoch == before
            team.record("three", by="bob", id="three")
            assert team.epoch == before + 1
        with pytest.raises(KeyError):
            abandoned()
        assert team.epoch == before + 1
    with verify(place) as team:
        assert [event.id for event in team._desk.log.tail()][-2:] == ["item:one", "item:three"]


def test_what_is_closed_is_closed(place: Path | str) -> None:
    team = Workspace.open(place)
    team.close()
    with pytest.raises((StoreError, sqlite3.ProgrammingError)):
        team.observe("text", by="bob")
