"""How a piece of evidence can be looked at again: where its text was read, and the digest of what was there.

A probe never holds a secret: a database and an MCP server are named here and configured where the look happens.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

import msgspec

from readmit.records.base import Count, Digest, Name, Record, shown
from readmit.records.error_types import RecordError

LONGEST_PATH = 4_096
SourcePath = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_PATH)]
Part = Annotated[str, msgspec.Meta(max_length=20_000)]
Lifetime = Annotated[int, msgspec.Meta(ge=0, le=100_000_000)]
# What JSON and every database can hold, without floats: canonical bytes have none.
Scalar: TypeAlias = Annotated[int, msgspec.Meta(ge=1 - 2**53, le=2**53 - 1)] | str | bool | None

# A branch, tag, remote branch or commit; git's own expressions (main@{yesterday}, :/message) are not needed here.
_REF = re.compile(r"(?!-)(?!.*\.\.)[A-Za-z0-9._/+#-]{1,255}")


class Finding(StrEnum):
    """The result of a look."""

    UNCHANGED = "unchanged"
    """The captured text is where it was."""
    MOVED = "moved"
    """The captured text is at another place of the same source."""
    CHANGED = "changed"
    """Another text is there now."""
    GONE = "gone"
    """The captured text is not there, and no text stands in its place."""
    UNSEEN = "unseen"
    """No look was possible: forbidden, unreachable, too slow, too large or failed."""


class _Probe(Record, kw_only=True, tag_field="of", gc=False):
    """The fields that every probe has."""

    digest: Digest
    """SHA-256 of the captured text in UTF-8."""
    lifetime: Lifetime = 0
    """Seconds for which a look stays fresh; 0 for the policy's default."""


class _Placed(_Probe, kw_only=True):
    """A text in a file: the whole of it, some lines, or the definition of a symbol."""

    path: SourcePath
    first: Count = 0
    """The first quoted line, counted from 1; 0 for the whole file or a symbol."""
    last: Count = 0
    symbol: Annotated[str, msgspec.Meta(max_length=512)] = ""
    """Dotted name of a Python function or class, which is found wherever it stands in the file."""
    size: Count = 0
    """Bytes of the quoted lines: where else the quote may stand is found without hashing every place."""
    before: Annotated[str, msgspec.Meta(max_length=16)] = ""
    """Start of the digest of the line above the quote. With ``after``, it finds the place of an edited quote."""
    after: Annotated[str, msgspec.Meta(max_length=16)] = ""

    def __post_init__(self) -> None:
        if (self.first == 0) != (self.last == 0) or self.first > self.last:
            raise RecordError(f"first, last: {self.first} to {self.last} is not a range of lines; count from 1")
        if self.symbol and self.first:
            raise RecordError("symbol: give either a symbol or lines")
        if "\0" in self.path or "\n" in self.path:
            raise RecordError(f"path: {shown(self.path)} holds a line break or a zero byte")


class FileProbe(_Placed, kw_only=True, tag="file"):
    """A file below one of the roots. A relative path is relative to the first root."""

    quote: Annotated[str, msgspec.Meta(max_length=512)] = ""
    """Words that stand somewhere in the file, compared without regard to white space."""
    exists: bool = False
    """Whether only the place counts: a file, folder or link of this name is there, whatever it holds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum((bool(self.first), bool(self.symbol), bool(self.quote), self.exists)) > 1:
            raise RecordError("quote: give one of lines, a symbol, a quote and exists")


class GitProbe(_Placed, kw_only=True, tag="git"):
    """A file of a git repository, as the commit that ``ref`` names holds it."""

    repository: SourcePath
    """Directory of the repository, as a path below one of the roots."""
    ref: Name
    """The revision that is followed: HEAD, a branch, a tag or a commit."""
    commit: Annotated[str, msgspec.Meta(pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$(?!\n)")]
    """The commit that ``ref`` named when the text was captured."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _REF.fullmatch(self.ref):
            raise RecordError(f"ref: {shown(self.ref)} is not a branch, a tag, HEAD or a commit")
        if "\0" in self.repository or "\n" in self.repository:
            raise RecordError(f"repository: {shown(self.repository)} holds a line break or a zero byte")


class HttpProbe(_Probe, kw_only=True, tag="http"):
    """A page or document at a URL: the whole of it, a quote from it, or one value of a JSON document."""

    url: Annotated[str, msgspec.Meta(min_length=1, max_length=2_048)]
    etag: Annotated[str, msgspec.Meta(max_length=256)] = ""
    modified: Annotated[str, msgspec.Meta(max_length=256)] = ""
    """The Last-Modified header, as the server wrote it."""
    quote: Part = ""
    """Words of the page, compared without regard to white space."""
    pointer: Annotated[str, msgspec.Meta(max_length=1_024)] = ""
    """JSON pointer (RFC 6901) to the captured value."""

    def __post_init__(self) -> None:
        require_url("url", self.url)
        if self.quote and self.pointer:
            raise RecordError("pointer: give either a quote or a pointer")
        if self.pointer and not self.pointer.startswith("/"):
            raise RecordError(f"pointer: {shown(self.pointer)} does not begin with /; write it as /version")


class SqlProbe(_Probe, kw_only=True, tag="sql"):
    """The rows of one query, as JSON."""

    database: Name
    """A name that the prober knows; never an address."""
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
    parameters: tuple[Scalar, ...] = ()


class CommandProbe(_Probe, kw_only=True, tag="command"):
    """The standard output of a command that the limits allow."""

    argv: Annotated[tuple[Annotated[str, msgspec.Meta(max_length=LONGEST_PATH)], ...], msgspec.Meta(min_length=1)]


class CallableProbe(_Probe, kw_only=True, tag="callable"):
    """The answer of a registered Python function."""

    name: Name
    """The name under which the prober knows it."""
    arguments: tuple[Scalar, ...] = ()


class McpProbe(_Probe, kw_only=True, tag="mcp"):
    """A resource of an MCP server."""

    server: Name
    """A name that the prober knows; never an address."""
    uri: Annotated[str, msgspec.Meta(min_length=1, max_length=2_048)]


Probe: TypeAlias = FileProbe | GitProbe | HttpProbe | SqlProbe | CommandProbe | CallableProbe | McpProbe


def require_url(field: str, url: str) -> None:
    """Refuse a URL that is not http or https, or that holds a user name or a password."""
    try:
        parts = urlsplit(url)
        bare = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        bare = None
    if not bare or re.search(r"[\x00-\x20\x7f]", url):
        raise RecordError(f"{field}: {shown(url)} is not an address; write it as https://example.org/page")
    if parts.username is not None or parts.password is not None:
        raise RecordError(f"{field}: take the user name and the password out of the address")


def place_of(probe: Probe) -> str:
    """The place that a probe looks at, in a few words, for messages and pages."""
    match probe:
        case FileProbe(quote=quote) if quote:
            return f"{probe.path} with {shown(quote)}"
        case FileProbe() | GitProbe():
            at = f"#{probe.symbol}" if probe.symbol else f":{probe.first}-{probe.last}" if probe.first else ""
            return f"{probe.path}{at}" + (f" at {probe.ref}" if isinstance(probe, GitProbe) else "")
        case HttpProbe():
            return f"{probe.url}{'#' + probe.pointer if probe.pointer else ''}"
        case SqlProbe():
            return f"{probe.database}: {probe.query}"
        case CommandProbe():
            return " ".join(probe.argv)
        case CallableProbe():
            return f"{probe.name}({', '.join(map(repr, probe.arguments))})"
        case McpProbe():
            return f"{probe.server}: {probe.uri}"
