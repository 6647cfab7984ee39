"""A loop of calls in a batch: observations wait to be written together, and readers see no difference."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit import Identity, Workspace
from readmit.errors import ConflictError, NotAllowedError, ReadmitError, RecordError, StoreError
from readmit.events import EventKind
from readmit.log.engines.sqlite import SqliteConnection
from readmit.log.indexes.index_rows import INDEXES
from readmit.log.log import Log
from readmit.log.log_end import written
from readmit.records.acts.draft import draft
from readmit.records.base import utc
from readmit.types import Evidence, Fact, Scope
from tests.conftest import examples
from tests.crash.team import verify
from tests.scene import HOUR, START, audited, indexed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from readmit.records.acts.draft import Draft

ANN = Identity(workspace="default", principal="ann", role="planner", task="trip")


@pytest.fixture
def team(place: Path | str) -> Iterator[Workspace]:
    with Workspace.open(place, clock=lambda: START) as opened:
        yield opened


# Whatever is read within the batch, everything written so far is there.

READS: dict[str, Callable[[Workspace, str], object]] = {
    "the end": lambda team, _: team.epoch == 3,
    "the last moment": lambda team, _: team._desk.log.learnt == START,
    "the log": lambda team, _: [event.epoch for event in team._desk.log.tail()] == [1, 2, 3],
    "an event": lambda team, _: team.admin.log.event(3).payload.text == "two",  # type: ignore[attr-defined]
    "evidence": lambda team, digest: team._desk.log.evidence(digest).epoch == 3,
    "whether there is evidence": lambda team, digest: team._desk.log.evidence_id(digest),
    "a sighting": lambda team, digest: team._desk.log.sighting(digest)[digest].intact,
    "a name": lambda team, digest: team._desk.log.named(EventKind.OBSERVE, digest[:32]),
    "what ann can see": lambda team, _: len(team._desk.log.observations(ANN, until=99)) == 2,
    "who wrote": lambda team, _: team._desk.log.wrote("bob", since=2),
    "the indexes": lambda team, _: sum(name.startswith("obs") for name, _ in indexed(team._desk.log, "name")) == 2,
    "an item that rests on it": lambda team, digest: team.record("it is so", sources=[digest], by="bob"),
}


@pytest.mark.parametrize("case", READS)
def test_a_read_sees_what_waits(team: Workspace, case: str) -> None:
    with team.batch():
        team.observe("one", by="bob")
        digest = team.observe("two", by="bob")
        assert READS[case](team, digest)
    assert audited(team).intact


# A call that fails leaves the batch as it was before.

LONG = ["".join(chr(0x20000 + 37 * number % 9_000) for number in range(place, place + 256)) for place in (0, 300, 600)]
FAILURES: dict[str, Callable[[Workspace], object]] = {
    "an empty text": lambda team: team.observe("", by="bob"),
    "a text that is none": lambda team: team.observe(7, by="bob"),  # type: ignore[arg-type]
    "half a character": lambda team: team.observe("x\ud800", by="bob"),
    "too long a text": lambda team: team.observe("x" * 200_001, by="bob"),
    "a role that is a text": lambda team: team.observe("text", by="bob", roles="planner"),
    "a moment without a zone": lambda team: team.observe("text", by="bob", at=START.replace(tzinfo=None)),
    "an id of something else": lambda team: team.observe("another", by="bob", id="first"),
    "an id of something that waits": lambda team: team.observe("another", by="bob", id="second"),
    "an id that is none": lambda team: team.observe("text", by="bob", id="not an id"),
    "in another's name": lambda team: team._desk.writer.write(
        EventKind.OBSERVE, Evidence(text="x", by="cy", at=START, scope=Scope(workspace="default")), by="bob"
    ),
    "in another workspace": lambda team: team._desk.writer.write(
        EventKind.OBSERVE, Evidence(text="x", by="bob", at=START, scope=Scope(workspace="other")), by="bob"
    ),
    "one of many": lambda team: team.observe_many(["fine", ""], by="bob"),
    "a record": lambda team: team.record("text", by="bob", depends_on=["nothing"]),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_that_is_caught_leaves_the_batch_as_it_was(team: Workspace, place: Path | str, case: str) -> None:
    team.observe("one", by="bob", id="first")
    with team.batch():
        team.observe("two", by="bob", id="second")
        team.observe("three", by="bob")
        before = team.epoch
        with pytest.raises(ReadmitError):
            FAILURES[case](team)
        assert team.epoch == before
        team.observe("four", by="bob")
    texts = [event.payload.text for event in team.admin.log.tail() if event.kind == "observe"]  # type: ignore[attr-defined]
    assert texts == ["one", "two", "three", "four"]
    assert audited(team).intact
    team.close()
    verify(place).close()


def test_observations_with_names_too_long_for_an_index_are_found(team: Workspace) -> None:
    """Which of them an agent can see is in the signed map, whose keys have a short form."""
    task, role, reader = LONG
    with team.batch():
        team.observe("one", by="bob")
        team.observe("two", by="bob", task=task, roles=[role], principals=[reader])
        team.observe("three", by="bob")
    who = Identity(workspace=team.name, principal=reader, role=role, task=task)
    seen = team._desk.log.observations(who, until=team.epoch)
    assert [event.payload.text for event in seen] == ["one", "two", "three"]  # type: ignore[attr-defined]
    assert audited(team).intact


def test_the_same_under_the_same_id_is_nothing_new_and_everything_else_is(team: Workspace) -> None:
    before = team.epoch
    with team.batch():
        first = team.observe("one", by="bob")
        second = team.observe("one", by="bob")
        assert second != first, "two observations, each with a salt of its own"
        named = team.observe("one", by="bob", id="named")
        assert team.observe("one", by="bob", id="named") == named
        assert team.epoch == before + 3
    third = team.observe("one", by="bob")
    assert team.observe("one", by="bob", id="named") == named
    assert [event.digest for event in team._desk.log.tail(since=before)] == [first, second, named, third]
    assert team._desk.log.evidence(first).epoch == before + 1
    assert audited(team).intact


def test_epochs_are_those_of_the_log(team: Workspace) -> None:
    def observed(text: str) -> list[int]:
        evidence = Evidence(text=text, by="bob", at=START, scope=Scope(workspace="default"))
        return team._desk.log.append([draft(EventKind.OBSERVE, evidence, id=None, by="bob", at=START)], now=START)

    with team.batch():
        assert [observed(text) for text in ("one", "two", "one", "three")] == [[2], [3], [4], [5]]


# Any order of calls, reads and levels comes to the same log as one durable call after the other.


def observation(text: str, name: str | None, roles: tuple[str, ...]) -> Draft:
    evidence = Evidence(text=text, by="A1", at=START, scope=Scope(workspace="team", roles=roles))
    return draft(EventKind.OBSERVE, evidence, id=name, by="A1", at=START)


def item(name: str) -> Draft:
    fact = Fact(id=name, text=f"Statement {name}", by="A1", scope=Scope(workspace="team"), slot="s")
    return draft(EventKind.RECORD, fact, id=name, by="A1", at=START)


observations = st.builds(
    observation, st.sampled_from("abcdef"), st.sampled_from((None, None, "n1", "n2")), st.sampled_from(((), ("buyer",)))
)
calls = st.lists(
    st.one_of(
        st.tuples(st.just("append"), observations),
        st.tuples(st.just("append"), observations),
        st.tuples(st.just("append"), st.builds(item, st.sampled_from("xy"))),
        st.tuples(st.just("kept"), st.lists(observations, max_size=4)),
        st.tuples(st.just("undone"), st.lists(observations, max_size=4)),
        st.tuples(st.just("read"), st.none()),
    ),
    max_size=14,
)


def stored(log: Log) -> dict[str, list[Any]]:
    rows = {index: list(indexed(log, index)) for index in INDEXES}
    return rows | {"event": list(log.tail()), "end": [log.head, log.learnt]}


def append_all(log: Log, entries: list[Draft], *, undone: bool) -> list[object]:
    outcomes: list[object] = []
    with suppress(KeyError), log.atomic():
        outcomes = [attempt(log, one) for one in entries]
        if undone:
            outcomes = []
            raise KeyError
    return outcomes


def attempt(log: Log, entry: Draft) -> object:
    try:
        return log.append([entry], now=START)
    except ConflictError as error:
        return str(error)


@given(calls, st.sampled_from((1, 2, 10_000)))
@settings(max_examples=examples(150))
def test_a_batch_is_one_call_after_the_other(made: list[tuple[str, Any]], most: int) -> None:
    batch, apart = (Log(SqliteConnection(":memory:"), "team") for _ in range(2))
    outcomes: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("readmit.log.log_end._MOST", most)
        with batch.atomic():
            for kind, what in made:
                match kind:
                    case "append":
                        outcomes.append(attempt(batch, what))
                    case "kept" | "undone":
                        outcomes += append_all(batch, what, undone=kind == "undone")
                    case "read":
                        assert len(list(batch.tail())) == batch.head
    one_by_one: list[object] = []
    for kind, what in made:
        entries = {"append": [what], "kept": what}.get(kind, [])
        one_by_one += [attempt(apart, entry) for entry in entries]
    assert outcomes == one_by_one
    assert stored(batch) == stored(apart)


# What can go wrong later.


def test_what_cannot_be_written_is_not_committed_whatever_is_caught(
    team: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when the batch is written: a caller that goes on all the same writes nothing."""
    team.observe("before", by="bob")
    before = team.epoch

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    def work() -> None:
        with team.batch():
            team.observe("one", by="bob")
            with monkeypatch.context() as patch:
                patch.setattr("readmit.log.log.insert", full)
                for _ in range(2):
                    with pytest.raises((StoreError, sqlite3.OperationalError)):
                        team._desk.log.named(EventKind.OBSERVE, "x")
                with pytest.raises((StoreError, sqlite3.OperationalError)):
                    team.record("two", by="bob")
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert team.epoch == before
    team.observe("after", by="bob")
    assert audited(team).intact


