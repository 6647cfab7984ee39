"""The coding agents that readmit installs itself into: one entry of ``CLIENTS`` for each, and the one place to add one.

An entry says where a client keeps its settings and its memory, and which of its events each *moment* is. The moments
are readmit's own words: ``start``, ``prompt``, ``tool``, ``compact`` and ``end``.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from readmit.clients.project import file_start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit.clients.project import Project

Moment: TypeAlias = Literal["start", "prompt", "tool", "compact", "end"]
Form: TypeAlias = Literal["claude", "codex", "gemini", "opencode"]
"""The form in which a client writes an MCP entry."""

SECONDS: Mapping[Moment, int] = {"start": 5, "prompt": 3, "tool": 2, "compact": 3, "end": 3}
"""The time that a client is asked to give each moment. A hook ends itself before. Codex gives an end at most 3 s."""

DOES: Mapping[Moment, str] = {
    "start": "a session that starts, resumes, forks or was compacted reads what no longer holds, then what does",
    "prompt": "if a file changed on which something rests that the session holds, it is said once",
    "tool": "one line goes to a spool file; nothing is said",
    "compact": "the departure is written; nothing is said",
    "end": "the departure is written; nothing is said",
}
"""The work of readmit at each moment, for the person who installs it."""
MOST_MEMORY_FILES = 200
_IMPORT = re.compile(r"(?<![\w`/.@-])@((?:~/|/|\.{1,2}/)?[\w.-]+(?:/[\w.-]+)*)")
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
"""Code, in which an import is none."""
_TEXTS = {".md", ".mdc", ".txt"}
_DEEPEST_IMPORT = 5


@dataclass(frozen=True)
class KnownClient:
    """A coding agent: its programs, its settings, its events, and the memory that it loads by itself."""

    name: str
    title: str
    programs: tuple[str, ...]
    """Names of its executable, to see whether it is installed."""
    folder: str
    """Its folder below the user's home."""
    variable: str
    """The environment variable that names another place for it."""
    events: Mapping[Moment, tuple[str, ...]]
    """The client's own events of each moment."""
    form: Form
    hooks_file: str
    """File of its hooks, below its folder; for a plugin, the plugin's file."""
    mcp_file: str
    """File of its MCP servers, below its folder; ``~/`` for one in the home."""
    local_hooks_file: str
    """File of its hooks for one checkout, that no teammate needs to have."""
    local_mcp_file: str
    """File of its MCP servers for one checkout; the user's own file where the client keeps them there by checkout."""
    project_memory: tuple[str, ...]
    """Patterns of the files that it loads in a checkout, from the top and from every folder down to the session's."""
    user_memory: tuple[str, ...]
    """Patterns of the user's own files that it loads, below its folder."""
    below_variable: str = ""
    """Path of its folder below the place that ``variable`` names."""
    timeout_unit: int = 1
    """How many of its units of a timeout are a second."""
    takes_imports: bool = False
    """Whether it also loads the files that a memory file names as ``@path``."""
    trust: str = ""
    """The step that the user has to take before the client runs a new hook."""

    def home(self) -> Path | None:
        """Real path of the client's folder; none if there is none."""
        folder = self.place("")
        return Path(os.path.realpath(folder)) if os.path.isdir(folder) else None  # noqa: PTH112

    def place(self, path: str) -> Path:
        """A path below the client's folder, or below the user's home if it begins with ``~/``."""
        given = os.environ.get(self.variable, "")
        if path.startswith("~/"):
            # A variable that names the folder itself moves also what is otherwise beside it.
            return (Path(given) if given and not self.below_variable else _user_home()) / path[2:]
        return (Path(given) / self.below_variable if given else _user_home() / self.folder) / path

    def memory_folder(self, worktree: Path) -> Path | None:
        """The folder in which the client keeps its own notes about a checkout; none if it keeps none."""
        if self.form == "claude":
            return self.place(f"projects/{claude_slug(worktree)}/memory")
        return self.place("memories") if self.form == "codex" else None

    def memory_files(self, project: Project) -> tuple[Path, ...]:
        """The memory files that it loads in a project, of the checkout and of the user, as far as they are there."""
        folders = [project.worktree]
        for name in filter(None, project.package.split("/")):
            folders.append(folders[-1] / name)
        own = self.memory_folder(project.worktree)
        found = [
            *(path for folder in folders for pattern in self.project_memory for path in _matching(folder, pattern)),
            *(path for pattern in self.user_memory for path in _matching(self.place(""), pattern)),
            *(_matching(own, "*.md") if own is not None else ()),
        ]
        if self.takes_imports:
            found = _with_imports(found, (project.worktree, self.place("")))
        return tuple(dict.fromkeys(found))[:MOST_MEMORY_FILES]

    def transcripts(self, worktree: Path) -> Path | None:
        """The folder of its transcripts of sessions in a checkout; none if they are not read."""
        if self.form == "claude":
            return self.place(f"projects/{claude_slug(worktree)}")
        return self.place("sessions") if self.form == "codex" else None


