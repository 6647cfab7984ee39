"""What the log is asked beside what an identity can see: its last moment, rivals, names, duties, who wrote."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Identity
from readmit.events import EventKind
from readmit.log.engines.sql import CHUNK
from readmit.log.location import open_store
from readmit.policies import Policy
from readmit.records.acts.draft import draft
from readmit.records.acts.event import Revoke
from readmit.records.acts.operation import Acknowledge, Exposed
from readmit.records.decisions import Request, Returned
from readmit.records.verdicts import Examine
from readmit.types import Checkpoint, Event, Evidence, Fact, Frontier, Obligation, Scope
from tests.scene import HOUR, START

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from readmit.events import DeclaredKind
    from readmit.log.log import Log
    from readmit.records.acts.draft import Draft

ANN = Identity(workspace="team", principal="ann", role="planner", task="trip")


@pytest.fixture
def log(place: Path | str) -> Iterator[Log]:
    opened = open_store(place, "team").log
    yield opened
    opened.close()


def scope(**fields: Any) -> Scope:
    return Scope(workspace="team", **fields)


def seen(text: str, by: str = "bob", *, id: str | None = None) -> Draft:
    evidence = Evidence(text=text, by=by, at=START, scope=scope())
    return draft(EventKind.OBSERVE, evidence, id=id, by=by, at=START)


def fact(name: str, *, slot: str | None = None, supports: tuple[str, ...] = (), by: str = "bob", **where: Any) -> Draft:
    item = Fact(id=name, text=f"Statement {name}", by=by, scope=scope(**where), slot=slot, supports=supports)
    return draft(EventKind.RECORD, item, id=name, by=by, at=START)


def duty(name: str, *, by: str = "bob", kind: DeclaredKind = EventKind.OPEN, **where: Any) -> Draft:
    item = Obligation(
        id=name, text=f"Duty {name}", by=by, scope=scope(**where), required=("d",), slot=f"slot-of-{name}"
    )
    return draft(kind, item, id=name, by=by, at=START)


# The last moment.


@dataclass(frozen=True)
class Learning:
    """When the log learns something, in hours from the start, and the last moment that it then has learnt."""

    at: tuple[float, ...]
    last: float | None


LEARNINGS = {
    "nothing": Learning((), None),
    "once": Learning((0,), 0),
    "later and later": Learning((0, 1, 2), 2),
    "a clock that was set back": Learning((0, 5, 1), 5),
    "a clock ten years ahead": Learning((0, 87_600, 1), 87_600),
    "whole seconds before fractions": Learning((0, 0.0001), 0.0001),
    "fractions before whole seconds": Learning((0.0001, 0), 0.0001),
}


@pytest.mark.parametrize("within_batch", [False, True])
@pytest.mark.parametrize("case", LEARNINGS)
def test_the_last_moment_that_the_log_has_learnt(place: Path | str, log: Log, case: str, *, within_batch: bool) -> None:
    given = LEARNINGS[case]
    wanted = None if given.last is None else START + given.last * HOUR

    def write() -> None:
        for number, hours in enumerate(given.at):
            log.append([seen(f"text {number}")], now=START + hours * HOUR)
        assert log.learnt == wanted

    if within_batch:
        with log.atomic():
            write()
    else:
        write()
    assert log.learnt == wanted
    again = open_store(place, "team").log
    assert again.learnt == wanted, "it is stored"
    again.close()


def test_the_last_moment_goes_back_with_a_level_that_is_undone(log: Log) -> None:
    def abandoned(now: datetime) -> None:
        with log.atomic():
            log.append([seen("lost")], now=now)
            assert log.learnt == now
            raise KeyError

    log.append([seen("one")], now=START)
    with log.atomic():
        log.append([seen("two")], now=START + HOUR)
        with pytest.raises(KeyError):
            abandoned(START + 9 * HOUR)
        assert log.learnt == START + HOUR
    with pytest.raises(KeyError):
        abandoned(START + 9 * HOUR)
    assert log.learnt == START + HOUR


def test_what_is_already_known_teaches_nothing(log: Log) -> None:
    log.append([seen("one", id="e")], now=START)
    log.append([seen("one", id="e")], now=START + HOUR)
    assert log.learnt == START


def test_each_workspace_has_its_own_last_moment(place: Path | str, log: Log) -> None:
    other = open_store(place, "other").log
    log.append([seen("one")], now=START)
    assert (log.learnt, other.learnt) == (START, None)
    other.close()


# Rivals.

ITEMS = (
    fact("open", slot="hotel", task="trip"),
    fact("bare", slot="hotel"),
    fact("hidden", slot="hotel", task="trip", roles=("buyer",)),
    fact("private", slot="hotel", principals=("cy",), visibility="private"),
    fact("elsewhere", slot="hotel", task="other"),
    fact("train", slot="train", task="trip"),
    fact("below", slot="hotel.room", task="trip"),
    fact("unslotted", task="trip"),
)


@dataclass(frozen=True)
class Asked:
    """For which rivals the log is asked, and which it names, in order."""

    tasks: tuple[str | None, ...]
    slots: tuple[str, ...]
    found: tuple[str, ...]
    known: tuple[str, ...] = ()
    until: int = 99


ASKED = {
    "a task and no task": Asked((None, "trip"), ("hotel",), ("open", "bare", "hidden", "private")),
    "no task alone": Asked((None,), ("hotel",), ("bare", "private")),
    "one task alone": Asked(("trip",), ("hotel",), ("open", "hidden")),
    "several slots": Asked((None, "trip"), ("train", "hotel"), ("open", "bare", "hidden", "private", "train")),
    "what is known": Asked((None, "trip"), ("hotel",), ("hidden", "private"), known=("open", "bare")),
    "everything known": Asked((None, "trip"), ("train",), (), known=("train",)),
    "up to an epoch": Asked((None, "trip"), ("hotel",), ("open", "bare"), until=2),
    "a slot named twice": Asked(("trip",), ("train", "train"), ("train",)),
    "a task named twice": Asked(("trip", "trip"), ("train",), ("train",)),
    "no slot": Asked((None, "trip"), (), ()),
    "no task at all": Asked((), ("hotel",), ()),
    "an unknown slot": Asked((None, "trip"), ("boat",), ()),
}


@pytest.mark.parametrize("walk", [0, 99], ids=["searched", "walked"])
@pytest.mark.parametrize("case", ASKED)
def test_rivals(log: Log, case: str, walk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, whether each slot is searched for or the task's whole index is walked through."""
    monkeypatch.setattr("readmit.log.indexes.proven_lists._WALK", walk)
    asked = ASKED[case]
    epochs = dict(zip((one.id.removeprefix("item:") for one in ITEMS), log.append(ITEMS, now=START), strict=True))
    known = {epochs[name] for name in asked.known}
    found = log.rivals(asked.tasks, asked.slots, until=asked.until, known=known)
    assert [event.payload.id for event in found] == list(asked.found)  # type: ignore[attr-defined]
    assert [event.epoch for event in found] == [epochs[name] for name in asked.found]


