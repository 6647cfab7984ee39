"""Ed25519 signatures and base64, as strict as envelopes and notes both need them."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from readmit.records.error_types import SealError

if TYPE_CHECKING:
    from readmit.trust.signer import Signer

SIGNATURE_BYTES = 64


def sign_with(signer: Signer, data: bytes) -> bytes:
    """The signature over some bytes. Any exception of the signer becomes a ``SealError``."""
    try:
        signature = signer.sign(data)
    except Exception as error:  # a signer may be a remote service: every failure of it means "not signed"
        raise SealError(f"key {signer.keyid} could not sign: {str(error) or type(error).__name__}") from error
    if len(signature) != SIGNATURE_BYTES:
        raise SealError(
            f"key {signer.keyid} gave a signature of {len(signature)} bytes; "
            f"an Ed25519 signature has {SIGNATURE_BYTES}: use a signer that holds an Ed25519 key"
        )
    return signature


def matches(public: bytes, signature: bytes, data: bytes) -> bool:
    """Whether this key made this signature over these bytes; ``SealError`` if it is no key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(public)
    except ValueError as error:
        raise SealError(f"the trusted public key is not an Ed25519 key: {error}") from None
    try:
        key.verify(signature, data)
    except InvalidSignature:
        return False
    return True


def encode64(data: bytes) -> str:
    """Standard base64 with padding."""
    return base64.b64encode(data).decode("ascii")


def decode64(text: str, field: str) -> bytes:
    """The bytes of a base64 text.

    Several texts can encode the same bytes. Only the canonical one is accepted, so that an altered text is never valid.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SealError(f"{field}: not base64") from None
    if encode64(data) != text:
        raise SealError(f"{field}: not canonical base64")
    return data