def _matching(folder: Path, pattern: str) -> list[Path]:
    with suppress(OSError):
        return sorted(path for path in folder.glob(pattern) if path.is_file())
    return []


def _with_imports(files: Sequence[Path], tops: Sequence[Path]) -> list[Path]:
    """Memory files, each followed by those that it imports, itself or by another."""
    found: dict[Path, None] = {}
    ahead = [(path, 0) for path in reversed(files)]
    while ahead and len(found) < MOST_MEMORY_FILES:
        file, depth = ahead.pop()
        if file not in found:
            found[file] = None
            imports = _imports(file, tops) if depth < _DEEPEST_IMPORT else []
            ahead += [(path, depth + 1) for path in reversed(imports)]
    return list(found)


def _imports(file: Path, tops: Sequence[Path]) -> list[Path]:
    """The files that a memory file imports, in the checkout if it is in there itself, or in the client's own folder.

    A checkout is a stranger's and may name any file, so no import leads out of it.
    """
    real = os.path.realpath(file)
    own = next((top for top in map(os.path.realpath, tops) if Path(real).is_relative_to(top)), None)
    if own is None:
        return []
    said = (name.rstrip(".") for name in _IMPORT.findall(_CODE.sub(" ", file_start(file))))
    paths = [Path(os.path.normpath(file.parent / os.path.expanduser(name))) for name in said]  # noqa: PTH111 - it may have no home
    return [
        path
        for path in paths
        if path.suffix in _TEXTS and os.path.isfile(path) and Path(os.path.realpath(path)).is_relative_to(own)  # noqa: PTH113 - Path.is_file raises where a folder cannot be searched
    ]


def claude_slug(worktree: Path) -> str:
    """The name that Claude Code gives the folder of a checkout."""
    return re.sub(r"[^A-Za-z0-9]", "-", str(worktree))


def _user_home() -> Path:
    return Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises where there is none


_ALL: Mapping[Moment, tuple[str, ...]] = {
    "start": ("SessionStart",),
    "prompt": ("UserPromptSubmit",),
    "tool": ("PostToolUse",),
    "compact": ("PreCompact",),
    "end": ("SessionEnd",),
}

CLIENTS: Mapping[str, KnownClient] = {
    client.name: client
    for client in (
        KnownClient(
            name="claude-code",
            title="Claude Code",
            programs=("claude",),
            folder=".claude",
            variable="CLAUDE_CONFIG_DIR",
            # A tool that fails has an event of its own.
            events={**_ALL, "tool": ("PostToolUse", "PostToolUseFailure")},
            form="claude",
            hooks_file="settings.json",
            mcp_file="~/.claude.json",
            local_hooks_file=".claude/settings.local.json",
            local_mcp_file="~/.claude.json",
            project_memory=("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/*.md"),
            user_memory=("CLAUDE.md", "rules/*.md"),
            takes_imports=True,
        ),
        KnownClient(
            name="codex",
            title="Codex",
            programs=("codex",),
            folder=".codex",
            variable="CODEX_HOME",
            events=_ALL,
            form="codex",
            hooks_file="hooks.json",
            mcp_file="config.toml",
            local_hooks_file=".codex/hooks.json",
            local_mcp_file=".codex/config.toml",
            project_memory=("AGENTS.md", "AGENTS.override.md"),
            user_memory=("AGENTS.md", "AGENTS.override.md"),
            trust="Codex skips new hooks in silence until you trust them: start `codex`, open `/hooks`, and trust "
            "each of readmit's. readmit does not write that trust for you.",
        ),
        KnownClient(
            name="gemini",
            title="Gemini CLI",
            programs=("gemini",),
            folder=".gemini",
            variable="GEMINI_CLI_HOME",
            below_variable=".gemini",
            events={"start": ("SessionStart",), "end": ("SessionEnd",)},
            form="gemini",
            hooks_file="settings.json",
            mcp_file="settings.json",
            local_hooks_file=".gemini/settings.json",
            local_mcp_file=".gemini/settings.json",
            project_memory=("GEMINI.md",),
            user_memory=("GEMINI.md",),
            takes_imports=True,
            timeout_unit=1_000,
        ),
        KnownClient(
            name="opencode",
            title="opencode",
            programs=("opencode",),
            folder=".config/opencode",
            variable="XDG_CONFIG_HOME",
            below_variable="opencode",
            events={"start": ("session.created",), "end": ("session.deleted",)},
            form="opencode",
            hooks_file="plugin/readmit.js",
            mcp_file="opencode.json",
            local_hooks_file=".opencode/plugin/readmit.js",
            local_mcp_file=".opencode/opencode.json",
            project_memory=("AGENTS.md", "CLAUDE.md"),
            user_memory=("AGENTS.md",),
        ),
    )
}
