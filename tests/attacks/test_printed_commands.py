"""An id may begin with a dash. A command that readmit prints names the item, and is no option."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from readmit.errors import NotAllowedError
from readmit.records.remedies import act, come_back, confirm, depart, link, overrule, write
from readmit.types import Drafted
from tests.cli.run import paste
from tests.keys import new_signer
from tests.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from readmit.records.remedies import Remedy

IDS = ["--as-owner", "-x", "--", "-", "--help", "--db=other.db", "-;touch$IFS.x"]


def disputed(scene: Scene, name: str) -> None:
    scene.covered()
    scene.depart()
    scene.team.dispute(["h"], by="bob", id=name)


def supported_and_not_required(scene: Scene, name: str) -> None:
    scene.duty()
    scene.fact(name, supports=["lodging"])
    scene.depart()


def waiting_for_a_word(scene: Scene, name: str) -> None:
    quote = "The hotel and the train confirm."
    scene.duty(required=("hotel",))
    scene.fact(name, text=quote, slot="hotel", drafted=Drafted(model="m", quote=quote))
    scene.depart()


def withdrawn(scene: Scene, name: str) -> None:
    scene.duty()
    scene.fact(name, supports=["d"])
    scene.depart()
    scene.team.revoke(name, by="bob", reason="they called")


def slot_of_another_task(scene: Scene, name: str) -> None:
    scene.duty(required=(name,))
    scene.fact(name, slot=name, task="excursion")
    scene.depart()


STORIES: list[Callable[[Scene, str], None]] = [
    disputed, supported_and_not_required, waiting_for_a_word, withdrawn, slot_of_another_task,
]  # fmt: skip


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_printed_command_puts_dashes_before_ids(
    story: Callable[[Scene, str], None], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scene = Scene(tmp_path / "team.db", evidence={"drafts": "confirm"})
    scene.now = datetime.now(UTC)
    story(scene, name)
    symptoms = scene.come_back().why().symptoms
    remedies = [remedy for one in symptoms for remedy in one.remedies if name in shlex.split(remedy.command)]
    assert remedies
    paste(remedies[0].command, scene.path, reason="they were wrong")
    scene.now = datetime.now(UTC)
    assert scene.come_back().admitted
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("team.db")] == []


MADE: dict[str, Callable[[str], Remedy]] = {
    "an act of the owner": lambda name: act("revoke", name, by="owner"),
    "an act on two items": lambda name: act("supersede", "h", name, by="bob"),
    "an item": lambda name: write("record", name, by="bob", slot=name),
    "a confirmation": lambda name: confirm(name, "bob"),
    "a link": lambda name: link("h", name, "bob"),
    "a rejection that is set aside": lambda name: overrule(name, "boss"),
}


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("what", MADE)
def test_nothing_behind_the_dashes_is_an_option(what: str, name: str) -> None:
    words = shlex.split(MADE[what](name).command)
    end = words.index("--", 1)
    assert name in words[end + 1 :]
    assert [word for word in words[end + 1 :] if word in {"--by", "--for", "--slot"} - {name}] == []


@pytest.mark.parametrize("name", ["--as-owner", "-x y", "ann;touch x"])
def test_an_error_that_prints_a_command_names_the_writer_in_it(name: str) -> None:
    scene = Scene()
    key = new_signer()
    scene.team.as_owner(signer=key).admin.writers.enrol("owner", key.public)
    with pytest.raises(NotAllowedError, match="is not enrolled for") as refused:
        scene.team.principal(name, signer=new_signer()).observe("Sunrise confirms.")
    words = shlex.split(str(refused.value).split("`")[1])
    assert words[:3] == ["readmit", "writers", "enrol"]
    assert words[-2:] == [name, "PUBLIC_KEY"]
    assert ("--" in words) is name.startswith("-")


@pytest.mark.parametrize("name", ["--as-owner", "-x"])
def test_a_name_that_begins_with_a_dash_is_the_value_of_its_option(name: str, tmp_path: Path) -> None:
    scene = Scene(tmp_path / "team.db")
    scene.covered()
    agent = scene.team.agent(name, role=name, task=name)
    paste(depart(agent.identity).command, scene.path)
    assert "ADMITTED" in paste(come_back(agent.identity).command, scene.path).output
