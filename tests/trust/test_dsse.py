"""Envelopes: interoperable with an independent DSSE library, and closed to every alteration."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope as OtherEnvelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey  # type: ignore[attr-defined]

from readmit.errors import SealError
from readmit.lab import canonical
from readmit.records.canonical import convert
from readmit.trust.private_keys import LocalSigner
from readmit.trust.statement import open_envelope, pre_authentication_encoding, seal
from readmit.trust.trusted_keys import keyid_of
from readmit.types import Envelope, Signature

from .issued_view import KEYS, RING, SIGNER

if TYPE_CHECKING:
    from collections.abc import Callable

KIND = "application/vnd.test"
PAYLOAD = b'{"a":1,"b":"text of some length"}'


def replace(envelope: Envelope, **changes: object) -> Envelope:
    return msgspec.structs.replace(envelope, **changes)


def signed() -> Envelope:
    return seal(PAYLOAD, KIND, SIGNER)


def test_the_encoding_is_the_one_of_the_protocol() -> None:
    # The protocol's own test vector.
    assert (
        pre_authentication_encoding("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


@given(one=st.tuples(st.text(), st.binary()), other=st.tuples(st.text(), st.binary()))
def test_no_two_contents_share_an_encoding(one: tuple[str, bytes], other: tuple[str, bytes]) -> None:
    assert (pre_authentication_encoding(*one) == pre_authentication_encoding(*other)) == (one == other)


@settings(max_examples=50)
@given(payload=st.binary(max_size=300), kind=st.text(max_size=30))
def test_what_was_sealed_opens(payload: bytes, kind: str) -> None:
    assert open_envelope(seal(payload, kind, SIGNER), KEYS, kind) == payload


def test_same_inputs_same_bytes() -> None:
    assert canonical(signed()) == canonical(signed())


def their_key(public: bytes) -> SSlibKey:
    return SSlibKey(keyid_of(public), "ed25519", "ed25519", {"public": public.hex()})


@settings(max_examples=30)
@given(payload=st.binary(max_size=200))
def test_an_independent_library_verifies_ours(payload: bytes) -> None:
    theirs = OtherEnvelope.from_dict(msgspec.to_builtins(seal(payload, KIND, SIGNER)))
    assert theirs.payload == payload
    assert list(theirs.verify([their_key(SIGNER.public)], 1)) == [SIGNER.keyid]
    theirs.payload += b"!"
    with pytest.raises(VerificationError):
        theirs.verify([their_key(SIGNER.public)], 1)


@settings(max_examples=30)
@given(payload=st.binary(max_size=200))
def test_we_verify_an_independent_librarys(payload: bytes) -> None:
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    theirs = OtherEnvelope(payload, KIND, {})
    theirs.sign(CryptoSigner(private, their_key(public)))
    ours = convert(theirs.to_dict(), Envelope, what="envelope")
    assert open_envelope(ours, {keyid_of(public): public}, KIND) == payload


def loose(text: str) -> str:
    """The same bytes in another base64 text: bits that decoding throws away are set."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    kept = text.rstrip("=")
    assert len(kept) < len(text)
    altered = kept[:-1] + alphabet[alphabet.index(kept[-1]) + 1] + text[len(kept) :]
    assert base64.b64decode(altered, validate=True) == base64.b64decode(text, validate=True)
    return altered


def with_signature(envelope: Envelope, **changes: object) -> Envelope:
    return replace(envelope, signatures=(msgspec.structs.replace(envelope.signatures[0], **changes),))


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def by_another_key(envelope: Envelope) -> Envelope:
    return seal(PAYLOAD, KIND, RING.generate())


def under_anothers_name(envelope: Envelope) -> Envelope:
    return with_signature(by_another_key(envelope), keyid=SIGNER.keyid)


@dataclass(frozen=True)
class Altered:
    how: Callable[[Envelope], Envelope]
    error: str


