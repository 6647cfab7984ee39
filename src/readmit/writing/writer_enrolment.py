"""The keys of principals: enrolled, rotated and revoked by the owner and the overseers, as events of the log."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from readmit.records.acts.event import EventKind
from readmit.records.acts.writer_keys import WriterKey
from readmit.records.arguments import explained
from readmit.records.base import nfc, require_name
from readmit.records.error_types import ConflictError, NotAllowedError, RecordError, SealError
from readmit.records.policy import AUTHOR, OWNER, distinct
from readmit.state.authority import authority
from readmit.trust.signer_file import public_key
from readmit.trust.trusted_keys import keyid_of
from readmit.writing.new_event import new_event
from readmit.writing.signed_writes import check_signed
from readmit.writing.write_checks import check_governor

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.trust.writer_signatures import EnrolledKey
    from readmit.writing.writer import Writer


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
