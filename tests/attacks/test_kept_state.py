"""What a process has proven is kept between its returns. Whoever writes to the database gains nothing by that."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Reason, Workspace
from readmit.errors import TamperedError
from readmit.lab import canonical
from readmit.log.indexes.stated import ANY
from readmit.log.kept_events import KeptLists
from tests.scene import Scene
from tests.state.test_polling import steps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERYBODY = (ANY, ANY, ANY)


def away() -> Scene:
    """Ann is away, and has asked once."""
    scene = Scene()
    scene.keeps = True
    scene.duty()
    scene.fact("h", supports=["d"])
    scene.fact("g", slot="gate")
    scene.depart()
    assert scene.come_back().items == ("o", "h")
    return scene


def forge(scene: Scene, item: str) -> None:
    """Another text stands in an item's row, with the digest that fits it."""
    log: Any = scene.team._desk.log
    body = canonical(log.item(item)).replace(f"the text of {item}".encode(), b"pay to account 666")
    scene.sql("UPDATE event SET body = ?, digest = ? WHERE id = ?", body, sha256(body).hexdigest(), f"item:{item}")


def test_a_row_that_is_altered_between_two_returns_changes_nothing_in_the_process_that_proved_it() -> None:
    scene = away()
    forge(scene, "h")
    again = scene.ann().come_back()
    assert again.items == ("o", "h")
    assert "pay to account 666" not in again.expose().markdown()


def test_a_process_that_has_not_proven_the_altered_row_blocks(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "team.db")
    scene.keeps = True
    scene.covered()
    scene.depart()
    assert scene.come_back().admitted
    forge(scene, "h")
    assert scene.ann().come_back().admitted
    with Workspace.open(scene.path, clock=scene.clock) as fresh:
        assert fresh.agent("ann", role="planner", task="trip").come_back().reasons == (Reason.LOG_ALTERED,)


@pytest.mark.parametrize(("table", "item"), [("audience", "g1"), ("slot_item", "@bob/g0")])
def test_a_new_row_that_is_hidden_blocks(table: str, item: str) -> None:
    scene = away()
    # Of the first statement about the slot, the reader knows through the slot alone.
    scene.fact("@bob/g0", slot="pool", principals=["cal"])
    scene.fact("g1", slot="pool", sources=[scene.news()])
    scene.sql(f"DELETE FROM {table} WHERE epoch = (SELECT epoch FROM name WHERE id = ?)", f"item:{item}")  # noqa: S608
    assert scene.ann().come_back().reasons == (Reason.LOG_ALTERED,)


def test_a_hidden_row_of_a_slot_whose_items_are_all_proven_otherwise_changes_nothing() -> None:
    scene = away()
    scene.fact("g1", slot="gate", sources=[scene.news()])
    scene.sql("DELETE FROM slot_item")
    assert scene.come_back().items == ("o", "h")
    assert scene.reasons("g") == (Reason.SLOT_UPDATED,)


def test_a_revocation_that_is_hidden_blocks() -> None:
    scene = away()
    scene.team.revoke("h", by="bob")
    last = scene.team._desk.log.head
    scene.sql("DELETE FROM audience WHERE epoch = ?", last)
    assert scene.ann().come_back().reasons == (Reason.LOG_ALTERED,)


def test_a_row_that_is_added_after_the_kept_ones_blocks() -> None:
    scene = away()
    scene.fact("other", task="elsewhere", sources=[scene.news()])
    row = "SELECT ws, class, 'trip', principal, role, epoch FROM audience WHERE task = 'elsewhere' AND class = 'state'"
    scene.sql(f"INSERT INTO audience {row}")
    assert scene.ann().come_back().reasons == (Reason.LOG_ALTERED,)


def test_a_head_that_was_set_back_is_refused_although_every_row_is_kept() -> None:
    scene = away()
    scene.team.revoke("h", by="bob")
    scene.sql("UPDATE workspace SET head = head - 1, note = NULL")
    with pytest.raises(TamperedError, match="the end of the log"):
        scene.ann().come_back()


def test_what_was_read_in_a_batch_that_is_undone_is_forgotten() -> None:
    scene = away()
    identity = scene.ann().identity

    def seen() -> list[str]:
        return [event.name for event in scene.team._desk.log.sight(identity, until=10**6).events]

    def undone() -> None:
        with scene.team.batch():
            scene.fact("never", slot="gate")
            assert seen() == [*before, "never"]
            raise ZeroDivisionError

    before = seen()
    with pytest.raises(ZeroDivisionError):
        undone()
    assert seen() == before
    scene.fact("later", slot="gate", sources=[scene.news()])
    assert seen() == [*before, "later"]
    assert scene.come_back().admitted


def test_a_later_return_reads_only_what_is_new(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "team.db")
    with scene.team.batch():
        for number in range(400):
            scene.fact(f"i{number}", slot=f"s{number}")
    scene.depart()
    with Workspace.open(scene.path, clock=scene.clock) as team:
        first = steps(team, lambda: team.agent("ann", role="planner", task="trip").come_back())
        scene.fact("new", slot="s1", sources=[scene.news()])
        later = steps(team, lambda: team.agent("ann", role="planner", task="trip").come_back())
    assert later < first / 2


def test_what_is_kept_is_bounded() -> None:
    scene = away()
    log: Any = scene.team._desk.log
    rows = log._rows
    kept = KeptLists(rows, most=1)
    with log.reading():
        (found,) = kept.read([EVERYBODY], "what ann can see")
        assert len(found.events) == 3
        assert kept.size == 0
    kept = KeptLists(rows)
    with log.reading():
        first = kept.read([EVERYBODY], "what ann can see")
        assert kept.read([EVERYBODY], "what ann can see") == first
        assert kept.size > 0


READS_OF_AN_ITEM: dict[str, Callable[[Scene], object]] = {
    "loaded with its evidence": lambda scene: scene.team._desk.log.in_slot("trip", "pool", until=10**6),
    "in a list that is kept": lambda scene: scene.team._desk.log.sight(scene.ann().identity, until=10**6),
    "not read yet": lambda _: None,
}


@pytest.mark.parametrize("case", READS_OF_AN_ITEM)
def test_evidence_that_is_swapped_after_its_item_was_proven_is_not_read(case: str) -> None:
    scene = away()
    log: Any = scene.team._desk.log
    scene.fact("pool", slot="pool", task="trip", sources=[scene.news()])
    epoch = log.head
    (before,) = log.evidence_for([epoch])
    with log.connection.atomic():
        READS_OF_AN_ITEM[case](scene)
        other = "SELECT min(evidence) FROM binding WHERE item <> ?"
        scene.sql(f"UPDATE binding SET evidence = ({other}) WHERE item = ?", epoch, epoch)  # noqa: S608
        if case == "loaded with its evidence":
            assert list(log.evidence_for([epoch])) == [before]
        else:
            with pytest.raises(TamperedError, match="altered"):
                log.evidence_for([epoch])
