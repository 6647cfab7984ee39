"""The command line as a program. What a status bar and a starting client wait for loads no other command."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path


def command_line() -> None:
    """Run the command line."""
    match sys.argv[1:]:
        case ["status"] if "READMIT_DB" not in os.environ and _show_line():
            return
        case ["mcp", "--client", client] if _serve(client):
            return
    from readmit.cli import main as commands

    commands(prog_name=None if sys.argv[0].endswith("readmit") else "python -m readmit")


def _show_line() -> bool:
    """Print the status of the coding agent's project in this folder; false if there is none."""
    from datetime import UTC, datetime

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


def _serve(client: str) -> bool:
    """Serve the tools of a coding agent; false for an unknown client, or without the package."""
    from readmit.clients.known_clients import CLIENTS
    from readmit.clients.project import project_of
    from readmit.records.error_types import ReadmitError

    if client not in CLIENTS or find_spec("mcp") is None:
        return False
    try:
        project = project_of(Path.cwd())
    except (OSError, ReadmitError):
        return False
    from readmit.clients.agent_tools.tool_server import serve_tools

    serve_tools(project, client)
    return True


if __name__ == "__main__":
    command_line()
