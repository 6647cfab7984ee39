"""What is public is imported from the public module. ``python -m tests.house.public_names`` mends the tests.

A test that takes a public name from a private module breaks when the module moves, and its reader learns the wrong one.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from tests.house.figures import TREE, public
from tests.house.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.house.source import Module


UNSTABLE = "readmit.lab"


@cache
def homes() -> dict[str, str]:
    """The public module of each public name. Of several, neither the unstable one nor the root, a shorthand."""
    found: dict[str, str] = {}
    for module, names in sorted(public().items(), key=lambda pair: (pair[0] != UNSTABLE, pair[0])):
        found |= dict.fromkeys(names, module)
    return found


def same(name: str, private: str, home: str) -> bool:
    """Whether both modules mean the same by a name, where both can be imported."""
    try:
        here, there = getattr(import_module(private), name, None), getattr(import_module(home), name, None)
    except ImportError:
        return False
    return here is there or here is None


def moved(node: ast.ImportFrom, exported: dict[str, set[str]], where: dict[str, str]) -> dict[str, list[ast.alias]]:
    """The names of an import that belong to other modules, by module; empty where all are in their place."""
    source = node.module or ""
    if node.level or source.partition(".")[0] != "readmit":
        return {}
    found: defaultdict[str, list[ast.alias]] = defaultdict(list)
    for alias in node.names:
        home = where.get(alias.name, source)
        private = alias.name not in exported.get(source, ()) and f"{source}.{alias.name}" not in exported
        found[home if private and home != source and same(alias.name, source, home) else source].append(alias)
    return {} if list(found) == [source] else dict(found)


def misplaced(module: Module) -> Iterator[tuple[ast.ImportFrom, dict[str, list[ast.alias]]]]:
    """Imports of a module that take a public name from a private module."""
    exported, where = public(), homes()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and (found := moved(node, exported, where)):
            yield node, found


def mend(module: Module) -> bool:
    """Rewrite the imports of a module. Sorting them is left to ruff."""
    lines = module.text.splitlines(keepends=True)
    found = sorted(misplaced(module), key=lambda pair: -pair[0].lineno)
    for node, parts in found:
        indent = " " * node.col_offset
        new = [f"{indent}from {home} import {', '.join(map(ast.unparse, names))}\n" for home, names in parts.items()]
        lines[node.lineno - 1 : node.end_lineno] = new
    if found:
        module.path.write_text("".join(lines), encoding="utf-8")
    return bool(found)


def main(*paths: str) -> None:
    chosen = {(TREE / path).resolve() for path in paths}
    modules = [one for one in Source(TREE / "tests").modules if not chosen or one.path.resolve() in chosen]
    mended = [str(module.path) for module in modules if mend(module)]
    if mended:
        subprocess.run(
            ["ruff", "check", "--select", "I,TC", "--fix", "--unsafe-fixes", "--quiet", *mended], check=False
        )
        subprocess.run(["ruff", "format", "--quiet", *mended], check=False)
    print(f"{len(mended)} files mended")


if __name__ == "__main__":
    main(*sys.argv[1:])
