"""The workspace's signing keys: private halves in the folder of its store's keys, trust in the log.

The keys of principals: enrolled, rotated and revoked by the owner and the overseers, as events of the log.
"""

from __future__ import annotations

import base64
from contextlib import suppress
from copy import copy
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from readmit.records.acts.event import Event, EventKind, KeyChange
from readmit.records.acts.operation import WriterKey
from readmit.records.arguments import explained
from readmit.records.base import nfc, require_name
from readmit.records.canonical import digest_of
from readmit.records.error_types import ConflictError, NotAllowedError, RecordError, SealError, TamperedError
from readmit.records.policy import AUTHOR, OWNER, distinct
from readmit.state.authority import authority
from readmit.trust.head_sealer import LogSealer
from readmit.trust.pin import FilePin, FileWatermark, MemoryPin, MemoryWatermark, Pin, Watermark
from readmit.trust.private_keys import FileRing, KeyRing, MemoryRing
from readmit.trust.signer import Signer, public_key
from readmit.trust.trusted_keys import keyid_of, revoke_key, rotate_key, signing_keys, trust_key, trusted
from readmit.writing.author import check_signed
from readmit.writing.new_event import new_event
from readmit.writing.write_checks import check_governor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from readmit.trust.writer_signatures import EnrolledKey
    from readmit.writing.writer import Writer


OVERLAP = timedelta(days=1)
"""How long views signed by a rotated key may still be exposed."""


class Keys:
    """Signing keys of one workspace."""

    def __init__(self, writer: Writer, directory: Path | None) -> None:
        self.writer = writer
        self.folder = directory
        """The folder of the store's keys; none if they are in memory."""
        self._log = log = writer.log
        self._ring = partial(_ring, directory, MemoryRing())
        self.handed_over: Watermark = MemoryWatermark()
        """The epoch of the last exposure: a restored backup ends before it."""
        self.pin: Pin = MemoryPin()
        """The head of the log that was pinned outside its database."""
        if directory is not None:
            self.handed_over = mark_of(directory, log.workspace)
            self.pin = pin_of(directory, log.workspace)
        self._sealer = LogSealer(log.store_id, log.workspace, self._ring, self.pin)
        log.seal_with(self._sealer)

    def written_by(self, writer: Writer) -> Keys:
        """Keys that are changed in the name of another author."""
        keys = copy(self)
        keys.writer = writer
        return keys

    def ensure(self, start: Callable[[], object]) -> None:
        """Give a new workspace its first key, and run ``start`` in the same commit.

        An existing one whose keys are gone is left as it is: it cannot sign.
        """
        # A store that was altered still opens, so that the audit can report it. Nothing is decided or written in it.
        with suppress(TamperedError), self._log.atomic():
            if self._log.latest(EventKind.KEY) is None:
                signer = self._ring().generate()
                self._append([trust_key(signer.public, reason="first key")], by=OWNER)
                start()

    def signer(self) -> Signer:
        """The newest key that is trusted without an end and held here."""
        return self._ring().signer(signing_keys(self.changes()))

    def rotate(self, *, overlap: timedelta = OVERLAP, lost: bool = False, by: str | None = None) -> str:
        """Sign with a new key from now on; views of the old ones can be exposed until the overlap ends.

        Like ``revoke``, only for the owner and overseers. The old key signs the commit that trusts the new one, so that
        verifiers can follow. If all old keys are ``lost``, nothing can: the new key signs, the log is taken as it is
        found, and every verifier elsewhere must be given the new key.
        """
        by, now = self.writer.author.of(by), self.writer.clock()
        if lost:
            self._sealer.start_over()
        with self._log.atomic():
            check_governor(self._log, by, self.writer.policy(), "rotate keys")
            signer = self._ring().generate()
            self._append(rotate_key(signing_keys(self.changes()), signer.public, now=now, overlap=overlap), by=by)
        return signer.keyid

    def revoke(self, key: str, *, reason: str, by: str | None = None) -> None:
        """Reject everything that a key signed, from this epoch on."""
        with self._log.atomic():
            by = self.writer.author.of(by)
            check_governor(self._log, by, self.writer.policy(), "revoke keys")
            known = {event.payload.key for event in self.changes() if isinstance(event.payload, KeyChange)}
            if key not in known:
                raise SealError(f"no key {key!r} in this workspace; `readmit keys list` shows them")
            if signing_keys(self.changes()) == (key,):
                raise SealError(
                    f"key {key!r} is the only one that signs this log; make another with `readmit keys rotate`, which "
                    "it signs for, and revoke it then"
                )
            self._append([revoke_key(key, reason=reason)], by=by)

    def changes(self) -> list[Event]:
        return self._log.milestones(EventKind.KEY)

    def trusted(self, now: datetime) -> Mapping[str, bytes]:
        """Key id → raw public key of every key whose signatures count at ``now``."""
        return trusted(self.changes(), now)

    def _append(self, changes: Iterable[KeyChange], *, by: str) -> None:
        now, signatures = self.writer.clock(), self.writer.signatures
        entries = [
            signatures.signed(
                new_event(EventKind.KEY, change, id=f"{change.change}:{change.key[:32]}", by=by, at=now),
                self.writer.author,
            )
            for change in changes
        ]
        for entry in entries:
            signatures.check_present(entry)
        self._log.append(entries, now=now, check=signatures.check)


