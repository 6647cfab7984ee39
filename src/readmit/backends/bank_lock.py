"""One writer at a time on a bank of memories, in all processes that share a workspace.

A store's model may rewrite, merge or delete any record of a bank while it forms one, and only the order of the calls
tells which text a record came from. So the native write and the filing of its sources are one step, under a lock.

The lock belongs to the workspace, not to the memory store: on a SQLite workspace it is a file lock in ``FILE.locks``
beside the store, on a PostgreSQL workspace an advisory lock. Windows has no such file locks, and readmit does not start
there. Programs that write to the memory store without readmit do not wait; their records have no source.

The lock is advisory, is not given twice to the same thread, and ends with its process. Readers never wait for it.
"""

from __future__ import annotations

import time
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from readmit.records.error_types import BackendError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.log.ledger import SourceLedger

WAIT_SECONDS = 120.0
"""How long a writer waits for the others: a model may answer slowly."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
# More keys than this share locks, so that the files of a store's locks stay few.
_SHARED_BY_KEYS = 64


class HeldBank:
    """A bank while its lock is held."""

    def __init__(self, ledger: SourceLedger, name: str) -> None:
        self._ledger = ledger
        self._name = name

    def check(self) -> None:
        """Refuse to file sources if the lock was lost meanwhile: another process may have written since."""
        if not self._ledger.still(self._name):
            raise BackendError(
                f"{self._name}: the lock on this bank was lost during a write, so what was written has no source and "
                "stays out of every view; see that the server of the workspace runs, then write it again"
            )


@contextmanager
def bank_lock(ledger: SourceLedger, bank: str, *, seconds: float = WAIT_SECONDS) -> Iterator[HeldBank]:
    """Hold a bank, or one key of it, until the block ends. ``bank`` is the name of the memory store."""
    for pause in pauses(ledger, bank, seconds):
        time.sleep(pause)
    try:
        yield HeldBank(ledger, bank)
    finally:
        ledger.free(bank)


def lock_name(bank: str, record: str) -> str:
    """The name of the lock on one key of a bank, for a store that never touches other records."""
    return f"{bank}#{zlib.crc32(record.encode('utf-8', 'surrogatepass')) % _SHARED_BY_KEYS}"


def pauses(ledger: SourceLedger, bank: str, seconds: float = WAIT_SECONDS) -> Iterator[float]:
    """Take the lock of a bank, with growing pauses between attempts; an error once the time is up."""
    end = time.monotonic() + seconds
    pause = _FIRST_PAUSE
    while not ledger.take(bank):
        if ledger.pending:
            # The holder needs the workspace to finish, and this thread's transaction keeps it.
            raise BackendError(
                f"{bank}: another writer is at work, and it may wait for the transaction that is open here; nothing "
                "was written. Write memories before or after the batch"
            )
        if time.monotonic() >= end:
            raise BackendError(
                f"{bank}: other writers kept this bank for {seconds:g} seconds; nothing was written. Call again; if "
                "nobody writes, see which process hangs"
            )
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE)
