from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.check.project import Project
from tests.cli.run import SOURCES, run, said
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path / "shop")
    made.later()
    (made.root / "AGENTS.md").write_text("# Shop\n\n- Tax is in `src/shop/old_tax.py`.\n- Carts have `add_line`.\n")
    monkeypatch.chdir(made.root)
    return made


def test_a_finding_is_shown_with_its_place_and_ends_with_one(project: Project) -> None:
    shown = run("check", "AGENTS.md", status=1).output
    assert "AGENTS.md:3: path src/shop/old_tax.py: removed in " in shown
    assert "Tax is in `src/shop/old_tax.py`." in shown
    assert "2 statements in 1 file. Names that hold: 1; that no longer do: 1; not checked: 0." in shown


def test_without_a_file_the_usual_places_are_checked(project: Project) -> None:
    bank = project.root / "memory-bank"
    bank.mkdir()
    (bank / "progress.md").write_text("Run `make ship`.\n")
    found = said("check", status=1)
    assert found["files"] == ["AGENTS.md", "memory-bank/progress.md"]
    assert [one["looked_for"] for one in found["findings"]] == ["src/shop/old_tax.py", "make ship"]
    assert set(found["findings"][0]) == {"file", "line", "statement", "kind", "looked_for", "now"}
    assert found["ok"] is False


def test_everything_holds_ends_with_zero(project: Project) -> None:
    (project.root / "AGENTS.md").write_text("Carts have `add_line`. Ask `some-host:80` and `true`.\n")
    assert said("check", "AGENTS.md")["ok"] is True
    shown = run("check", "AGENTS.md", "--all").output
    assert "AGENTS.md:1: not checked: true: not the name of a file" in shown


def test_what_cannot_be_looked_at_ends_with_two(project: Project) -> None:
    assert "no such file" in run("check", "none.md", status=2).output
    (project.root / "facts.json").write_text("{}")
    assert "not a JSON list" in run("check", "facts.json", status=2).output
    (project.root / "AGENTS.md").unlink()
    assert "name your memory files" in run("check", status=2).output
    assert "error" in json.loads(run("check", "--json", status=2).output)


def test_another_root_is_checked_against(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = tmp_path / "notes.json"
    notes.write_text('["`src/shop/old_tax.py` computes the tax", "`src/shop/cart.py` has `Cart`"]')
    monkeypatch.chdir(tmp_path)
    found = said("check", notes, "--root", project.root, status=1)
    assert [one["looked_for"] for one in found["findings"]] == ["src/shop/old_tax.py"]
    assert found["held"] == 2


def test_the_hook_stops_a_commit_that_breaks_a_statement(project: Project) -> None:
    """As pre-commit runs it: the entry, in the repository, without file names."""
    lines = (line.strip("- ").partition(": ") for line in (ROOT / ".pre-commit-hooks.yaml").read_text().splitlines())
    hook = {name: value for name, _, value in lines}
    assert (hook["id"], hook["language"], hook["pass_filenames"]) == ("readmit-check", "python", "false")
    program, *words = hook["entry"].split()
    assert program == "readmit"
    (project.root / "AGENTS.md").write_text("Carts have `add_line`.\n")
    project.commit()
    script = project.root / ".git" / "hooks" / "pre-commit"
    path = "".join(f"export {name}='{value}'\n" for name, value in SOURCES.items())
    script.write_text(f"#!/bin/sh\n{path}exec {sys.executable} -m readmit {' '.join(words)}\n")
    script.chmod(0o755)
    cart = project.root / "src/shop/cart.py"
    cart.write_text(cart.read_text() + "# more\n")
    project.commit()
    cart.write_text("class Cart: ...\n")
    with pytest.raises(subprocess.CalledProcessError) as stopped:
        project.commit()
    assert "add_line" in stopped.value.stderr + stopped.value.stdout
