"""Signs a Return View: a local key, or a key management service with the same three members."""

from __future__ import annotations

from typing import Protocol


class Signer(Protocol):
    """Signs with one Ed25519 key."""

    @property
    def keyid(self) -> str:
        """The SHA-256 of the raw public key, in lower-case hex."""
        ...

    @property
    def public(self) -> bytes:
        """The raw public key: 32 bytes."""
        ...

    def sign(self, data: bytes) -> bytes:
        """The 64-byte Ed25519 signature over ``data``. Any exception means that nothing is signed."""
        ...
