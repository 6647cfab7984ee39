"""Failures of hooks in a project, for ``readmit doctor``: a session reads one fixed line about them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from readmit.clients.report.status_line import read_status

if TYPE_CHECKING:
    from readmit.clients.project import Project

_SHOWN = 5


class HookFaults(NamedTuple):
    """The last failures, the newest last."""

    lines: tuple[str, ...] = ()
    total: int = 0
    is_failed: bool = False
    """Whether the last moment of a session failed."""


def hook_faults(project: Project) -> HookFaults:
    """Read the failures that are on record: some hundred of them are kept."""
    lines: list[str] = []
    with suppress(OSError):
        lines = project.faults_file.read_text("utf-8", "replace").splitlines()
    status = read_status(project) or {}
    return HookFaults(tuple(lines[-_SHOWN:]), len(lines), status.get("kind") == "failed")