def _ring(directory: Path | None, memory: MemoryRing) -> KeyRing:
    return memory if directory is None else FileRing.open(directory)


def mark_of(directory: Path, workspace: str) -> FileWatermark:
    """The mark of a workspace in the folder of its keys."""
    return FileWatermark(directory / f"{stem_of(workspace)}.mark")


def pin_of(directory: Path, workspace: str) -> FilePin:
    """The pin of a workspace in the folder of its keys."""
    return FilePin(directory / f"{stem_of(workspace)}.trust", directory / f"{stem_of(workspace)}.head")


def stem_of(workspace: str) -> str:
    """The common beginning of the names of a workspace's files."""
    return digest_of(workspace.encode())[:16]


@explained
class Writers:
    """The keys that principals sign with. Private halves stay with the principals."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._log = writer.log

    def enrolled(self) -> tuple[EnrolledKey, ...]:
        """Every key that was ever enrolled, in order."""
        found = authority(self._log)
        return () if found is None else tuple(found.keys.values())

    def enrol(self, principal: str, public: bytes | str | Path, *, reason: str = "", by: str | None = None) -> str:
        """Let a principal sign with a key, besides those it has. Returns the key's id.

        ``public`` is the public half: its 32 raw bytes, PEM, or the path of a PEM file.
        """
        with self._log.atomic():
            return self._enrol(principal, public, reason=reason, by=self._writer.author.of(by))

    def rotate(
        self, principal: str, public: bytes | str | Path, *, reason: str = "rotated", by: str | None = None
    ) -> str:
        """Let a principal sign with a new key instead of those it has. What they signed so far still counts."""
        author, name = self._writer.author.of(by), nfc(require_name("principal", principal))
        with self._log.atomic():
            old = [one for one in self.enrolled() if one.principal == name and one.end is None]
            made = self._enrol(name, public, reason=reason, by=author)
            for one in old:
                self._append(WriterKey(principal=name, key=one.key, change="revoke", reason=reason), author)
        return made

    def revoke(self, key: str, *, reason: str, since: int | None = None, by: str | None = None) -> None:
        """Count no signature of a key from an epoch on: by default from now on.

        If the key was stolen, ``since`` is the first epoch at which the thief may have signed.
        """
        author = self._writer.author.of(by)
        with self._log.atomic():
            known = {one.key: one for one in self.enrolled()}
            if key not in known:
                raise SealError(f"no key {key!r} of a writer in this workspace; `readmit writers list` shows them")
            one = known[key]
            if since is not None and not (type(since) is int and 0 < since <= self._log.head):
                raise RecordError(f"since: give an epoch from 1 to {self._log.head}, the end of the log")
            others = [other for other in known.values() if other.principal == OWNER and other.end is None]
            if one.principal == OWNER and others == [one]:
                raise NotAllowedError("the last key of the owner cannot be revoked: rotate it, or enrol another first")
            change = WriterKey(principal=one.principal, key=key, change="revoke", since=since, reason=reason)
            self._append(change, author)

    def _enrol(self, principal: str, public: bytes | str | Path, *, reason: str, by: str) -> str:
        name, raw = nfc(require_name("principal", principal)), public_key(public)
        if name == AUTHOR:
            raise NotAllowedError(f"principal: {AUTHOR!r} is readmit itself, which signs with the workspace's key")
        distinct("principal", name, (OWNER, AUTHOR))
        key = keyid_of(raw)
        if any(one.key == key for one in self.enrolled()):
            raise ConflictError(f"key {key} was enrolled before; make a new one")
        text = base64.b64encode(raw).decode("ascii")
        self._append(WriterKey(principal=name, key=key, change="enrol", public=text, reason=reason), by)
        return key

    def _append(self, change: WriterKey, by: str) -> None:
        check_governor(self._log, by, self._writer.policy(), "change the keys of writers")
        now, signatures = self._writer.clock(), self._writer.signatures
        made = new_event(EventKind.WRITER, change, id=f"{change.change}:{change.key[:32]}", by=by, at=now)
        signed, found = signatures.signed(made, self._writer.author), authority(self._log)
        signatures.check_present(signed)
        if found is None or not found.of(OWNER):
            self._check_first(change, signed.signature)
        else:
            check_signed(signed, found)
        self._log.append([signed], now=now)
        signatures.forget()

    def _check_first(self, change: WriterKey, signature: bytes | None) -> None:
        """The first key of the owner is enrolled by itself, which shows that the owner holds it."""
        signer = self._writer.author.signer
        if change.principal == OWNER and (signature is None or signer is None or signer.keyid != change.key):
            raise NotAllowedError(
                "principal: the owner enrols its first key with that key: "
                "workspace.as_owner(signer=…).writers.enrol('owner', …), or --signer on the command line"
            )
