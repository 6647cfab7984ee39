"""Installs readmit into a client and takes it out again: a plan of files first, then backups, a manifest, the files.

The manifest in readmit's data folder lists exactly what was written. Removal takes out that and nothing else, wherever
the user moved it to within its file, and keeps every later edit.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from readmit.clients.project import data_folder, make_private
from readmit.clients.setup.git_exclude import exclude_line, is_tracked, with_line, without_line
from readmit.clients.setup.hook_entries import wanted_files
from readmit.clients.setup.install_manifest import (
    Installed,
    WrittenFile,
    WrittenPiece,
    installed,
    manifest_file,
    manifest_text,
)
from readmit.clients.setup.settings_edits import ClientSettings
from readmit.records.error_types import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from readmit.clients.known_clients import KnownClient
    from readmit.clients.project import Project
    from readmit.clients.setup.hook_entries import Wanted
    from readmit.clients.setup.settings_edits import Piece

_PRIVATE_FILE = 0o600


@dataclass(frozen=True)
class SettingsChange:
    """One file before and after. ``after`` is none for a file that goes."""

    path: Path
    before: str | None
    after: str | None
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True)
class InstallPlan:
    """Every file that an installation or a removal changes, and what the manifest says afterwards."""

    files: tuple[SettingsChange, ...]
    installed: tuple[Installed, ...]
    folders: tuple[str, ...] = field(default=())
    """Folders that go if they are empty."""

    @property
    def changes(self) -> bool:
        return any(file.changes for file in self.files)


def plan_install(client: KnownClient, project: Project | None) -> InstallPlan:
    """The changes that an installation would make. Makes none itself."""
    if sys.platform == "win32":
        raise SettingsError("Windows is not supported: hooks need a POSIX shell; run readmit and the client in WSL")
    if not sys.executable:
        raise SettingsError("the Python interpreter does not know its own path; run readmit by an absolute path")
    known, checkout = installed(), _checkout(project)
    before = next((one for one in known if one.is_of(client.name, checkout)), Installed(client.name, checkout))
    changes: list[SettingsChange] = []
    written: list[WrittenFile] = []
    wanted = wanted_files(client, project)
    for file in wanted:
        old = next((one for one in before.files if one.path == str(file.path)), WrittenFile(str(file.path)))
        change, new = _put(file, old)
        if project is not None and file.path.is_relative_to(project.worktree):
            new = _kept_out(project, change, new)
        changes.append(change)
        written.append(new)
    for old in before.files:  # of an earlier version, or from when the MCP package was there
        if old.path not in {str(file.path) for file in wanted}:
            changes += _take(old)
    changes += _listed(written, with_line)
    now = Installed(client.name, checkout, tuple(written))
    return InstallPlan(tuple(changes), (*(one for one in known if not one.is_of(client.name, checkout)), now))


def plan_removal(client: KnownClient, project: Project | None) -> InstallPlan:
    """The changes that a removal would make. Makes none itself."""
    known = installed()
    gone = [one for one in known if one.is_of(client.name, _checkout(project))]
    files = [file for one in gone for file in one.files]
    return InstallPlan(
        (*(change for file in files for change in _take(file)), *_listed(files, without_line)),
        tuple(one for one in known if one not in gone),
        tuple(folder for file in files for folder in reversed(file.folders)),
    )


def apply_plan(plan: InstallPlan, now: datetime) -> Path | None:
    """Make the changes. Returns the folder of the backups, if a file was there before.

    The manifest is written first: a removal after a crash looks for more than there is, never for less.
    """
    changed = [file for file in plan.files if file.changes]
    if not changed and plan.installed == installed():
        return None
    for file in changed:
        if _text(file.path) != file.before:
            raise SettingsError(f"{file.path}: it changed in the meantime; run the same command again")
    make_private(data_folder())
    backups = _back_up(changed, now)
    manifest = SettingsChange(manifest_file(), _text(manifest_file()), manifest_text(plan.installed))
    done: list[SettingsChange] = []
    try:
        for file in (manifest, *changed):
            _write(file.path, file.after)
            done.append(file)
    except SettingsError as error:
        for file in done:
            _write(file.path, file.before)
        raise SettingsError(f"{error}; nothing was changed") from None
    for folder in plan.folders:
        with suppress(OSError):
            Path(folder).rmdir()
    return backups


def _put(file: Wanted, old: WrittenFile) -> tuple[SettingsChange, WrittenFile]:
    settings = ClientSettings.read(file.path) if not file.whole else ClientSettings(file.path, _text(file.path))
    before = settings.text
    new = WrittenFile(
        str(file.path),
        created=old.created or before is None,
        folders=old.folders or _missing_folders(file.path),
        excluded=old.excluded,
    )
    if file.whole:
        digest = _digest(file.whole)
        if before is not None and _digest(before) not in (digest, old.whole):
            raise SettingsError(f"{file.path}: this file is not readmit's; move it away, nothing was changed")
        return SettingsChange(file.path, before, file.whole), replace(new, whole=digest)
    made, notes = list(old.made), []
    mine = [one.piece for one in old.pieces]
    for piece in mine:
        if piece not in file.pieces and _is_as_written(settings, piece):
            settings = settings.without_piece(piece)
    for piece in file.pieces:
        if settings.holds(piece):
            if not _is_as_written(settings, piece):
                notes.append(f"{'.'.join(piece.path)} is there already and stays as it is")
            continue
        made += [path for path in _containers(piece) if settings.at(path) is None and path not in made]
        settings = settings.with_piece(piece)
    # Of a member that was there before readmit came, nothing is recorded, so that a removal leaves it.
    pieces = [one for one in file.pieces if one.is_hook or one in mine or _is_as_written(settings, one)]
    written = tuple(WrittenPiece(*one) for one in pieces)
    made.sort(key=len, reverse=True)
    return (
        SettingsChange(file.path, before, settings.text, tuple(notes)),
        replace(new, pieces=written, made=tuple(made)),
    )


def _take(file: WrittenFile) -> Iterator[SettingsChange]:
    """The changes that take out what a file was given."""
    path = Path(file.path)
    before = _text(path) if file.whole else ClientSettings.read(path).text
    if before is None:
        return
    if file.whole:
        same = _digest(before) == file.whole
        yield SettingsChange(path, before, None if same else before, () if same else ("it was edited, and stays",))
        return
    settings = ClientSettings(path, before)
    notes = []
    for one in file.pieces:
        if one.is_hook or _is_as_written(settings, one.piece):
            settings = settings.without_piece(one.piece)
        elif settings.holds(one.piece):
            notes.append(f"{'.'.join(one.path)} was edited, and stays")
    for container in file.made:
        settings = settings.without_empty(container)
    is_empty = file.created and not settings.value and "//" not in (settings.text or "")
    yield SettingsChange(path, before, None if is_empty else settings.text, tuple(notes))


def _is_as_written(settings: ClientSettings, piece: Piece) -> bool:
    return settings.holds(piece) if piece.is_hook else settings.at(piece.path) == piece.value


def _containers(piece: Piece) -> Iterable[tuple[str, ...]]:
    most = len(piece.path) + (1 if piece.is_hook else 0)
    return [piece.path[:length] for length in range(1, most)]


def _kept_out(project: Project, change: SettingsChange, new: WrittenFile) -> WrittenFile:
    """Keep a file of a checkout out of commits: a teammate who lacks readmit must not get its hooks."""
    name = change.path.relative_to(project.worktree).as_posix()
    if is_tracked(project.worktree, name):
        raise SettingsError(
            f"{change.path}: it is committed, so teammates without readmit would get its hooks; run `readmit install` "
            "without --project, nothing was changed"
        )
    exclude = exclude_line(project, name)
    return new if exclude is None else replace(new, excluded=(str(exclude.file), exclude.line))


def _listed(files: Iterable[WrittenFile], edit: Callable[[str, str], str]) -> Iterator[SettingsChange]:
    """The changes of the lists that keep files out of commits, each with all its lines."""
    lines = [file.excluded for file in files if file.excluded is not None]
    for path in dict.fromkeys(path for path, _ in lines):
        before = _text(Path(path))
        after = before or ""
        for line in (line for one, line in lines if one == path):
            after = edit(after, line)
        if before is not None or after:
            yield SettingsChange(Path(path), before, after)


def _missing_folders(path: Path) -> tuple[str, ...]:
    return tuple(str(folder) for folder in reversed(path.parents) if not folder.exists())


def _back_up(changed: list[SettingsChange], now: datetime) -> Path | None:
    """Copies of the files as they are, each at its own path below a folder named after the moment."""
    existing = [file for file in changed if file.before is not None]
    if not existing:
        return None
    folder = data_folder() / "backups" / now.strftime("%Y%m%dT%H%M%S.%fZ")
    for file in existing:
        copied = folder / str(file.path.absolute()).lstrip("/")
        make_private(copied.parent)
        _write(copied, file.before or "")
    return folder


def _write(path: Path, text: str | None) -> None:
    """Replace a file whole, or delete it. One that a link leads to is replaced where it is; its mode stays."""
    real = Path(os.path.realpath(path))
    temporary = real.with_name(f".{real.name}.readmit-{os.getpid()}")
    try:
        if text is None:
            path.unlink(missing_ok=True)
            return
        real.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else _PRIVATE_FILE
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        temporary.replace(real)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise SettingsError(f"{path}: it cannot be written: {error.strerror}") from None


def _text(path: Path) -> str | None:
    """The text of a file, as it is; none if there is none."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: it cannot be read: {error}; nothing was changed") from None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _checkout(project: Project | None) -> str:
    return "" if project is None else str(project.worktree)
