"""What is in each distribution: the core's wheel stays small, and the benchmarks come in one of their own."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

BENCH = ROOT / "packages" / "readmit-bench"
CORE_KILOBYTES = 1_300
"""Where growth asks for a second look."""


def wheel_of(project: Path, to: Path) -> Path:
    builder = pytest.importorskip("hatchling.builders.wheel", reason="builds wheels offline")
    [wheel] = builder.WheelBuilder(str(project)).build(directory=str(to))
    return to / str(wheel)


def folders_of(wheel: Path) -> set[str]:
    with ZipFile(wheel) as opened:
        return {"/".join(name.split("/")[:2]) for name in opened.namelist() if name.count("/") > 1}


def test_the_core_s_wheel_is_small_and_holds_no_benchmarks(tmp_path: Path) -> None:
    wheel = wheel_of(ROOT, tmp_path)
    assert wheel.stat().st_size < CORE_KILOBYTES * 1_000
    folders = folders_of(wheel)
    assert "readmit/workspace" in folders
    assert not {name for name in folders if "bench" in name or "evaluation" in name}


def test_the_benchmarks_wheel_holds_its_data_and_nothing_of_the_core(tmp_path: Path) -> None:
    folders = folders_of(wheel_of(BENCH, tmp_path))
    assert {name.partition("/")[0] for name in folders if ".dist-info" not in name} == {"readmit_bench"}
    assert {"readmit_bench/smoke", "readmit_bench/prompts", "readmit_bench/templates"} <= folders


def test_the_guide_states_the_size_of_both_wheels(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guide" / "benchmarks.md").read_text(encoding="utf-8")
    stated = re.findall(r"wheel(?: of `readmit-bench`)? has ([\d.]+) MB", guide)
    assert stated == [f"{wheel_of(project, tmp_path).stat().st_size / 1e6:.1f}" for project in (ROOT, BENCH)]


def test_both_distributions_have_the_same_version() -> None:
    core, bench = (tomllib.loads((folder / "pyproject.toml").read_text())["project"] for folder in (ROOT, BENCH))
    assert core["version"] == bench["version"]
    assert f"readmit[embed,models]=={core['version']}" in bench["dependencies"]


def test_a_module_of_the_benchmarks_is_named_once_and_after_a_thing() -> None:
    names = sorted(path.stem for path in BENCH.rglob("src/**/*.py") if path.stem != "__init__")
    assert len(names) > 50
    assert [name for name, following in pairwise(names) if name == following] == []
    assert [name for name in names if name.endswith("ing")] == []
