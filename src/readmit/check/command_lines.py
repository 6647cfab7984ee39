"""Command lines that a statement names, and the paths in them."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from readmit.check.check_values import Mention, NameKind

if TYPE_CHECKING:
    from readmit.check.check_values import StatementPlace

_PATH = re.compile(r"^@?(?:\.{0,2}/)?[\w.@+~-]+(?:/[\w.@+~ -]+)*/?$")
_FILES = re.compile(
    r"\.(?:py|pyi|[cm]?[jt]sx?|go|rs|mod|sum|md|mdc|rst|txt|json[c5l]?|toml|ya?ml|ini|cfg|conf|env|sh|bash|zsh|fish|sql|css|scss|html?"
    r"|xml|svg|png|jpe?g|gif|csv|tsv|db|log|lock|proto|tf|c|cc|cpp|h|hpp|java|kt|rb|php|cs|swift|vue|svelte|ex|exs|lua"
    r"|ipynb|gz|zip|pem|key|crt|patch|diff|tmpl|tpl|j2|service|mk|bat|ps1|wasm|so|pid|sock|out|in|bak|example|local)$"
)
"""Endings that files have, and members of something else seldom."""
_BOTH = {
    "mod",
    "sum",
    "env",
    "db",
    "log",
    "lock",
    "key",
    "service",
    "sock",
    "out",
    "in",
    "example",
    "local",
    "patch",
    "diff",
}
_ENDING = re.compile(r"\.(?:[a-z][a-z0-9]{0,4}|[A-Z]{1,3}|gradle|dockerfile)$")
_BARE = {
    "Makefile", "Dockerfile", "Jenkinsfile", "Gemfile", "Rakefile", "Procfile", "Justfile", "LICENSE", "NOTICE",
}  # fmt: skip
_LINES = re.compile(r"(?::\d+(?:-\d+|:\d+)?|#L\d+(?:-L?\d+)?|::[\w:\[\]-]+)$")
EXTRA = "extra of "
_TARGET = re.compile(r"^[A-Za-z][\w.-]*$")
BARE = " without run"
"""A runner of scripts that was given a word which may also be a program."""
OF = " of "
CARGO = "cargo --"
CARGO_RUN = "cargo-run"
"""The program that ``cargo run`` starts without ``--bin``."""
_SCRIPT = re.compile(r"[a-z][\w:.-]*")
_RUNNERS = {"npm", "pnpm", "yarn", "bun"}
_PREFIXES = {"sudo", "uv", "poetry", "pdm", "hatch", "pipenv", "time", "env", "npx", "bunx", "run", "exec", "dlx"}
_READERS = {
    "pytest", "node", "bash", "sh", "ruff", "mypy", "cat", "cd", "source", "vitest", "jest", "mocha", "playwright",
    "tsx", "ts-node", "eslint", "prettier",
}  # fmt: skip
_WITH_WORD = {"-C", "-F", "-w", "--filter", "--workspace", "--prefix", "--dir", "--cwd"}
"""Options of npm and the like that take the next word."""
_OF_PACKAGE = {"-F", "-w", "--filter", "--workspace"}
_TOOLS = {"make", "npm", "just", "cargo", "compose", "python"}
"""Tools of which a name is looked for: the word after one of them is no subcommand."""
_CARGO = {"-p": "package", "--package": "package", "--features": "features", "-F": "features", "--bin": "bin",
          "--example": "example", "--test": "test", "--bench": "bench"}  # fmt: skip
_COMPOSE = {"up", "run", "exec", "logs", "restart", "stop", "start", "build", "pull", "kill", "rm"}


def is_path(text: str) -> bool:
    """Whether a name is written like that of a file or folder."""
    if not _PATH.match(text) or text.startswith("--") or not text.strip("."):
        return False
    if text in _BARE or "/" in text or _FILES.search(text):
        return True
    # Elsewhere the dot may be that of a member.
    return bool(_ENDING.search(text)) and not re.match(r"^[A-Za-z_]\w*\.[A-Za-z_]\w*$", text)


def may_be_member(name: str) -> bool:
    """Whether what looks like the name of a file may be a module and a name in it."""
    return "/" not in name and name.rpartition(".")[2] in _BOTH


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
    if len(words) == 1 and words[0].startswith("./"):
        return _paths(words, place)
    if len(words) < 2:  # noqa: PLR2004 - a program and what it is to do
        return None
    program, *rest = words
    plain = [word for word in rest if not word.startswith("-") and "=" not in word]
    if program == "make":
        # With -C and -f, the words behind them are no targets.
        targets = [] if {"-C", "-f"}.intersection(rest) else filter(_TARGET.match, plain)
        return [Mention(place, NameKind.COMMAND, word, "make") for word in targets]
    if program in _RUNNERS:
        return _script(program, rest, place)
    if re.fullmatch(r"python[\d.]*|py", program):
        return _python(rest, place)
    if program in _READERS or program.startswith("./"):
        return _paths([program, *plain] if program.startswith("./") else plain, place)
    named = _other_tool(program, rest, plain, place)
    return _own_program(program, rest, place) if named is None else named


def _other_tool(program: str, rest: list[str], plain: list[str], place: StatementPlace) -> list[Mention] | None:
    """The names in a command of just, compose, cargo or go."""
    if program == "just":
        return [Mention(place, NameKind.COMMAND, word, "just") for word in plain[:1] if _TARGET.match(word)]
    if program == "docker-compose" or (program == "docker" and rest[0] == "compose"):
        plain = plain[1:] if program == "docker" else plain
        # What follows the service is the container's.
        services = plain[1:] if plain[:1] and plain[0] not in {"run", "exec"} else plain[1:2]
        known = services if plain[:1] and plain[0] in _COMPOSE else []
        return [Mention(place, NameKind.COMMAND, word, "compose") for word in known if _TARGET.match(word)] or None
    if program == "cargo":
        return _cargo(rest, place)
    if program == "go":
        return _go(rest, place)
    return None


def _own_program(program: str, rest: list[str], place: StatementPlace) -> list[Mention] | None:
    """A program with a subcommand and options. Whether it is the project's own is seen later."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*", program):
        return None
    if not rest or not re.fullmatch(r"-{0,2}[a-z][\w-]*(?:=.*)?", rest[0]):
        return None
    options = [word.partition("=")[0] for word in rest if re.match(r"--[a-z]", word)]
    # The second word may be the subcommand of a group.
    words = rest[:2] if re.fullmatch(r"[a-z][\w-]*", rest[1] if len(rest) > 1 else "") else rest[:1]
    if rest[0].startswith("npm") or " ".join(words) in _TOOLS:
        return None
    return [
        Mention(place, NameKind.COMMAND, program, " ".join(words)),
        *(Mention(place, NameKind.OPTION, option, program) for option in options),
    ]


