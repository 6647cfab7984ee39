"""Changes that know what they change: ``record(…, expects=…)`` commits only if that is what stands."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Workspace
from readmit.errors import ConflictError, RecordError
from tests.cli.run import run, said
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from pathlib import Path


def hotel(scene: Scene, id: str, **fields: Any) -> str:
    return scene.fact(id, slot="hotel", **{"sources": [scene.news(f"{id} is confirmed.")], **fields})


def test_a_change_of_what_stands_is_committed_once() -> None:
    scene = Scene()
    hotel(scene, "h0", expects_nothing=True)
    hotel(scene, "h1", expects="h0")
    before = scene.team.epoch
    with pytest.raises(ConflictError, match=r"^expects: 'h0' is not what stands in 'hotel': h1 stands there"):
        scene.fact("h2", slot="hotel", expects="h0")
    with pytest.raises(ConflictError, match=r"^expects_nothing: something stands in 'hotel': h1 stands there"):
        scene.fact("h2", slot="hotel", expects_nothing=True)
    assert scene.team.epoch == before


def test_expects_from_older_evidence_than_what_it_replaces_is_refused() -> None:
    scene = Scene()
    old = scene.news("h1 is confirmed.")
    hotel(scene, "h0")
    before = scene.team.epoch
    with pytest.raises(ConflictError, match=r"^expects: .* what stands there has later evidence\. .*supersedes='h0'"):
        scene.fact("h1", slot="hotel", sources=[old], expects="h0")
    with pytest.raises(
        ConflictError, match=r"^expects: .* no receipt binds it, .* to evidence\. Observe what says so now"
    ):
        scene.fact("h1", slot="hotel", sources=[], expects="h0")
    assert scene.team.epoch == before
    # Without expects it is written down late, as what it is.
    scene.fact("late", slot="hotel", sources=[old])
    # The remedies, carried out.
    scene.fact("h1", slot="hotel", sources=[old], expects="h0", supersedes="h0")
    hotel(scene, "h2", expects="h1")
    # What begins later replaces it then.
    hotel(scene, "h3", expects="h2", valid_from=scene.now + HOUR)


def test_expects_nothing_from_evidence_older_than_what_fell_is_refused() -> None:
    scene = Scene()
    old = scene.news("h1 is confirmed.")
    hotel(scene, "h0")
    scene.team.revoke("h0", by="bob")
    with pytest.raises(ConflictError, match=r"^expects_nothing: "):
        scene.fact("h1", slot="hotel", sources=[old], expects_nothing=True)


def test_a_repeated_call_changes_nothing_and_is_not_refused() -> None:
    scene = Scene()
    hotel(scene, "h0")
    source = scene.news()
    for _ in range(2):
        scene.fact("h1", slot="hotel", sources=[source], expects="h0")
    assert len(scene.team._desk.log.in_slot(None, "hotel", until=scene.team.epoch)) == 2


def test_what_fell_does_not_stand() -> None:
    scene = Scene()
    hotel(scene, "h0", valid_until=scene.now + HOUR)
    scene.wait(HOUR)
    with pytest.raises(ConflictError, match="nothing stands there"):
        hotel(scene, "h1", expects="h0")
    hotel(scene, "h1", expects_nothing=True)
    scene.team.revoke("h1", by="bob")
    hotel(scene, "h2", expects_nothing=True)


def test_a_contested_slot_is_neither_empty_nor_as_expected() -> None:
    scene = Scene()
    hotel(scene, "h0")
    scene.team.dispute(["h0"], by="bob")
    for expected in ({"expects": "h0"}, {"expects_nothing": True}):
        with pytest.raises(ConflictError, match="h0 is contested"):
            hotel(scene, "h1", **expected)


def test_a_task_has_its_own_slot_and_shares_those_without_a_task() -> None:
    scene = Scene()
    hotel(scene, "h0", task="garden")
    hotel(scene, "h1", task="trip", expects_nothing=True)
    hotel(scene, "all", expects_nothing=True)
    with pytest.raises(ConflictError, match="all stands"):
        hotel(scene, "h2", task="trip", expects="h1")


def test_an_item_that_the_writer_may_not_see_is_not_named() -> None:
    scene = Scene()
    hotel(scene, "@carl/secret", principals=["carl"], private=True, by="carl")
    hotel(scene, "h0", expects_nothing=True)
    with pytest.raises(ConflictError) as refused:
        hotel(scene, "h1", expects="@carl/secret")
    assert "secret stands" not in str(refused.value)


@pytest.mark.parametrize(
    "fields", [{"expects": "h0"}, {"slot": "s", "expects": "two words"}, {"slot": "s", "expects_nothing": 1}]
)
def test_what_is_expected_is_an_item_of_a_slot(fields: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match=r"^expects"):
        Scene().fact("h1", **fields)


def test_only_one_of_two_writers_that_expect_the_same_wins(place: Path | str) -> None:
    with Workspace.open(place) as team:
        team.record("first", id="h0", slot="hotel", by="bob", sources=[team.observe("seen", by="bob")])
    start, lost = threading.Barrier(4), []

    def write(name: str) -> None:
        with Workspace.open(place) as team:
            source = team.observe(f"{name} has news", by=name)
            start.wait()
            try:
                team.record(f"by {name}", id=f"h-{name}", slot="hotel", by=name, sources=[source], expects="h0")
            except ConflictError as error:
                lost.append(str(error))

    writers = [threading.Thread(target=write, args=(f"w{number}",)) for number in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert len(lost) == 3
    assert all("stands there" in error for error in lost)


def test_the_command_line_says_what_stands(tmp_path: Path) -> None:
    here = ("--db", tmp_path / "team.db")
    run("init", *here)
    written = ("--by", "A2", "--slot", "hotel", "--source")
    run("record", "Sunrise is booked", "--id", "h0", *written, "Sunrise confirms.", "--expects-nothing", *here)
    run("record", "Riverside is booked", "--id", "h1", *written, "Riverside confirms.", "--expects", "h0", *here)
    late = ("record", "Lakeside is booked", *written, "Lakeside confirms.", "--expects", "h0", *here)
    assert "h1 stands there" in run(*late, status=1).output
    assert said(*late, status=1)["error"]["type"] == "ConflictError"


def test_a_purpose_has_what_serves_it() -> None:
    scene = Scene()
    hotel(scene, "h0")
    hotel(scene, "h1", purposes=["booking"], expects="h0")
    hotel(scene, "h2", purposes=["budget"], expects="h0")
    with pytest.raises(ConflictError, match="h1 stands there"):
        hotel(scene, "h3", purposes=["booking"], expects="h0")
    hotel(scene, "h3", purposes=["booking"], expects="h1")
