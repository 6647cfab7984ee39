"""Raw observations, and private experiences bound to the items that sourced them."""

from __future__ import annotations

from typing import Literal

from readmit.records.base import Id, Name, Record, Text, Time
from readmit.records.items import Scope
from readmit.records.policy import AUTHOR
from readmit.records.probes import Probe


class Evidence(Record, kw_only=True, gc=False):
    """A message, tool result or document, exactly as observed. Addressed by its salted digest on the log."""

    text: Text
    by: Name
    at: Time
    scope: Scope
    source: Literal["message", "tool_result", "document"] = "message"
    probe: Probe | None = None
    """The place that the text was read from and the way to look there again, if that is known."""
    named_by: Name | None = None
    """The principal that named the place, if readmit looked there again by itself: it counts as the writer."""

    @property
    def writer(self) -> str:
        """The principal that answers for it."""
        return writer_of(self.by, self.named_by)


def writer_of(by: str, named_by: str | None) -> str:
    """The principal that answers for evidence: the one that named the place, if readmit looked there by itself."""
    return named_by if named_by is not None and by == AUTHOR else by


class Experience(Record, kw_only=True):
    """A private memory of one agent, usable only while its source item is."""

    id: Id
    owner: Name
    text: Text
    bound_to: Id
