from __future__ import annotations

from typing import TYPE_CHECKING

from readmit import Workspace
from readmit.inference.derive import VECTOR, maker, source_of
from readmit.log.engines.sqlite import SqliteConnection
from readmit.models import Lexical
from readmit.models.stages.imply import IMPLIED
from tests.inference.world import SHIFT, SHOES, Ruled, away, foresee, hear, home, states

if TYPE_CHECKING:
    from pathlib import Path


def test_two_workspaces_with_equal_texts_share_nothing(tmp_path: Path) -> None:
    model = Ruled()
    file = tmp_path / "team.db"
    with home(file, name="one") as one, home(file, name="two") as two:
        agents = [away(one), away(two)]
        hear(one, SHIFT, SHOES)
        hear(two, SHIFT, SHOES)
        first = foresee(one, model).come_back(agents[0])
        asked = dict(model.asked)
        assert states(first)["bedtime"] == "premise_changed"
        # The other one knows nothing of it: no verdict, no derived text, no vector.
        assert states(agents[1].come_back())["bedtime"] == "admitted"
        facts = maker(model.name, IMPLIED.prompt)
        assert one._desk.log.derived.read(IMPLIED.stored, facts, [source_of(SHIFT)])
        assert not two._desk.log.derived.read(IMPLIED.stored, facts, [source_of(SHIFT)])
        assert not two._desk.log.derived.read(VECTOR, Lexical.name, [source_of(SHIFT)])
        second = foresee(two, model).come_back(agents[1])
        assert states(second)["bedtime"] == "premise_changed"
        assert dict(model.asked) == {stage: 2 * count for stage, count in asked.items()}
        # Nor do the requests of one carry the address of the other's answers.
        keys = [{ask.key(model.name) for ask in model.seen if ask.workspace == name} for name in ("one", "two")]
        assert keys[0].isdisjoint(keys[1])
        ids = [{event.id for event in space._desk.log.tail() if event.kind == "judge"} for space in (one, two)]
        assert ids[0]
        assert ids[0].isdisjoint(ids[1])


def test_forgetting_reaches_one_workspace(tmp_path: Path) -> None:
    with home(tmp_path / "team.db", name="one") as one, home(tmp_path / "team.db", name="two") as two:
        for space in (one, two):
            space._desk.log.derived.write("facts", "m", {"a": b"1", "b": b"2"})
        assert one._desk.log.derived.forget("facts") == 2
        assert two._desk.log.derived.read("facts", "m", ["a", "b", "c"]) == {"a": b"1", "b": b"2"}


def test_derived_texts_survive_the_process_and_older_files_get_their_table(tmp_path: Path) -> None:
    file = tmp_path / "team.db"
    with home(file) as space:
        space._desk.log.derived.write("facts", "m", {"a": b"1"})
        space._desk.log.derived.write("facts", "m", {"a": b"2"})
    with Workspace.open(file, name="home") as space:
        assert space._desk.log.derived.read("facts", "m", ["a"]) == {"a": b"2"}
    connection = SqliteConnection(file)
    query = "SELECT count(*) FROM sqlite_master WHERE name = 'derived'"
    assert connection.sql.execute(query).fetchone() == (1,)
    connection.close()