def test_a_batch_whose_last_writes_fail_is_undone(team: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    before = team.epoch

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    def work(levels: int) -> None:
        with team.batch():
            if levels:
                work(levels - 1)
            else:
                team.observe("one", by="bob")

    for levels in (0, 1):
        with monkeypatch.context() as patch:
            patch.setattr("readmit.log.log.insert", full)
            with pytest.raises((StoreError, sqlite3.OperationalError)):
                work(levels)
        assert team.epoch == before
        assert not team._desk.log.pending
    # A level alone is undone; the batch around it goes on.
    with team.batch():
        with monkeypatch.context() as patch:
            patch.setattr("readmit.log.log.insert", full)
            with pytest.raises((StoreError, sqlite3.OperationalError)):
                work(0)
        assert team.epoch == before
        team.observe("two", by="bob")
    assert team.epoch == before + 1
    assert audited(team).intact


def interrupted(*_: object, **__: object) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["log_end.event_data", "log_end.bytearray", "log_end.End"])
@pytest.mark.parametrize("first", [True, False])
def test_an_observation_interrupted_half_way_spoils_its_batch(
    team: Workspace, monkeypatch: pytest.MonkeyPatch, step: str, *, first: bool
) -> None:
    """An interrupt between two steps, which the caller catches, must not leave a gap in the log."""

    def work(*, goes_on: bool) -> None:
        with team.batch():
            if not first:
                team.observe("one", by="bob")
            with monkeypatch.context() as patch:
                patch.setattr(f"readmit.log.{step}", interrupted, raising=False)
                with pytest.raises(KeyboardInterrupt):
                    team.observe("two", by="bob")
            if goes_on:
                team.observe("three", by="bob")

    for goes_on in (False, True):
        with suppress(StoreError):
            work(goes_on=goes_on)
        assert [event.epoch for event in team._desk.log.tail()] == list(range(1, team.epoch + 1))
        assert audited(team).intact


