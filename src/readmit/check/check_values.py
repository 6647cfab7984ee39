"""What a check reads and what it reports."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class NameKind(StrEnum):
    """What a statement names."""

    PATH = "path"
    LINK = "link"
    """A Markdown link to a file."""
    ANCHOR = "anchor"
    """The part of a Markdown link after ``#``."""
    SYMBOL = "symbol"
    MODULE = "module"
    OPTION = "option"
    """An option of a command line, as ``--json``."""
    COMMAND = "command"
    VERSION = "version"
    CHANGE = "change"
    """A file that a statement names changed, and a model finds that the statement no longer holds."""


class StatementPlace(msgspec.Struct, frozen=True):
    """Where a statement stands."""

    file: str
    """Relative to the root."""
    line: int
    statement: str


class Mention(msgspec.Struct, frozen=True):
    """Something that a statement names, and that can be looked for."""

    place: StatementPlace
    kind: NameKind
    name: str
    """What is looked for."""
    more: str = ""
    """What else is needed for that: the file of an anchor, the tool of a version."""


class Unchecked(msgspec.Struct, frozen=True):
    """Something that a statement names and that was not looked for."""

    place: StatementPlace
    name: str
    why: str


class CheckFinding(msgspec.Struct, frozen=True):
    """A statement that no longer holds."""

    place: StatementPlace
    kind: NameKind
    looked_for: str
    now: str
    """What is there now."""


class CheckReport(msgspec.Struct, frozen=True):
    """What a check found."""

    files: tuple[str, ...]
    statements: int
    held: int
    """How many of the names that were looked for are there."""
    findings: tuple[CheckFinding, ...]
    unchecked: tuple[Unchecked, ...]
