"""An event kind from outside the package: the worked example of CONTRIBUTING.md, installed and used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Workspace
from readmit.errors import NotAllowedError, UnknownError
from readmit.records.acts.kinds import KINDS
from readmit.scenario.document import read_scenario, scenario_schema
from readmit.scenario.play import played
from tests.cli.run import run, said
from tests.docs import tables
from tests.plugins.packages import worked_example

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DB = ("--db", "team.db")


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package is installed, and nothing of it is imported yet."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    with worked_example(folder):
        yield


def countersigned(db: str) -> Any:
    """A workspace with one item, countersigned through Python."""
    module: Any = import_module("countersign")
    with Workspace.open(db) as team:
        mail = team.observe("Sunrise confirms.", by="A2")
        team.record("Sunrise is booked", id="h0", sources=[mail], by="A2")
        team._desk.writer.write(
            module.COUNTERSIGN, module.Countersign(target="h0", reason="saw the mail"), by="A3", id="c1"
        )
    return module


def test_an_event_is_appended_and_read_back() -> None:
    module = countersigned("team.db")
    with Workspace.open("team.db") as team:
        event = list(team._desk.log.tail())[-1]
        assert (event.kind, event.by, event.payload) == (
            module.COUNTERSIGN,
            "A3",
            module.Countersign(target="h0", reason="saw the mail"),
        )
        assert [one.kind for one in team._desk.log.about(["h0"], until=team.epoch)] == ["record", "countersign"]


def test_its_own_check_refuses_what_it_does_not_allow() -> None:
    module = countersigned("team.db")
    with Workspace.open("team.db") as team, pytest.raises(NotAllowedError, match="'A2' wrote the item"):
        team._desk.writer.write(module.COUNTERSIGN, module.Countersign(target="h0"), by="A2")


def test_its_items_must_exist() -> None:
    module = countersigned("team.db")
    with Workspace.open("team.db") as team, pytest.raises(UnknownError, match="no item 'h9'"):
        team._desk.writer.write(module.COUNTERSIGN, module.Countersign(target="h9"), by="A3")


def test_the_log_and_the_history_of_the_item_show_it() -> None:
    countersigned("team.db")
    assert run("log", *DB).stdout.splitlines()[-1].endswith("countersign  A3     Countersigned h0: saw the mail")
    assert said("show", "h0", *DB)["history"][-1]["kind"] == "countersign"
    assert [event["by"] for event in said("log", "--kind", "countersign", *DB)["events"]] == ["A3"]


def test_it_has_a_command() -> None:
    countersigned("team.db")
    assert (
        "Countersigned h0 at epoch 5 (countersign c2)"
        in run("countersign", "h", "--by", "A4", "--id", "c2", *DB).stdout
    )
    assert "countersign" in run("--help").stdout
    assert "readmit countersign h0 --by A3" in run("countersign", "--help").stdout
    refused = run("countersign", "h0", "--by", "A2", *DB, status=1).stderr
    assert refused == "error: --by: 'A2' wrote the item; somebody else countersigns it\n"


def test_it_has_a_step() -> None:
    scenario = """{"readmit": 1, "name": "x", "steps": [
        {"do": "record", "id": "h0", "text": "Sunrise is booked", "by": "A2"},
        {"do": "countersign", "target": "h0", "by": "A3"}]}"""
    with played(read_scenario(scenario)) as done:
        assert [event.kind for event in done.workspace._desk.log.tail()][-1] == "countersign"
    assert "CountersignStep" in scenario_schema()["$defs"]


def test_the_reference_has_a_row_for_it() -> None:
    assert (
        "| `countersign` | Say that a second principal has seen an item's source. | `target`, `reason` "
        "| `readmit countersign`, a step `countersign` |"
    ) in tables.events()


def test_a_log_of_a_package_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    countersigned("team.db")
    KINDS.pop("countersign")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [])  # noqa: ARG005
    with Workspace.open("team.db") as team, pytest.raises(UnknownError, match="'countersign'; install the one"):
        list(team._desk.log.tail())
