"""The port of probers: looks again at sources of evidence, one result for each probe."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.records.probes import Finding, Probe


class ProbeResult(NamedTuple):
    """The result of looking at one probe."""

    outcome: Finding
    probe: Probe
    """A probe of the present text; for an unchanged, gone or unseen source the given one."""
    text: str = ""
    """The present text of a changed source: exactly the one whose digest is in ``probe``. Otherwise empty."""
    why: str = ""
    """Why the source is gone or unseen, in a few words."""


class Captured(NamedTuple):
    """A text as it was read just now, and how to look at it again."""

    text: str
    probe: Probe


class Prober(Protocol):
    """Looks at sources again."""

    def look(self, probes: Sequence[Probe]) -> list[ProbeResult]:
        """One result per probe, in the same order. A probe that fails in any way is unseen."""
        ...
