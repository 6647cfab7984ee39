"""The prober of a workspace: looks again at every kind of source, and captures a source with its probe."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, closing
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit

import msgspec

from readmit.records.canonical import located
from readmit.records.error_types import GoneError, ProbeError, ReadmitError, RecordError
from readmit.records.policy import LookRules
from readmit.records.probes import Finding, GitProbe, HttpProbe, McpProbe, Probe, SqlProbe
from readmit.sources.files import Files, Unchanged
from readmit.sources.functions import Calls
from readmit.sources.look import LookDeadline, reason
from readmit.sources.places import Place
from readmit.sources.prober import Captured, ProbeResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
        near.sort(key=lambda number: _NAMES.index(_KINDS[type(probes[number])]))
        with _Sources(self) as sources:
            for number in near:
                results[number] = self._one(sources, probes[number], everything)
            if far:
                from concurrent.futures import ThreadPoolExecutor

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

    def capture(self, place: Place) -> Captured:
        """The text at a place now, and the probe that leads back to it."""
        try:
            with _Sources(self) as sources:
                found: Captured = sources.of(place).capture(
                    place, LookDeadline(min(self.limits.seconds, self.limits.total_seconds))
                )
        except ReadmitError:
            raise
        except msgspec.ValidationError as error:
            # The caller gave a place; it knows no probe yet.
            raise RecordError(re.sub(r"^probe(?:\.|: )", "", located(str(error), "probe"))) from None
        except Exception as error:
            raise ProbeError(f"the source cannot be captured: {reason(error)}") from error
        return found

    def _opened(self, kind: str, stack: ExitStack) -> Any:
        """The sources of a kind, closed with the stack."""
        match kind:
            case "file":
                return stack.enter_context(closing(Files(self.limits, self._unchanged)))
            case "git":
                from readmit.sources.git_files import Repositories

                return stack.enter_context(closing(Repositories(self.limits)))
            case "http":
                from readmit.sources.web import Web

                return Web(self.limits)
            case "sql":
                from readmit.sources.database_rows import Databases

                return Databases(self.limits, self._databases)
            case "command":
                from readmit.sources.command_output import Commands

                return Commands(self.limits)
            case "mcp":
                from readmit.sources.resources import Resources

                return stack.enter_context(closing(Resources(self.limits, self._mcp)))
        return self._calls


class _Sources(ExitStack):
    """The sources of one look, each made when the first probe needs it, and closed with the look."""

    def __init__(self, looker: Looker) -> None:
        super().__init__()
        self._looker = looker
        self._made: dict[str, Any] = {}
        self.late: set[tuple[type, str]] = set()
        """Origins that were too slow during this look. Their further probes are unseen."""

    def of(self, at: Probe | Place) -> Any:
        """The source that a probe looks at, or that a place is in."""
        kind = _KINDS[type(at)]
        if kind not in self._made:
            self._made[kind] = self._looker._opened(kind, self)  # noqa: SLF001 - of this module
        return self._made[kind]


# In the order in which they are looked at.
_NAMES = ("file", "git", "http", "sql", "command", "call", "mcp")
_KINDS: dict[type, str] = {
    kind: name for kinds in (get_args(Probe), get_args(Place)) for kind, name in zip(kinds, _NAMES, strict=True)
}


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
