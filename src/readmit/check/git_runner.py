"""Runs git over a tree that may be a stranger's: disarmed, and in bounded time, memory and output."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from readmit.records.error_types import CheckLimitError, ProbeError

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 60
"""Most seconds for one git command."""
_LARGEST_ANSWER = 128 << 20
_MOST_MEMORY = 2 << 30
# Settings given here win over those of the repository.
_DISARMED = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.alternateRefsCommand": "false",
    "core.attributesFile": os.devnull,
    "core.pager": "cat",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "core.packedGitLimit": "512m",
    "core.packedGitWindowSize": "32m",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "diff.external": "",
    "diff.renameLimit": "400",
    "trace2.normalTarget": "0",
    "trace2.perfTarget": "0",
    "trace2.eventTarget": "0",
}
_ENVIRONMENT = {
    "PATH": os.defpath if sys.platform == "win32" else "/usr/local/bin:/usr/bin:/bin",
    "LC_ALL": "C.UTF-8",
    "HOME": os.devnull,
    "XDG_CONFIG_HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
}


class TreeGit:
    """Runs git commands in one working tree."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def ask(self, *arguments: str, given: str = "", check: bool = True) -> str:
        """The standard output of a git command. Pass names after ``--`` or on standard input."""
        settings = [word for name, value in _DISARMED.items() for word in ("-c", f"{name}={value}")]
        # With the directory given, git looks for no repository around it. A worktree has a file there.
        where = (f"--git-dir={self._root / '.git'}", f"--work-tree={self._root}")
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as wrong:
            try:
                status = subprocess.run(  # noqa: S603 - git alone
                    ["git", *where, *settings, "--no-pager", *arguments],  # noqa: S607 - from the PATH below
                    input=given.encode("utf-8", "surrogateescape"), stdout=out, stderr=wrong, env=_ENVIRONMENT,
                    cwd=self._root, timeout=SECONDS, check=False, preexec_fn=_limit,
                ).returncode  # fmt: skip
            except subprocess.TimeoutExpired:
                raise CheckLimitError(
                    f"git {arguments[0]} took more than {SECONDS} s; check fewer files at once"
                ) from None
            except OSError as error:
                raise ProbeError(f"git cannot be started: {error.strerror}") from None
            if status < 0:
                raise CheckLimitError(
                    f"git {arguments[0]} took too much memory, or printed too much; check fewer files"
                )
            # 1 says that nothing was found.
            if check and status not in (0, 1):
                wrong.seek(0)
                said = wrong.read(1_000).decode("utf-8", "replace").strip().partition("\n")[0]
                raise ProbeError(f"git {arguments[0]} failed: {said}")
            out.seek(0)
            return out.read().decode("utf-8", "surrogateescape")


def _limit() -> None:
    for what, most in (
        (resource.RLIMIT_AS, _MOST_MEMORY),
        (resource.RLIMIT_FSIZE, _LARGEST_ANSWER),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))
