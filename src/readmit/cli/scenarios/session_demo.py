"""A session of a coding agent that resumes in a changed repository, played by the real hooks in a temporary folder.

No client is needed: the hooks read what Claude Code would send them, and print what it would hand to its model.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from readmit.clients.hook import OTHER_SECONDS
from readmit.clients.hook_command import hook_command
from readmit.clients.known_clients import CLIENTS
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.panel import Panel

CLIENT = "claude-code"
_OURS = frozenset({"READMIT_DB", "XDG_DATA_HOME", CLIENTS[CLIENT].variable})
MEMORY = (
    "Prices are made in `src/prices.py`.",
    "Release with `make ship`.",
    "The server has `port = 8080`.",
    "We ship on Monday.",
    "Be kind to reviewers.",
)
"""The lines of the memory file, as the session read them at first."""
CHANGES = (
    "src/prices.py is renamed to src/costs.py",
    "config.toml says port = 9000",
    "in CLAUDE.md, Monday becomes Tuesday",
)
"""The changes of the project while the session is away."""
_FILES = {
    ".git/HEAD": "ref: refs/heads/main\n",
    "src/prices.py": "def price_of(item):\n    return 3\n",
    "Makefile": "ship:\n\ttrue\n",
    "config.toml": "port = 8080\n",
    "CLAUDE.md": "# Shop\n\n" + "".join(f"- {line}\n" for line in MEMORY),
}


class PlayedSession(NamedTuple):
    """The output of the hooks and of some commands."""

    resumed: str
    """Words of the hook when the session resumed."""
    outputs: tuple[str, ...] = ()
    """Output of each command, with ``~`` for the home."""

    @property
    def withdrawn(self) -> tuple[str, ...]:
        """Entries that the session read as no longer holding."""
        _, _, rest = self.resumed.partition("## No longer holds")
        return tuple(line[2:] for line in rest.partition("\n\n")[0].splitlines() if line.startswith("- "))


def played_session(*commands: Sequence[str]) -> PlayedSession:
    """Start a session, change its repository, resume it, and run commands of readmit there."""
    with TemporaryDirectory(prefix="readmit-demo-") as folder:
        shop = Path(folder) / "shop"
        for name, text in _FILES.items():
            (shop / name).parent.mkdir(parents=True, exist_ok=True)
            (shop / name).write_text(text, encoding="utf-8")
        # With a head, these make a repository.
        for name in ("objects", "refs"):
            (shop / ".git" / name).mkdir()
        _hook(shop, "startup")
        (shop / "src/prices.py").rename(shop / "src/costs.py")
        (shop / "config.toml").write_text("port = 9000\n", encoding="utf-8")
        memory = shop / "CLAUDE.md"
        memory.write_text(memory.read_text(encoding="utf-8").replace("Monday", "Tuesday"), encoding="utf-8")
        resumed = _hook(shop, "resume")
        printed = (_run(shop, (sys.executable, "-m", "readmit", *words)) for words in commands)
        return PlayedSession(resumed, tuple(text.replace(folder, "~") for text in printed))


def session_panel() -> Panel:
    """A coding agent's return, for the demo."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    played = played_session()
    lines = [
        *(Text(f"CLAUDE.md  {line}") for line in MEMORY),
        Text("\nMeanwhile", style="bold"),
        *(Text(f"  {change}") for change in CHANGES),
        Text("\nIt resumes with its transcript, and reads: no longer holds", style="bold"),
        *(Text(f"  {one_line(entry.replace('`', ''))}", style="red") for entry in played.withdrawn),
        Text(f"\nWhat still holds is not repeated: {len(MEMORY) - len(played.withdrawn)} of {len(MEMORY)} lines."),
    ]
    if not played.withdrawn:
        lines[-2:] = [Text(f"\n{one_line(played.resumed) or 'The hook said nothing.'}")]
    title = Text("A coding agent resumes: what no longer holds", style="bold")
    return Panel(Group(*lines), title=title, title_align="left", padding=(1, 2))


def _hook(shop: Path, source: str) -> str:
    """The text of a start."""
    payload = {"session_id": "demo", "cwd": str(shop), "hook_event_name": "SessionStart", "source": source}
    printed = _run(shop, hook_command("start", CLIENT), json.dumps(payload))
    said = json.loads(printed) if printed else {}
    return str(said.get("hookSpecificOutput", {}).get("additionalContext", ""))


def _run(shop: Path, words: Sequence[str], given: str = "") -> str:
    """The output of a program of readmit, in a home of its own."""
    home = shop.parent
    own = {"HOME": home, "READMIT_DATA": home / "data", "READMIT_KEYS": home / "keys"}
    done = subprocess.run(  # noqa: S603 - readmit's own program
        words,
        input=given,
        env={
            **{name: value for name, value in os.environ.items() if name not in _OURS},
            **{name: str(path) for name, path in own.items()},
            OTHER_SECONDS: "30",
        },
        cwd=shop,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    return done.stdout