@pytest.mark.parametrize("walk", [0, 3])
@pytest.mark.parametrize("chunk", [30, pytest.param(CHUNK, marks=pytest.mark.slow)])
def test_rivals_in_more_slots_than_one_statement_takes(
    log: Log, chunk: int, walk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readmit.log.engines.sql.CHUNK", chunk)
    monkeypatch.setattr("readmit.log.indexes.proven_lists._WALK", walk)
    count = 2 * chunk + chunk // 2
    slots = [f"s{number}" for number in range(count)]
    seen_ = log.append([fact(f"a{number}", slot=slots[number], task="trip") for number in range(count)], now=START)
    hidden = [fact(f"b{number}", slot=slots[number], roles=("buyer",)) for number in range(count)]
    log.append(hidden, now=START)
    found = log.rivals((None, "trip"), reversed(slots), until=log.head, known=set(seen_))
    assert [event.id for event in found] == [one.id for one in hidden]


def test_what_is_known_is_not_read_again(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    epochs = log.append(ITEMS, now=START)
    read: list[Any] = []
    rows = log._rows
    decode = rows.event

    def watched(row: Any) -> Event:
        read.append(row)
        return decode(row)

    with log.reading():
        rows.load(epochs)
        monkeypatch.setattr(rows, "event", watched)
        assert log.rivals((None, "trip"), ["hotel", "train"], until=99, known=frozenset(epochs)) == []
    assert read == []


# Names.


@dataclass(frozen=True)
class Meant:
    """An item, and what its names then mean to everybody."""

    entry: Draft
    slots: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()


NAMES = ("x", "y", "z", "slot-of-o")
MEANT = {
    "a slot": Meant(fact("m", slot="x"), ("x",)),
    "dependencies": Meant(fact("m", supports=("x", "y", "x")), (), ("x", "y")),
    "both": Meant(fact("m", slot="x", supports=("y",)), ("x",), ("y",)),
    "under a task, a role and a principal": Meant(
        fact("m", slot="x", supports=("y",), task="t", roles=("r",), principals=("bob",)), ("x",), ("y",)
    ),
    "a private item": Meant(fact("m", slot="x", supports=("y",), principals=("bob",), visibility="private")),
    "what an obligation requires is not supported yet": Meant(duty("o"), ("slot-of-o",)),
    "neither": Meant(fact("m")),
    "an observation": Meant(seen("x")),
}


@pytest.mark.parametrize("case", MEANT)
def test_what_a_name_means(place: Path | str, log: Log, case: str) -> None:
    other = open_store(place, "other").log
    with log.atomic():
        log.append([MEANT[case].entry], now=START)
        assert tuple(name for name in NAMES if log.is_slot(name)) == MEANT[case].slots
    assert tuple(name for name in NAMES if log.is_slot(name)) == MEANT[case].slots
    assert tuple(name for name in NAMES if log.is_dependency(name)) == MEANT[case].dependencies
    assert not any(other.is_slot(name) or other.is_dependency(name) for name in NAMES)
    other.close()


# Duties opened for others.


@dataclass(frozen=True)
class Opened:
    """Something that bob writes, and how many duties for others that makes."""

    entry: Draft
    count: int


OPENED = {
    "for everybody": Opened(duty("o"), 1),
    "for another": Opened(duty("o", principals=("ann",)), 1),
    "for a role": Opened(duty("o", roles=("planner",)), 1),
    "for oneself and another": Opened(duty("o", principals=("bob", "ann")), 1),
    "for oneself": Opened(duty("o", principals=("bob",)), 0),
    "for oneself, named twice": Opened(duty("o", principals=("bob", "bob")), 0),
    "for oneself in a role": Opened(duty("o", principals=("bob",), roles=("planner",)), 0),
    "privately for another": Opened(duty("o", principals=("ann",), visibility="private"), 1),
    "by the general verb": Opened(duty("o", kind=EventKind.RECORD), 1),
    "by somebody else": Opened(duty("o", by="cy"), 0),
    "a fact": Opened(fact("m"), 0),
}


@pytest.mark.parametrize("case", OPENED)
def test_duties_opened_for_others(log: Log, case: str) -> None:
    log.append([OPENED[case].entry], now=START + HOUR)
    assert log.duties_opened("bob", since=START) == OPENED[case].count
    assert log.duties_opened("bob", since=START + HOUR) == 0, "at that moment is not since"


def test_duties_are_counted_from_a_moment_on(log: Log) -> None:
    for number in range(5):
        log.append([duty(f"o{number}")], now=START + number * HOUR)
        log.append([duty(f"o{number}")], now=START + number * HOUR)
    for number in range(5):
        assert log.duties_opened("bob", since=START + number * HOUR - timedelta(seconds=1)) == 5 - number


# Who wrote.


def checkpoint() -> Checkpoint:
    return Checkpoint(id="left", identity=ANN, epoch=0, at=START, events=0, digest="0" * 64)


def returned() -> Returned:
    request = Request(
        return_id="r", identity=ANN, instance="i", nonce="n", now=START, policy=Policy(), checkpoint="left", epoch=0,
        rules=1,
    )  # fmt: skip
    return Returned(request=request, kind="blocked", decision="0" * 64)


def by_ann(kind: DeclaredKind, payload: object) -> Draft:
    return draft(kind, payload, id="e", by="ann", at=START)


def examine() -> Examine:
    return Examine(checkpoint="left", identity=ANN, verifier="v", until=3)


WROTE = {
    "an observation": (seen("text", by="ann"), True),
    "an item": (fact("m", by="ann"), True),
    "a revocation": (by_ann(EventKind.REVOKE, Revoke(target="first")), True),
    "what another wrote": (fact("m"), False),
    "a departure": (by_ann(EventKind.DEPART, checkpoint()), False),
    "a return": (by_ann(EventKind.RETURN, returned()), False),
    "an exposure": (by_ann(EventKind.EXPOSE, Exposed(return_id="r", instance="i", agent="3:anntrip")), False),
    "an acknowledgement": (by_ann(EventKind.ACKNOWLEDGE, Acknowledge(return_id="r", instance="i")), False),
    "an examination": (by_ann(EventKind.EXAMINE, examine()), False),
}


@pytest.mark.parametrize("case", WROTE)
def test_whether_somebody_wrote_since(place: Path | str, log: Log, case: str) -> None:
    entry, wrote = WROTE[case]
    other = open_store(place, "other").log
    other.append([seen("in another workspace", by="ann")], now=START)
    log.append([fact("first", by="ann"), fact("second")], now=START)
    assert log.wrote("ann", since=0)
    assert not log.wrote("ann", since=1)
    with log.atomic():
        log.append([entry], now=START)
        assert log.wrote("ann", since=2) is wrote
    assert log.wrote("ann", since=2) is wrote
    assert not log.wrote("ann", since=3)
    other.close()


# Milestones of the new kinds.


def test_an_examination_is_found_by_agent_and_an_acknowledgement_by_name(log: Log) -> None:
    log.append([by_ann(EventKind.EXAMINE, examine())], now=START)
    named = draft(EventKind.ACKNOWLEDGE, Acknowledge(return_id="r", instance="i"), id="r", by="ann", at=START)
    log.append([named], now=START)
    latest = log.latest(EventKind.EXAMINE, ANN.agent)
    assert latest is not None
    assert latest.payload == examine()
    assert log.latest(EventKind.EXAMINE) is None
    found = log.named(EventKind.ACKNOWLEDGE, "r")
    assert found is not None
    assert found.payload == Acknowledge(return_id="r", instance="i")


def test_a_frontier_gives_its_slot_a_meaning(log: Log) -> None:
    frontier = Frontier(id="f", text="Half way.", by="bob", scope=scope(), slot="x", obligation="o")
    log.append([duty("o"), draft(EventKind.MOVE, frontier, id="f", by="bob", at=START)], now=START)
    assert log.is_slot("x")


def test_names_are_found_by_their_beginning_in_their_own_name_space(log: Log) -> None:
    revoked = draft(EventKind.REVOKE, Revoke(target="b"), id="a3", by="bob", at=START)
    observed = seen("Seen.")
    log.append([observed, fact("a1"), fact("a~2"), fact("a_3"), fact("b"), revoked], now=START)
    digest = observed.digest
    assert log.beginning_with("item", "a", limit=9) == ["a1", "a_3", "a~2"]
    assert log.beginning_with("item", "a1", limit=9) == ["a1"]
    assert log.beginning_with("item", "a", limit=1) == ["a1"]
    assert log.beginning_with("revoke", "a", limit=9) == ["a3"]
    assert log.beginning_with("evidence", digest[:4], limit=9) == [digest]
    assert log.beginning_with("item", "%", limit=9) == []


def test_a_beginning_is_searched_in_the_index_and_not_by_a_scan(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "a.db", "team").log) as log:
        asked: list[str] = []
        sql: Any = log.connection.sql
        sql.set_trace_callback(asked.append)
        log.beginning_with("item", "a", limit=9)
        log.beginning_with("evidence", "a", limit=9)
        sql.set_trace_callback(None)
        reads = [query for query in asked if query.lstrip().startswith(("SELECT", "WITH"))]
        for query in reads:
            plan = [row[3] for row in sql.execute(f"EXPLAIN QUERY PLAN {query}")]
            # Names that begin so are put apart before events are joined to them.
            apart = ("MATERIALIZE named", "SCAN named", "USE TEMP B-TREE FOR ORDER BY")
            assert all(step.startswith(("SEARCH", *apart)) for step in plan), plan
    # Ids, digests in two tables, and the end of the log under which the ids are proven.
    assert len(reads) == 4
