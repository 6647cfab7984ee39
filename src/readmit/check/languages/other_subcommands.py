"""Subcommands that programs in JavaScript, Go and Rust declare: with commander or yargs, cobra, and clap."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readmit.check.languages.grammars import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.check.working_tree import WorkTree

_SCRIPT = re.compile(r"\.(?:command|alias)\(\s*[\"'`]([a-z][\w:-]*)")
_ENDINGS = {"script": SCRIPTS, "go": (".go",), "rust": (".rs",)}
_LIBRARY = re.compile(r"[\"'](?:commander|yargs|yargs/yargs|cac|sade)[\"']")
_COBRA = re.compile(r"\bUse:\s*[\"`]([a-z][\w-]*)")
_ALIASES = re.compile(r"\bAliases:\s*\[\]string\{([^}]{0,500})\}")
_VARIABLE = re.compile(r"\b(\w+)\s*:?=\s*&cobra\.Command\{\s*Use:\s*[\"`]([a-z][\w-]*)")
_BELOW = re.compile(r"\b(\w+)\.AddCommand\(")
_BUILT = re.compile(r"\bCommand::new\(\s*\"([a-z][\w-]*)\"|\bSubCommand::with_name\(\s*\"([a-z][\w-]*)\"")
_ENUM = re.compile(
    r"#\[derive\([^)\]]{0,300}\bSubcommand\b[^)\]]{0,300}\)\](?:\s*#\[[^\n]{0,300})*\s*(?:pub(?:\([^)]{0,80}\))?\s+)?enum\s+\w+\s*\{"
)
_VARIANT = re.compile(r"^\s*([A-Z]\w*)\s*(?:[{(,]|$)")
_NAMED = re.compile(r"\b(?:name|alias|visible_alias)\s*=\s*\"([a-z][\w-]*)\"")
_LONGEST = 20_000
"""Most characters of one enumeration of subcommands."""


def other_subcommands(tree: WorkTree, language: str) -> Iterator[tuple[str, bool]]:
    """The names of subcommands in one of these languages, and whether each takes one itself."""
    for path in sorted(path for path in tree.files_of_code() if path.endswith(_ENDINGS[language])):
        text = tree.text(path) or ""
        if path.endswith(SCRIPTS) and ".command(" in text and _LIBRARY.search(text):
            yield from ((name, False) for name in _SCRIPT.findall(text))
        elif path.endswith(".go") and "cobra" in text:
            below = set(_BELOW.findall(text))
            groups = {name for variable, name in _VARIABLE.findall(text) if variable in below}
            yield from ((name, name in groups) for name in _COBRA.findall(text))
            yield from ((name, False) for said in _ALIASES.findall(text) for name in re.findall(r"\"([\w-]+)\"", said))
        elif path.endswith(".rs") and "clap" in text:
            yield from ((one or other, False) for one, other in _BUILT.findall(text))
            for found in _ENUM.finditer(text):
                yield from ((name, False) for name in _variants(text[found.end() : found.end() + _LONGEST]))


def _variants(body: str) -> Iterator[str]:
    """The variants of an enumeration, as clap spells them."""
    depth = 0
    for line in body.splitlines():
        if depth == 0:
            if line.strip().startswith("}"):
                return
            yield from _NAMED.findall(line)
            if found := _VARIANT.match(line):
                yield re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", found[1]).lower()
        depth += line.count("{") + line.count("(") - line.count("}") - line.count(")")
