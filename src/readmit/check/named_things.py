"""Finds the names in a statement, and sorts out the uncheckable: placeholders, patterns, variables, addresses.

A sentence that itself says that a file is gone is right about it, so its names are not checked.
"""

from __future__ import annotations

import ast
import posixpath
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from readmit.check.check_values import Mention, NameKind, StatementPlace, Unchecked
from readmit.check.command_lines import command_named, extras_named, is_path, without_lines
from readmit.check.declared.versions import tool
from readmit.check.languages.named_imports import LANGUAGES, other_imports, python_imports
from readmit.check.markdown_statements import MemorySpan

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

GONE = re.compile(
    r"\b(once|becomes?|became"
    r"|no longer|not anymore|any ?more|removed|removing|deleted|dropped|deprecated|obsolete|renamed|formerly"
    r"|previously|used to|replaced|replaces|superseded|moved|gone|retired|legacy|migrated|will be|planned"
    r"|to-?do)\b",
    re.IGNORECASE,
)
_KEPT = re.compile(
    r"\b(?:cannot|can't|never|not|nothing(?: is)?|is ever)(?: be| is)?(?: ever| really)?"
    r" (?:moved?|removed?|deleted?|renamed?|dropped)\b",
    re.IGNORECASE,
)
"""Words that deny a change, which then did not happen."""
_TAKEN = re.compile(r"\b(?:drops?|removes?|deletes?)\b", re.IGNORECASE)
"""Words that take away the name after them, not the one before them."""
_BEFORE = re.compile(r"\b(?:instead of|rather than|in place of)\b", re.IGNORECASE)
"""Words before a name that is not to be used, and may be gone."""
_PLACEHOLDER = re.compile(
    r"[<>{}…]|\.\.\.|\bpath/to\b|(?:^|/)(?:your|my|some)[-_]|(?:^|/)(?:foo|bar|baz|example|xxx+)(?:[./_-]|$)|\bNNNN?\b|YYYY",
    re.IGNORECASE,
)
_PATTERN = re.compile(r"[*?\[\]|^]")
_VARIABLE = re.compile(r"[$%]|^[A-Z][A-Z0-9_]*=|^~")
_ADDRESS = re.compile(r"^(?:[a-z][a-z0-9+.-]*:(?!:)|//|www\.)", re.IGNORECASE)
_WORD_PATH = re.compile(r"(?<![\w/@:.-])@?(?:[\w.-]+/)+[\w.-]+\.[a-z][a-z0-9]{0,4}(?![\w/-])")
_SYMBOL = re.compile(r"^@?([A-Za-z_]\w*(?:(?:\.|::|#)[A-Za-z_]\w*)*)(\(.*\)|!(?:\(.*\))?| ?\{.*\})?$", re.DOTALL)
_OPTION = re.compile(r"^(--[a-z][\w-]+)(?:[ =].*)?$")
_TOLD_APART = re.compile(r"_|[a-z][A-Z]|\d|^[A-Z][a-z]+[a-z]$|\(|\.|::|#")
_VERSION = re.compile(
    r"\b(Python|CPython|Node(?:\.js)?|Go(?:lang)?|Rust|Ruby|Java|PHP|[A-Z][A-Za-z]+(?:[.-][A-Za-z]+)?)\s+"
    r"(?:>=\s*|v|version\s+)?(\d+(?:\.\d+){0,2})(?![\w%.]*[\w%])",
)
_SETTING = re.compile(
    r"^[\"']?([A-Z][A-Z0-9_]+(?=\s*[=:])|[A-Za-z_][\w.-]*(?=\s+=|[\"']?:))[\"']?\s*(?::\s*[\w<>&' ]{1,30}=|[=:])\s*"
    r"(-?\d[\d_]*(?:\.\d+)?|\"[^\"]*\"|'[^']*'|true|false|True|False)$"
)
# ``name=value`` without a gap is a parameter of some call.
_SMALL_VERSION = re.compile(r"\b([a-z][a-z0-9_-]{2,})\s+(?:>=\s*|v)?(\d+(?:\.\d+){1,2})(?![\w%.]*[\w%])")
"""A package is often written small. It is looked for only if the project declares it."""
_PORT = re.compile(
    r"\b(?:port (?:is |number )?|localhost:"
    r"|(?:listen(?:s|ing)?|serv(?:es|ed|ing)|runs?|running|bound|binds|reachable|published|exposed)"
    r"(?: \w+)? (?:on|at) :?(?!(?:19|20)\d\d\b))(\d{4,5})\b(?!\.?\d)",
    re.IGNORECASE,
)
_SAID_VALUE = (
    r"`{}`\s*(?:(?:is|are)(?: set to| limited to)?|defaults to|=|:|\()\s*`?"
    r"(-?\d[\d_]*(?:\.\d+)?|true|false|True|False)(?![\w.%]*[\w%])(?!`?,?\s*(?:times|x|in|for|on|when|if|unless|during|or)\b)"
)
"""A value that words give a name."""
_PACKAGE = re.compile(r"(?<![\w@/.:#-])([A-Za-z](?:[\w.-]*\w)?)(?![\w/(:@-]|\.\w)")
_USED = re.compile(r"\b(?:in|with|by|via|uses?|used|using|through)\s+$", re.IGNORECASE)
_ALONE = re.compile(r"\s*(?:$|[.,;:)+&]|and\b|for\b)")
_NOT_USED = re.compile(
    r"\b(?:not|n't|never|avoid|without|no|from|like|unlike|or|off|migrat\w+|switch\w*|port(?:ed|ing))\b", re.IGNORECASE
)
_NAMES = re.compile(r"`[^`]*`|[\w.-]*[/_.][\w./-]+")
_CODE_FILE = r"`(?P<file>[\w./-]+\.(?:py|[cm]?[jt]sx?|go|rs))`"
_IN_FILE = re.compile(rf"`([^`]+)` (?:(?:is |are )?(?:defined |declared |found )?|lives |stands )in {_CODE_FILE}")
_FILE_FIRST = re.compile(rf"\W*{_CODE_FILE}\s*(?:[-\u2013\u2014:]|has|defines|holds|contains|exports)\s([^.]*)")
_DENIED = re.compile(r"\b(?:not|n't|never|avoid|without|no|new|add|create|move|like)\b", re.IGNORECASE)
_NEAR = 50
"""Characters on each side of a name that are read as its context."""


