"""A Return View as an in-toto-shaped statement: the bytes that are signed.

Paper, "Sign and readmit a bounded Return View". The bytes are canonical and decoding accepts nothing else:
an item that was dropped, swapped, duplicated or moved is refused even before the signature is checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from readmit.records.base import Digest, Name, Record
from readmit.records.canonical import canonical, decode, digest_of_set
from readmit.records.decisions import CoverageReport, Envelope, ReturnView
from readmit.records.errors import RecordError, SealError
from readmit.seal.dsse import open_envelope, seal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readmit.ports.signer import Signer

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE: Literal["https://in-toto.io/Statement/v1"] = "https://in-toto.io/Statement/v1"
CHECKPOINT = "checkpoint"
"""The subject of a view without items: what the agent held at departure, by its digest."""
RETURN_VIEW: Literal["urn:readmit:return-view:1"] = "urn:readmit:return-view:1"


class SubjectDigest(Record, kw_only=True):
    """A digest in in-toto's form."""

    sha256: Digest


class Subject(Record, kw_only=True):
    """What a statement is about."""

    name: Name
    digest: SubjectDigest


class ViewStatement(Record, kw_only=True):
    """A Return View about its items, or, if it has none, about the checkpoint of the departure."""

    type: Literal["https://in-toto.io/Statement/v1"] = msgspec.field(name="_type")
    subject: tuple[Subject, ...]
    predicate_type: Literal["urn:readmit:return-view:1"] = msgspec.field(name="predicateType")
    predicate: ReturnView


def seal_view(view: ReturnView, signer: Signer) -> Envelope:
    """Sign a Return View."""
    return seal(encode_view(view), PAYLOAD_TYPE, signer)


def open_view(envelope: Envelope, keys: Mapping[str, bytes]) -> ReturnView:
    """The Return View in an envelope that a trusted key signed; else ``SealError``."""
    return decode_view(open_envelope(envelope, keys, PAYLOAD_TYPE))


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
    try:
        statement = decode(data, ViewStatement, what="return view")
    except RecordError as error:
        raise SealError(str(error)) from None
    if canonical(statement) != data:
        raise SealError("return view: the bytes are not canonical; sign what encode_view wrote")
    view = statement.predicate
    # Stores that were written earlier hold empty views about nothing.
    if statement.subject != _view_subjects(view) and (view.items or statement.subject):
        raise SealError("return view: subject does not list the view's items in their order, or the departure's state")
    if digest_of_set(item.digest for item in view.items) != view.items_digest:
        raise SealError("return view: items_digest does not match the view's items")
    _require_consistent(view)
    return view


def _view_subjects(view: ReturnView) -> tuple[Subject, ...]:
    if not view.items:
        # in-toto's tools refuse a statement about nothing. An empty view is about what was held at departure.
        return (Subject(name=CHECKPOINT, digest=SubjectDigest(sha256=view.checkpoint)),)
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
    }
    for problem, holds in checks.items():
        if not holds:
            raise SealError(f"return view: {problem}")


def _possible(report: CoverageReport) -> bool:
    return (
        report.covered <= report.obligations
        and report.critical_covered <= report.critical
        and len(report.uncovered) == report.obligations - report.covered
    )
