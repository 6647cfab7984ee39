"""The packages and the imports between them, drawn from the import graph that ``make check`` guards."""

from __future__ import annotations

import tomllib
from collections import defaultdict

import grimp

from tests.conftest import ROOT
from tests.docs.drawing import Picture

WIDTH, ROW, BOX = 860, 62, 34


def layers() -> list[list[str]]:
    """The packages of each layer, top first, as the first import contract names them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    first = settings["tool"]["importlinter"]["contracts"][0]
    return [
        [package.strip().strip("()") for package in layer.replace(":", "|").split("|")] for layer in first["layers"]
    ]


def imports() -> dict[tuple[str, str], int]:
    """How many modules of one package import from another."""
    graph = grimp.build_graph("readmit")
    found: dict[tuple[str, str], int] = defaultdict(int)
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            here, there = _room(module), _room(imported)
            if here and there and here != there:
                found[here, there] += 1
    return dict(found)


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def draw_imports() -> str:
    """One row per layer; an arrow for each pair of packages, wider with more imports. All point down."""
    graph = imports()
    drawn = {package for pair in graph for package in pair}
    rows = [[package for package in layer if package in drawn] for layer in layers()]
    rows = [floor for floor in rows if floor]
    picture = Picture(
        WIDTH, ROW * len(rows) + 40, "What imports what",
        "The packages of readmit, from the command line at the top to the records at the bottom. Imports point down. "
        "Every package imports records; those lines are left out.",
    )  # fmt: skip
    where: dict[str, tuple[float, float]] = {}
    for number, packages in enumerate(rows):
        for place, package in enumerate(packages):
            # Rows step from side to side, so that arrows over several floors do not hide behind boxes.
            aside = (number % 4 - 1.5) * (150 if len(packages) < 3 else 50)
            middle = WIDTH / 2 + (place - (len(packages) - 1) / 2) * 190 + aside
            where[package] = (middle, 20 + ROW * number)
    for (here, there), count in sorted(graph.items()):
        if here in where and there in where and there != "records":
            (x1, y1), (x2, y2) = where[here], where[there]
            if y2 > y1:
                picture.curve(x1, y1 + BOX, x2, y2, count)
    for package, (x, y) in where.items():
        picture.box(x - 70, y, 140, BOX, [package], "blue" if package == "rules" else "")
    return picture.svg()
