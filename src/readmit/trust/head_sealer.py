"""Signs every commit of a workspace, and checks that the log is the one that was pinned.

Trust comes from outside the database: from the pin with the keys, or from keys that a verifier names. A new key
counts if the commit that trusts it was signed by a key that counted before.

Port that signs and checks the head of a workspace's log against its keys and its pin.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import quote

from readmit.records.error_types import SealError, TamperedError
from readmit.trust.merkle import TreeHead, verify_consistency
from readmit.trust.notes import LogCheckpoint, NoteKey, open_note, sign
from readmit.trust.pin import Pin, Trust
from readmit.trust.trusted_keys import public_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from readmit.records.acts.event import KeyChange
    from readmit.trust.private_keys import KeyRing
    from readmit.trust.signer import Signer


class Handover(NamedTuple):
    """A commit that changed the keys: its number, its signed note, and the changes, checked to be part of it."""

    number: int
    note: bytes
    changes: tuple[KeyChange, ...]


class Extension(Protocol):
    """Proofs that the log extends an earlier head."""

    def consistency(self, old: int, new: int) -> list[bytes]:
        """The proof that the first ``old`` of ``new`` commits are unchanged."""

    def handovers(self, since: int) -> Iterable[Handover]:
        """The commits after ``since`` that changed the keys, in order."""


class Sealer(Protocol):
    """Signs and checks heads with the workspace's keys and pin."""

    def look(self) -> None:
        """Read the pin. Do it before the database is read: another process may commit right after."""

    def sign(self, head: TreeHead, changes: tuple[KeyChange, ...], *, needed: bool) -> bytes | None:
        """The signed note of a head that is about to be committed; none if no key is at hand and it is not needed.

        The first commit of a log is signed by the key that it trusts; later ones by a key that was trusted before.
        """

    def check(self, head: TreeHead, note: bytes | None, log: Extension) -> None:
        """Raise ``TamperedError`` unless the head is signed and extends the pinned one."""

    def committed(self, head: TreeHead, changes: tuple[KeyChange, ...]) -> None:
        """Remember a head that is now durable, and how it changed the keys."""


logger = logging.getLogger("readmit")


def origin_of(store_id: str, workspace: str) -> str:
    """The name of a workspace's log in its signed heads. Names like ``default`` are used by many; the id is random."""
    return f"readmit/{store_id}/{quote(workspace, safe='')}"