ALTERED = {
    "another payload type": Altered(lambda e: replace(e, payloadType="application/json"), "payloadType"),
    "payload type in other case": Altered(lambda e: replace(e, payloadType=KIND.upper()), "payloadType"),
    "payload type with space": Altered(lambda e: replace(e, payloadType=KIND + " "), "payloadType"),
    "no payload type": Altered(lambda e: replace(e, payloadType=""), "payloadType"),
    "no signature": Altered(lambda e: replace(e, signatures=()), "exactly one, found 0"),
    "the signature twice": Altered(lambda e: replace(e, signatures=e.signatures * 2), "exactly one, found 2"),
    "a second, unknown signature": Altered(
        lambda e: replace(e, signatures=(*e.signatures, Signature(keyid="x", sig="AAAA"))), "exactly one, found 2"
    ),
    "a second, valid signature": Altered(
        lambda e: replace(e, signatures=e.signatures + by_another_key(e).signatures), "exactly one, found 2"
    ),
    "an unknown key": Altered(by_another_key, "not a trusted key"),
    "no key id": Altered(lambda e: with_signature(e, keyid=""), "not a trusted key"),
    "an unknown key under a trusted name": Altered(under_anothers_name, "does not match"),
    "another payload": Altered(lambda e: replace(e, payload=encoded(b"{}")), "does not match"),
    "no payload": Altered(lambda e: replace(e, payload=""), "does not match"),
    "payload not base64": Altered(lambda e: replace(e, payload="*" + e.payload[1:]), "payload: not base64"),
    "payload beyond ASCII": Altered(lambda e: replace(e, payload="é" + e.payload[1:]), "payload: not base64"),
    "payload with a line end": Altered(lambda e: replace(e, payload=e.payload + "\n"), "payload: not"),
    "payload in loose base64": Altered(lambda e: replace(e, payload=loose(e.payload)), "payload: not canonical"),
    "payload without padding": Altered(lambda e: replace(e, payload=e.payload.rstrip("=")), "payload: not base64"),
    "signature in loose base64": Altered(
        lambda e: with_signature(e, sig=loose(e.signatures[0].sig)), "sig: not canonical"
    ),
    "signature in URL-safe base64": Altered(lambda e: with_signature(e, sig="-" + e.signatures[0].sig[1:]), "sig: not"),
    "signature cut short": Altered(lambda e: with_signature(e, sig=encoded(b"x" * 63)), "does not match"),
    "signature of nothing": Altered(lambda e: with_signature(e, sig=""), "does not match"),
    "signature of zeros": Altered(lambda e: with_signature(e, sig=encoded(bytes(64))), "does not match"),
}


def payload_needs_padding() -> bytes:
    return PAYLOAD if len(PAYLOAD) % 3 else PAYLOAD + b" "


@pytest.mark.parametrize("case", ALTERED.values(), ids=ALTERED.keys())
def test_an_altered_envelope_is_refused(case: Altered) -> None:
    envelope = seal(payload_needs_padding(), KIND, SIGNER)
    assert open_envelope(envelope, KEYS, KIND) == payload_needs_padding()
    with pytest.raises(SealError, match=case.error):
        open_envelope(case.how(envelope), KEYS, KIND)


def test_every_flipped_bit_of_payload_and_signature_is_refused() -> None:
    envelope = signed()
    for field, data in (("payload", PAYLOAD), ("sig", base64.b64decode(envelope.signatures[0].sig))):
        for position in range(len(data) * 8):
            flipped = bytearray(data)
            flipped[position // 8] ^= 1 << position % 8
            text = encoded(bytes(flipped))
            altered = replace(envelope, payload=text) if field == "payload" else with_signature(envelope, sig=text)
            with pytest.raises(SealError, match="does not match"):
                open_envelope(altered, KEYS, KIND)


def test_every_changed_character_of_the_envelope_is_refused() -> None:
    data = canonical(signed())
    for position in range(len(data)):
        altered = bytearray(data)
        altered[position] = ord("A") if data[position] != ord("A") else ord("B")
        try:
            envelope = msgspec.json.decode(bytes(altered), type=Envelope)
        except msgspec.DecodeError:
            continue
        with pytest.raises(SealError):
            open_envelope(envelope, KEYS, KIND)


def test_a_trusted_key_that_is_none_is_refused() -> None:
    with pytest.raises(SealError, match="not an Ed25519 key"):
        open_envelope(signed(), {SIGNER.keyid: b"short"}, KIND)


class Down:
    keyid = "f" * 64
    public = bytes(32)

    def sign(self, data: bytes) -> bytes:
        raise TimeoutError("the service does not answer")


class Mute:
    keyid = "f" * 64
    public = bytes(32)

    def sign(self, data: bytes) -> bytes:
        raise TimeoutError


class Garbled:
    keyid = "f" * 64
    public = bytes(32)

    def sign(self, data: bytes) -> bytes:
        return b"no signature"


def test_a_signer_that_is_down_signs_nothing() -> None:
    with pytest.raises(SealError, match=r"could not sign: the service does not answer"):
        seal(PAYLOAD, KIND, Down())
    with pytest.raises(SealError, match=r"could not sign: TimeoutError"):
        seal(PAYLOAD, KIND, Mute())


def test_a_signer_of_another_kind_is_refused() -> None:
    with pytest.raises(SealError, match="12 bytes"):
        seal(PAYLOAD, KIND, Garbled())


def test_a_signer_does_not_show_its_key() -> None:
    assert repr(SIGNER) == f"LocalSigner(keyid='{SIGNER.keyid}')"
    assert isinstance(SIGNER, LocalSigner)


@pytest.mark.parametrize("size", [0, 63, 65])
def test_a_signature_of_another_size_is_refused(size: int) -> None:
    class Odd:
        keyid = SIGNER.keyid
        public = SIGNER.public

        def sign(self, data: bytes) -> bytes:
            return bytes(size)

    with pytest.raises(SealError, match=f"signature of {size} bytes"):
        seal(b"x", KIND, Odd())


def test_an_envelope_that_was_stored_opens() -> None:
    """Its texts are then equal to ours, not the same objects."""
    stored = msgspec.json.decode(canonical(signed()), type=Envelope)
    assert open_envelope(stored, KEYS, KIND) == PAYLOAD
