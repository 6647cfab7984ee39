"""A change of the keys that principals sign with."""

from __future__ import annotations

from typing import Literal

from readmit.records.base import Count, Digest, Name, Note, Record


class WriterKey(Record, kw_only=True):
    """A key was enrolled for a principal, or its signatures count only before an epoch."""

    principal: Name
    key: Digest
    change: Literal["enrol", "revoke"]
    public: Note = ""
    since: Count | None = None
    """The first epoch at which a revoked key no longer counts; none for that of this event."""
    reason: Note = ""
