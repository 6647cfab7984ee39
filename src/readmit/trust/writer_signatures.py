"""Signatures of writers: the bytes a principal signs, and its keys, read from the log.

The signature covers the whole event and its workspace. The workspace's own key signs views and heads and cannot stand
in for a principal's: an event in a principal's name needs the principal's key.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from readmit.records.acts.event import Event, EventKind
from readmit.records.acts.operation import WriterKey
from readmit.records.canonical import canonical
from readmit.records.error_types import SealError
from readmit.records.evidence import Evidence
from readmit.records.policy import AUTHOR, OWNER, Policy
from readmit.trust.private_keys import matches, sign_with
from readmit.trust.statement import pre_authentication_encoding
from readmit.trust.trusted_keys import public_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.records.acts.draft import Draft
    from readmit.trust.signer import Signer

EVENT_TYPE = "application/vnd.readmit.event+json"
# What readmit itself finds takes items out, contests them, is marked as drafted, or departs for an agent that is gone.
# It acts for no principal, so none signs it.
FINDINGS = frozenset(
    {
        EventKind.SUSPECT,
        EventKind.JUDGE,
        EventKind.LINK,
        EventKind.EXAMINE,
        EventKind.LOOK,
        EventKind.RESOURCE,
        EventKind.DEPART,
        EventKind.DISPUTE,
    }
)


class SigningDomain(NamedTuple):
    """The workspace that an event is signed for."""

    workspace: str
    origin: str
    """The id of its first signing key. Names like ``default`` are used by many workspaces; this one by no other."""

    def statement(self, entry: Draft | Event) -> bytes:
        """The bytes that the writer of an event signs."""
        said = {
            "workspace": self.workspace,
            "origin": self.origin,
            "id": entry.id,
            "kind": str(entry.kind),
            "by": entry.by,
            "at": entry.at,
            "given": entry.given,
            "payload": entry.digest,
        }
        return pre_authentication_encoding(EVENT_TYPE, canonical(said))

    def sign(self, entry: Draft, signer: Signer) -> Draft:
        """An event with its writer's signature.

        Its id is final from here on: the store must not make another one for a repeated observation.
        """
        return replace(entry, signature=sign_with(signer, self.statement(entry)), named=True)


class EnrolledKey(NamedTuple):
    """A key of a principal, and the epochs at which its signatures count: from ``first`` until before ``end``."""

    key: str
    public: bytes
    principal: str
    first: int
    end: int | None = None

    def holds(self, epoch: int) -> bool:
        return self.first < epoch and (self.end is None or epoch < self.end)


class Authority:
    """The governors of a workspace and the principals' keys, after every policy and key change up to an epoch.

    A change counts if the owner or an overseer wrote it. Once the owner has a key, it must also be signed by one of
    them: otherwise the workspace's key would be enough to let everybody in.
    """

    def __init__(self, domain: SigningDomain, changes: Iterable[Event] = ()) -> None:
        self.domain = domain
        self.policy = Policy()
        self.keys: dict[str, EnrolledKey] = {}
        self._eras: list[tuple[int, bool]] = []
        for event in changes:
            if self._governs(event):
                self._apply(event)

    @property
    def was_required(self) -> bool:
        """Whether signatures are or ever were required."""
        return bool(self._eras)

    @property
    def requires(self) -> bool:
        """Whether signatures are required from here on."""
        return bool(self._eras) and self._eras[-1][1]

    def counts(self, event: Event) -> bool:
        """Whether an event that was stored counts: it is signed, or signatures were not required then."""
        return not self._required_at(event.epoch) or is_finding(event) or self.is_signed(event, event.epoch)

    def is_signed(self, entry: Draft | Event, epoch: int | None = None) -> bool:
        """Whether the writer signed an event with a key that was its own at an epoch, or is now."""
        if entry.signature is None:
            return False
        own = self.current(entry.by) if epoch is None else (one for one in self.of(entry.by) if one.holds(epoch))
        said = self.domain.statement(entry)
        return any(_verifies(one.public, entry.signature, said) for one in own)

    def of(self, principal: str) -> tuple[EnrolledKey, ...]:
        """Every key that a principal ever had."""
        return tuple(one for one in self.keys.values() if one.principal == principal)

    def current(self, principal: str) -> tuple[EnrolledKey, ...]:
        """The keys that a principal signs with now."""
        return tuple(one for one in self.of(principal) if one.end is None)

    def _governs(self, event: Event) -> bool:
        if event.by != OWNER and event.by not in self.policy.evidence.overseers:
            return False
        return not self.of(OWNER) or self.is_signed(event, event.epoch)

    def _required_at(self, epoch: int) -> bool:
        required = False
        for start, now in self._eras:
            if start < epoch:
                required = now
        return required

    def _apply(self, event: Event) -> None:
        change = event.payload
        if isinstance(change, Policy):
            self.policy = change
            required = change.evidence.writers_signed == "required"
            if required != self.requires:
                self._eras.append((event.epoch, required))
        elif isinstance(change, WriterKey):
            if change.change == "enrol":
                self._enrol(change, event.epoch)
            elif (known := self.keys.get(change.key)) is not None:
                end = min(event.epoch, event.epoch if change.since is None else change.since)
                self.keys[change.key] = known._replace(end=end if known.end is None else min(end, known.end))

    def _enrol(self, change: WriterKey, epoch: int) -> None:
        # A malformed key adds nothing, and a key belongs to the first principal that it was enrolled for. Neither
        # raises: one bad event must not close the workspace.
        try:
            public = public_of(change)
        except SealError:
            return
        self.keys.setdefault(change.key, EnrolledKey(change.key, public, change.principal, epoch))


def is_finding(entry: Draft | Event) -> bool:
    """Whether an event is readmit's own finding, or its reading of a source that a writer had named."""
    if entry.by != AUTHOR:
        return False
    return entry.kind in FINDINGS or (isinstance(entry.payload, Evidence) and entry.payload.named_by is not None)


@lru_cache(maxsize=16_384)
def _verifies(public: bytes, signature: bytes, said: bytes) -> bool:
    """Whether a signature verifies. Cached: every return asks again about the same events."""
    try:
        return matches(public, signature, said)
    except SealError:
        return False
