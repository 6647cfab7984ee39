"""The manifest: exactly what readmit wrote into which client's settings, so that exactly that can be taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from readmit.clients.project import data_folder
from readmit.clients.setup.settings_edits import Piece
from readmit.records.error_types import SettingsError

if TYPE_CHECKING:
    from pathlib import Path


class WrittenPiece(msgspec.Struct, frozen=True):
    """A piece as the manifest keeps it."""

    path: tuple[str, ...]
    value: Any
    is_hook: bool = False

    @property
    def piece(self) -> Piece:
        return Piece(self.path, self.value, self.is_hook)


class WrittenFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """The pieces that readmit wrote into one file."""

    path: str
    created: bool = False
    """Whether there was no such file."""
    folders: tuple[str, ...] = ()
    """Folders that were made for it, outermost first."""
    pieces: tuple[WrittenPiece, ...] = ()
    made: tuple[tuple[str, ...], ...] = ()
    """Containers that were not there, innermost first."""
    whole: str = ""
    """SHA-256 of a file that is readmit's as a whole."""
    excluded: tuple[str, str] | None = None
    """The list and the line in it that keep the file out of commits."""


class Installed(msgspec.Struct, frozen=True, omit_defaults=True):
    """The files that readmit wrote for one client: into the user's settings, or for one checkout."""

    client: str
    checkout: str = ""
    """Real path of the checkout; empty for the user's settings."""
    files: tuple[WrittenFile, ...] = ()

    def is_of(self, client: str, checkout: str) -> bool:
        return (self.client, self.checkout) == (client, checkout)


def manifest_file() -> Path:
    """The file of the manifest."""
    return data_folder() / "installed.json"


def installed() -> tuple[Installed, ...]:
    """The entries of the manifest."""
    try:
        return msgspec.json.decode(manifest_file().read_bytes(), type=tuple[Installed, ...])
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, msgspec.DecodeError) as error:
        raise SettingsError(f"{manifest_file()}: it cannot be read: {error}; nothing was changed") from None


def manifest_text(entries: tuple[Installed, ...]) -> str:
    """The manifest of some installations."""
    return msgspec.json.format(msgspec.json.encode(entries), indent=1).decode() + "\n"
