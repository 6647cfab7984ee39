from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from readmit import LookRules
from readmit.sources import Looker

if TYPE_CHECKING:
    from pathlib import Path


# What is there is found, however busy the machine is.
PATIENT = {"seconds": 60, "total_seconds": 120}


def limits_of(**given: object) -> LookRules:
    """Limits of a look, also below the second that a policy takes at least: such a test ends sooner."""
    return msgspec.structs.replace(LookRules(), **given)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory that a look may read, beside others that it may not."""
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def looker(root: Path) -> Looker:
    return Looker(limits_of(roots=(str(root),), **PATIENT))


class Repo:
    """A real repository."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", *options)

    def git(self, *words: str) -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
        }  # fmt: skip
        done = subprocess.run(
            ["git", "-C", self.folder, *words], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, **files: str | None) -> str:
        """Commit files by name, with ``__`` for a dot; None removes one."""
        for name, text in files.items():
            path = self.folder / name.replace("__", ".")
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=m")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repo(root: Path) -> Repo:
    return Repo(root / "repo")


def settled(path: Path) -> None:
    """Wait until a file is old enough for its version to be trusted."""
    while time.time() - path.stat().st_ctime < 2.1:
        time.sleep(0.05)
