"""Targets of a Makefile, as far as they can be read without running make."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_VARIABLE = re.compile(r"^(?:export\s+|override\s+)?([\w.-]+)\s*(?:::?|\?)?=[ \t]*(.*?)\s*(?:#.*)?$", re.MULTILINE)
_UNKNOWN = re.compile(r"^(?:export\s+|override\s+)?(?:define[ \t]+([\w.-]+)|([\w.-]+)[ \t]*[+!]=)", re.MULTILINE)
_RULE = re.compile(r"^(?![\t#.])([^\t#=\n:]+?)\s*::?(?![=:])", re.MULTILINE)
_USE = re.compile(r"\$[({]([\w.-]+)[)}]")
_CALL = re.compile(r"\$[({](\w+)\s+([^(){}$]*)[)}]|\$[({][\w.-]+:[^(){}$=]*=([^(){}$]*)[)}]|\$[({][\w.-]+[)}]")
"""A function, a replaced ending, or a variable that the file gives no value."""
_UNREADABLE = re.compile(r"^(?:-?include|sinclude)\b|\$[({]eval\b|\$[({](?:foreach|call)\b[^\n]*:", re.MULTILINE)
_DEEPEST = 10
_LONGEST = 10_000
"""Most characters of an expanded target: variables may double each other."""


class MakeTargets(NamedTuple):
    """Targets that some Makefiles name, their patterns, and whether only make can tell if there are more."""

    names: frozenset[str]
    patterns: tuple[str, ...]
    is_open: bool

    def may_have(self, target: str) -> bool:
        """Whether a target that is not named may be one."""
        return self.is_open or any(fnmatchcase(target, one.replace("%", "*")) for one in self.patterns)


def targets_in(texts: Iterable[str]) -> MakeTargets:
    """The targets of some Makefiles."""
    names: set[str] = set()
    is_open = False
    for text in texts:
        joined = text.replace("\\\n", " ")
        is_open = is_open or _UNREADABLE.search(joined) is not None
        # What is added to a variable, or comes from a shell, only make knows.
        variables = dict.fromkeys(filter(None, sum(_UNKNOWN.findall(joined), ())), "$(shell x)")
        variables = {**dict(_VARIABLE.findall(joined)), **variables}
        for found in _RULE.finditer(joined):
            expanded = _expanded(found[1], variables)
            is_open = is_open or "$" in expanded
            names.update(expanded.split())
    patterns = tuple(sorted(one for one in names if "%" in one))
    return MakeTargets(frozenset(names.difference(patterns)), patterns, is_open)


def _expanded(text: str, variables: dict[str, str]) -> str:
    for _ in range(_DEEPEST):
        if "$" not in text or len(text) > _LONGEST:
            break
        text = _USE.sub(lambda found: variables.get(found[1], found[0]), text)
        if all(name not in variables for name in _USE.findall(text)):
            text = _CALL.sub(_pattern, text)
    return text


def _pattern(found: re.Match[str]) -> str:
    """A pattern of what only make can work out: what it adds to a name is known."""
    function, said, ending = found.groups()
    words = (said or "").split(",")
    match function:
        case "addprefix":
            return f"{words[0].strip()}%"
        case "addsuffix":
            return f"%{words[0].strip()}"
        case "patsubst" | "subst" if len(words) > 1:
            return words[1].strip() if "%" in words[1] else "%"
    # A variable that has no value is empty.
    return f"%{(ending or '').strip().lstrip('%')}" if function or ending is not None else ""