class LogSealer:
    """The sealer of one workspace."""

    def __init__(self, store_id: str, workspace: str, ring: Callable[[], KeyRing], pin: Pin) -> None:
        self._workspace = workspace
        self._origin = origin_of(store_id, workspace)
        self._ring = ring
        self._pin = pin
        self._pinned: TreeHead | None = None
        self._last: TreeHead | None = None
        self._lost = False
        self._note: bytes | None = None
        self._trust = Trust(workspace, {})
        self._signer: Signer | None = None
        self._checked: tuple[TreeHead, bytes | None, TreeHead | None] | None = None

    def start_over(self) -> None:
        """All keys are lost: take the log as it is found. The next commit is signed by the key that it trusts."""
        self._lost, self._signer, self._trust = True, None, Trust(self._workspace, {})

    @property
    def is_first_use(self) -> bool:
        """Whether there is no pin of the workspace yet."""
        return not self._trust.keys and self._pin.trust() is None

    @property
    def trusted(self) -> Mapping[str, bytes]:
        """The keys whose signatures on heads count, by id."""
        return self._trust.keys

    def look(self) -> None:
        self._pinned = self._pin.head()

    # Signing.

    def sign(self, head: TreeHead, changes: tuple[KeyChange, ...], *, needed: bool) -> bytes | None:
        try:
            signer = self._signer or self._choose(changes)
            self._note = sign(LogCheckpoint(self._origin, head.size, head.root).text, self._origin, signer)
        except SealError as error:
            if needed:
                raise
            logger.warning("commit %d could not be signed: %s", head.size, error)
            self._note = None
        return self._note

    def _choose(self, changes: tuple[KeyChange, ...]) -> Signer:
        # Only the first commit is signed by the key that it trusts.
        keys = self._trust.keys if self._trust.size else keys_after({}, changes)
        self._signer = self._ring().signer(reversed(keys))
        return self._signer

    def committed(self, head: TreeHead, changes: tuple[KeyChange, ...]) -> None:
        self._last, self._lost = head, False
        # What this process has just signed needs no check when it is read next.
        self._checked = head, self._note, head
        if changes:
            known = self._trust.keys
            self._adopt(Trust(self._workspace, keys_after(known, changes), head.size, known))
        self._keep(head)

    def _keep(self, head: TreeHead, level: int = logging.WARNING) -> None:
        try:
            self._pin.advance(head)
        except SealError as error:
            # Harmless until the next exposure, which flushes the pin first.
            logger.log(level, "%s", error)

    # Checking.

    def check(self, head: TreeHead, note: bytes | None, log: Extension) -> None:
        if self._lost:
            return
        # A pin that could not be written is older than what this process has committed.
        pinned = max((one for one in (self._pinned, self._last) if one is not None), default=None)
        if self._checked == (head, note, pinned):
            return
        if pinned is not None:
            self._check_extends(pinned, head, log)
        if head.size:
            before, after = self._followed(self._known(), head, log)
            if pinned != head:
                self._check_note(head, note, before, after)
            # A reader without the folder of the keys pins nothing. That is no fault worth a warning.
            self._adopt(after, logging.DEBUG)
            self._keep(head, logging.DEBUG)
        self._checked = head, note, head if head.size else pinned

    def _known(self) -> Trust:
        """The keys that are trusted already; none before the first use."""
        pinned = self._pin.trust()
        # Another process here may have changed the keys.
        if pinned is not None and (pinned.size > self._trust.size or not self._trust.size):
            return pinned
        return self._trust

    def _check_extends(self, pinned: TreeHead, head: TreeHead, log: Extension) -> None:
        if head.size < pinned.size:
            raise TamperedError(
                f"workspace {self._workspace!r} was rolled back: it has {head.size} commits, and {pinned.size} were "
                "seen here before; put the newer database back, or accept the loss with `readmit admin restore`"
            )
        proof = log.consistency(pinned.size, head.size)
        if not verify_consistency(pinned.size, pinned.root, head.size, head.root, proof):
            raise TamperedError(
                f"workspace {self._workspace!r} is not the one that was seen here before: its first {pinned.size} "
                "commits differ; put the right database back"
            )

    def _check_note(self, head: TreeHead, note: bytes | None, *trusts: Trust) -> None:
        if note is None:
            raise TamperedError(
                f"commit {head.size} of workspace {self._workspace!r} is not signed; restore its keys from a backup, "
                "or the store from one that ends before it"
            )
        if self._opened(note, *trusts) != LogCheckpoint(self._origin, head.size, head.root):
            raise TamperedError(f"the signed head of workspace {self._workspace!r} is of another state of its log")

    def _opened(self, note: bytes, *trusts: Trust) -> LogCheckpoint:
        publics = {public for trust in trusts for public in trust.keys.values()}
        try:
            text = open_note(note, [NoteKey(self._origin, public) for public in publics]).text
            return LogCheckpoint.from_text(text)
        except SealError as error:
            raise TamperedError(
                f"the head of workspace {self._workspace!r} is not signed by a key that is trusted here: {error}"
            ) from None

    # Following the keys.

    def _followed(self, trust: Trust, head: TreeHead, log: Extension) -> tuple[Trust, Trust]:
        """The keys before and after the last commit. Each change since then is signed by a key that counted before it.

        Without any key, the log's own first one is trusted: this is its first use here.
        """
        for number, note, changes in log.handovers(trust.size):
            if trust.keys or trust.size:
                signed = self._opened(note, trust)
                proof = log.consistency(number, head.size)
                if signed.size != number or not verify_consistency(number, signed.root, head.size, head.root, proof):
                    raise TamperedError(f"the keys of workspace {self._workspace!r} were changed by another log")
            trust = Trust(trust.workspace, keys_after(trust.keys, changes), number, trust.keys)
        return Trust(trust.workspace, trust.before) if trust.size == head.size else trust, trust

    def _adopt(self, trust: Trust, level: int = logging.WARNING) -> None:
        if trust == self._trust:
            return
        if self._trust.keys != trust.keys:
            self._signer = None
        self._trust = trust
        try:
            if self._pin.trust() != trust:
                self._pin.pin(trust)
        except SealError as error:
            logger.log(level, "%s", error)


def keys_after(keys: dict[str, bytes], changes: Iterable[KeyChange]) -> dict[str, bytes]:
    """The keys that count after some changes."""
    keys = dict(keys)
    for change in changes:
        if change.change == "trust":
            keys[change.key] = public_of(change)
        else:
            keys.pop(change.key, None)
    return keys
