"""The content of a line of the spool: words of the user, a command with its result, or files that were read or written.

Nothing on which the secret filter finds something is kept, nor the result of a command that names a file which may
hold secrets, nor what readmit's own tools and hooks said.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from readmit.clients.intake.spool_files import is_path
from readmit.clients.secret_filter import without_secrets
from readmit.clients.spool_line import FILE_TOOLS
from readmit.sources.files import may_hold_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.clients.intake.spool_files import SpoolLine

MOST_RESULT, MOST_COMMAND, MOST_SAID = 1_200, 600, 4_000
"""Most characters that are kept of a result, of a command and of a prompt."""
_MOST_PATHS = 40
_LONGEST_PATH = 4_000
_PATCHED = re.compile(r"^\*\*\* (?:(Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)
_PATCHES = frozenset({"apply_patch", "applypatch"})
# They show parts of files, which are sources of their own, or say nothing about the repository.
_PASSED = frozenset(
    {
        "Glob", "Grep", "LS", "NotebookRead", "TodoWrite", "TodoRead", "ToolSearch", "ExitPlanMode", "glob",
        "list_directory", "read_many_files", "search_file_content", "update_plan", "write_todos",
    }
)  # fmt: skip
_OWN = re.compile(r"mcp__readmit(?:__|$)")
# What a client puts into a prompt, or sends as one, is not the user's word.
_CLIENTS = re.compile(
    r"<(hook_context|system-reminder|local-command-\w+|command-\w+|task-notification|user-prompt-submit-hook)\b[^>]*>"
    r".*?(?:</\1>|\Z)",
    re.DOTALL,
)
_CUT = re.compile(r"^… \d+ characters left out …$")
_WORD = re.compile(r"[^\s'\"`;|&<>()=,]+")


@dataclass(frozen=True)
class LineContent:
    """Content of one line."""

    said: str = ""
    """The user's words."""
    done: str = ""
    """A command, or another use of a tool, with its result."""
    files: tuple[Touched, ...] = ()
    named: tuple[str, ...] = ()
    """Words of the command that may name files. If one of them is ignored, nothing of the result is kept."""
    without_result: str = ""
    """The command alone."""
    left_out: int = 0
    """How many of its lines were left out because of what they may hold."""


@dataclass(frozen=True)
class Touched:
    """A file that a session read or wrote, and which lines of it, if it was a part."""

    path: str
    first: int = 0
    count: int = 0
    at: int = field(default=0, compare=False)
    """When the session last did, in nanoseconds since 1970."""


def content_of(line: SpoolLine) -> LineContent:
    """Content of a line; nothing for tools that say nothing about the repository."""
    tool = line.text("tool_name")
    if not tool:
        return LineContent() if line.text("agent_id") else _said(line.text("prompt"))
    if _OWN.match(tool) or tool in _PASSED:
        return LineContent()
    if tool in FILE_TOOLS:
        path = line.given("file_path", "absolute_path", "notebook_path", "path")
        part = (line.number("offset"), line.number("limit")) if line.number("limit") else (0, 0)
        return LineContent(files=tuple(_touched(line, [path], *part)))
    command = line.given("command", "cmd", "input", "patch")
    patched = [name.strip() for kind, name in _PATCHED.findall(command) if kind != "Delete"]
    if tool in _PATCHES or (patched and "apply_patch" in command):
        # The text of a patch is that of files.
        return LineContent(files=tuple(_touched(line, patched)))
    return _done(line, tool, command)


def users_words(prompt: str) -> str:
    """A prompt without what a client put into it; empty for a command of the client's."""
    words = _CLIENTS.sub("", prompt).strip()
    return "" if re.fullmatch(r"/[\w:-]+", words) else words


def _said(prompt: str) -> LineContent:
    words = users_words(prompt)
    if not words:
        return LineContent()
    kept, left_out = _filtered(words, MOST_SAID)
    return LineContent(said=kept, left_out=left_out)


def _done(line: SpoolLine, tool: str, command: str) -> LineContent:
    if not command:
        given = [f"{name}: {value}" for name in ("url", "query", "pattern", "path") if (value := line.given(name))]
        command = "; ".join(given)
    words = tuple(dict.fromkeys(one for one in _WORD.findall(command) if len(one) <= _LONGEST_PATH and is_path(one)))[
        :_MOST_PATHS
    ]
    asked, hidden = _filtered(command, MOST_COMMAND)
    head = f"$ {asked}" if line.given("command", "cmd") else f"[{_plain(tool)}] {asked}"
    head += " (failed)" if line.fields.get("failed") is True else ""
    if any(may_hold_secret(part) for word in words for part in word.split("/")):
        return LineContent(done=head, without_result=head, left_out=hidden + 1)
    result, left_out = _filtered(line.text("result"), MOST_RESULT)
    done = f"{head}\n{result}" if result else head
    return LineContent(done=done, named=words, without_result=head, left_out=hidden + left_out)


def _touched(line: SpoolLine, names: list[str], first: int = 0, count: int = 0) -> Iterator[Touched]:
    for name in names[:_MOST_PATHS]:
        if name and len(name) <= _LONGEST_PATH and is_path(name):
            path = os.path.normpath(os.path.join(line.text("cwd"), name))  # noqa: PTH118 - links are judged later
            yield Touched(path, first, count, line.at)


def _filtered(text: str, most: int) -> tuple[str, int]:
    """A text without secrets and without characters that cannot be stored, shortened, and how many lines it lost."""
    kept = without_secrets(_whole_lines(text))
    plain = kept.text.encode("utf-8", "replace").decode().replace("\0", "").strip()
    if len(plain) > most:
        end = most // 3
        plain = f"{plain[: most - end]}\n… {len(plain) - most} characters left out …\n{plain[-end:]}"
    return plain, kept.left_out


def _whole_lines(text: str) -> str:
    """A text without the lines that were cut where its middle was left out: half a secret is not found."""
    lines = text.split("\n")
    cuts = [at for at, line in enumerate(lines) if _CUT.match(line)]
    torn = {near for at in cuts for near in (at - 1, at + 1)}
    return "\n".join(line for at, line in enumerate(lines) if at not in torn)


def _plain(name: str) -> str:
    return re.sub(r"[^\w.:-]", "?", name)[:100]
