"""Limits that keep the house small enough to hold in the head. ``make check`` runs them.

Each limit has the number that the redesign aims at and, while the tree is above it, the number that is allowed until
then. Only ever lower `allowed`; delete it where it equals the goal.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

import readmit
from readmit import Reason, Workspace
from tests.house.figures import TREE, members, private, settings, source
from tests.house.public_names import misplaced
from tests.house.source import Source
from tests.house.walk import traced, walks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONGEST_FUNCTION = 60
FILES_IN_A_FOLDER, LINES_IN_A_FOLDER = 20, 3_000


@dataclass(frozen=True)
class Limit:
    """How many of a list there may be."""

    found: Callable[[], list[str]]
    goal: int
    allowed: int | None = None
    """Above the goal, for now."""

    @property
    def most(self) -> int:
        return self.goal if self.allowed is None else self.allowed


def large_folders() -> list[str]:
    """Subfolders apart."""
    sizes = {
        folder: (len(modules), sum(len(module.text.splitlines()) for module in modules))
        for folder, modules in source().by_folder().items()
    }
    return [
        f"{folder}: {files} files, {lines} lines"
        for folder, (files, lines) in sizes.items()
        if files > FILES_IN_A_FOLDER or lines > LINES_IN_A_FOLDER
    ]


def repeated_names() -> list[str]:
    return [f"{name}: {', '.join(homes)}" for name, homes in source().repeated_names().items()]


def hiding() -> list[str]:
    """Imported once, such a module takes the place of the name that its package exports."""
    modules = {module.name for module in source().modules}
    exported = [f"{module.name}.{name}" for module in source().modules for name in module.constants("__all__")]
    return [name for name in exported if name in modules]


def shared_functions() -> list[str]:
    return [f"{name}: {', '.join(homes)}" for name, homes in source().shared_functions(3).items()]


def appending() -> list[str]:
    return [f"{room}: {', '.join(modules)}" for room, modules in source().appending().items()]


def misplaced_imports() -> list[str]:
    """``python -m tests.house.public_names`` mends them."""
    tests = Source(TREE / "tests").modules
    return [f"{module.name}: {ast.unparse(node)}" for module in tests for node, _ in misplaced(module)]


def hiding_docstrings() -> list[str]:
    """Of the core and of the packages."""
    modules = [*source().modules, *Source(TREE / "packages").modules]
    return [text for module in modules for text in module.hiding_docstrings]


def nounless_docstrings() -> list[str]:
    return [text for module in source().modules for text in module.nounless_docstrings]


LIMITS = {
    "a file name stands for one module": Limit(repeated_names, 0),
    "a module is named after a thing, not -ing": Limit(lambda: source().named_ing(), 0),
    "no module has a name that its package exports": Limit(hiding, 0),
    f"a folder has {FILES_IN_A_FOLDER} files and {LINES_IN_A_FOLDER:,} lines": Limit(large_folders, 0),
    "one module makes requests of returns": Limit(lambda: source().callers("Request", "readmit.records"), 1),
    "one module makes drafts of events": Limit(lambda: source().callers("draft", "readmit.records"), 1),
    "one room appends events (ADR 0060)": Limit(appending, 1),
    "rooms import each other one way, types included": Limit(
        lambda: [room for knot in source().room_knots() for room in knot], 0
    ),
    "Workspace has 25 public names": Limit(lambda: members(Workspace), 25),
    "a policy has 24 settings": Limit(settings, 24),
    "there are 55 reasons": Limit(lambda: list(map(str, Reason)), 55),
    "readmit has 25 names": Limit(lambda: sorted(readmit.__all__), 25),
    "a function fits on a screen": Limit(lambda: source().long_functions(LONGEST_FUNCTION), 0),
    "a public function's name is in at most two modules": Limit(shared_functions, 0),
    "a docstring of one line names the noun": Limit(hiding_docstrings, 0),
    "a docstring of the core begins with a noun or a verb": Limit(nounless_docstrings, 0, allowed=10),
    "tests take public names from public modules": Limit(misplaced_imports, 0),
    "tests import few private modules": Limit(
        lambda: [f"{user}: {taken}" for user, taken in sorted(private(TREE / "tests"))], 602
    ),
    "come_back crosses few modules": Limit(lambda: walks()["come_back"].counted, 22, allowed=38),
    "record crosses few modules": Limit(lambda: walks()["record"].counted, 18, allowed=31),
    "come_back crosses few modules above the log": Limit(lambda: walks()["come_back"].above_the_log, 16),
    "record crosses few modules above the log": Limit(lambda: walks()["record"].above_the_log, 13),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limit(name: str) -> None:
    limit = LIMITS[name]
    found = limit.found()
    assert len(found) <= limit.most, f"{len(found)} instead of {limit.most}:\n" + "\n".join(found)


@pytest.mark.parametrize("name", LIMITS)
def test_nothing_is_allowed_that_the_goal_allows(name: str) -> None:
    limit = LIMITS[name]
    assert limit.allowed is None or limit.allowed > limit.goal, "delete `allowed`"


HOUSE = {
    "a/__init__.py": "",
    "a/log.py": "from core.b.log import short\n\ndef short(): return short\n\nclass Handle: pass\n",
    "b/__init__.py": "",
    "b/log.py": "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n"
    "    from core.a.log import Handle\n\ndef short(team): return team.log.append([])\n",
    "b/making.py": "import math\nfrom core.a.log import Handle as Handle\nfrom core.a.log import Handle\n\n"
    "def short():\n    '''What is said.'''\n    # A comment.\n    return Handle(), math.log(2)\n",
}  # fmt: skip


@pytest.fixture
def house(tmp_path: Path) -> Source:
    for name, text in HOUSE.items():
        (tmp_path / "core" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "core" / name).write_text(text)
    return Source(tmp_path / "core")


def test_every_fault_is_found(house: Source) -> None:
    """A house with each of them once."""
    assert house.repeated_names() == {"log": ["core.a.log", "core.b.log"]}
    assert house.named_ing() == ["core.b.making"]
    assert house.shared_functions(3) == {"short": ["core.a.log", "core.b.log", "core.b.making"]}
    assert house.long_functions(3) == ["core.b.making.short: 4 lines"]
    assert [text for one in house.modules for text in one.hiding_docstrings] == ["core.b.making:6: What is said."]
    assert [text for one in house.modules for text in one.nounless_docstrings] == ["core.b.making:6: What is said."]
    assert house.callers("Handle", "core.a") == ["core.b.making"]
    assert house.appending() == {"b": ["core.b.log"]}
    assert house.knots() == [["core.a.log", "core.b.log"]]
    assert house.room_knots() == [["a", "b"]]
    assert {room: sum(module.lines_of_code for module in found) for room, found in house.by_room().items()} == {
        "a": 3,
        "b": 10,
    }


def test_a_walk_is_that_of_the_call() -> None:
    with Workspace.open(":memory:") as team, traced("name") as walk:
        assert team.name == "default"
    assert walk.modules == {"readmit.workspace.workspace": ["Workspace.name"]}