def mentions_in(span: MemorySpan, packages: Collection[str] = ()) -> Iterator[Mention | Unchecked]:
    """The names in a piece of a memory file, checkable or not. ``packages`` are those that words may name."""
    if span.kind not in {"block", "command"} and _is_gone(span):
        if span.kind in {"code", "link"}:
            yield Unchecked(span.place, span.text, "the sentence says that something is gone or to come")
        return
    match span.kind:
        case "code":
            yield from _code(span.text.strip(), span.place, packages)
        case "link":
            yield from _link(span.text, span.place)
        case "words":
            yield from _words(span.text, span.place)
            yield from _packages(span.text, span.place, packages)
        case "block":
            yield from _block(span)
        case "command":
            yield from _command(span)


def _is_gone(span: MemorySpan) -> bool:
    """Whether the words around a name say that it is gone, or to come."""
    said, name = span.place.statement, " ".join(span.text.split())
    # Names are not words: legacy/api.py may well be in use.
    words = _NAMES.sub(lambda found: " " * len(found[0]), said)
    at = said.find(name)
    if at >= 0:
        before, words = words[max(0, at - _NEAR) : at], words[max(0, at - _NEAR) : at + len(name) + _NEAR]
    ahead = before if at >= 0 and span.kind != "words" else words  # names may be anywhere in words
    return any((GONE.search(_KEPT.sub("", words)), _BEFORE.search(ahead), _TAKEN.search(_KEPT.sub("", ahead))))


def _code(text: str, place: StatementPlace, packages: Collection[str]) -> Iterator[Mention | Unchecked]:
    if extras := extras_named(text, place):
        yield from extras
        return
    if re.match(r"(?:from [\w.]+ import [\w, ()]+|import [\w.]+)$", text):
        yield from python_imports(MemorySpan("block", text, place))
        return
    if imports := list(other_imports(MemorySpan("code", text, place))):
        yield from imports
        return
    if (setting := _SETTING.match(text)) and not is_path(text):
        yield Mention(place, NameKind.SETTING, setting[1], setting[2])
        return
    # What stands between parentheses, or is given to a type, may be anything.
    call = re.match(r"^@?[A-Za-z_][\w.:]*(?=\()|^(?:\w+(?:\.|::))*[A-Z]\w+(?= ?\{)", text)
    if why := _unfit(call[0] if call else text):
        yield Unchecked(place, text, why)
    elif command := command_named(text, place):
        yield from command
    else:
        yield from _name(text, place, packages)


