"""The entries that readmit writes into each client's settings: hooks, the MCP server, or a plugin.

Every command names its interpreter by its absolute path and ends in success whatever happens: to a client, exit status
2 of a hook means *block*, and Python itself exits with 2 where a file is gone, as after readmit was uninstalled.
"""

from __future__ import annotations

import json
import shlex
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.clients.hook_command import ISOLATED, hook_command
from readmit.clients.known_clients import SECONDS
from readmit.clients.setup.settings_edits import Piece

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.clients.known_clients import KnownClient, Moment
    from readmit.clients.project import Project

NAME = "readmit"
"""The name of the MCP server."""
MCP_EXTRA = "pip install 'readmit[mcp]'"

# opencode runs no command at its events, but loads a plugin. The text of a start is kept, because opencode makes the
# system prompt again for every request.
_PLUGIN = """\
// Written by `readmit install opencode`; `readmit install opencode --remove` takes it out.
import {{ spawn }} from "node:child_process"

const run = (command, payload, milliseconds) =>
  new Promise((resolve) => {{
    let text = ""
    try {{
      const child = spawn(command[0], command.slice(1), {{ stdio: ["pipe", "pipe", "ignore"] }})
      const timer = setTimeout(() => child.kill("SIGKILL"), milliseconds)
      const done = () => {{ clearTimeout(timer); resolve(text) }}
      child.on("error", done)
      child.on("close", done)
      child.stdout.on("data", (data) => {{ text += data }})
      child.stdin.on("error", () => {{}})
      child.stdin.end(JSON.stringify(payload))
    }} catch {{
      resolve(text)
    }}
  }})

export const Readmit = async ({{ directory }}) => {{
  const fresh = new Set()
  const texts = new Map()
  const start = async (session) => {{
    const payload = {{
      session_id: session, cwd: directory, hook_event_name: "SessionStart",
      source: fresh.has(session) ? "startup" : "resume",
    }}
    try {{
      return JSON.parse(await run({start}, payload, {start_milliseconds})).hookSpecificOutput.additionalContext
    }} catch {{
      return ""
    }}
  }}
  const end = (session, reason) =>
    run({end}, {{ session_id: session, cwd: directory, hook_event_name: "SessionEnd", reason }}, {end_milliseconds})
  return {{
    event: async ({{ event }}) => {{
      if (event.type === "session.created") fresh.add(event.properties.info.id)
      if (event.type === "session.deleted" && texts.delete(event.properties.info.id))
        await end(event.properties.info.id, "deleted")
    }},
    "experimental.chat.system.transform": async ({{ sessionID }}, output) => {{
      if (!sessionID) return
      if (!texts.has(sessionID)) texts.set(sessionID, start(sessionID))
      const text = await texts.get(sessionID)
      if (text) output.system.push(text)
    }},
    dispose: async () => {{
      await Promise.all([...texts.keys()].map((session) => end(session, "other")))
    }},
  }}
}}
"""


class Wanted(NamedTuple):
    """A file of a client's settings, and the pieces in it; or a file that is readmit's as a whole."""

    path: Path
    pieces: tuple[Piece, ...] = ()
    whole: str = ""


def wanted_files(client: KnownClient, project: Project | None) -> tuple[Wanted, ...]:
    """The files that readmit writes for a client: the user's settings, or those of one checkout."""
    local = project.worktree if project is not None else None
    hooks = local / client.local_hooks_file if local else client.place(client.hooks_file)
    files = [Wanted(hooks, whole=_plugin(client)) if client.form == "opencode" else Wanted(hooks, _hooks(client))]
    if has_mcp():
        home = client.local_mcp_file if local else client.mcp_file
        own = home.startswith("~/") or local is None
        servers = client.place(home) if own else local / home  # type: ignore[operator]  # one of the two is true
        piece = _server(client, local if own else None)
        same = [one for one in files if one.path == servers]
        files = [one for one in files if one.path != servers]
        files.append(Wanted(servers, (*(same[0].pieces if same else ()), piece)))
    return tuple(files)


def has_mcp() -> bool:
    """Whether the package of the MCP server is installed."""
    return find_spec("mcp") is not None


def _hooks(client: KnownClient) -> tuple[Piece, ...]:
    return tuple(
        Piece(("hooks", event), {"hooks": [_hook(client, moment)]}, is_hook=True)
        for moment, events in client.events.items()
        for event in events
    )


def _hook(client: KnownClient, moment: Moment) -> dict[str, object]:
    command = f"{shlex.join(hook_command(moment, client.name))} || true"
    return {"type": "command", "command": command, "timeout": SECONDS[moment] * client.timeout_unit}


def _server(client: KnownClient, checkout: Path | None) -> Piece:
    """The MCP entry, in the form of the client. ``checkout``: below its path in the user's own file."""
    words = [*ISOLATED, "-m", "readmit", "mcp", "--client", client.name]
    entry: dict[str, Any] = {"command": sys.executable, "args": words}
    forms: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
        "claude": (("mcpServers", NAME), {"type": "stdio", **entry}),
        "codex": (("mcp_servers", NAME), entry),
        "gemini": (("mcpServers", NAME), entry),
        "opencode": (("mcp", NAME), {"type": "local", "command": [sys.executable, *words], "enabled": True}),
    }
    path, value = forms[client.form]
    return Piece(path if checkout is None else ("projects", str(checkout), *path), value)


def _plugin(client: KnownClient) -> str:
    return _PLUGIN.format(
        start=json.dumps(hook_command("start", client.name)),
        start_milliseconds=SECONDS["start"] * 1_000,
        end=json.dumps(hook_command("end", client.name)),
        end_milliseconds=SECONDS["end"] * 1_000,
    )
