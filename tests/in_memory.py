"""Where the tests keep their files: in memory, on a system that has such a place.

A store in a file waits for the disk at each commit, and that waiting was most of the time of a run. What the tests try
to break is readmit, not the disk: a process that is killed leaves the same bytes in either place.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

ROOM = 4 << 30
"""Bytes that a run may need: each test that fails keeps its folder."""


def memory() -> Path | None:
    """A folder in memory with enough room, from which programs may be started."""
    folder = Path("/dev/shm")  # noqa: S108 - what is made there is made by tempfile, under names of its own
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return None
    disk = os.statvfs(folder)
    return folder if disk.f_bavail * disk.f_frsize >= ROOM and not disk.f_flag & os.ST_NOEXEC else None


def use_memory() -> None:
    """Make temporary files there, those of subprocesses too, unless the environment names another place."""
    if "TMPDIR" not in os.environ and (folder := memory()):
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
