"""Places that evidence can be read from, and looked at again: ``workspace.observe(probe=File("plan.md"))``.

``Looker.capture`` reads a place, and makes the probe that leads back to it. Before a return, and by a watch, the place
is looked at again. ``lifetime`` is for how many seconds a look stays fresh; 0 for the policy's default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit.records.probes import Scalar


@dataclass(frozen=True)
class File:
    """A file below the roots, some of its lines (``"10-20"``), a Python symbol in it, or words of it (``quote``).

    With ``exists`` only the place counts: a file or folder of this name is there, whatever it holds.
    """

    path: str | Path
    lines: str = ""
    symbol: str = ""
    lifetime: int = 0
    quote: str = ""
    exists: bool = False


@dataclass(frozen=True)
class Git:
    """A file of a git repository, or a part of it, as ``ref`` has it."""

    path: str
    repository: str | Path = "."
    ref: str = "HEAD"
    lines: str = ""
    symbol: str = ""
    lifetime: int = 0


@dataclass(frozen=True)
class Http:
    """The answer of a URL, a quote from it, or one value of a JSON document. ``looks.hosts`` must allow the host."""

    url: str
    quote: str = ""
    pointer: str = ""
    lifetime: int = 0


@dataclass(frozen=True)
class Sql:
    """The rows of a query. ``database`` is a name that the prober knows."""

    database: str
    query: str
    parameters: Sequence[Scalar] = ()
    lifetime: int = 0


@dataclass(frozen=True)
class Command:
    """The output of a command. ``looks.commands`` must allow it."""

    argv: Sequence[str]
    lifetime: int = 0


@dataclass(frozen=True)
class Call:
    """The answer of a function that the prober knows under ``name``."""

    name: str
    arguments: Sequence[Scalar] = ()
    lifetime: int = 0


@dataclass(frozen=True)
class Mcp:
    """A resource of an MCP server that the prober knows under a name."""

    server: str
    uri: str
    lifetime: int = 0


Place: TypeAlias = File | Git | Http | Sql | Command | Call | Mcp
"""A place to read evidence from."""
