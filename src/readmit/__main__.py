"""The command line as a program. A status bar asks for its line again and again, so that loads no command."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def command_line() -> None:
    """Run the command line."""
    if sys.argv[1:] == ["status"] and "READMIT_DB" not in os.environ and _show_line():
        return
    from readmit.cli import main as commands

    commands(prog_name=None if sys.argv[0].endswith("readmit") else "python -m readmit")


def _show_line() -> bool:
    """Print the status of the coding agent's project in this folder; false if there is none."""
    from datetime import UTC, datetime
    from pathlib import Path

    from readmit.clients.project import project_of
    from readmit.clients.report.status_line import read_status, status_line
    from readmit.records.error_types import ReadmitError

    found = None
    with suppress(OSError, ReadmitError):  # the command says what is wrong
        here = Path.cwd()
        found = None if (here / "readmit.db").exists() else read_status(project_of(here))
    if found is not None:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a terminal or a pipe
        sys.stdout.write(f"{status_line(found, datetime.now(UTC))}\n")
    return found is not None


if __name__ == "__main__":
    command_line()
