"""Packages as pip would leave them, made in a folder: modules beside a ``.dist-info`` with entry points."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from tests.conftest import ROOT
from tests.docs.blocks import blocks_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def install(folder: Path, name: str, modules: Mapping[str, str], entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Put a package into a folder. ``entry_points`` holds, by group, names and what they point at."""
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source, encoding="utf-8")
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = [
        line
        for group, entries in entry_points.items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def install_worked_example(folder: Path) -> None:
    """The package that CONTRIBUTING.md shows."""
    shown = blocks_of(ROOT / "CONTRIBUTING.md")
    project = next(tomllib.loads(block.text)["project"] for block in shown if block.language == "toml")
    modules = {
        block.text.partition("\n")[0].removeprefix("# ").removesuffix(".py"): block.text
        for block in shown
        if block.language == "python"
    }
    install(folder, project["name"], modules, project["entry-points"])
