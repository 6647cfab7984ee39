"""Remnants of erased events: which there are, bound by the signed map of what the indexes answer."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from readmit.log.tree.state_map import key_of
from readmit.records.canonical import SALT_BYTES, canonical

if TYPE_CHECKING:
    from readmit.log.tree.commits import Commits

REMNANT = "forgotten"
NAME_KEY = "name_key"
"""State-map key of the key that names made of contents are hashed with (``Log.keyed``)."""
_NO_SALT = bytes(SALT_BYTES)


def remnant_key(epoch: int) -> str:
    """State-map key of the remnant of an event."""
    return key_of(REMNANT, f"{epoch:x}")


def remnant_value(body: bytes) -> bytes:
    """State-map value of a remnant: the SHA-256 of the stored bytes."""
    return hashlib.sha256(body).digest()


def remnant_body(payload: object) -> bytes:
    """The bytes that replace an erased salt and content."""
    return _NO_SALT + canonical(payload)


def is_remnant(commits: Commits, epoch: int, body: bytes) -> bool:
    """Whether the signed log says that this is what stayed of an event."""
    return body[:SALT_BYTES] == _NO_SALT and commits.value(remnant_key(epoch)) == remnant_value(body)


def remnants(commits: Commits) -> dict[int, bytes]:
    """The state-map values of all remnants, by epoch."""
    prefix = f'["{REMNANT}","'
    found = commits.beginning_with(prefix)
    return {int(key[len(prefix) : -2], 16): value for key, value in found.items() if value}
