"""Verify a workspace without changing anything: the database is only read, and so is the pin with its keys.

Trust comes from the pin, or from keys that the verifier names. Where a check ended well is kept beside the pin, if that
can be written, so that the next one goes on from there.
"""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from readmit.diagnosis.verification.audit_check import AuditReport, audit
from readmit.log.location import open_store
from readmit.log.tree.log_check import Reached
from readmit.records.error_types import SealError, TamperedError
from readmit.trust.head_sealer import Extension, LogSealer, keys_after, origin_of
from readmit.trust.merkle import TreeHead, verify_consistency
from readmit.trust.notes import NoteKey
from readmit.trust.pin import FilePin, MemoryPin, Trust
from readmit.trust.private_keys import FILE_MODE
from readmit.trust.trusted_keys import keyid_of
from readmit.writing.workspace_keys import pin_of, stem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from readmit.trust.private_keys import KeyRing


class ReadPin(MemoryPin):
    """A pin on disk, read only."""

    def __init__(self, pin: FilePin) -> None:
        super().__init__(pin.trust())
        self._file_head = pin.head()

    def head(self) -> TreeHead | None:
        return super().head() or self._file_head


class NamedSealer(LogSealer):
    """Trusts keys that a verifier names, whichever of the log's keys they are: the first, or one that came later."""

    def _followed(self, trust: Trust, head: TreeHead, log: Extension) -> tuple[Trust, Trust]:
        before, met = trust, False
        for number, note, changes in log.handovers(0):
            try:
                signed = self._opened(note, trust)
            except TamperedError:
                if met:
                    raise
                continue  # signed before the named keys came
            met = True
            proof = log.consistency(number, head.size)
            if signed.size != number or not verify_consistency(number, signed.root, head.size, head.root, proof):
                raise TamperedError(f"the keys of {self._origin} were changed by another log")
            before, trust = trust, Trust(trust.workspace, keys_after(trust.keys, changes), number)
        return before if trust.size == head.size else trust, trust


class LogVerifier:
    """One workspace of a store, opened to be verified."""

    def __init__(
        self,
        place: str | Path,
        workspace: str,
        *,
        trusted: Iterable[bytes | NoteKey] = (),
        keys: str | Path | None = None,
    ) -> None:
        """Keys that are trusted may be those of other logs too, if they have names."""
        self.log, folder = open_store(place, workspace, keys, read_only=True)
        assert folder is not None  # noqa: S101 - a store in memory has no verifier
        self._kept = folder / f"{stem_of(workspace)}.verified"
        try:
            self.log.commits.sealer = self._sealer(pin_of(folder, workspace), tuple(trusted))
        except BaseException:
            self.close()
            raise

    def _sealer(self, pin: FilePin, trusted: tuple[bytes | NoteKey, ...]) -> LogSealer:
        store, workspace = self.log.store_id, self.log.workspace
        if not trusted:
            try:
                return LogSealer(store, workspace, _no_ring, ReadPin(pin))
            except SealError as error:
                raise SealError(f"{error}; name the key of the log with --key or READMIT_TRUST") from error
        origin = origin_of(store, workspace)
        publics = [
            one.public if isinstance(one, NoteKey) else one
            for one in trusted
            if not isinstance(one, NoteKey) or one.name == origin
        ]
        ending = origin.rpartition("/")[2]
        if not publics and not any(isinstance(one, NoteKey) and one.name.endswith(f"/{ending}") for one in trusted):
            raise SealError(f"--key: none of them is of the log {origin!r}; copy what `readmit keys list` shows")
        # Without any, the keys are of a workspace of this name in another store, and nothing here is signed by them.
        trust = Trust(workspace, {keyid_of(public): public for public in publics})
        return NamedSealer(store, workspace, _no_ring, MemoryPin(trust))

    def close(self) -> None:
        self.log.close()

    def total(self, *, full: bool) -> int:
        """How many events and rows there are to look at."""
        reached = (None if full else self._reached()) or Reached(self.log.workspace)
        try:
            end = self.log.head + self.log.audit.last
        except TamperedError:
            return 0  # the check itself says why
        return max(0, end - reached.epoch - reached.audit)

    def verify(
        self, *, kept: bytes | None = None, full: bool = False, watch: Callable[[], object] = lambda: None
    ) -> AuditReport:
        """Check the workspace, from where the last check ended unless ``full``."""
        since = None if full else self._reached()
        # Millions of rows pass by, none of them in a cycle: collecting would take a tenth of the time.
        collects = gc.isenabled()
        gc.disable()
        try:
            report = audit(self.log, kept=kept, since=since, full=full, watch=watch)
        finally:
            if collects:
                gc.enable()
        if report.reached is not None:
            self._keep(report.reached)
        return report

    def _reached(self) -> Reached | None:
        try:
            found = msgspec.json.decode(self._kept.read_bytes(), type=Reached)
        except (OSError, msgspec.DecodeError):
            return None
        return found if found.workspace == self.log.workspace else None

    def _keep(self, reached: Reached) -> None:
        """Keep where a check ended. If nothing can be written here, the next check begins at the start again."""
        part = self._kept.with_suffix(f".{os.getpid()}.part")
        with suppress(OSError):
            file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
            try:
                os.write(file, msgspec.json.encode(reached))
            finally:
                os.close(file)
            part.replace(self._kept)


def _no_ring() -> KeyRing:
    raise SealError("a store that is verified is not signed")