def _name(text: str, place: StatementPlace, packages: Collection[str]) -> Iterator[Mention | Unchecked]:
    """A single name: a path, an option, a symbol, or a package."""
    if is_path(path := without_lines(text)):
        yield Mention(place, NameKind.PATH, path)
    elif option := _OPTION.match(text):
        yield Mention(place, NameKind.OPTION, option[1])
    elif (symbol := _SYMBOL.match(text)) and (_TOLD_APART.search(text) or _file_beside(text, place)):
        name = re.sub(r"::|#", ".", symbol[1])
        yield Mention(place, NameKind.SYMBOL, name, _file_beside(text, place))
        yield from (Mention(place, NameKind.PARAMETER, one, name) for one in _keywords(text))
        if said := re.search(_SAID_VALUE.format(re.escape(text)), place.statement):
            yield Mention(place, NameKind.SETTING, name, said[1])
    elif tool(text) in packages and not _NOT_USED.search(place.statement):
        yield Mention(place, NameKind.PACKAGE, text)
    else:
        yield Unchecked(place, text, "not the name of a file, a symbol or a command")


def _file_beside(name: str, place: StatementPlace) -> str:
    """The file of code that a sentence says just this name is in; empty if it says none."""
    said = place.statement
    if _DENIED.search(said):
        return ""
    return next((found["file"] for found in _IN_FILE.finditer(said) if found[1] == name), "")


def file_around(name: str, place: StatementPlace) -> str:
    """A file of code that a sentence says a name, or one beside it, is in; empty if it says none."""
    said = place.statement
    found = _IN_FILE.search(said) or _FILE_FIRST.match(said)
    return found["file"] if found and not _DENIED.search(said) and name in said else ""


def _keywords(call: str) -> list[str]:
    """The parameters that a call in Python gives by name."""
    try:
        found = ast.parse(call.lstrip("@"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [one.arg for one in found.keywords if one.arg] if isinstance(found, ast.Call) else []


def _unfit(text: str) -> str:
    """The reason that a name cannot be checked; empty if it can."""
    if not text.isprintable():
        return "not printable"
    if _ADDRESS.match(text):
        return "an address outside of the tree"
    if _PLACEHOLDER.search(text):
        return "a placeholder"
    if _VARIABLE.search(text):
        return "a variable"
    if _PATTERN.search(text):
        return "a pattern"
    return ""


def _link(address: str, place: StatementPlace) -> Iterator[Mention | Unchecked]:
    target, mark, anchor = unquote(address).partition("#")
    if target and (why := _unfit(target)):
        yield Unchecked(place, address, why)
        return
    path = place.file if not target else _below(place.file, target)
    if path is None:
        yield Unchecked(place, address, "leads out of the tree")
        return
    if target:
        yield Mention(place, NameKind.LINK, path)
    if mark and not re.match(r"L\d", anchor) and path.endswith((".md", ".mdc")):
        yield Mention(place, NameKind.ANCHOR, anchor, path)


def _below(file: str, target: str) -> str | None:
    """A link's target from the root; none if it leads out of it."""
    base = "" if target.startswith("/") else posixpath.dirname(file)
    path = posixpath.normpath(posixpath.join(base, target.lstrip("/")))
    return None if path.startswith("..") else path


def _words(text: str, place: StatementPlace) -> Iterator[Mention | Unchecked]:
    for found in _WORD_PATH.finditer(text):
        if not _unfit(found[0]):
            yield Mention(place, NameKind.PATH, found[0])
    for port in _PORT.findall(text):
        yield Mention(place, NameKind.SETTING, "port", port)
    for name, version in (*_VERSION.findall(text), *_SMALL_VERSION.findall(text)):
        yield Mention(place, NameKind.VERSION, version, name)


def _packages(text: str, place: StatementPlace, packages: Collection[str]) -> Iterator[Mention]:
    """Names of packages: with a capital within a sentence, in a list, or after a word like "with"."""
    if _NOT_USED.search(place.statement):
        return
    for found in _PACKAGE.finditer(text) if packages else ():
        name, before = found[1], text[: found.start()]
        if tool(name) not in packages:
            continue
        is_first = not before.strip() or before.rstrip().endswith((".", "!", "?"))
        ends = _ALONE.match(text, found.end()) is not None
        if (ends if is_first else True) if name != name.lower() else (ends and _USED.search(before)):
            yield Mention(place, NameKind.PACKAGE, name)


def _block(span: MemorySpan) -> Iterator[Mention | Unchecked]:
    if span.language in {"python", "py"}:
        yield from python_imports(span)
    elif span.language in LANGUAGES:
        yield from other_imports(span)
    elif span.language:
        yield Unchecked(span.place, span.language, "a block of code in a language that is not read")
    else:
        yield Unchecked(span.place, span.place.statement, "a block that is not marked as commands")


def _command(span: MemorySpan) -> Iterator[Mention | Unchecked]:
    command = span.text.partition(" #")[0].strip()
    if extras := extras_named(command, span.place):
        yield from extras
    elif not _unfit(command):
        yield from command_named(command, span.place) or ()
