"""Command lines that a statement names, and the paths in them."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from readmit.check.check_values import Mention, NameKind

if TYPE_CHECKING:
    from readmit.check.check_values import StatementPlace

_PATH = re.compile(r"^@?(?:\.{0,2}/)?[\w.@+~-]+(?:/[\w.@+~ -]+)*/?$")
_ENDING = re.compile(r"\.(?:[a-z][a-z0-9]{0,4}|[A-Z]{1,3}|gradle|dockerfile)$")
_BARE = {
    "Makefile", "Dockerfile", "Jenkinsfile", "Gemfile", "Rakefile", "Procfile", "Justfile", "LICENSE", "NOTICE",
}  # fmt: skip
_LINES = re.compile(r"(?::\d+(?:-\d+|:\d+)?|#L\d+(?:-L?\d+)?|::[\w:\[\]-]+)$")
EXTRA = "extra of "
_TARGET = re.compile(r"^[A-Za-z][\w.-]*$")
_RUNNERS = {"npm", "pnpm", "yarn", "bun"}
_PREFIXES = {"sudo", "uv", "poetry", "pdm", "hatch", "pipenv", "time", "env", "npx", "run"}
_READERS = {"pytest", "node", "bash", "sh", "ruff", "mypy", "cat", "cd", "source"}


def is_path(text: str) -> bool:
    """Whether a name is written like that of a file or folder."""
    if not _PATH.match(text) or text.startswith("--") or not text.strip("."):
        return False
    return text in _BARE or "/" in text or bool(_ENDING.search(text))


def without_lines(text: str) -> str:
    """A path without its suffix of line numbers or test name."""
    return _LINES.sub("", text)


def command_named(text: str, place: StatementPlace) -> list[Mention] | None:
    """The mentions in a command line: targets, scripts, modules, programs and paths. None if no command is known."""
    parts = [_one_command(part, place) for part in re.split(r"&&|;", text)]
    known = [one for part in parts if part is not None for one in part]
    return known if any(part is not None for part in parts) else None


def _one_command(text: str, place: StatementPlace) -> list[Mention] | None:
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    while words and (words[0] in _PREFIXES or re.match(r"[A-Z_]+=", words[0])):
        words = words[1:]
    if len(words) < 2:  # noqa: PLR2004 - a program and what it is to do
        return None
    program, *rest = words
    plain = [word for word in rest if not word.startswith("-") and "=" not in word]
    if program == "make":
        # With -C and -f, the words behind them are no targets.
        targets = [] if {"-C", "-f"}.intersection(rest) else filter(_TARGET.match, plain)
        return [Mention(place, NameKind.COMMAND, word, "make") for word in targets]
    if program in _RUNNERS:
        return _script(program, plain, place)
    if re.fullmatch(r"python[\d.]*|py", program):
        return _python(rest, place)
    if program in _READERS or program.startswith("./"):
        return _paths([program, *plain] if program.startswith("./") else plain, place)
    if re.fullmatch(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*", program) and re.fullmatch(r"-{0,2}[a-z][\w-]*", rest[0]):
        options = [word.partition("=")[0] for word in rest if re.match(r"--[a-z]", word)]
        # The second word may be the subcommand of a group.
        words = rest[:2] if re.fullmatch(r"[a-z][\w-]*", rest[1] if len(rest) > 1 else "") else rest[:1]
        return [
            Mention(place, NameKind.COMMAND, program, " ".join(words)),
            *(Mention(place, NameKind.OPTION, option, program) for option in options),
        ]
    return None


def extras_named(text: str, place: StatementPlace) -> list[Mention]:
    """The extras of packages that a command installs, as in ``pip install 'shop[web]'``."""
    if not re.match(r"(?:uv |python3? -m )?(?:pip3? install|add) ", text):
        return []
    return [
        Mention(place, NameKind.COMMAND, extra.strip(), f"{EXTRA}{package}")
        for package, extras in re.findall(r"([\w.-]+)\[([\w, -]+)\]", text)
        for extra in extras.split(",")
    ]


def _script(program: str, words: list[str], place: StatementPlace) -> list[Mention]:
    """A script of package.json. Without ``run``, other runners than npm may mean an installed program."""
    if len(words) > 1 and words[0] in {"run", "run-script"}:
        return [Mention(place, NameKind.COMMAND, words[1], "npm")]
    own = program == "npm" and words and words[0] in {"test", "start"}
    return [Mention(place, NameKind.COMMAND, words[0], "npm")] if own else []


def _python(words: list[str], place: StatementPlace) -> list[Mention]:
    if words[0] == "-m" and len(words) > 1:
        return [Mention(place, NameKind.COMMAND, words[1], "python -m"), *_paths(words[2:], place)]
    return _paths(words[:1], place)


def _paths(words: list[str], place: StatementPlace) -> list[Mention]:
    return [Mention(place, NameKind.PATH, word) for word in map(without_lines, words) if is_path(word)]
