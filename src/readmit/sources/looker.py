"""The prober of a workspace: looks again at every kind of source, and captures a source with its probe."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from readmit.records.base import listed
from readmit.records.canonical import located
from readmit.records.error_types import GoneError, ProbeError, ReadmitError, RecordError
from readmit.records.policy import LookRules
from readmit.records.probes import (
    CallableProbe,
    CommandProbe,
    FileProbe,
    Finding,
    GitProbe,
    HttpProbe,
    McpProbe,
    SqlProbe,
)
from readmit.sources.files import Files, Unchanged
from readmit.sources.functions import Calls
from readmit.sources.look import LookDeadline, reason
from readmit.sources.prober import Captured, ProbeResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from readmit.records.probes import Probe
    from readmit.sources.command_output import Commands
    from readmit.sources.database_rows import Databases
    from readmit.sources.git_files import Repositories
    from readmit.sources.resources import Resources
    from readmit.sources.web import Web

_AT_ONCE = 8
"""Most servers contacted at the same time."""
_NONE: Mapping[str, Any] = MappingProxyType({})


class Looker:
    """Looks at sources again within its limits: every root, host and command is allowed by name.

    Without ``roots`` it reads no files. The prober of a workspace has the folder of the store instead.
    """

    def __init__(
        self,
        limits: LookRules | None = None,
        *,
        databases: Mapping[str, str] = _NONE,
        callables: Mapping[str, Callable[..., Any]] = _NONE,
        mcp: Mapping[str, Sequence[str]] = _NONE,
    ) -> None:
        """``databases``: SQLite files and PostgreSQL URLs by name. ``mcp``: commands of MCP servers by name."""
        limits = limits or LookRules()
        # Absolute from here on: the program may change its working directory.
        self.limits = msgspec.structs.replace(limits, roots=tuple(os.path.abspath(root) for root in limits.roots))  # noqa: PTH100
        self._databases = dict(databases)
        self._mcp = dict(mcp)
        self._calls = Calls(self.limits, dict(callables))
        self._unchanged = Unchanged()

    def look(self, probes: Sequence[Probe]) -> list[ProbeResult]:
        """One result per probe, in the same order."""
        everything = LookDeadline(self.limits.total_seconds)
        most = self.limits.count
        beyond = f"count: this look has {len(probes)} probes; the limit is {most}"
        results = {most + at: ProbeResult(Finding.UNSEEN, one, why=beyond) for at, one in enumerate(probes[most:])}
        near = [number for number, probe in enumerate(probes[:most]) if type(probe) is not HttpProbe]
        far = [number for number, probe in enumerate(probes[:most]) if type(probe) is HttpProbe]
        # What is near comes first: servers that do not answer must not use up its time.
        near.sort(key=lambda number: _PATIENCE[type(probes[number])])
        with self._opened() as sources:
            for number in near:
                results[number] = self._one(sources, probes[number], everything)
            if far:
                with ThreadPoolExecutor(_AT_ONCE, "readmit-look") as pool:
                    answers = pool.map(lambda number: self._one(sources, probes[number], everything), far)
                    results |= dict(zip(far, answers, strict=True))
        return [results[number] for number in range(len(probes))]

    def _one(self, sources: _Sources, probe: Probe, everything: LookDeadline) -> ProbeResult:
        if everything.passed:
            late = f"total_seconds: the look ended after {self.limits.total_seconds:g} s"
            return ProbeResult(Finding.UNSEEN, probe, why=late)
        if sources.late and (type(probe), _origin(probe)) in sources.late:
            return ProbeResult(Finding.UNSEEN, probe, why=f"{_origin(probe)} took too long before in this look")
        deadline = LookDeadline(self.limits.seconds, within=everything)
        try:
            result: ProbeResult = sources.of(probe).look(probe, deadline)
        except GoneError as error:
            return ProbeResult(Finding.GONE, probe, why=reason(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody has seen the source
            if deadline.passed and (origin := _origin(probe)):
                sources.late.add((type(probe), origin))
            return ProbeResult(Finding.UNSEEN, probe, why=reason(error))
        return result

    def capture_file(self, path: str, *, lines: str = "", symbol: str = "", lifetime: int = 0) -> Captured:
        """A file below a root, some lines of it (``10-20``), or the definition of a Python symbol."""
        with self._opened() as sources:
            return _captured(lambda: sources.files.capture(path, lines=lines, symbol=symbol, lifetime=lifetime))

    def capture_git(
        self,
        path: str,
        *,
        repository: str = ".",
        ref: str = "HEAD",
        lines: str = "",
        symbol: str = "",
        lifetime: int = 0,
    ) -> Captured:
        """A file of a repository, as the commit that ``ref`` names holds it."""
        with self._opened() as sources:
            return _captured(
                lambda: sources.git.capture(
                    path, self._time(), repository=repository, ref=ref, lines=lines, symbol=symbol, lifetime=lifetime
                )
            )

    def capture_http(self, url: str, *, quote: str = "", pointer: str = "", lifetime: int = 0) -> Captured:
        """A page, words of it, or the value that a JSON pointer names."""
        with self._opened() as sources:
            return _captured(
                lambda: sources.web.capture(url, self._time(), quote=quote, pointer=pointer, lifetime=lifetime)
            )

    def capture_sql(self, database: str, query: str, parameters: Iterable[Any] = (), *, lifetime: int = 0) -> Captured:
        """The rows of a query, as JSON."""
        given = listed("parameters", parameters)
        with self._opened() as sources:
            return _captured(lambda: sources.databases.capture(database, query, given, self._time(), lifetime=lifetime))

    def capture_command(self, argv: Iterable[str], *, lifetime: int = 0) -> Captured:
        """The standard output of an allowed command."""
        words = listed("argv", argv)
        with self._opened() as sources:
            return _captured(lambda: sources.commands.capture(words, self._time(), lifetime=lifetime))

    def capture_call(self, name: str, arguments: Iterable[Any] = (), *, lifetime: int = 0) -> Captured:
        """The answer of a registered function."""
        given = listed("arguments", arguments)
        return _captured(lambda: self._calls.capture(name, given, self._time(), lifetime=lifetime))

    def capture_mcp(self, server: str, uri: str, *, lifetime: int = 0) -> Captured:
        """A resource of an MCP server."""
        with self._opened() as sources:
            return _captured(lambda: sources.resources.capture(server, uri, self._time(), lifetime=lifetime))

    def _time(self) -> LookDeadline:
        return LookDeadline(min(self.limits.seconds, self.limits.total_seconds))

    def _opened(self) -> _Sources:
        return _Sources(self.limits, self._unchanged, self._calls, self._databases, self._mcp)


class _Sources(ExitStack):
    """The sources of one look, each made when the first probe needs it, and closed with the look."""

    def __init__(
        self,
        limits: LookRules,
        unchanged: Unchanged,
        calls: Calls,
        databases: Mapping[str, str],
        servers: Mapping[str, Sequence[str]],
    ) -> None:
        super().__init__()
        self._limits = limits
        self._unchanged = unchanged
        self._calls = calls
        self._databases = databases
        self._servers = servers
        self.late: set[tuple[type, str]] = set()
        """Origins that were too slow during this look. Their further probes are unseen."""

    def of(self, probe: Probe) -> Any:
        """The source that a probe looks at."""
        return getattr(self, _SOURCES[type(probe)])

    @cached_property
    def files(self) -> Files:
        return self.enter_context(closing(Files(self._limits, self._unchanged)))

    @cached_property
    def git(self) -> Repositories:
        from readmit.sources.git_files import Repositories

        return self.enter_context(closing(Repositories(self._limits)))

    @cached_property
    def web(self) -> Web:
        from readmit.sources.web import Web

        return Web(self._limits)

    @cached_property
    def databases(self) -> Databases:
        from readmit.sources.database_rows import Databases

        return Databases(self._limits, self._databases)

    @cached_property
    def commands(self) -> Commands:
        from readmit.sources.command_output import Commands

        return Commands(self._limits)

    @property
    def calls(self) -> Calls:
        return self._calls

    @cached_property
    def resources(self) -> Resources:
        from readmit.sources.resources import Resources

        return self.enter_context(closing(Resources(self._limits, self._servers)))


_SOURCES: dict[type, str] = {
    FileProbe: "files",
    GitProbe: "git",
    HttpProbe: "web",
    SqlProbe: "databases",
    CommandProbe: "commands",
    CallableProbe: "calls",
    McpProbe: "resources",
}


# In the order in which they are looked at.
_PATIENCE = {kind: place for place, kind in enumerate(_SOURCES)}


def _origin(probe: Probe) -> str:
    """The repository, server or database of a probe: after one timeout its other probes are not tried. Else empty."""
    match probe:
        case GitProbe():
            return probe.repository
        case HttpProbe():
            return urlsplit(probe.url).netloc
        case SqlProbe():
            return probe.database
        case McpProbe():
            return probe.server
        case _:
            return ""


def _captured(capture: Callable[[], Captured]) -> Captured:
    """The result of a capture. Any exception becomes a ``ProbeError`` or another error of readmit."""
    try:
        return capture()
    except ReadmitError:
        raise
    except msgspec.ValidationError as error:
        # The caller gave the fields one by one; it knows no probe yet.
        raise RecordError(re.sub(r"^probe(?:\.|: )", "", located(str(error), "probe"))) from None
    except Exception as error:
        raise ProbeError(f"the source cannot be captured: {reason(error)}") from error
