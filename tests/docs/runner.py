"""Runs the code blocks of one Markdown file in order, in one fresh folder.

``python`` blocks share a namespace. ``console`` blocks run their ``$`` lines in a shell; output lines that
follow a command must match, where ``...`` stands for part of a line, or alone for any number of lines. A
command must succeed, unless the next command is ``echo $?``. ``json``, ``jsonl`` and ``toml`` must parse. A
``text`` block under ``<!-- output -->`` is what the ``python`` block before it prints. A block under
``<!-- not run: reason -->`` is left alone.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import secrets
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.docs.blocks import Block, DocumentationError, blocks_of

if TYPE_CHECKING:
    from collections.abc import Mapping

SHOWN_ONLY = frozenset({"text", "mermaid", "markdown"})
SECONDS = 600


def run(path: Path, folder: Path, settings: Mapping[str, str] | None = None) -> int:
    """Run a file's blocks in ``folder``, with ``settings`` in the environment; how many ran or were parsed."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None
    count = 0
    for block in blocks_of(path):
        if block.is_output:
            if printed is None or block.language != "text":
                raise DocumentationError(f"{block.place}: output must be a text block after a python block that ran")
            expect(block.place, block.text, printed)
        elif not block.not_run:
            printed = run_python(block, namespace, folder) if block.language == "python" else None
            count += _run_other(block, folder, settings or {}) if block.language != "python" else 1
        else:
            printed = None
    return count


def _run_other(block: Block, folder: Path, settings: Mapping[str, str]) -> int:
    match block.language:
        case "console":
            run_console(block, folder, settings)
        case "json" | "jsonl" | "toml":
            parse(block)
        case language if language in SHOWN_ONLY:
            return 0
        case language:
            raise DocumentationError(f"{block.place}: nothing runs {language!r}; use one of the known languages")
    return 1


def run_python(block: Block, namespace: dict[str, Any], folder: Path) -> str:
    """Execute a block; what it printed."""
    # Blank lines in front give tracebacks the line numbers of the page.
    code = compile("\n" * (block.line - 1) + block.text, str(block.path), "exec", dont_inherit=True)
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        try:
            exec(code, namespace)  # noqa: S102 - running the page is the point
        except Exception as error:
            raise DocumentationError(f"{block.place}: {type(error).__name__}: {error}") from error
    return printed.getvalue()


def parse(block: Block) -> None:
    """Refuse a data block that its own format's parser refuses."""
    try:
        match block.language:
            case "json":
                json.loads(block.text)
            case "jsonl":
                for line in block.text.splitlines():
                    json.loads(line)
            case "toml":
                tomllib.loads(block.text)
    except ValueError as error:
        raise DocumentationError(f"{block.place}: not {block.language}: {error}") from error


@dataclass(frozen=True)
class Command:
    """One ``$`` line with its ``>`` continuations, and the output that the page shows for it."""

    line: int
    text: str
    output: str


def commands_of(block: Block) -> list[Command]:
    """Split a console block at its prompts."""
    commands: list[Command] = []
    for number, line in enumerate(block.text.splitlines(), block.line):
        if line.startswith("$ "):
            commands.append(Command(number, line[2:], ""))
        elif not commands:
            raise DocumentationError(f"{block.place}: a console block starts with a '$ ' line")
        elif line.startswith("> ") and not commands[-1].output:
            last = commands[-1]
            commands[-1] = Command(last.line, f"{last.text}\n{line[2:]}", "")
        else:
            last = commands[-1]
            commands[-1] = Command(last.line, last.text, f"{last.output}{line}\n")
    return commands


def run_console(block: Block, folder: Path, settings: Mapping[str, str]) -> None:
    """Run a console block in one shell and compare each command's output with the page."""
    commands = commands_of(block)
    mark = f"--{secrets.token_hex(8)}--"
    script = ["status=0"]
    for command in commands:
        # `(exit $status)` hands each command the status of the one before it, as at a prompt.
        script += ["(exit $status)", command.text, "status=$?", f"echo '{mark}'$status"]
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env={**_environment(folder), **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    parts = re.split(rf"{mark}(\d+)\n", done.stdout)
    outputs, statuses = parts[:-1:2], parts[1::2]
    if len(outputs) != len(commands):
        raise DocumentationError(f"{block.place}: the shell stopped early:\n{done.stdout}")
    for position, command in enumerate(commands):
        place = f"{block.path.name}:{command.line}"
        status_is_shown = position + 1 < len(commands) and commands[position + 1].text.strip() == "echo $?"
        if statuses[position] != "0" and not status_is_shown:
            raise DocumentationError(f"{place}: exit status {statuses[position]}\n{outputs[position]}")
        if command.output:
            expect(place, command.output, outputs[position])


def _environment(folder: Path) -> dict[str, str]:
    beside_python = str(Path(sys.executable).parent)
    return {
        "PATH": os.pathsep.join([beside_python, os.environ.get("PATH", os.defpath)]),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "COLUMNS": "100",
        # The commands run the code that the tests run, also where that is not the installed one, with the same keys.
        **{name: os.environ[name] for name in ("PYTHONPATH", "XDG_CONFIG_HOME") if name in os.environ},
    }


def expect(place: str, expected: str, actual: str) -> None:
    """Compare what a page shows with what was printed."""
    pattern = ""
    for line in expected.rstrip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("...")) + r"\n"
    printed = "".join(f"{line.rstrip()}\n" for line in actual.rstrip().splitlines())
    if not re.fullmatch(pattern, printed):
        raise DocumentationError(f"{place}: the page shows\n{expected}\nbut this was printed:\n{printed}")
