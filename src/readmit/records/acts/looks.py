"""Looks at sources, and items that rest on the present text of a source."""

from __future__ import annotations

from readmit.records.acts.operation import ItemId
from readmit.records.base import Count, Digest, Name, Note, Record
from readmit.records.probes import Finding, Probe


class LookResult(Record, kw_only=True, gc=False):
    """What a look at the source of one piece of evidence found, unless it is unchanged where it was."""

    evidence: Digest
    finding: Finding
    now: Digest | None = None
    """The present text, as evidence of its own. None if it is gone, unseen, or cannot be kept."""
    digest: Digest | None = None
    """SHA-256 of the text that is there now, if it changed."""
    probe: Probe | None = None
    """Where the text stands now, if it moved."""
    why: Note = ""
    since: Count = 0
    """The epoch of the first look that found the same; 0 for this one."""


class Looked(Record, kw_only=True):
    """The workspace's prober looked at sources of evidence again."""

    unchanged: tuple[Digest, ...] = ()
    """Evidence whose source still says the same, where it said it."""
    found: tuple[LookResult, ...] = ()
    """The other results."""

    @property
    def evidence(self) -> tuple[str, ...]:
        """Every piece of evidence that was looked at."""
        return (*self.unchanged, *(one.evidence for one in self.found))


class Resource(Record, kw_only=True):
    """A verifier found that ``target`` still holds of what its source says now, and quotes it."""

    target: ItemId
    evidence: Digest
    """The evidence of the item whose source changed."""
    now: Digest
    """What the source says now."""
    quote: Note
    """The words of it that carry the statement."""
    drafted: Name
    """The model that found it."""
