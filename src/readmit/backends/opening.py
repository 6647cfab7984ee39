"""What every backend checks when it is opened: its package, and its folder on disk."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from readmit.records.errors import BackendError


def need(package: str, extra: str) -> None:
    """Refuse to go on without a package."""
    if find_spec(package) is None:
        raise BackendError(f"{package} is not installed; run: pip install 'readmit[{extra}]'")


def folder_at(path: str | Path) -> Path:
    """The folder of a store, made if it is not there."""
    if not str(path):
        raise BackendError("path: name a folder for the store")
    folder = Path(path).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BackendError(f"path: {folder} cannot be used as a folder: {error.strerror}") from error
    return folder
