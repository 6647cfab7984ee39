"""A row of an index is hidden during one call and put back afterwards: the call is refused, and nothing came of it."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Workspace
from readmit.memory import Memory
from readmit.records.errors import TamperedError
from readmit.records.reasons import Reason
from readmit.workspace.auditing import audit
from readmit.workspace.leasing import Sweeper
from tests.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def hidden(scene: Scene, table: str, where: str, *values: Any) -> Iterator[None]:
    """Rows of an index that are not there for a moment."""
    sql: Any = scene.team.log.connection.sql  # type: ignore[attr-defined]
    with scene.team.log.reading():
        rows = sql.execute(f"SELECT * FROM {table} WHERE {where}", values).fetchall()  # noqa: S608 - our own names
    assert rows
    scene.sql(f"DELETE FROM {table} WHERE {where}", *values)  # noqa: S608
    yield
    for row in rows:
        scene.sql(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", *row)  # noqa: S608


def is_intact(scene: Scene) -> bool:
    return audit(scene.team.log).problems == ()


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
        Sweeper(scene.team).sweep()
    assert is_intact(scene)
    assert len(Sweeper(scene.team).sweep().departed) == 1


def test_a_return_that_does_not_see_an_observation_is_refused() -> None:
    scene = Scene()
    scene.duty(required=("ci",))
    scene.fact("ci0", slot="ci")
    scene.depart()
    scene.news("Lunch is at noon.")
    last = "class = 'observation' AND epoch = (SELECT max(epoch) FROM audience WHERE class = 'observation')"
    with hidden(scene, "audience", last):
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
    with hidden(scene, "filed", "digest = ?", other), pytest.raises(TamperedError, match="the sources of records"):
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
        assert scene.team.replay(past).matches
        with Workspace.open(scene.path) as fresh, pytest.raises(TamperedError, match="what 'ann' can see"):
            fresh.replay(past)
    assert scene.team.replay(past).matches
