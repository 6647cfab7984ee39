"""A user's home and a repository of the test's own."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from readmit.clients.known_clients import CLIENTS

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

VARIABLES = ("XDG_DATA_HOME", "READMIT_DATA", "READMIT_DB", *(client.variable for client in CLIENTS.values()))


def git(*arguments: object, cwd: Path) -> None:
    """Run git as a user with a name."""
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run([*command, *map(str, arguments)], cwd=cwd, check=True, capture_output=True)


def empty_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and no variable that leads out of it but the one of the signing keys."""
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("READMIT_KEYS", str(folder / "keys"))
    return folder


def repository(folder: Path, **files: str) -> Path:
    """A repository with one commit. The names of files have ``__`` for a dot."""
    folder.mkdir()
    git("init", "-q", ".", cwd=folder)
    for name, text in (files or {"pyproject__toml": ""}).items():
        (folder / name.replace("__", ".")).write_text(text)
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "one", cwd=folder)
    return folder
