"""The workspace's signing keys: private halves in a ring beside the file, trust in the log."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from readmit.records.base import nfc
from readmit.records.canonical import digest_of
from readmit.records.drafts import draft
from readmit.records.errors import SealError
from readmit.records.events import EventKind, KeyChange
from readmit.records.policy import OWNER
from readmit.seal.keys import FileRing, KeyRing, MemoryRing
from readmit.seal.trust import current, revoke, rotation, trust, trusted
from readmit.seal.watermark import FileWatermark, MemoryWatermark
from readmit.workspace.writing import check_governor, policy_in_force

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from pathlib import Path

    from readmit.ports.signer import Signer
    from readmit.ports.store import Log
    from readmit.records.events import Event
    from readmit.seal.watermark import Watermark

OVERLAP = timedelta(days=1)
"""How long views signed by a rotated key may still be exposed."""


class Keys:
    """Signing keys of one workspace."""

    def __init__(self, log: Log, database: str | Path | None) -> None:
        self._log = log
        self._directory = None if database is None else FileRing.beside(database)
        self._memory = MemoryRing()
        self.handed_over: Watermark = MemoryWatermark()
        """The epoch of the last exposure: a restored backup ends before it."""
        if self._directory is not None:
            self.handed_over = mark_of(self._directory, log.workspace)

    def ensure(self, now: datetime) -> None:
        """Give a new workspace its first key. An existing one whose keys are gone is left as it is: it cannot sign."""
        with self._log.atomic():
            if self._log.latest(EventKind.KEY) is None:
                signer = self._ring(create=True).generate()
                self._append([trust(signer.public, reason="first key")], now, by=OWNER)

    def signer(self) -> Signer:
        """The newest key that is trusted without an end and held here."""
        return self._ring().signer(current(self.changes()))

    def rotate(self, *, by: str, now: datetime, overlap: timedelta = OVERLAP) -> str:
        """Sign with a new key from now on; views of the old ones can be exposed until the overlap ends.

        Like ``revoke``, only for the owner and overseers.
        """
        with self._log.atomic():
            by = nfc(by)
            check_governor(by, policy_in_force(self._log), "rotate keys")
            signer = self._ring(create=True).generate()
            self._append(rotation(current(self.changes()), signer.public, now=now, overlap=overlap), now, by=by)
        return signer.keyid

    def revoke(self, key: str, *, by: str, reason: str, now: datetime) -> None:
        """Reject everything that a key signed, from this epoch on."""
        with self._log.atomic():
            by = nfc(by)
            check_governor(by, policy_in_force(self._log), "revoke keys")
            known = {event.payload.key for event in self.changes() if isinstance(event.payload, KeyChange)}
            if key not in known:
                raise SealError(f"no key {key!r} in this workspace; `readmit keys list` shows them")
            self._append([revoke(key, reason=reason)], now, by=by)

    def changes(self) -> list[Event]:
        return self._log.milestones(EventKind.KEY)

    def trusted(self, now: datetime) -> Mapping[str, bytes]:
        """Key id → raw public key of every key whose signatures count at ``now``."""
        return trusted(self.changes(), now)

    def _append(self, changes: Iterable[KeyChange], now: datetime, *, by: str) -> None:
        drafts = [
            draft(EventKind.KEY, change, id=f"{change.change}:{change.key[:32]}", by=by, at=now) for change in changes
        ]
        self._log.append(drafts, now=now)

    def _ring(self, *, create: bool = False) -> KeyRing:
        if self._directory is None:
            return self._memory
        if create and not self._directory.exists():
            return FileRing.create(self._directory)
        return FileRing.open(self._directory)


def mark_of(directory: Path, workspace: str) -> FileWatermark:
    """The mark of a workspace in the folder of its keys."""
    return FileWatermark(directory / f"{digest_of(workspace.encode())[:16]}.mark")
