"""Pictures of a coding agent's session, from what the real hooks and commands print."""

from __future__ import annotations

import re
from functools import cache
from textwrap import wrap
from typing import NamedTuple

from readmit.cli.scenarios.session_demo import CHANGES, MEMORY, PlayedSession, played_session
from tests.docs.drawing import Picture

_COMMANDS = (("install", "claude-code", "--yes"), ("status",))
_QUOTED = re.compile(r"`` (.*?) ``|`(.*?)`")
_WIDE = 92
_SHOWN = re.compile(r"(Installed into|  ~/\.claude|At each moment|  (start|prompt|tool|compact|end) )")


class _Fallen(NamedTuple):
    """An entry of what no longer holds, in its parts."""

    text: str
    why: str


@cache
def _played() -> PlayedSession:
    return played_session(*_COMMANDS)


def _fallen(entry: str) -> _Fallen:
    text, _, *rest = [whole or part for whole, part in _QUOTED.findall(entry)]
    return _Fallen(text, f"{'now: ' if '; instead:' in entry else ''}{rest[-1]}")


def draw_session() -> str:
    """A session that resumes and reads what no longer holds."""
    fallen = [_fallen(entry) for entry in _played().withdrawn]
    picture = Picture(
        860, 300, "A session that resumes",
        "A session read five lines of CLAUDE.md. While it was away, a file was renamed, a port changed and a line was "
        "edited. When it resumes, it first reads which three lines no longer hold, and why.",
    )  # fmt: skip
    picture.text(20, 30, "It read, in CLAUDE.md", "bold", "start")
    gone = {one.text for one in fallen}
    for place, line in enumerate(MEMORY):
        picture.text(20, 62 + 26 * place, line.replace("`", ""), "red struck" if line in gone else "", "start")
    picture.text(20, 222, "Meanwhile", "bold", "start")
    for place, change in enumerate(CHANGES):
        picture.text(20, 244 + 19 * place, change, "small", "start")
    picture.arrow((310, 110), (368, 110), look="red")
    picture.text(339, 98, "resumes", "small red")
    picture.box(380, 12, 460, 276, [], "blue")
    picture.text(396, 38, "No longer holds. Do not rely on:", "bold red", "start")
    for place, one in enumerate(fallen):
        picture.text(396, 74 + 52 * place, one.text.replace("`", ""), "struck", "start")
        picture.text(396, 94 + 52 * place, one.why, "small red", "start")
    picture.text(
        396, 262, f"{len(MEMORY) - len(fallen)} lines still hold and are not repeated.", "small green", "start"
    )
    return picture.svg()


def draw_recording() -> str:
    """The commands and what they print, line after line."""
    played = _played()
    install, status = played.outputs
    # The return's id is new each time.
    said = re.sub(r" \(return `\w+`\)", "", played.resumed)
    lines = [
        ("$ readmit install claude-code", "bold"),
        *((line, "") for line in install.splitlines() if _SHOWN.match(line)),
        ("", ""),
        ("$ claude --resume", "bold"),
        *((line, "red" if line.startswith("- ") else "") for line in said.splitlines()),
        ("", ""),
        ("$ readmit status", "bold"),
        (status.strip(), "green"),
    ]
    rows = [
        (row, look) for line, look in lines
        for row in (wrap(line, _WIDE, subsequent_indent="  ", break_on_hyphens=False, drop_whitespace=False) or [""])
    ]  # fmt: skip
    picture = Picture(
        780, 30 + 19 * len(rows), "A recording",
        "readmit is installed into Claude Code. A session that resumes reads which lines of its memory no longer hold. "
        "readmit status says it in one line.",
    )  # fmt: skip
    after = 0.0
    for place, (row, look) in enumerate(rows):
        after += 1.2 if row.startswith("$ ") else 0.25
        picture.text(16, 30 + 19 * place, row, f"code {look}".strip(), "start", after=round(after, 2))
    return picture.svg()
