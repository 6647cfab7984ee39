"""Evidence that can be looked at again: verbs that read a source and keep its text with the way back to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Unpack

from readmit.records.arguments import check_fields, explained
from readmit.records.base import listed
from readmit.returning.due_looks import look_for
from readmit.sources.prober import LookLimits
from readmit.writing.observation_draft import CapturedFields

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from readmit.log.log import Log
    from readmit.records.acts.looks import Looked
    from readmit.records.policy import LookRules, Policy
    from readmit.records.probes import Scalar
    from readmit.sources import Looker
    from readmit.sources.prober import Captured
    from readmit.workspace.agent import Agent
    from readmit.writing.author import Writer


class Eyes:
    """The prober of a workspace: made when it is first needed, and again when the policy's limits change."""

    def __init__(self, make: Callable[[LookLimits], Looker] | None, root: Path) -> None:
        self._make = make
        self._root = root
        self._made: tuple[LookRules, Looker] | None = None

    def under(self, rules: LookRules) -> Looker:
        """The prober under a policy's limits."""
        if self._made is None or self._made[0] != rules:
            self._made = rules, (self._make or _looker)(self._limits(rules))
        return self._made[1]

    def _limits(self, rules: LookRules) -> LookLimits:
        return LookLimits(
            seconds=rules.seconds,
            total_seconds=rules.total_seconds,
            bytes=rules.bytes,
            count=rules.count,
            roots=rules.roots or (str(self._root),),
            hosts=rules.hosts,
            private_hosts=rules.private_hosts,
            commands=rules.commands,
            sandbox=rules.sandbox,
        )


def _looker(limits: LookLimits) -> Looker:
    from readmit.sources import Looker

    return Looker(limits)


@explained
class Probing(ABC):
    """Verbs that observe a source."""

    log: Log
    eyes: Eyes
    writer: Writer

    @property
    @abstractmethod
    def policy(self) -> Policy:
        """The policy in force."""

    @abstractmethod
    def _keep(self, captured: Captured, fields: CapturedFields) -> str:
        """Observe what was captured. Returns its digest."""

    @abstractmethod
    def moment(self) -> datetime:
        """What counts as now."""

    def look(self, agent: Agent, *, purpose: str | None = None) -> Looked | None:
        """Look at the sources behind the return of an agent that is away, if they are due; a return does so itself.

        Returns what was written down, for the operator; none if nothing was.
        """
        self.writer.acts_for(agent.identity.principal)
        return look_for(self, agent.departed(), agent.identity, purpose=purpose)

    def _prober(self) -> Looker:
        return self.eyes.under(self.policy.looks)

    def observe_file(
        self,
        path: str | Path,
        *,
        lines: str = "",
        symbol: str = "",
        lifetime: int = 0,
        **fields: Unpack[CapturedFields],
    ) -> str:
        """Keep the text of a file, of some of its lines (``"10-20"``) or of a Python symbol, and where it stands.

        Before a return, and by a watch, the place is looked at again. ``lifetime`` is for how many seconds a look stays
        fresh; 0 for the policy's default. Returns the digest, to be named as a source.
        """
        check_fields(self.observe_file, fields, CapturedFields)
        return self._keep(self._prober().capture_file(str(path), lines=lines, symbol=symbol, lifetime=lifetime), fields)

    def observe_git(
        self,
        path: str,
        *,
        repository: str | Path = ".",
        ref: str = "HEAD",
        lines: str = "",
        symbol: str = "",
        lifetime: int = 0,
        **fields: Unpack[CapturedFields],
    ) -> str:
        """Keep a file of a git repository, or a part of it, as ``ref`` has it. As ``observe_file``."""
        check_fields(self.observe_git, fields, CapturedFields)
        captured = self._prober().capture_git(
            path, repository=str(repository), ref=ref, lines=lines, symbol=symbol, lifetime=lifetime
        )
        return self._keep(captured, fields)

    def observe_http(
        self, url: str, *, quote: str = "", pointer: str = "", lifetime: int = 0, **fields: Unpack[CapturedFields]
    ) -> str:
        """Keep what a URL answers, a quote from it, or one value of a JSON document. As ``observe_file``.

        The policy's ``looks.hosts`` must allow the host.
        """
        check_fields(self.observe_http, fields, CapturedFields)
        return self._keep(self._prober().capture_http(url, quote=quote, pointer=pointer, lifetime=lifetime), fields)

    def observe_sql(
        self,
        database: str,
        query: str,
        parameters: Sequence[Scalar] = (),
        *,
        lifetime: int = 0,
        **fields: Unpack[CapturedFields],
    ) -> str:
        """Keep the rows of a query. ``database`` is a name that the prober knows. As ``observe_file``."""
        check_fields(self.observe_sql, fields, CapturedFields)
        values = listed("parameters", parameters)
        return self._keep(self._prober().capture_sql(database, query, values, lifetime=lifetime), fields)

    def observe_command(self, argv: Sequence[str], *, lifetime: int = 0, **fields: Unpack[CapturedFields]) -> str:
        """Keep what a command prints. The policy's ``looks.commands`` must allow it. As ``observe_file``."""
        check_fields(self.observe_command, fields, CapturedFields)
        return self._keep(self._prober().capture_command(listed("argv", argv), lifetime=lifetime), fields)

    def observe_call(
        self, name: str, arguments: Sequence[Scalar] = (), *, lifetime: int = 0, **fields: Unpack[CapturedFields]
    ) -> str:
        """Keep what a function answers that the prober knows under ``name``. As ``observe_file``."""
        check_fields(self.observe_call, fields, CapturedFields)
        values = listed("arguments", arguments)
        return self._keep(self._prober().capture_call(name, values, lifetime=lifetime), fields)

    def observe_mcp(self, server: str, uri: str, *, lifetime: int = 0, **fields: Unpack[CapturedFields]) -> str:
        """Keep a resource of an MCP server that the prober knows under a name. As ``observe_file``."""
        check_fields(self.observe_mcp, fields, CapturedFields)
        return self._keep(self._prober().capture_mcp(server, uri, lifetime=lifetime), fields)
