"""``readmit bench`` as a user meets it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from readmit.cli.app import main

pytest.importorskip("jinja2", reason="reports need readmit-bench's dependencies")
pytest.importorskip("matplotlib", reason="figures need readmit-bench's dependencies")

if TYPE_CHECKING:
    from pathlib import Path


def test_run_status_and_report(tmp_path: Path) -> None:
    runner = CliRunner()
    out, to = str(tmp_path / "smoke"), str(tmp_path / "report")
    ran = runner.invoke(main, ["bench", "run", "smoke", "--out", out, "--methods", "Static,Reset", "--json"])
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)
    assert (told["planned"], told["done"], told["complete"], told["failures"]) == (36, 36, True, [])
    assert "36 of 36 lines" in runner.invoke(main, ["bench", "status", out]).stdout
    made = runner.invoke(main, ["bench", "report", out, "--to", to, "--episodes", "1", "--json"])
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout) == {"html": f"{to}/report.html", "markdown": f"{to}/report.md"}


def test_what_is_wrong_is_reported_in_one_line(tmp_path: Path) -> None:
    ran = CliRunner().invoke(main, ["bench", "run", "memora", "--out", str(tmp_path)])
    assert ran.exit_code == 1
    assert "error: --data: memora needs" in ran.output
    assert len(ran.output.strip().splitlines()) == 1
