"""A Return View as an in-toto-shaped statement: the bytes that are signed.

Paper, "Sign and readmit a bounded Return View". The bytes are canonical and decoding accepts nothing else:
an item that was dropped, swapped, duplicated or moved is refused even before the signature is checked.

DSSE version 1 envelopes: the signature covers the payload and its type.

Stricter than the protocol demands, because only our own envelopes are opened here: one expected payload
type, one signature, canonical base64, a key that the caller trusts by its id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from readmit.records.base import Digest, Name, Record
from readmit.records.canonical import canonical, decode, digest_of_set
from readmit.records.decisions import CoverageReport, Envelope, ReturnView, Signature
from readmit.records.error_types import RecordError, SealError
from readmit.records.retractions import FALLEN, IN_DOUBT, Retractions, RetractionView
from readmit.trust.private_keys import decode64, encode64, matches, sign_with

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

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


T = TypeVar("T")
PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE: Literal["https://in-toto.io/Statement/v1"] = "https://in-toto.io/Statement/v1"
CHECKPOINT = "checkpoint"
"""Subject name of a view without items: the digest is that of the departure's checkpoint."""
RETURN_VIEW: Literal["urn:readmit:return-view:1"] = "urn:readmit:return-view:1"
RETRACTIONS: Literal["urn:readmit:retractions:1"] = "urn:readmit:retractions:1"


class SubjectDigest(Record, kw_only=True):
    """A digest in in-toto's form."""

    sha256: Digest


class Subject(Record, kw_only=True):
    """Subject of an in-toto statement: a name and a digest."""

    name: Name
    digest: SubjectDigest


class ViewStatement(Record, kw_only=True):
    """A Return View about its items, or, if it has none, about the checkpoint of the departure."""

    type: Literal["https://in-toto.io/Statement/v1"] = msgspec.field(name="_type")
    subject: tuple[Subject, ...]
    predicate_type: Literal["urn:readmit:return-view:1"] = msgspec.field(name="predicateType")
    predicate: ReturnView


class _Predicated(msgspec.Struct, frozen=True):
    """The predicate type of any statement."""

    predicate_type: str = msgspec.field(name="predicateType")


class RetractionStatement(Record, kw_only=True):
    """The retractions of a blocked return, about the checkpoint of the departure. It never passes for a view."""

    type: Literal["https://in-toto.io/Statement/v1"] = msgspec.field(name="_type")
    subject: tuple[Subject, ...]
    predicate_type: Literal["urn:readmit:retractions:1"] = msgspec.field(name="predicateType")
    predicate: RetractionView


def seal_view(view: ReturnView, signer: Signer) -> Envelope:
    """Sign a Return View."""
    return seal(encode_view(view), PAYLOAD_TYPE, signer)


def open_view(envelope: Envelope, keys: Mapping[str, bytes]) -> ReturnView:
    """The Return View in an envelope that a trusted key signed; else ``SealError``."""
    return decode_view(open_envelope(envelope, keys, PAYLOAD_TYPE))


def sealed_again(view: ReturnView | RetractionView, signature: Signature) -> Envelope:
    """The envelope of a view that was signed before: its bytes follow from the view, so the signature is enough."""
    data = encode_view(view) if isinstance(view, ReturnView) else encode_retractions(view)
    return Envelope(payload=encode64(data), payloadType=PAYLOAD_TYPE, signatures=(signature,))


def encode_view(view: ReturnView) -> bytes:
    """The canonical statement of a view. An inconsistent view is refused, so none is ever signed."""
    statement = ViewStatement(
        type=STATEMENT_TYPE, subject=_view_subjects(view), predicate_type=RETURN_VIEW, predicate=view
    )
    data = canonical(statement)
    decode_view(data)
    return data


def decode_view(data: bytes) -> ReturnView:
    """The view in a statement, if its parts agree with each other; else ``SealError``."""
    statement = _decoded(data, ViewStatement, "return view")
    view = statement.predicate
    if statement.subject != _view_subjects(view):
        raise SealError("return view: subject does not list the view's items in their order, or the departure's state")
    if digest_of_set(item.digest for item in view.items) != view.items_digest:
        raise SealError("return view: items_digest does not match the view's items")
    _require_consistent(view)
    return view


