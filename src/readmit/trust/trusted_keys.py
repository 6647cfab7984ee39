"""Which keys a workspace trusts, read from the ``KeyChange`` events of its log.

Trust only ever shrinks: a key is trusted once, the earliest end of its trust holds, and a revoked key never
comes back. The order of the events therefore does not matter, and replaying one changes nothing.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from readmit.records.acts.event import Event, KeyChange
from readmit.records.base import utc
from readmit.records.canonical import digest_of
from readmit.records.error_types import SealError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime, timedelta

    from readmit.records.acts.operation import WriterKey

PUBLIC_BYTES = 32


def keyid_of(public: bytes) -> str:
    """A key's id: the SHA-256 of its raw public bytes, in lower-case hex."""
    return digest_of(public)


def trust_key(public: bytes, *, reason: str = "") -> KeyChange:
    """Trust a key from now on."""
    return KeyChange(
        key=keyid_of(public), change="trust", public=base64.b64encode(public).decode("ascii"), reason=reason
    )


def retire_key(key: str, until: datetime, *, reason: str = "") -> KeyChange:
    """Stop signing with a key; its signatures stay valid until ``until``."""
    return KeyChange(key=key, change="retire", until=utc(until, field="until"), reason=reason)


def revoke_key(key: str, *, reason: str) -> KeyChange:
    """Reject all signatures of a key, permanently."""
    return KeyChange(key=key, change="revoke", reason=reason)


def rotate_key(current: Iterable[str], public: bytes, *, now: datetime, overlap: timedelta) -> tuple[KeyChange, ...]:
    """Trust a new key, and retire the current ones after an overlap in which their views can still be exposed."""
    retired = (retire_key(key, now + overlap, reason="rotated") for key in current if key != keyid_of(public))
    return trust_key(public, reason="rotated"), *retired


def public_of(change: KeyChange | WriterKey) -> bytes:
    """The raw public key that a ``trust`` or ``enrol`` carries; ``SealError`` names its fault."""
    if change.change not in {"trust", "enrol"}:
        raise SealError(f"change: a {change.change} carries no key; only trust and enrol do")
    try:
        public = base64.b64decode(change.public, validate=True)
    except (binascii.Error, ValueError):
        raise SealError("public: not base64; write the 32 raw bytes of the Ed25519 public key in base64") from None
    if len(public) != PUBLIC_BYTES:
        raise SealError(f"public: {len(public)} bytes; an Ed25519 public key has {PUBLIC_BYTES}")
    if keyid_of(public) != change.key:
        raise SealError("key: is not the SHA-256 of public; a key's id is computed from the key")
    return public


def trusted(changes: Iterable[Event], now: datetime) -> Mapping[str, bytes]:
    """Key id → raw public key of every key whose signatures count at ``now``."""
    publics, ends, revoked = _read(changes)
    return {
        key: public
        for key, public in publics.items()
        if key not in revoked and (key not in ends or _before(now, ends[key]))
    }


def signing_keys(changes: Iterable[Event]) -> tuple[str, ...]:
    """The keys that new views may be signed with, the newest first: trusted without an end."""
    publics, ends, revoked = _read(changes)
    return tuple(key for key in reversed(publics) if key not in revoked and key not in ends)


def _read(changes: Iterable[Event]) -> tuple[dict[str, bytes], dict[str, datetime | None], set[str]]:
    publics: dict[str, bytes] = {}
    ends: dict[str, datetime | None] = {}
    revoked: set[str] = set()
    for event in changes:
        change = event.payload
        if not isinstance(change, KeyChange):
            continue
        if change.change == "revoke":
            revoked.add(change.key)
        if change.change == "trust":
            _add(publics, change)
        if change.change == "retire" or change.until is not None:
            ends[change.key] = _earlier(ends[change.key], change.until) if change.key in ends else change.until
    return publics, ends, revoked


def _add(publics: dict[str, bytes], change: KeyChange) -> None:
    # A malformed change adds no trust. It does not raise either: one bad event must not close every view.
    try:
        publics.setdefault(change.key, public_of(change))
    except SealError:
        return


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    # A key retired without a moment is retired at once.
    return None if one is None or other is None else min(one, other)


def _before(now: datetime, end: datetime | None) -> bool:
    return end is not None and now < end
