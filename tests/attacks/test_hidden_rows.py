"""A row of an index is hidden during one call and put back afterwards: the call is refused, and nothing came of it."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Reason, State, Workspace
from readmit.cli.references import resolve_id
from readmit.errors import ConflictError, RateError, ReadmitError, TamperedError, UnknownError
from readmit.log.engines.sqlite_schema import TABLES
from readmit.memory import Memory
from readmit.pages.gather_slot import slot_values
from readmit.types import Sweeper
from tests.scene import Scene, audited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def rows_of(scene: Scene, table: str, where: str, *values: Any) -> list[Any]:
    sql: Any = scene.team._desk.log.connection.sql
    with scene.team._desk.log.reading():
        found: list[Any] = sql.execute(f"SELECT * FROM {table} WHERE {where}", values).fetchall()  # noqa: S608
    return found


@contextmanager
def hidden(scene: Scene, table: str, where: str, *values: Any) -> Iterator[None]:
    """Rows of an index that are not there for a moment."""
    rows = rows_of(scene, table, where, *values)
    scene.sql(f"DELETE FROM {table} WHERE {where}", *values)  # noqa: S608 - our own names
    yield
    for row in rows:
        # A refusal may have put a newer row in its place: the limited write waits for an overseer.
        scene.sql(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))}) ON CONFLICT DO NOTHING", *row)  # noqa: S608
    assert rows


def is_intact(scene: Scene) -> bool:
    return audited(scene.team).problems == ()


def test_a_write_into_a_slot_whose_rival_is_hidden_is_refused() -> None:
    scene = Scene()
    scene.fact("h0", slot="hotel")
    for name in ("bea", "cal"):
        agent = scene.team.agent(name, role="planner", task="trip")
        agent.depart()
        agent.come_back().expose()
    rival = scene.fact("h1", slot="hotel", by="bea", sources=[scene.news("Riverside confirms.")])
    source = scene.news("Sunrise confirms.")
    where = "slot = 'hotel' AND epoch = (SELECT epoch FROM name WHERE id = ?)"
    with hidden(scene, "slot_item", where, f"item:{rival}"), pytest.raises(TamperedError, match="known of a slot"):
        scene.fact("h2", slot="hotel", by="cal", sources=[source])
    assert is_intact(scene)
    scene.fact("h2", slot="hotel", by="cal", sources=[source])
    scene.depart()
    scene.come_back()
    assert Reason.CONCURRENT_UPDATE in scene.reasons("h1")


def test_a_sweep_that_does_not_see_a_lease_is_refused() -> None:
    scene = Scene()
    scene.fact("a")
    scene.ann().present(lease=timedelta(minutes=1))
    scene.now += timedelta(minutes=5)
    scene.fact("b")
    with hidden(scene, "milestone", "kind = 'lease'"), pytest.raises(TamperedError, match="who has lease events"):
        Sweeper(scene.team._desk.writer).sweep()
    assert is_intact(scene)
    assert len(Sweeper(scene.team._desk.writer).sweep().departed) == 1


def test_a_return_that_does_not_see_an_observation_is_refused() -> None:
    scene = Scene()
    scene.duty(required=("ci",))
    scene.fact("ci0", slot="ci")
    scene.depart()
    scene.news("Lunch is at noon.")
    last = "pos = (SELECT max(pos) FROM event WHERE kind = 'observe')"
    with hidden(scene, "event", last):
        assert scene.ann().come_back().reasons == (Reason.LOG_ALTERED,)
    assert is_intact(scene)
    assert scene.come_back().decision.unheeded == 1


def test_a_search_that_does_not_see_who_carries_the_evidence_is_refused() -> None:
    scene = Scene()
    scene.duty(required=("d",))
    scene.fact("a", supports=["d"])
    other = scene.news("The pool is open.")
    scene.fact("p0", sources=[other])
    memory = Memory.open(scene.team, "scopedmem")
    memory.form("The pool is open all day.", by="bob", evidence=[other])
    scene.depart()
    scene.team.revoke("p0", by="bob", reason="it is shut")
    bundle = scene.come_back().expose()
    name = f"observe:{other[:32]}"
    with hidden(scene, "name", "id = ?", name), pytest.raises(TamperedError, match="the sources of records"):
        memory.returned(bundle).records()
    assert memory.returned(bundle).records() == ()


def test_a_replay_that_does_not_see_an_event_is_refused(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "team.db")
    scene.keeps = True
    scene.fact("a")
    scene.depart()
    past = scene.come_back().id
    scene.fact("b")
    first = "class = 'state' AND epoch = (SELECT epoch FROM name WHERE id = 'item:a')"
    with hidden(scene, "audience", first):
        # A process that proved the row before keeps what it proved.
        assert scene.team.returned(past).replay().matches
        with Workspace.open(scene.path) as fresh, pytest.raises(TamperedError, match="what 'ann' can see"):
            fresh.returned(past).replay()
    assert scene.team.returned(past).replay().matches


# Whatever a writer's limits and the meaning of names rest on: every table is tried, so that none can be forgotten.


@dataclass(frozen=True)
class Refused:
    """A write that a limit or another meaning of a name refuses."""

    act: Callable[[Scene], object]
    error: type[ReadmitError]


def at_its_limit(scene: Scene) -> None:
    scene.fact("a")
    scene.fact("b", supports=["ride"])
    scene.fact("on-trip", slot="bed", task="trip")
    scene.fact("everywhere", slot="hotel")
    scene.duty()
    scene.frontier()
    scene.team.dispute(["a"], by="eve")
    scene.team.oblige("Pay", by="eve", required=["d"])


REFUSED = {
    "an act beyond what a writer may end": Refused(lambda scene: scene.team.dispute(["b"], by="eve"), RateError),
    "a statement in the place of another writer's": Refused(
        lambda scene: scene.fact("h", slot="hotel", by="eve"), RateError
    ),
    "a statement on every task in the place of one on a task": Refused(
        lambda scene: scene.fact("h", slot="bed", by="eve"), RateError
    ),
    "a statement on a task in the place of one on every task": Refused(
        lambda scene: scene.fact("h", slot="hotel", task="trip", by="eve"), RateError
    ),
    "a frontier in the place of another writer's": Refused(lambda scene: scene.frontier("f2", by="eve"), RateError),
    "a duty beyond those that a writer may open for others": Refused(
        lambda scene: scene.team.oblige("Pay more", by="eve", required=["d"]), RateError
    ),
    "a slot that is named as a dependency": Refused(
        lambda scene: scene.fact("h", supports=["hotel"], by="bob"), ConflictError
    ),
    "a dependency that is named as a slot": Refused(lambda scene: scene.fact("h", slot="ride"), ConflictError),
}


@pytest.mark.parametrize("case", REFUSED)
def test_no_row_that_is_hidden_lets_a_write_through(case: str) -> None:
    scene = Scene(limits={"invalidations": 1, "duties": 1})
    at_its_limit(scene)
    for table in re.findall(r"CREATE TABLE (\w+)", TABLES):
        if rows_of(scene, table, "1 = 1"):
            with hidden(scene, table, "1 = 1"), pytest.raises(ReadmitError):
                REFUSED[case].act(scene)
    assert is_intact(scene)
    with pytest.raises(REFUSED[case].error):
        REFUSED[case].act(scene)


def test_the_body_of_a_statement_is_proven_before_it_decides_what_another_ends() -> None:
    scene = Scene(limits={"invalidations": 0})
    scene.fact("h", slot="hotel")
    with altered(scene, "h", lambda body: body.replace(b'"bob"', b'"eve"')), pytest.raises(TamperedError):
        scene.fact("h2", slot="hotel", by="eve")
    assert is_intact(scene)


@contextmanager
def altered(scene: Scene, item: str, change: Callable[[bytes], bytes]) -> Iterator[None]:
    """An event with another body, and the digest of that body, for a moment."""
    ((_, _, _, _, _, _, body, digest, *_),) = rows_of(scene, "event", "id = ?", f"item:{item}")
    other = change(bytes(body))
    assert other != bytes(body)
    for now, digest_now in ((other, sha256(other).hexdigest()), (bytes(body), digest)):
        scene.sql("UPDATE event SET body = ?, digest = ? WHERE id = ?", now, digest_now, f"item:{item}")
        if now is other:
            yield


# Reads of subscriptions and of diagnosis.


def held_view() -> tuple[Scene, Any]:
    """A subscription to a view with the item h."""
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.come_back().expose()
    held = scene.ann().subscribe()
    assert held.wait(0) == ()
    return scene, held


def test_a_subscription_that_sees_another_event_is_refused_and_then_told() -> None:
    scene, held = held_view()
    scene.team.revoke("h", by="bob", id="gone")
    ((*_, body, digest, _, _, _),) = rows_of(scene, "event", "id = ?", "revoke:gone")
    (seen, *_) = rows_of(scene, "event", "kind = 'observe'")
    change = "UPDATE event SET kind = ?, body = ?, digest = ? WHERE id = 'revoke:gone'"
    scene.sql(change, "observe", bytes(seen[6]), seen[7])
    with pytest.raises(TamperedError):
        held.wait(0)
    scene.sql(change, "revoke", bytes(body), digest)
    assert [(one.item, one.state) for one in held.wait(0)] == [("h", State.REVOKED)]
    assert is_intact(scene)


def test_a_subscription_is_told_whatever_is_hidden_at_its_first_look() -> None:
    for table in re.findall(r"CREATE TABLE (\w+)", TABLES):
        scene, held = held_view()
        scene.team.revoke("h", by="bob")
        told: list[Any] = []
        if rows_of(scene, table, "1 = 1"):
            with hidden(scene, table, "1 = 1"), suppress(ReadmitError):
                told += held.wait(0)
        told += held.wait(0)
        assert [one.item for one in told] == ["h"], table


def test_a_diagnosis_that_does_not_see_an_audience_or_its_items_is_refused() -> None:
    scene = Scene()
    scene.duty(required=("d",))
    scene.fact("h", supports=["d"], roles=["driver"])
    scene.fact("g", supports=["e"], roles=["driver"])
    back = scene.away()
    last = "role = 'driver' AND epoch = (SELECT epoch FROM name WHERE id = 'item:h')"
    for rows in (last, "role = 'driver'"):
        with hidden(scene, "audience", rows), pytest.raises(TamperedError):
            back.why()
    assert is_intact(scene)
    assert any("h" in one.about for one in back.why().symptoms)


# Names that are typed, and evidence that is looked up.


def test_the_beginning_of_an_id_does_not_lead_to_the_only_item_that_is_not_hidden() -> None:
    scene = Scene()
    for name in ("hotel-1", "hotel-2"):
        scene.fact(name)
    with pytest.raises(UnknownError, match="give more of it"):
        resolve_id(scene.team, ("item",), "hotel", label="ITEM")
    with hidden(scene, "name", "id = 'item:hotel-2'"), pytest.raises(TamperedError, match="ids of item events"):
        resolve_id(scene.team, ("item",), "hotel", label="ITEM")
    scene.depart(id="left-1")
    with hidden(scene, "name", "id = 'depart:left-1'"), pytest.raises(TamperedError, match="ids of depart events"):
        resolve_id(scene.team, ("depart",), "left", label="DEPARTURE")


@pytest.mark.parametrize("given", [None, "the-call"])
def test_evidence_that_leads_to_another_event_is_refused(given: str | None) -> None:
    scene = Scene()
    one = scene.team.observe("The hotel confirms.", by="bob", id=given)
    other = scene.news("The hotel cancels.")
    table, column, key = ("name", "id", f"observe:{one[:32]}") if given is None else ("filed", "digest", one)
    ((*_, epoch),) = rows_of(scene, table, f"{column} = ?", key)
    ((*_, wrong),) = rows_of(scene, "name", "id = ?", f"observe:{other[:32]}")
    scene.sql(f"UPDATE {table} SET epoch = ? WHERE {column} = ?", wrong, key)  # noqa: S608 - our own names
    for read in (scene.team._desk.log.evidence, scene.team._desk.log.sighting):
        with pytest.raises(TamperedError, match="filed under another's epoch"):
            read(one)
    with pytest.raises(TamperedError, match="filed under another's epoch"):
        scene.fact("a", sources=[one])
    scene.sql(f"UPDATE {table} SET epoch = ? WHERE {column} = ?", epoch, key)  # noqa: S608 - as above
    assert is_intact(scene)


def test_the_page_of_a_slot_that_does_not_see_a_task_is_refused() -> None:
    scene = Scene()
    scene.fact("a", slot="hotel", task="trip")
    scene.fact("b", slot="hotel", task="fair")
    with hidden(scene, "slot_item", "task = 'fair'"), pytest.raises(TamperedError, match="the slots"):
        slot_values(scene.team._desk.log, "hotel", now=scene.now)
    with pytest.raises(UnknownError, match="is used on fair, trip"):
        slot_values(scene.team._desk.log, "hotel", now=scene.now)


def test_a_memory_that_was_not_given_back_stays_so_if_another_decision_is_filed() -> None:
    scene = Scene()
    scene.covered()
    scene.ann().remember("Ask for a late check-in.", bound_to="h", id="x")
    first = scene.away()
    first.expose()
    assert [one.id for one in scene.ann().recall()] == ["x"]
    scene.depart()
    scene.fact("h2", supports=["d"], sources=[scene.news("The train confirms.")])
    scene.team.revoke("h", by="bob")
    second = scene.come_back()
    second.expose()
    assert scene.ann().recall() == ()
    bodies = {row[1]: bytes(row[4]) for row in rows_of(scene, "audit", "kind = 'decision'")}
    scene.sql("UPDATE audit SET body = ? WHERE kind = 'decision' AND return_id = ?", bodies[first.id], second.id)
    with pytest.raises(TamperedError, match="is not the one in the log"):
        scene.ann().recall()
    scene.sql("UPDATE audit SET body = ? WHERE kind = 'decision' AND return_id = ?", bodies[second.id], second.id)
    assert is_intact(scene)
