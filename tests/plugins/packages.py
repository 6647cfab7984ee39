"""Packages as pip would leave them, made in a folder: modules beside a ``.dist-info`` with entry points."""

from __future__ import annotations

import sys
import tomllib
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from readmit.records.acts.kinds import KINDS, load_declared_elsewhere
from tests.conftest import ROOT
from tests.docs.blocks import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
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


@contextmanager
def worked_example(folder: Path) -> Iterator[None]:
    """The package that CONTRIBUTING.md shows is installed in a folder, and leaves nothing behind."""
    install_worked_example(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        load_declared_elsewhere.cache_clear()
        yield
    load_declared_elsewhere.cache_clear()
    KINDS.pop("countersign", None)
    for name in ("shelf", "parrot", "countersign"):
        sys.modules.pop(name, None)


def install_worked_example(folder: Path) -> None:
    """The package that CONTRIBUTING.md shows."""
    shown = blocks_of(ROOT / "CONTRIBUTING.md")
    projects = [tomllib.loads(block.text)["project"] for block in shown if block.language == "toml"]
    entry_points = {group: names for one in projects for group, names in one["entry-points"].items()}
    modules = {
        block.text.partition("\n")[0].removeprefix("# ").removesuffix(".py"): block.text
        for block in shown
        if block.language == "python"
    }
    install(folder, projects[0]["name"], modules, entry_points)
