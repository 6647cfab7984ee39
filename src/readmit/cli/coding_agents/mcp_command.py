"""``readmit mcp``: the agent's own tools, for the client that starts this as an MCP server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from readmit.cli.command import command
from readmit.clients.known_clients import CLIENTS
from readmit.clients.project import project_of

if TYPE_CHECKING:
    from readmit.cli.command import Invocation


@command("mcp", store=False, examples=("readmit mcp --client claude-code",))
@click.option(
    "--client", required=True, type=click.Choice(list(CLIENTS)), help="The coding agent that starts this server."
)
def serve_mcp(_: Invocation, /, *, client: str) -> None:
    """Serve the agent's own tools over MCP, on standard input and output. `readmit install` writes the entry.

    remember, recall, what_changed, why, settle and depart, with the rights of the session that runs in this folder.
    """
    from readmit.clients.agent_tools.tool_server import serve_tools

    serve_tools(project_of(Path.cwd()), client)
