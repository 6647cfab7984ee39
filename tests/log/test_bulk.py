"""Many observations at once are the same log, byte for byte, as one after the other."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit import Workspace
from readmit.errors import ConflictError, NotAllowedError, RecordError
from readmit.events import EventKind
from readmit.log.engines.sqlite import SqliteConnection
from readmit.log.log import Log
from readmit.log.log_end import ROWS, insert, inserted
from readmit.records.acts.draft import draft
from readmit.types import Evidence, Fact, Scope
from tests.conftest import examples
from tests.scene import START

if TYPE_CHECKING:
    from readmit.records.acts.draft import Draft
    from readmit.types import ObservationEntry

TABLES = ("event", "name", "filed", "audience", "about", "slot_item", "binding")


def observation(text: str, *, name: str | None = None, task: str | None = None, roles: tuple[str, ...] = ()) -> Draft:
    scope = Scope(workspace="team", task=task, roles=roles, principals=("A1", "A2") if roles else ())
    evidence = Evidence(text=text, by="A1", at=START, scope=scope)
    return draft(EventKind.OBSERVE, evidence, id=name, by="A1", at=START)


def item(name: str) -> Draft:
    fact = Fact(id=name, text=f"Statement {name}", by="A1", scope=Scope(workspace="team"), slot="s")
    return draft(EventKind.RECORD, fact, id=name, by="A1", at=START)


def fresh() -> Log:
    return Log(SqliteConnection(":memory:"), "team")


def stored(log: Log) -> dict[str, list[tuple[object, ...]]]:
    sql = log.connection.sql
    return {table: sorted(sql.execute(f"SELECT * FROM {table}")) for table in TABLES}


observations = st.builds(
    observation,
    st.sampled_from("abcdefgh"),
    name=st.sampled_from((None, "n1", "n2")),
    task=st.sampled_from((None, "trip")),
    roles=st.sampled_from(((), ("planner", "buyer"), ("planner", "planner"))),
)
entries = st.lists(st.one_of(observations, observations, observations, st.builds(item, st.sampled_from("xyz"))))


@given(entries, st.integers(0, 8))
@settings(max_examples=examples(150))
def test_together_is_one_by_one(drafts: list[Draft], before: int) -> None:
    """Whatever repeats, within the batch or from before it: same epochs, same rows, same links, same refusals."""
    together, apart = fresh(), fresh()
    earlier = [observation(text) for text in "abcdefgh"[:before]]
    for log in (together, apart):
        log.append(earlier, now=START)
    outcomes: list[object] = []
    for log in (together, apart):
        try:
            with log.atomic():
                if log is together:
                    outcomes.append(log.append(drafts, now=START))
                else:
                    outcomes.append([epoch for one in drafts for epoch in log.append([one], now=START)])
        except ConflictError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
    assert stored(together) == stored(apart)
    assert len(list(together.tail())) == together.head


def test_a_large_batch_is_whole_and_its_chain_holds() -> None:
    log = fresh()
    drafts = [observation(f"text {number}", name=f"n{number}", task="trip") for number in range(3 * ROWS + 7)]
    assert log.append(drafts, now=START) == list(range(1, len(drafts) + 1))
    assert [event.digest for event in log.tail()] == [one.digest for one in drafts]
    assert log.append(drafts, now=START) == list(range(1, len(drafts) + 1))
    assert log.head == len(drafts)


def test_a_refused_observation_leaves_nothing_of_its_batch() -> None:
    log = fresh()
    before = stored(log)
    drafts = [observation(f"text {number}") for number in range(10)]

    def refuse(entry: Draft) -> None:
        if entry is drafts[7]:
            raise NotAllowedError("not this one")

    with pytest.raises(NotAllowedError):
        log.append(drafts, now=START, check=refuse)
    assert stored(log) == before
    assert log.append(drafts[:7], now=START) == list(range(1, 8))


def test_rows_whose_key_is_taken_are_left_out_and_counted() -> None:
    with closing(sqlite3.connect(":memory:")) as sql:
        sql.execute("CREATE TABLE t (x INTEGER PRIMARY KEY, y TEXT)")
        assert inserted(insert(sql, "t", [])) == 0
        assert inserted(insert(sql, "t", [(number, "a") for number in range(ROWS + 5)])) == ROWS + 5
        assert inserted(insert(sql, "t", [(number, "b") for number in range(2 * ROWS)])) == ROWS - 5
        assert sql.execute("SELECT count(*) FROM t WHERE y = 'a'").fetchone() == (ROWS + 5,)


def test_many_observations_are_those_of_one_verb_each() -> None:
    with Workspace.open(clock=lambda: START) as team, Workspace.open(clock=lambda: START) as other:
        train: ObservationEntry = {"text": "The train runs.", "by": "A2", "id": "t", "source": "document"}
        given_as: list[str | ObservationEntry] = ["The hotel is full.", train, "The bus runs – ünless it snows."]
        digests = team.observe_many(given_as, by="A1", task="trip", roles=["planner"])
        other.observe("The hotel is full.", by="A1", task="trip", roles=["planner"])
        other.observe("The train runs.", by="A2", id="t", source="document", task="trip", roles=["planner"])
        other.observe("The bus runs – ünless it snows.", by="A1", task="trip", roles=["planner"])
        assert [event.payload for event in team._desk.log.tail()][1:] == [
            event.payload for event in other._desk.log.tail()
        ][1:]
        assert [event.digest for event in team._desk.log.tail()][1:] == digests
        again = team.observe_many(given_as, by="A1", task="trip", roles=["planner"])
        assert again[1] == digests[1]
        assert again[0] != digests[0]
        assert team.epoch == other.epoch + 2, "two without an id are new, and the named one is not"


@pytest.mark.parametrize(
    ("given_as", "shared", "said"),
    [
        (["fine", ""], {"by": "A1"}, r"observations\[1\].*text"),
        (["fine", {"text": "x", "By": "A1"}], {"by": "A1"}, r"observations\[1\].*By"),
        ([{"text": "x"}], {}, r"observations\[0\].*by"),
        (["fine", 7], {"by": "A1"}, r"observations\[1\]"),
        (["fine"], {"by": "A1", "id": "x"}, "id: each observation has its own"),
        ("fine", {"by": "A1"}, "give a list"),
        (["fine", "x" * 200_001], {"by": "A1"}, r"observations\[1\].*text"),
        (["fine", "a lone \ud800"], {"by": "A1"}, r"observations\[1\]"),
        (["fine"], {"by": "A1", "roles": "planner"}, r"observations\[0\].*roles"),
    ],
)
def test_a_bad_observation_is_named_and_nothing_is_written(
    given_as: list[object], shared: dict[str, str], said: str
) -> None:
    with Workspace.open() as team:
        epoch = team.epoch
        with pytest.raises(RecordError, match=said):
            team.observe_many(given_as, **shared)  # type: ignore[arg-type]
        assert team.epoch == epoch


def test_a_conflict_in_a_batch_leaves_nothing() -> None:
    with Workspace.open() as team:
        team.observe("The hotel is full.", by="A1", id="h")
        epoch = team.epoch
        with pytest.raises(ConflictError, match="'observe:h'"):
            team.observe_many(["one", {"text": "The hotel has rooms.", "id": "h"}, "two"], by="A1")
        assert team.epoch == epoch
