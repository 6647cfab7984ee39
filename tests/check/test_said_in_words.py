"""What sentences say without code around it: packages, versions of a folder, ports and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from readmit.check.memory_files import read_memories
from readmit.check.statement_checks import check_statements

from .project import Project, found, unchecked

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "server/pyproject.toml": '[tool.poetry]\nname = "till"\nversion = "1.0"\n[tool.poetry.dependencies]\n'
    'python = "^3.10"\nflask = "^2.3"\nmarshmallow = "^3.20"\n[tool.poetry.scripts]\ntill = "till.main:cli"\n',
    "server/till/__init__.py": "",
    "server/till/main.py": "import click\n\n\n@click.group()\ndef cli(): ...\n\n\n"
    '@cli.command()\n@click.option("--bind")\ndef serve(bind): ...\n\n\n@cli.command("close-day")\ndef close(): ...\n',
    "server/till/limits.py": "MAX_BATCH = 64\nPAGE_SIZE = 30\nclass Drawer:\n    def take(self): ...\n",
    "server/requirements.txt": "celery==5.3\nredis\n",
    "queue/limits.go": "package queue\n\nconst MaxAttempts = 7\n",
    "app/package.json": '{"version": "0.1.0", "dependencies": {"react": "^18.2.0", "mobx": "^6.1.0"}}\n',
    "compose.yaml": 'services:\n  api:\n    ports: ["7100:7100"]\n',
    "Makefile": "serve:\n\ttill serve\n\tvite --port 7100\n",
}
LATER = {
    "server/pyproject.toml": '[tool.poetry]\nname = "till"\nversion = "1.1"\n[tool.poetry.dependencies]\n'
    'python = "^3.12"\nfastapi = "^0.110"\n[tool.poetry.scripts]\ntill = "till.main:cli"\n',
    "server/till/main.py": "import click\n\n\n@click.group()\ndef cli(): ...\n\n\n"
    '@cli.command()\n@click.option("--listen")\ndef serve(listen): ...\n\n\n@cli.command("settle")\ndef close(): ...\n',
    "server/till/limits.py": "MAX_BATCH = 128\nPAGE_SIZE = 40\nclass Drawer:\n    def hand_over(self): ...\n",
    "server/requirements.txt": "redis\n",
    "queue/limits.go": "package queue\n\nconst MaxAttempts = 9\n",
    "app/package.json": '{"version": "0.2.0", "dependencies": {"react": "^19.0.0", "zustand": "^4.5.0"}}\n',
    "compose.yaml": 'services:\n  api:\n    ports: ["7200:7200"]\n',
    "Makefile": "serve:\n\ttill serve\n\tvite --port 7200\n",
}


@dataclass(frozen=True)
class Case:
    """A sentence that held, and what is found in it later."""

    says: str
    kind: str
    looked_for: str
    now: str


CASES = {
    "a package with a capital": Case("Requests go to Flask.", "package", "Flask", "no file declares it: removed in"),
    "a package written small": Case("Schemas are checked with marshmallow.", "package", "marshmallow", "removed in"),
    "a package of npm": Case("State is kept in MobX stores.", "package", "MobX", "no file declares it"),
    "a package in a list": Case("React, MobX, Vite", "package", "MobX", "no file declares it"),
    "a package in code": Case("Jobs are `celery`.", "package", "celery", "removed in"),
    "a version in a folder": Case("It is built with React 18.", "version", "React 18", "app/package.json declares"),
    "Python in a folder": Case("Needs Python 3.10.", "version", "Python 3.10", "declares ^3.12"),
    "a port after a verb": Case("The API listens on 7100.", "setting", "port 7100", "no code holds 7100: removed in"),
    "a port with a colon": Case("It is served on :7100.", "setting", "port 7100", "removed in"),
    "a value in words": Case("`MAX_BATCH` is 64.", "setting", "MAX_BATCH = 64", "limits.py says 128"),
    "a value in brackets": Case("At most `MAX_BATCH` (64) rows.", "setting", "MAX_BATCH = 64", "says 128"),
    "a value after a sign": Case("`PAGE_SIZE` = 30", "setting", "PAGE_SIZE = 30", "says 40"),
    "a constant of Go": Case("`MaxAttempts` is 7 here.", "setting", "MaxAttempts = 7", "queue/limits.go says 9"),
    "an option that Make gives another program": Case("`till serve --port 7200`", "option", "--port", "no such option"),
    "a command of a program of Poetry": Case("`till close-day`", "command", "till close-day", "no such command"),
    "what a name does": Case("Use `Drawer.take` to remove coins.", "symbol", "Drawer.take", "no code holds take"),
    "what never happens": Case("`Drawer.take` notes it; nothing is ever removed.", "symbol", "Drawer.take", "no code"),
}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("before") / "till", FILES)


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("later") / "till", FILES)
    project.commit(**LATER)
    return project


@pytest.mark.parametrize("name", CASES)
def test_what_was_said_in_words_and_is_no_longer_so_is_found(name: str, before: Project, later: Project) -> None:
    case = CASES[name]
    if "--port" not in case.says:  # it never was one of its options
        assert found(before.check(case.says)) == []
    report = later.check(case.says)
    assert found(report) == [(case.kind, case.looked_for)]
    assert case.now in report.findings[0].now


TRUE = (
    "Requests go to FastAPI, and state to Zustand. Sessions are in Redis.",
    "Never use Flask. State is not kept in MobX.",
    "We moved from Flask to FastAPI. MobX was removed in May.",
    "Use FastAPI instead of Flask. This release drops MobX. Remove Flask from the image.",
    "The migration off MobX is done; Zustand rather than MobX.",
    "Flask is what a chemist has.",  # the first word of a sentence begins with a capital
    "Fill the flask before you start.",
    "It is built with React 19, needs Python 3.12 and listens on 7200.",
    "`MAX_BATCH` is 128, `PAGE_SIZE` = 40, `MaxAttempts` (9).",
    "`MAX_BATCH` is 64 times a row. `PAGE_SIZE` is 30 in tests.",
    "It runs on 2024 hardware, and is available at 7100 m.",
    "`till serve --listen x`, `till settle`, `Drawer.hand_over`.",
    "Commit messages are in English. Deploys go out on Tuesday from Berlin.",
)


@pytest.mark.parametrize("says", TRUE)
def test_what_is_still_so_is_not(says: str, later: Project) -> None:
    assert found(later.check(says)) == []


def test_a_package_that_code_still_names_is_not_judged(tmp_path: Path) -> None:
    project = Project(tmp_path / "till", FILES)
    project.commit(**LATER, **{"server/till/old.py": "import flask\n"})
    report = project.check("Requests go to Flask.")
    assert found(report) == []
    assert unchecked(report) == {"Flask": "no file declares this package, and code says its name"}


def test_a_root_declares_for_its_folders_and_examples_declare_nothing(tmp_path: Path) -> None:
    files = {
        "package.json": '{"dependencies": {"react": "^19.0.0"}}',
        "legacy/package.json": '{"dependencies": {"react": "^18.0.0", "vue": "^3.0.0"}}',
        "examples/shop/package.json": '{"dependencies": {"svelte": "^4.0.0"}}',
    }
    report = Project(tmp_path / "shop", files).check("It is React 18, with Vue 3 and Svelte 3.")
    assert found(report) == [("version", "React 18")]
    assert "Svelte 3" in unchecked(report)


VOUCHED = {
    "an option": ("`till serve --bind x`", {("server/till/main.py", '"--bind')}),
    "a port": ("The API listens on 7100.", set()),  # two files say it
    "a package": ("Requests go to Flask.", {("server/pyproject.toml", "flask")}),
    "a value": ("`MAX_BATCH` is 64.", {("server/till/limits.py", "MAX_BATCH = 64")}),
    "a version": ("Needs Python 3.10.", {("server/pyproject.toml", 'python = "^3.10"')}),
}


@pytest.mark.parametrize("name", VOUCHED)
def test_what_is_said_in_words_is_vouched_for(name: str, before: Project) -> None:
    says, places = VOUCHED[name]
    (before.root / "NOTES.md").write_text(f"{says}\n")
    [said] = check_statements(read_memories([before.root / "NOTES.md"]))
    assert places <= {(one.path, one.quote) for one in said.vouchers}
    assert said.findings == ()
