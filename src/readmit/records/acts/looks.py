"""Looks at sources, and items that rest on the present text of a source."""

from __future__ import annotations

from readmit.records.acts.operation import ItemId
from readmit.records.base import Count, Digest, Name, Note, Record
from readmit.records.probes import Finding, Probe


class LookResult(Record, kw_only=True, gc=False):
    """The result of a look at the source of one piece of evidence, unless it is unchanged where it was."""

    evidence: Digest
    finding: Finding
    now: Digest | None = None
    """The present text, as evidence of its own. None if it is gone, unseen, or cannot be kept."""
    digest: Digest | None = None
    """SHA-256 of the text that is there now, if it changed."""
    probe: Probe | None = None
    """The present place of the text, if it moved."""
    why: Note = ""
    since: Count = 0
    """The epoch of the first look that found the same; 0 for this one."""
    seen: Count = 0
    """The epoch of the look that saw it last, if this one did not: it is no longer looked at with the others."""


class LookedAgain(Record, kw_only=True, gc=False):
    """An earlier look whose findings a later one repeats."""

    look: Count
    """Its epoch. Evidence that was looked at by itself since then is not meant."""
    times: Count
    """How often its findings were repeated, with this time."""


class Looked(Record, kw_only=True):
    """The workspace's prober looked at sources of evidence again."""

    unchanged: tuple[Digest, ...] = ()
    """Evidence whose source still says the same, where it said it."""
    found: tuple[LookResult, ...] = ()
    """The other results."""
    again: tuple[LookedAgain, ...] = ()
    """Earlier looks of which everything was found as it was then."""

    @property
    def evidence(self) -> tuple[str, ...]:
        """Every piece of evidence that it names."""
        return (*self.unchanged, *(one.evidence for one in self.found))

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys under which it is found: digests of evidence, and epochs of the looks that it repeats."""
        return (*self.evidence, *(str(one.look) for one in self.again))


class Resource(Record, kw_only=True):
    """A verifier found that ``target`` still holds of what its source says now, and quotes it."""

    target: ItemId
    evidence: Digest
    """The evidence of the item whose source changed."""
    now: Digest
    """The present text of the source."""
    quote: Note
    """The words of it that carry the statement."""
    drafted: Name
    """The model that found it."""
