"""What users import is public, documented and listed; pages, examples and packages import nothing else."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from readmit import errors
from tests.conftest import ROOT
from tests.docs.blocks import blocks_of
from tests.docs.surface import COMMITTED, PUBLIC, error_tree, main, surface
from tests.docs.test_pages import PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LAB = "readmit.lab"


def _programs(*folders: str) -> dict[str, Path]:
    return {str(path.relative_to(ROOT)): path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))}


SOURCES = {**{str(page.relative_to(ROOT)): page for page in PAGES}, **_programs("examples")}
EXPERIMENTS = _programs("packages", "benchmarks")
MEASURED = {
    "benchmarks/cover.py": {"Fact", "Room", "exact", "greedy", "supported"},
    "benchmarks/probes.py": {"Finding", "GitProbe", "Probe"},
    "benchmarks/returns.py": {"AnyItem", "Evidence", "SALT_BYTES", "SHIFT"},
    "benchmarks/team.py": {"Evidence", "Fact", "draft"},
    "benchmarks/tokens.py": {"Extraction", "Later", "TargetLook", "observation_text", "scan"},
    "benchmarks/verify.py": {"LogVerifier"},
}
"""Private names that a measurement of one part alone imports. Only ever shorten this."""


def test_the_list_of_public_names_is_up_to_date() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == surface(), "run `make docs`, and look at what changed"


def test_a_change_of_the_surface_is_refused_with_what_changed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.docs.surface.surface", lambda: COMMITTED.read_text(encoding="utf-8") + "  def new()\n")
    assert main("--check") == 1
    said = capsys.readouterr().err
    assert "+  def new()" in said
    assert "make docs" in said


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_there_and_says_what_it_is(module: str) -> None:
    found = import_module(module)
    assert found.__all__ == sorted(set(found.__all__), key=lambda name: (not name.isupper(), name))
    silent = [
        name
        for name in found.__all__
        if (inspect.isclass(value := getattr(found, name)) or inspect.isroutine(value)) and not value.__doc__
    ]
    assert silent == []


@pytest.mark.parametrize("source", SOURCES)
def test_pages_and_examples_import_only_what_is_public(source: str) -> None:
    path = SOURCES[source]
    if path.suffix == ".py":
        programs = [path.read_text(encoding="utf-8")]
    else:
        programs = [block.text for block in blocks_of(path) if block.language == "python"]
    stable = [module for module in PUBLIC if module != LAB]
    assert [name for program in programs for name in _private(program, stable)] == []


@pytest.mark.parametrize("source", EXPERIMENTS)
def test_packages_and_benchmarks_import_only_what_is_public(source: str) -> None:
    names = _private(EXPERIMENTS[source].read_text(encoding="utf-8"))
    # Hooks are programs: nobody imports their room, and a benchmark plays them.
    found = {name.rpartition(".")[2] for name in names if not name.startswith("readmit.clients.")}
    assert found == MEASURED.get(source, set())


def test_the_lab_holds_only_what_an_experiment_imports() -> None:
    used = {
        alias.name
        for path in EXPERIMENTS.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == LAB
        for alias in node.names
    }
    assert used == set(import_module(LAB).__all__)
    elsewhere = {name for module in PUBLIC if module != LAB for name in import_module(module).__all__}
    assert used & elsewhere == set(), "a public name needs no second home"


@pytest.mark.parametrize(
    ("program", "private"),
    [
        ("from readmit import Workspace", []),
        ("from readmit.memory import Memory", []),
        ("import readmit", []),
        ("from readmit.workspace.memory_handle import Memory", ["readmit.workspace.memory_handle.Memory"]),
        ("from readmit.memory import Ground", ["readmit.memory.Ground"]),
        ("import readmit.rules.cycle", ["readmit.rules.cycle"]),
        ("from readmit.lab import propose", []),
        ("from readmit.lab import cover", ["readmit.lab.cover"]),
        ("def late():\n    from readmit.cli.output import show", ["readmit.cli.output.show"]),
    ],
)
def test_private_imports_are_found(program: str, private: list[str]) -> None:
    assert list(_private(program)) == private


def _private(program: str, public_modules: Sequence[str] = PUBLIC) -> Iterator[str]:
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "readmit":
            module = node.module or ""
            public = import_module(module).__all__ if module in public_modules else ()
            yield from (f"{module}.{alias.name}" for alias in node.names if alias.name not in public)
        elif isinstance(node, ast.Import):
            names = (alias.name for alias in node.names if alias.name.partition(".")[0] == "readmit")
            yield from (name for name in names if name not in public_modules)


def test_every_error_has_its_place_in_the_tree() -> None:
    drawn = re.findall(r"^[│├└─ ]*(\w+)", error_tree(), re.MULTILINE)
    assert sorted(drawn) == errors.__all__


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"readmit\.models.*Nothing"):
        import_module("readmit.models").Nothing  # noqa: B018 - asking is the point


@pytest.mark.parametrize("module", PUBLIC)
def test_no_public_name_is_hidden_by_a_module_of_the_same_name(module: str) -> None:
    """Importing ``readmit.models.model_lines`` sets that attribute to the module, and a call of it fails."""
    file = Path(import_module(module).__file__ or "")
    inside = {path.stem for path in file.parent.iterdir()} if file.name == "__init__.py" else set()
    assert inside.intersection(import_module(module).__all__) == set()


def test_importing_a_public_package_loads_no_provider_and_no_store() -> None:
    code = (
        "import sys, readmit.models, readmit.backends, readmit.testing; "
        "print(*[name for name in sys.modules if name.startswith(('readmit.models.', 'readmit.backends.adapters.mem0', "
        "'readmit.backends.langgraph', 'readmit.testing.', 'pytest'))])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []
