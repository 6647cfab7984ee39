from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING

import psycopg
import pytest

from readmit.errors import ProbeError, RecordError
from readmit.sources import Finding, Looker, Sql
from tests.postgres import ROLE
from tests.sources.conftest import limits_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.postgres import Server


_schemas = count(1)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A real database with one table, by its place."""
    if request.param == "sqlite":
        place = str(tmp_path / "crm.db")
    else:
        server: Server = request.getfixturevalue("server")
        schema = f"looked{next(_schemas)}"
        server.sql(f"CREATE SCHEMA {schema} AUTHORIZATION {ROLE}", database="team")
        place = f"{server.url()}?options=-csearch_path%3D{schema}"
    run(place, "CREATE TABLE invoices (id INTEGER PRIMARY KEY, state TEXT, amount NUMERIC)")
    run(place, "INSERT INTO invoices VALUES (1, 'open', 12.50), (2, 'paid', NULL)")
    return place


def run(place: str, statement: str) -> None:
    if place.startswith("postgres"):
        with psycopg.connect(place) as client:
            client.execute(statement.encode())
    else:
        with closing(sqlite3.connect(place)) as opened, opened:
            opened.execute(statement)


def looker(database: str, **limits: object) -> Looker:
    return Looker(limits_of(**limits), databases={"crm": database})


def marked(database: str) -> str:
    return "%s" if database.startswith("postgres") else "?"


def test_a_row_is_captured_and_a_new_value_is_seen(database: str) -> None:
    query = f"SELECT id, state FROM invoices WHERE id = {marked(database)}"  # noqa: S608 - a placeholder
    text, probe = looker(database).capture(Sql("crm", query, [1]))
    assert text == '[[1,"open"]]'
    run(database, "UPDATE invoices SET state = 'paid' WHERE id = 2")
    assert looker(database).look([probe]) == [(Finding.UNCHANGED, probe, "", "")]
    run(database, "UPDATE invoices SET state = 'paid' WHERE id = 1")
    [found] = looker(database).look([probe])
    assert (found.outcome, found.text) == (Finding.CHANGED, '[[1,"paid"]]')
    assert [again.outcome for again in looker(database).look([found.probe])] == [Finding.UNCHANGED]
    run(database, "DELETE FROM invoices")
    assert looker(database).look([probe]) == [(Finding.GONE, probe, "", "the query finds no row")]


def test_that_there_is_no_row_can_be_captured_too(database: str) -> None:
    text, probe = looker(database).capture(Sql("crm", "SELECT id FROM invoices WHERE state = 'overdue'"))
    assert text == "[]"
    assert [found.outcome for found in looker(database).look([probe])] == [Finding.UNCHANGED]
    run(database, "UPDATE invoices SET state = 'overdue' WHERE id = 2")
    assert [found.text for found in looker(database).look([probe])] == ["[[2]]"]


def test_nothing_of_a_look_stays_in_the_database(database: str) -> None:
    _, probe = looker(database).capture(Sql("crm", "SELECT count(*) FROM invoices"))
    for _ in range(3):
        assert [found.outcome for found in looker(database).look([probe])] == [Finding.UNCHANGED]
    run(database, "DROP TABLE invoices")  # no lock is left
    assert [found.outcome for found in looker(database).look([probe])] == [Finding.UNSEEN]


def test_a_database_that_the_prober_does_not_know_is_unseen(database: str) -> None:
    _, probe = looker(database).capture(Sql("crm", "SELECT 1"))
    [found] = Looker().look([probe])
    assert (found.outcome, found.why) == (
        Finding.UNSEEN,
        "database: the prober knows no 'crm'; add it to databases",
    )


def test_rows_beyond_the_limit_are_refused(database: str) -> None:
    with pytest.raises(ProbeError, match="more than 20 bytes"):
        looker(database, bytes=20).capture(Sql("crm", "SELECT * FROM invoices"))


@pytest.mark.parametrize("value", [1.5, object(), 2**60])
def test_a_parameter_that_a_probe_cannot_hold_is_refused_by_its_field(value: object, database: str) -> None:
    with pytest.raises(RecordError, match=r"^parameters"):
        looker(database).capture(Sql("crm", "SELECT 1", [value]))  # type: ignore[list-item]


def test_a_file_that_is_missing_is_neither_made_nor_gone(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="the file of the database is not there"):
        looker(str(tmp_path / "none.db")).capture(Sql("crm", "SELECT 1"))
    assert list(tmp_path.iterdir()) == []
