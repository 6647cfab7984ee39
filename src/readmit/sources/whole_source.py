"""Sources whose text is captured and compared as a whole: a kind of them says how it is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import msgspec

from readmit.records.canonical import digest_of
from readmit.records.probes import Probe
from readmit.sources.look import LookDeadline, compared, evidence_text, unread
from readmit.sources.prober import Captured, ProbeResult

if TYPE_CHECKING:
    from readmit.records.policy import LookRules
    from readmit.sources.places import Place

P = TypeVar("P", bound=Probe)


class WholeSource(ABC, Generic[P]):
    """A kind of source under the limits of a look."""

    probe: ClassVar[type]
    """The kind of its probes."""

    def __init__(self, limits: LookRules) -> None:
        self._limits = limits

    @abstractmethod
    def read(self, probe: P, deadline: LookDeadline) -> bytes:
        """The present text of a source."""

    def look(self, probe: P, deadline: LookDeadline) -> ProbeResult:
        """Compare the present text of a source with the captured one."""
        return compared(probe, self.read(probe, deadline))

    def capture(self, place: Place, deadline: LookDeadline) -> Captured:
        """The text at a place, and its probe."""
        probe: P = unread(self.probe, place)
        data = self.read(probe, deadline)
        return Captured(evidence_text(data), msgspec.structs.replace(probe, digest=digest_of(data)))
