"""Keeps local settings out of commits, by a line in the repository's own list that is never committed itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.check.git_runner import TreeGit
from readmit.records.error_types import ProbeError

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.clients.project import Project


class Exclude(NamedTuple):
    """A line for a repository's list of files that are not committed."""

    file: Path
    line: str


def is_tracked(worktree: Path, name: str) -> bool:
    """Whether a file of a checkout is committed, or is going to be with the next commit."""
    return _has_git(worktree) and bool(_asked(worktree, "ls-files", "--", name))


def exclude_line(project: Project, name: str) -> Exclude | None:
    """The line that keeps a file of a checkout out of commits; none if it is out already, or there is no repository."""
    if not _has_git(project.worktree) or _asked(project.worktree, "check-ignore", "--", name):
        return None
    return Exclude(project.common / "info" / "exclude", f"/{name}")


def with_line(text: str, line: str) -> str:
    """A list with one more line."""
    if line in text.splitlines():
        return text
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}{line}\n"


def without_line(text: str, line: str) -> str:
    """A list without a line."""
    return "".join(one for one in text.splitlines(keepends=True) if one.strip() != line)


def _has_git(worktree: Path) -> bool:
    return (worktree / ".git").exists()


def _asked(worktree: Path, *words: str) -> str:
    try:
        return TreeGit(worktree).ask(*words, check=False)
    except ProbeError:  # without git, nobody commits here
        return ""
