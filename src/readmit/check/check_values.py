"""Values of a check: names in statements, findings, and the report."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple

import msgspec


class NameKind(StrEnum):
    """The sort of thing that a statement names."""

    PATH = "path"
    LINK = "link"
    """A Markdown link to a file."""
    ANCHOR = "anchor"
    """The part of a Markdown link after ``#``."""
    SYMBOL = "symbol"
    MODULE = "module"
    OPTION = "option"
    """An option of a command line, as ``--json``."""
    PARAMETER = "parameter"
    """A parameter by name in a call, as ``Cart(size=3)``."""
    SETTING = "setting"
    """A name with its value, as ``MAX_LINES = 5``."""
    COMMAND = "command"
    VERSION = "version"
    PACKAGE = "package"
    """A package that a manifest declares, in words."""
    CHANGE = "change"
    """A file that a statement names changed, and a model finds that the statement no longer holds."""


class StatementPlace(msgspec.Struct, frozen=True):
    """The file and the line of a statement."""

    file: str
    """Relative to the root."""
    line: int
    statement: str


class Mention(msgspec.Struct, frozen=True):
    """A checkable name in a statement: a path, a link, a command, a symbol, a version."""

    place: StatementPlace
    kind: NameKind
    name: str
    """The path, link, command, symbol or version."""
    more: str = ""
    """The second half of the name: the file of an anchor, the tool of a version, the callable of a parameter, the value
    of a setting, the program of an option."""


class Unchecked(msgspec.Struct, frozen=True):
    """A name in a statement that was not checked."""

    place: StatementPlace
    name: str
    why: str


class CheckFinding(msgspec.Struct, frozen=True):
    """A statement that no longer holds."""

    place: StatementPlace
    kind: NameKind
    looked_for: str
    now: str
    """The present state of the tree: a new name, a declared range, when the file was deleted."""


class CommandAnswer(NamedTuple):
    """Whether a command can still be run."""

    outcome: Literal["holds", "gone", "unknown"]
    now: str = ""
    """The commands that exist instead, or why the answer is unknown."""


class Voucher(msgspec.Struct, frozen=True):
    """A place of the tree that vouches for a name: a path, or words in a file."""

    path: str
    """Relative to the root."""
    quote: str = ""
    """Words of the file; empty if the path alone vouches."""


class CheckedStatement(msgspec.Struct, frozen=True, kw_only=True):
    """A statement of a memory file, the findings against it, and the places that vouch for the names in it."""

    file: str
    first: int
    last: int
    heading: str
    text: str
    names: tuple[str, ...]
    findings: tuple[str, ...]
    """Names that do not hold, each with the present state of the tree."""
    vouchers: tuple[Voucher, ...]


class CheckReport(msgspec.Struct, frozen=True):
    """The outcome of a check: findings, unchecked names, and counts."""

    files: tuple[str, ...]
    statements: int
    held: int
    """How many checked names hold."""
    findings: tuple[CheckFinding, ...]
    unchecked: tuple[Unchecked, ...]
