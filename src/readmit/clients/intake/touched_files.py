"""Files that sessions read or wrote, as sources that can be looked at again.

A file is a source if git does not ignore it, its name promises no secret and nothing in it looks like one. What is
larger than ``MOST_TEXT`` has its place as the source, or the lines that were read. Reading the same again adds nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from readmit.check.git_runner import TreeGit
from readmit.clients.intake.spool_files import is_path
from readmit.clients.secret_filter import holds_secret
from readmit.records.acts.event import EventKind
from readmit.records.canonical import digest
from readmit.records.error_types import ProbeError, ReadmitError
from readmit.records.evidence import Evidence
from readmit.sources import File
from readmit.sources.files import may_hold_secret
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.clients.intake.spool_content import Touched
    from readmit.clients.project import Project
    from readmit.workspace.workspace import Workspace

FILE = "file-"
"""Prefix of the ids of sources from files."""
MOST_TEXT = 32_000
"""Most bytes of a file whose text is kept."""
_SLACK = 2_000_000_000
"""How much later than the tool use a file may bear its last change: two ticks of a slow file system's clock."""
_MOST_ALONE = 100


class _MovedError(ReadmitError):
    """The error for a file that is not the one that was filtered."""


class FitSource(NamedTuple):
    """A place in a file of a checkout that was found fit, and the text that was found there."""

    place: File
    text: str
    """Empty for a place alone."""


def ignored_names(project: Project, names: Iterable[str]) -> set[str]:
    """Which of some paths, relative to the checkout, git ignores there. All of them if it cannot be asked."""
    asked = list(names)
    if not asked or not os.path.lexists(project.worktree / ".git"):
        return set()
    given = (f"core.excludesFile={one}" for one in _users_excludes())
    settings = [word for one in given for word in ("-c", one)]
    try:
        said = TreeGit(project.worktree).ask(*settings, "check-ignore", "-z", "--stdin", given="\0".join([*asked, ""]))
    except (ReadmitError, OSError):
        # One of them may be what git refuses to judge, such as a file of a submodule.
        alone = asked[:_MOST_ALONE] if len(asked) > 1 else []
        return set(asked[len(alone) :]).union(*(ignored_names(project, [one]) for one in alone))
    return set(said.split("\0")) - {""}


def _users_excludes() -> list[str]:
    """The user's own file of names that git ignores everywhere, at its usual place."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - may have no home
    path = os.path.join(folder, "git", "ignore")  # noqa: PTH118 - as above
    return [path] if os.path.isabs(path) and os.path.isfile(path) else []  # noqa: PTH113, PTH117 - as above


def inside(project: Project, path: str) -> str:
    """A path relative to the checkout; empty if it leads out of it, or to what no source is made of."""
    real = os.path.realpath(path)
    if not Path(real).is_relative_to(project.worktree):
        return ""
    name = Path(real).relative_to(project.worktree).as_posix()
    hidden = any(may_hold_secret(part) or part == ".git" for part in name.split("/"))
    return "" if hidden or name == "." or not is_path(name) else name


def fit_source(project: Project, name: str, touched: Touched) -> FitSource | str:
    """The source that a file is, or why it is none."""
    path = project.worktree / name
    try:
        status = path.stat()
        if max(status.st_mtime_ns, status.st_ctime_ns) > touched.at + _SLACK:
            return "changed since"
        if not path.is_file():
            return "not a file"
        if status.st_size > MOST_TEXT:
            return _part(path, touched) or FitSource(File(path, exists=True), "")
        data = path.read_bytes()
        text = data.decode("utf-8")
    except OSError:
        return "gone"
    except UnicodeDecodeError:
        return FitSource(File(path, exists=True), "")
    if not text.strip() or "\0" in text:
        return FitSource(File(path, exists=True), "")
    return "secret" if holds_secret(text) else FitSource(File(path), text)


def _part(path: Path, touched: Touched) -> FitSource | str:
    """The lines of a large file that were read; an empty text if it was read or written as a whole."""
    if not touched.count:
        return ""
    first = max(touched.first, 1)
    with path.open("rb") as file:
        lines = [line for number, line in enumerate(file, 1) if first <= number < first + touched.count]
    text = b"".join(lines).decode("utf-8", "replace")
    if not lines or len(text) > MOST_TEXT or not text.strip() or "\ufffd" in text:
        return ""
    return "secret" if holds_secret(text) else FitSource(File(path, lines=f"{first}-{first + len(lines) - 1}"), text)


def observe_source(workspace: Workspace, project: Project, source: FitSource, by: str) -> bool:
    """Write a source down, unless its file is no longer the one that was found fit.

    Returns whether anything is new.
    """
    log, place = desk_of(workspace).log, source.place
    said = (project.task, str(place.path), place.lines, source.text)
    # Keyed: an id that is made of a content confirms no guess of it once that is forgotten.
    name = f"{FILE}{log.keyed(digest(said))[:32]}"
    if log.named(EventKind.OBSERVE, name) is not None:
        return False
    try:
        with workspace.batch():
            seen = workspace.principal(by).observe(probe=place, id=name, task=project.task)
            _check_same(source, log.evidence(seen).payload)
    except (_MovedError, ProbeError):
        return False
    return True


def _check_same(source: FitSource, found: object) -> None:
    """Refuse a text that was not filtered: the file was written since."""
    if source.text and not (isinstance(found, Evidence) and found.text in source.text):
        raise _MovedError("it changes while it is taken in")
