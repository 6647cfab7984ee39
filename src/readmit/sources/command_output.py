"""Looks at the output of a command: from the list of allowed ones, without a shell, in a sandbox."""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from readmit.records.base import shown
from readmit.records.error_types import ProbeError
from readmit.records.probes import CommandProbe
from readmit.sources import sandbox
from readmit.sources.whole_source import WholeSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.sources.look import LookDeadline

ANY = "*"
_PATH = "/usr/local/bin:/usr/bin:/bin"
_ENVIRONMENT = {"PATH": _PATH, "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}


class Commands(WholeSource[CommandProbe]):
    """The commands that the limits allow. They run in the first root, or in / if there is none."""

    probe = CommandProbe

    def read(self, probe: CommandProbe, deadline: LookDeadline) -> bytes:
        argv = probe.argv
        if not any(_allows(entry, argv) for entry in self._limits.commands):
            raise ProbeError(
                f"commands: {shown(' '.join(argv))} is not allowed; add it to looks.commands of the policy"
            )
        directory = self._limits.roots[0] if self._limits.roots else "/"
        program = shutil.which(argv[0] if "/" not in argv[0] else os.path.join(directory, argv[0]), path=_PATH)  # noqa: PTH118
        if program is None:
            raise ProbeError(f"there is no program {shown(argv[0])} in {_PATH}")
        wrapped = [
            sys.executable, "-I", "-S", str(Path(sandbox.__file__)), self._limits.sandbox,
            str(ceil(deadline.left())), program, *argv,
        ]  # fmt: skip
        process = subprocess.Popen(  # noqa: S603 - from the list of allowed commands, without a shell
            wrapped,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT, cwd=directory, start_new_session=True,
        )  # fmt: skip
        with process:
            try:
                data = _bounded(process, self._limits.bytes, deadline)
                status = process.wait(deadline.left())
            except subprocess.TimeoutExpired:
                raise ProbeError("the command took too long") from None
            finally:
                # What the command left behind in its process group ends with it.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        if status == sandbox.REFUSED:
            raise ProbeError("sandbox: this system allows no namespaces; sandbox=limits runs commands without them")
        if status != 0:
            raise ProbeError(f"the command ended with status {status}")
        return data


def _allows(entry: Sequence[str], argv: Sequence[str]) -> bool:
    """Whether an entry of the list is this command: the same words, or a beginning of it with a last ``*``."""
    wanted = tuple(entry)
    if len(wanted) > 1 and wanted[-1] == ANY:
        return tuple(argv[: len(wanted) - 1]) == wanted[:-1]
    return tuple(argv) == wanted


def _bounded(process: subprocess.Popen[bytes], limit: int, deadline: LookDeadline) -> bytes:
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    output = process.stdout.fileno()
    data = b""
    with selectors.DefaultSelector() as ready:
        ready.register(output, selectors.EVENT_READ)
        while True:
            if not ready.select(deadline.left()):
                raise ProbeError("the command took too long")
            piece = os.read(output, 65_536)
            if not piece:
                return data
            data += piece
            if len(data) > limit:
                raise ProbeError(f"it writes more than {limit} bytes, which is the limit")
