"""The principal that a workspace handle writes for.

A handle from ``Workspace.open`` writes for the principal that each call names in ``by``. The program that calls has
authenticated it, and often only forwards what an agent gave. So such a handle never writes as ``owner`` or
``readmit``: only handles that the program itself opened for them do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from readmit.records.base import nfc, require_name
from readmit.records.error_types import NotAllowedError, RecordError
from readmit.records.policy import AUTHOR, OWNER, unreserved

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.trust.signer import Signer
    from readmit.writing.signed_writes import Signatures

_OPENED_BY = {
    OWNER: "write through workspace.as_owner(), or --as-owner on the command line",
    AUTHOR: "only readmit itself writes under it",
}
"""The reserved names, and how to write under each."""


class Fence(Protocol):
    """The presence that a handle writes under: only a present agent passes."""

    def passed(
        self, log: Log, signatures: Signatures, author: Author, now: datetime
    ) -> AbstractContextManager[list[int]]:
        """A transaction that only a present agent enters. Takes the epochs of the events written in it."""


class Author(NamedTuple):
    """The one principal that a handle writes for; without a name, whichever principal a call names."""

    name: str | None = None
    signer: Signer | None = None
    """Signs what the handle writes, if the principal has a key."""
    fence: Fence | None = None
    """The presence that it writes under, if the agent has a lease."""

    def of(self, by: str | None) -> str:
        """The writer of an event, from the argument ``by`` of a verb."""
        if by is None:
            if self.name is None:
                raise RecordError("by: say who writes this; add by=…, or write through workspace.principal(name)")
            return self.name
        author = nfc(require_name("by", by))
        self.check(author)
        return author

    def check(self, by: str) -> None:
        """Refuse a writer that this handle was not opened for."""
        if by == self.name:
            return
        if self.name is not None:
            raise NotAllowedError(f"by: this handle writes as {self.name!r}; {by!r} needs a handle of its own")
        if by in _OPENED_BY:
            raise NotAllowedError(f"by: the name {by!r} is reserved; {_OPENED_BY[by]}")
        unreserved("by", by)

    def acts_for(self, principal: str) -> None:
        """Refuse to act for a principal that this handle was not opened for. The owner's handle is the operator's."""
        if self.name not in (None, OWNER, principal):
            raise NotAllowedError(
                f"principal: this handle is that of {self.name!r} and acts for nobody else; "
                f"{principal!r} needs a handle of its own"
            )


ANYBODY = Author()
