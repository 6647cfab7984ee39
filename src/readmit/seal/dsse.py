"""DSSE version 1 envelopes: the signature covers the payload and its type.

Stricter than the protocol demands, because only our own envelopes are opened here: one expected payload
type, one signature, canonical base64, a key that the caller trusts by its id.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from readmit.records.decisions import Envelope, Signature
from readmit.records.errors import SealError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readmit.ports.signer import Signer

SIGNATURE_BYTES = 64


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """The bytes that are signed. Lengths precede contents, so no two (type, payload) pairs share an encoding."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def seal(payload: bytes, payload_type: str, signer: Signer) -> Envelope:
    """Sign a payload. A signer that fails, in whatever way, raises ``SealError``."""
    try:
        signature = signer.sign(pre_authentication_encoding(payload_type, payload))
    except Exception as error:  # a signer may be a remote service: every failure of it means "not signed"
        raise SealError(f"key {signer.keyid} could not sign: {str(error) or type(error).__name__}") from error
    if len(signature) != SIGNATURE_BYTES:
        raise SealError(
            f"key {signer.keyid} gave a signature of {len(signature)} bytes; "
            f"an Ed25519 signature has {SIGNATURE_BYTES}: use a signer that holds an Ed25519 key"
        )
    return Envelope(
        payload=_encode(payload),
        payloadType=payload_type,
        signatures=(Signature(keyid=signer.keyid, sig=_encode(signature)),),
    )


def open_envelope(envelope: Envelope, keys: Mapping[str, bytes], payload_type: str) -> bytes:
    """The payload, if a trusted key signed it as exactly this type; else ``SealError``.

    ``keys`` maps the ids of trusted keys to their raw public bytes.
    """
    if envelope.payloadType != payload_type:
        raise SealError(f"payloadType: expected {payload_type!r}, found {envelope.payloadType!r}")
    if len(envelope.signatures) != 1:
        raise SealError(f"signatures: expected exactly one, found {len(envelope.signatures)}")
    (signature,) = envelope.signatures
    public = keys.get(signature.keyid)
    if public is None:
        raise SealError(
            f"signatures[0].keyid: {signature.keyid!r} is not a trusted key; "
            "it was never trusted here, was retired or was revoked. Return again to get a new view"
        )
    payload = _decode(envelope.payload, "payload")
    _verify(public, _decode(signature.sig, "signatures[0].sig"), pre_authentication_encoding(payload_type, payload))
    return payload


def _verify(public: bytes, signature: bytes, data: bytes) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(public)
    except ValueError as error:
        raise SealError(f"the trusted public key is not an Ed25519 key: {error}") from None
    try:
        key.verify(signature, data)
    except InvalidSignature:
        raise SealError("signatures[0].sig: the signature does not match the payload; it was altered") from None


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _decode(text: str, field: str) -> bytes:
    # Several base64 texts can encode the same bytes. Only the canonical one is accepted, so that an altered envelope is
    # never valid.
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SealError(f"{field}: not base64") from None
    if _encode(data) != text:
        raise SealError(f"{field}: not canonical base64")
    return data
