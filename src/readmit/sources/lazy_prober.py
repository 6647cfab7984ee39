"""The prober of a workspace, made when it is first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.sources.prober import LookLimits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from readmit.records.policy import LookRules
    from readmit.sources.looker import Looker


class LazyProber:
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
    from readmit.sources.looker import Looker

    return Looker(limits)
