"""DSSE version 1 envelopes: the signature covers the payload and its type.

Stricter than the protocol demands, because only our own envelopes are opened here: one expected payload
type, one signature, canonical base64, a key that the caller trusts by its id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.decisions import Envelope, Signature
from readmit.records.error_types import SealError
from readmit.trust.ed25519 import decode64, encode64, matches, sign_with

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readmit.trust.signer import Signer


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """The bytes that are signed. Lengths precede contents, so no two (type, payload) pairs share an encoding."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def seal(payload: bytes, payload_type: str, signer: Signer) -> Envelope:
    """Sign a payload. Any exception of the signer becomes a ``SealError``."""
    signature = sign_with(signer, pre_authentication_encoding(payload_type, payload))
    return Envelope(
        payload=encode64(payload),
        payloadType=payload_type,
        signatures=(Signature(keyid=signer.keyid, sig=encode64(signature)),),
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
    payload = decode64(envelope.payload, "payload")
    found = decode64(signature.sig, "signatures[0].sig")
    if not matches(public, found, pre_authentication_encoding(payload_type, payload)):
        raise SealError("signatures[0].sig: the signature does not match the payload; it was altered")
    return payload