def _decoded(data: bytes, kind: type[T], what: str) -> T:
    try:
        statement = decode(data, kind, what=what)
    except RecordError as error:
        raise SealError(str(error)) from None
    if canonical(statement) != data:
        raise SealError(f"{what}: the bytes are not canonical; sign them as they were encoded")
    return statement


def seal_retractions(view: RetractionView, signer: Signer) -> Envelope:
    """Sign the retractions of a blocked return."""
    return seal(encode_retractions(view), PAYLOAD_TYPE, signer)


def open_retractions(envelope: Envelope, keys: Mapping[str, bytes]) -> RetractionView:
    """The retractions in an envelope that a trusted key signed; else ``SealError``."""
    return decode_retractions(open_envelope(envelope, keys, PAYLOAD_TYPE))


def open_either(envelope: Envelope, keys: Mapping[str, bytes]) -> ReturnView | RetractionView:
    """The view, or the retractions of a blocked return, in an envelope that a trusted key signed."""
    data = open_envelope(envelope, keys, PAYLOAD_TYPE)
    try:
        of_retractions = msgspec.json.decode(data, type=_Predicated).predicate_type == RETRACTIONS
    except msgspec.DecodeError as error:
        raise SealError(str(error)) from None
    return decode_retractions(data) if of_retractions else decode_view(data)


def encode_retractions(view: RetractionView) -> bytes:
    """The canonical statement of retractions. Inconsistent ones are refused, so none are ever signed."""
    subject = _departure(view.checkpoint)
    data = canonical(
        RetractionStatement(type=STATEMENT_TYPE, subject=subject, predicate_type=RETRACTIONS, predicate=view)
    )
    decode_retractions(data)
    return data


def decode_retractions(data: bytes) -> RetractionView:
    """The retractions in a statement, if its parts agree with each other; else ``SealError``."""
    statement = _decoded(data, RetractionStatement, "retractions")
    view = statement.predicate
    if statement.subject != _departure(view.checkpoint):
        raise SealError("retractions: subject is not the departure's state")
    checks = {"expires: not later than issued": view.expires > view.issued, **_retraction_checks(view.retractions, ())}
    _require("retractions", checks)
    return view


def _departure(checkpoint: str) -> tuple[Subject, ...]:
    return (Subject(name=CHECKPOINT, digest=SubjectDigest(sha256=checkpoint)),)


def _view_subjects(view: ReturnView) -> tuple[Subject, ...]:
    if not view.items:
        # in-toto's tools refuse a statement about nothing. An empty view is about what was held at departure.
        return _departure(view.checkpoint)
    return tuple(Subject(name=item.id, digest=SubjectDigest(sha256=item.digest)) for item in view.items)


def _require_consistent(view: ReturnView) -> None:
    ids = {item.id for item in view.items}
    experiences = {experience.id for experience in view.experiences}
    checks = {
        "items: an item is listed twice": len(ids) == len(view.items),
        "experiences: an experience is listed twice": len(experiences) == len(view.experiences),
        "experiences: one is bound to an item outside the view": all(e.bound_to in ids for e in view.experiences),
        # Every text has at least one character, so chars is zero only without items.
        "chars: impossible for this many items": view.chars >= len(ids) and (view.chars == 0 or bool(ids)),
        "expires: not later than issued": view.expires > view.issued,
        "coverage: covers more than there is": _possible(view.coverage),
        **_retraction_checks(view.retractions, ids),
    }
    _require("return view", checks)


def _retraction_checks(retractions: Retractions, shown: Collection[str]) -> dict[str, bool]:
    listed = [one.id for one in retractions.listed]
    return {
        "retractions: one is listed twice": len(set(listed)) == len(listed),
        "retractions: one is an item of the view": set(listed).isdisjoint(shown),
        "retractions: what replaced one is not in the view": all(
            one.instead is None or one.instead in shown for one in retractions.listed
        ),
        "retractions: an item in another state": all(one.state in FALLEN for one in retractions.fallen)
        and all(one.state in IN_DOUBT for one in retractions.in_doubt),
    }


def _require(what: str, checks: Mapping[str, bool]) -> None:
    for problem, holds in checks.items():
        if not holds:
            raise SealError(f"{what}: {problem}")


def _possible(report: CoverageReport) -> bool:
    return (
        report.covered <= report.obligations
        and report.critical_covered <= report.critical
        and len(report.uncovered) == report.obligations - report.covered
    )
