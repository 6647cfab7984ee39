"""The TypeScript client: its types are those of the document, and its tests pass in Node against a real server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from tests.conftest import ROOT
from tests.server.hosting import OTHER, TEAM, hosted

if TYPE_CHECKING:
    from pathlib import Path

CLIENT = ROOT / "clients" / "typescript"
IS_ASKED_FOR = bool(os.environ.get("READMIT_TYPESCRIPT"))
"""Whether it must run: `make test-typescript`."""


def run(*command: str, cwd: Path = CLIENT, **settings: str) -> str:
    """The output of a command that has to succeed."""
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **settings}, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def _built() -> None:
    if not IS_ASKED_FOR and shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not IS_ASKED_FOR and not (CLIENT / "node_modules").is_dir():
        pytest.skip("the client's packages are not installed; make test-typescript does that")
    run("node_modules/.bin/tsc")


@pytest.mark.usefixtures("_built")
def test_its_types_are_those_of_the_document(tmp_path: Path) -> None:
    written = {name: (CLIENT / "src" / name).read_text(encoding="utf-8") for name in ("openapi.ts", "verbs.ts")}
    copy = tmp_path / "clients" / "typescript"
    (copy / "src").mkdir(parents=True)
    shutil.copytree(CLIENT / "scripts", copy / "scripts")
    shutil.copy(CLIENT / "package.json", copy)
    (copy / "node_modules").symlink_to(CLIENT / "node_modules")
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "reference" / "openapi.json", tmp_path / "docs" / "reference")
    run("npm", "run", "types", cwd=copy)
    made = {name: (copy / "src" / name).read_text(encoding="utf-8") for name in written}
    assert made == written, "run `npm run types` in clients/typescript"


@pytest.mark.usefixtures("_built")
def test_it_works_in_node_against_a_real_server(tmp_path: Path) -> None:
    for name in (TEAM, OTHER):
        Workspace.open(tmp_path / "team.db", name=name, keys=tmp_path / "keys").close()
    tests = sorted(str(path.relative_to(CLIENT)) for path in (CLIENT / "dist" / "tests").glob("*.test.js"))
    assert len(tests) == len(list((CLIENT / "tests").glob("*.test.ts")))
    with hosted(tmp_path / "team.db", keys=tmp_path / "keys") as host:
        said = run("node", "--test", *tests, READMIT_URL=host.url)
    assert "# fail 0" in said
    assert "# skipped 0" in said


@pytest.mark.slow
@pytest.mark.usefixtures("_built")
def test_two_agents_in_two_processes_work_on_one_server() -> None:
    said = run(sys.executable, "examples/two_agents/both.py", cwd=ROOT).splitlines()
    assert said[1:] == [
        "A2 booked Sunrise",
        "A1 is away",
        "A2 booked Riverside instead",
        "A1 is admitted with o_h, h1",
        "  Know the hotel",
        "  Riverside Hotel is booked",
        "A1 works on",
        "A2 withdrew h1",
        "A1 hears that h1 is revoked",
    ]


def test_its_lock_pins_everything_and_names_no_index() -> None:
    lock = json.loads((CLIENT / "package-lock.json").read_text(encoding="utf-8"))
    wanted = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    packages = {place: one for place, one in lock["packages"].items() if place}
    assert all("resolved" not in one and one["integrity"].startswith("sha512-") for one in packages.values())
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted
