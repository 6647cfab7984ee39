"""A store and a model provider from outside the package: the worked example of CONTRIBUTING.md, installed and used."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from readmit import Workspace
from readmit.backends import open_backend
from readmit.cli import main
from readmit.errors import BackendError, ModelError
from readmit.memory import Memory
from readmit.models import Ask, Reply, open_model
from readmit.testing import BackendConformance
from tests.conftest import ROOT
from tests.plugins.packages import install, worked_example

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from readmit.memory import MemoryBackend


@pytest.fixture(scope="module", autouse=True)
def _installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with worked_example(tmp_path_factory.mktemp("site-packages")):
        yield


def open_shelf(team: Workspace, folder: Path) -> MemoryBackend:
    return open_backend(f"shelf:{folder}", team._desk.log)


class TestShelf(BackendConformance):
    opener = staticmethod(open_shelf)


def test_a_line_opens_a_store_that_another_package_registers(tmp_path: Path) -> None:
    with Workspace.open() as team:
        memory = Memory.open(team, f"shelf:{tmp_path / 'notes'}")
        assert memory.backend.name == "shelf:main"
        assert memory.backend.workspace == team.name


def test_a_line_opens_a_model_that_another_package_registers() -> None:
    model = open_model("parrot:polly")
    (said,) = model.ask([Ask(stage="verify", prompt="p@1", system="s", user="hello", workspace="w")])
    assert isinstance(said, Reply)
    assert (model.name, said.text) == ("polly", "hello")


def test_the_command_line_knows_it_too() -> None:
    scenario = str(ROOT / "examples" / "travel.json")
    words = ["backends", "compare", scenario, "--backend", "shelf", "--embedder", "lexical", "--json"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert {pair["backend"] for pair in json.loads(result.stdout)["pairs"]} == {"shelf"}


def test_an_unknown_kind_lists_ours_with_their_extras_and_those_of_other_packages(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as model:
        open_model("polly")
    assert "openai:… (pip install 'readmit[models]')" in str(model.value)
    assert "parrot:… (shelf 1.0)" in str(model.value)
    with Workspace.open() as team, pytest.raises(BackendError) as store:
        Memory.open(team, "mem1:x")
    assert "mem0:… (pip install 'readmit[mem0]')" in str(store.value)
    assert "shelf:… (shelf 1.0)" in str(store.value)


BROKEN = {
    "cannot be imported": ("import nothing_of_the_sort", "ModuleNotFoundError: No module named 'nothing_of_the_sort'"),
    "has no such function": ("", "AttributeError"),
    "fails": ("def opened(line): raise OSError('no disk')", "OSError: no disk"),
    "gives something else": ("def opened(line): return object()", "without name, ask, close"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_plugin_that_is_broken_is_an_error_that_names_its_package(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, says = BROKEN[what]
    install(tmp_path, "dud", {"dud": source}, {"readmit.models": {"dud": "dud:opened"}})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "dud", raising=False)
    with pytest.raises(ModelError, match=r"^model dud: dud 1\.0 ") as raised:
        open_model("dud:x")
    assert says in str(raised.value)
    monkeypatch.delitem(sys.modules, "dud", raising=False)


def test_a_store_for_another_workspace_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import shelf\ndef opened(site): return shelf.Shelf(site.place(), 'elsewhere')"
    install(tmp_path, "astray", {"astray": source}, {"readmit.backends": {"astray": "astray:opened"}})
    monkeypatch.syspath_prepend(tmp_path)
    with Workspace.open() as team, pytest.raises(BackendError, match="'elsewhere'"):
        Memory.open(team, f"astray:{tmp_path}")


def test_two_packages_that_claim_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        install(tmp_path, name, {}, {"readmit.models": {"both": f"{name}:opened"}})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match=r"one 1\.0 and two 1\.0 both register it"):
        open_model("both:x")


def test_a_name_of_ours_cannot_be_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "thief", {}, {"readmit.models": {"recorded": "thief:opened"}})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match="/nowhere"):
        open_model("recorded:/nowhere")


LINES = {
    "a folder is missing": ("mem0", "mem0:FOLDER"),
    "an embedder is missing": ("amem:x", "embedder"),
    "an option that is not there": ("scopedmem:x?size=3", "options are none"),
    "a key in the line": ("memobase:http://localhost?api_key=secret", "key_env"),
    "no key": ("memobase:http://localhost?key_env=HOUSE_KEY", "HOUSE_KEY"),
}


@pytest.mark.parametrize("what", LINES)
def test_a_line_that_cannot_be_opened_says_what_it_lacks(what: str) -> None:
    spec, says = LINES[what]
    with Workspace.open() as team, pytest.raises(BackendError, match=says) as raised:
        Memory.open(team, spec)
    assert "secret" not in str(raised.value)


def test_our_own_store_by_its_name() -> None:
    with Workspace.open() as team:
        assert Memory.open(team, "scopedmem").backend.name == "scopedmem:main"
        assert Memory.open(team, "scopedmem:aside").backend.name == "scopedmem:aside"
