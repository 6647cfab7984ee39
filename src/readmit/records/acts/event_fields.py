"""Fields of events that name something on the log, or say why."""

from __future__ import annotations

from typing import Annotated

import msgspec

from readmit.records.base import Id, Note

ItemId = Annotated[Id, msgspec.Meta(extra={"names": "item"})]
"""The id of an item that is on the log."""
DisputeId = Annotated[Id, msgspec.Meta(extra={"names": "dispute"})]
WaitId = Annotated[Id, msgspec.Meta(extra={"names": "wait"})]
Why = Annotated[Note, msgspec.Meta(description="Why; the audit shows it.")]