def _cargo(words: list[str], place: StatementPlace) -> list[Mention]:
    own = words[words.index("--") + 1 :] if "--" in words else []
    words = words[: words.index("--")] if "--" in words else words
    found = [Mention(place, NameKind.COMMAND, words[0], "cargo")] if re.match(r"[a-z]", words[0]) else []
    for word, after in zip(words, [*words[1:], ""], strict=True):
        option, mark, value = word.partition("=")
        if what := _CARGO.get(option):
            named = re.findall(r"[\w-]+(?:/[\w-]+)?", value if mark else after)
            found += [Mention(place, NameKind.COMMAND, one, f"{CARGO}{what}") for one in named]
    if words[0] == "run" and own and not {"--bin", "-p", "--package", "--example"}.intersection(words):
        found += _own_program(CARGO_RUN, own, place) or []
    return found


def _go(words: list[str], place: StatementPlace) -> list[Mention]:
    """Packages by their paths, tests by their names, and what an own program is given."""
    at = next((at for at, word in enumerate(words) if word.startswith("./")), None)
    paths = [word.removesuffix("/...") for word in words if word.startswith("./")]
    found = [Mention(place, NameKind.PATH, path) for path in paths if re.fullmatch(r"\./[\w./-]*\w", path)]
    if "-run" in words[:-1] and re.fullmatch(r"[A-Z]\w+", test := words[words.index("-run") + 1]):
        found.append(Mention(place, NameKind.SYMBOL, test))
    if words[0] == "run" and at is not None and words[at].count("/") > 1:
        found += _own_program(words[at].rpartition("/")[2], words[at + 1 :], place) or []
    return found


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
    package, plain, at = "", [], 0
    while at < len(words) and words[at] != "--":
        option, mark, value = words[at].partition("=")
        if option in _WITH_WORD and (program != "pnpm" or option != "-w"):
            package = (value if mark else "".join(words[at + 1 : at + 2])) if option in _OF_PACKAGE else package
            at += not mark
        elif not option.startswith("-"):
            plain.append(words[at])
        at += 1
    if program == "yarn" and plain[:1] == ["workspace"] and len(plain) > 1:
        package, plain = plain[1], plain[2:]
    where = f"{OF}{package}" if package else ""
    if len(plain) > 1 and plain[0] in {"run", "run-script"}:
        return [Mention(place, NameKind.COMMAND, plain[1], f"npm{where}")]
    if not plain or plain[0] in {"exec", "dlx", "x"}:
        return _other(plain[1:], place)
    if program == "npm":
        return [Mention(place, NameKind.COMMAND, one, f"npm{where}") for one in plain[:1] if one in {"test", "start"}]
    if not _SCRIPT.fullmatch(plain[0]):
        return []
    return [Mention(place, NameKind.COMMAND, plain[0], f"npm{BARE}{where}"), *_other(plain, place)]


def _other(words: list[str], place: StatementPlace) -> list[Mention]:
    """The files of a known program that a package manager starts."""
    return _paths(words[1:], place) if words[:1] and words[0] in _READERS else []


def _python(words: list[str], place: StatementPlace) -> list[Mention]:
    if words[0] == "-m" and len(words) > 1:
        return [Mention(place, NameKind.COMMAND, words[1], "python -m"), *_paths(words[2:], place)]
    return _paths(words[:1], place)


def _paths(words: list[str], place: StatementPlace) -> list[Mention]:
    return [Mention(place, NameKind.PATH, word) for word in map(without_lines, words) if is_path(word)]