def test_threads_that_observe_in_batches_take_turns(place: Path | str) -> None:
    team = Workspace.open(place, clock=lambda: START)
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(10):
                with team.batch():
                    for part in range(4):
                        team.observe(f"{name} {number} {part}", by=f"{name}.{number}")
                assert len(list(team._desk.log.tail())) <= team.epoch
        except BaseException as error:  # noqa: BLE001 - reported below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    writers = [event.by for event in team._desk.log.tail()][1:]
    assert len(writers) == 160
    assert all(len(set(writers[start : start + 4])) == 1 for start in range(0, 160, 4)), "a batch is one run of the log"
    team.close()
    verify(place).close()


def test_a_refused_observation_is_not_written(place: Path | str) -> None:
    def refuse(_: Draft) -> None:
        raise NotAllowedError("not this one")

    with Workspace.open(place, clock=lambda: START) as team, team.batch():
        before = team.epoch
        with pytest.raises(NotAllowedError):
            team._desk.log.append([observation("a", None, ())], now=START, check=refuse)
        assert team.epoch == before
        assert not any(event.kind == "observe" for event in team._desk.log.tail())


# What is checked once for many is the same as checked for each.

SPOKEN: dict[str, dict[str, Any]] = {
    "the same": {},
    "by another": {"by": "cy"},
    "for a task": {"task": "trip"},
    "for roles": {"roles": ["planner", "buyer"]},
    "for principals": {"principals": ("ann",)},
    "a document": {"source": "document"},
    "its default said": {"source": "messages"[:-1]},
    "named": {"id": "n"},
    "at a moment": {"at": START - HOUR},
    "at a moment elsewhere": {"at": (START - HOUR).astimezone(timezone(timedelta(hours=2)))},
}


@pytest.mark.parametrize("then", SPOKEN)
@pytest.mark.parametrize("first", SPOKEN)
def test_an_observation_is_the_same_after_any_other(first: str, then: str) -> None:
    with Workspace.open(clock=lambda: START) as team, Workspace.open(clock=lambda: START) as other:
        team.observe("The hotel is full.", **{"by": "bob"} | SPOKEN[first])
        said = {"by": "bob"} | {key: value for key, value in SPOKEN[then].items() if key != "id"}
        digest = team.observe("The train runs.", **said)
        again = other.observe("The train runs.", **said)
        assert digest != again, "each has a salt of its own"
        after, alone = team._desk.log.evidence(digest), other._desk.log.evidence(again)
        assert (after.by, after.at, after.payload) == (alone.by, alone.at, alone.payload)


@pytest.mark.parametrize("text", ["", 7, None, "x\ud800", "x" * 200_001])
def test_a_bad_text_is_refused_after_a_good_one(text: Any) -> None:
    with Workspace.open() as team:
        team.observe("fine", by="bob")
        with pytest.raises(RecordError):
            team.observe(text, by="bob")
        assert team.epoch == 2


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_is_written_as_the_standard_library_writes_it(moment: datetime) -> None:
    assert written(utc(moment)) == moment.isoformat()
