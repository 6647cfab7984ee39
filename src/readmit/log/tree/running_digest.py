"""Running digests: the signed map's value for a list of events, and the check of a list against it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from readmit.records.error_types import TamperedError

if TYPE_CHECKING:
    from collections.abc import Iterable

ZERO = bytes(32)
"""Where every running digest begins."""


def continued(value: bytes, leaf: bytes) -> bytes:
    """A running digest after one more event: the digest before it, and the digest with it.

    Both are kept: the one before lets a reader check the last event alone.
    """
    before = value[32:] or ZERO
    return before + hashlib.sha256(before + leaf).digest()


def running(leaves: Iterable[bytes], value: bytes = b"") -> bytes:
    """The running digest over some events, after those that ``value`` covers; empty for none."""
    before, digest, sha = value[:32], value[32:] or ZERO, hashlib.sha256
    for leaf in leaves:
        before, digest = digest, sha(digest + leaf).digest()
    return before + digest if before else b""


def check_digest(value: bytes, leaves: Iterable[bytes], *, what: str) -> None:
    """Refuse events that are not all and only what a running digest covers, in order."""
    check_value(value, running(leaves), what=what)


def check_value(signed: bytes, read: bytes, *, what: str) -> None:
    """Refuse a running digest of the read rows that differs from the signed one."""
    if read != signed:
        raise tampered(what)


def check_last(value: bytes, last: bytes | None, *, what: str) -> None:
    """Refuse an event that is not the last one that a running digest covers; none if it covers nothing."""
    if value != (b"" if last is None else continued(ZERO + value[:32], last)):
        raise tampered(what)


def tampered(what: str) -> TamperedError:
    """The error for a list that is not the signed one."""
    return TamperedError(
        f"{what}: an event or an index row was altered, hidden, added or reordered; "
        "run `readmit audit verify`, and restore the store from a backup"
    )
