"""Raw observations, and private experiences bound to the items that sourced them."""

from __future__ import annotations

from typing import Literal

from readmit.records.base import Id, Name, Record, Text, Time
from readmit.records.items import Scope


class Evidence(Record, kw_only=True, gc=False):
    """A message, tool result or document, exactly as observed. Addressed by the digest of its canonical bytes."""

    text: Text
    by: Name
    at: Time
    scope: Scope
    source: Literal["message", "tool_result", "document"] = "message"


class Experience(Record, kw_only=True):
    """A private memory of one agent, usable only while its source item is."""

    id: Id
    owner: Name
    text: Text
    bound_to: Id
