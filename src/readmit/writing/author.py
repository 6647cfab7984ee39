"""The principal that a workspace handle writes for.

A handle from ``Workspace.open`` writes for the principal that each call names in ``by``. The program that calls has
authenticated it, and often only forwards what an agent gave. So such a handle never writes as ``owner`` or
``readmit``: only handles that the program itself opened for them do.

Signs events for their writers, and refuses an event that is not signed as it must be.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from threading import local
from typing import TYPE_CHECKING, NamedTuple, Protocol

from readmit.records.acts.event import Checkpoint, Event, EventKind
from readmit.records.base import nfc, require_name
from readmit.records.error_types import LeaseError, NotAllowedError, RecordError
from readmit.records.policy import AUTHOR, OWNER, Policy, unreserved
from readmit.records.remedies import command
from readmit.state.absence import last_absence, swept, swept_away
from readmit.state.authority import InForce, domain_of
from readmit.trust.writer_signatures import Authority, SigningDomain, is_finding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.acts.draft import Draft
    from readmit.trust.signer import Signer


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


class _Batch(local):
    """The open batch of a thread: no other thread or process writes meanwhile."""

    depth = 0
    known: tuple[Authority | None] | None = None
    present: frozenset[str] = frozenset()
    """Principals that are not away because a lease ran out."""


class Signatures:
    """Signs events for handles on one workspace, and refuses an event that lacks a signature it must have.

    Within a batch, who has a key is read once for many observations: only the batch itself can change it.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._domain: SigningDomain | None = None
        self._in_force = InForce()
        self._batch = _Batch()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Several events, one durable commit."""
        with self._log.atomic():
            self._batch.depth += 1
            self.forget()
            try:
                yield
            finally:
                self._batch.depth -= 1
                self.forget()

    def forget(self) -> None:
        """Read again who has a key and who is present: it may have changed."""
        self._batch.known = None
        self._batch.present = frozenset()

    def signed(self, entry: Draft, author: Author) -> Draft:
        """An event with the signature of its author, if that one signs."""
        if author.signer is None:
            return entry
        if self._domain is None:
            self._domain = domain_of(self._log)
        return self._domain.sign(entry, author.signer)

    def append(self, entry: Draft, author: Author, now: datetime) -> int:
        """Append an event of its author, signed if that one signs, without limits to check. Returns its epoch."""
        (epoch,) = self._log.append([self.signed(entry, author)], now=now, check=self.check)
        return epoch

    def check(self, entry: Draft) -> None:
        """Refuse an event that is not signed although it must be, or whose signature does not count."""
        found = self._authority() if entry.kind is EventKind.OBSERVE else self._in_force.read(self._log)[0]
        check_signed(entry, found)
        if isinstance(entry.payload, Policy):
            _check_governable(entry.payload, found)

    def check_present(self, entry: Draft) -> None:
        """Refuse an event of a principal whose lease ran out, and whose handle does not say that it is back."""
        if self._batch.depth and entry.by in self._batch.present:
            return
        departed: Event | None
        if isinstance(entry.payload, Checkpoint):
            # An agent may leave one task while it is away from another, but not depart again unseen.
            absence = last_absence(self._log, entry.payload.identity)
            departed = None if absence is None or absence.end is not None else absence.departure
            if departed is not None and not (isinstance(departed.payload, Checkpoint) and departed.payload.reason):
                return
        else:
            departed = swept(self._log, entry.by)
        if departed is not None:
            raise LeaseError(swept_away(departed))
        if self._batch.depth:
            self._batch.present |= {entry.by}

    def _authority(self) -> Authority | None:
        if not self._batch.depth:
            return self._in_force.read(self._log)[0]
        if self._batch.known is None:
            self._batch.known = (self._in_force.read(self._log)[0],)
        return self._batch.known[0]


def check_signed(entry: Draft, found: Authority | None) -> None:
    """Refuse an event that is not signed although it must be, or whose signature does not count."""
    if entry.signature is not None:
        if found is None or not found.is_signed(entry):
            raise NotAllowedError(
                f"signer: its key is not enrolled for {entry.by!r}; the owner or an overseer does that: "
                f"`{command('writers enrol', (entry.by, 'PUBLIC_KEY'))}`"
            )
        return
    if found is None or is_finding(entry):
        return
    by = entry.by
    handle = "workspace.as_owner(signer=…)" if by == OWNER else f"workspace.principal({by!r}, signer=…)"
    if found.requires:
        why = "the policy's writers_signed requires it"
    elif entry.kind in _GOVERNING and found.of(OWNER):
        why = "the owner has a key, so those who govern sign"
    else:
        return
    raise NotAllowedError(f"{by!r} must sign this {entry.kind}: {why}; write through {handle}, or with --signer")


_GOVERNING = frozenset(
    {EventKind.GOVERN, EventKind.KEY, EventKind.WRITER, EventKind.REASSIGN, EventKind.VOID, EventKind.FORGET}
)


def _check_governable(policy: Policy, found: Authority | None) -> None:
    if policy.evidence.writers_signed == "required" and (found is None or not found.current(OWNER)):
        raise RecordError(
            "writers_signed: before signatures are required, the owner needs a key of its own, or nobody could change "
            "the policy again: workspace.as_owner(signer=…).writers.enrol('owner', …), or "
            "`readmit writers enrol owner PUBLIC_KEY --signer KEY`"
        )
