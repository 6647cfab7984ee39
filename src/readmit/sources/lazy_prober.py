"""The prober of a workspace, made when it is first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from readmit.records.policy import LookRules
    from readmit.sources.looker import Looker


class LazyProber:
    """The prober of a workspace: made when it is first needed, and again when the policy's limits change."""

    def __init__(self, make: Callable[[LookRules], Looker], root: Path) -> None:
        self._make = make
        self._root = root
        self._made: tuple[LookRules, Looker] | None = None

    def under(self, rules: LookRules) -> Looker:
        """The prober under a policy's limits."""
        if self._made is None or self._made[0] != rules:
            limits = msgspec.structs.replace(rules, roots=rules.roots or (str(self._root),))
            self._made = rules, self._make(limits)
        return self._made[1]
