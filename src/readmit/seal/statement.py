"""A Return View, and an audit head, as in-toto-shaped statements: the bytes that are signed.

Paper, "Sign and readmit a bounded Return View". The bytes are canonical and decoding accepts nothing else:
an item that was dropped, swapped, duplicated or moved is refused even before the signature is checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from readmit.records.base import Count, Digest, Name, Record, Time
from readmit.records.canonical import canonical, decode, digest_of_set
from readmit.records.decisions import CoverageReport, Envelope, ReturnView
from readmit.records.errors import RecordError, SealError
from readmit.seal.dsse import open_envelope, seal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readmit.ports.signer import Signer

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE: Literal["https://in-toto.io/Statement/v1"] = "https://in-toto.io/Statement/v1"
RETURN_VIEW: Literal["urn:readmit:return-view:1"] = "urn:readmit:return-view:1"
AUDIT_HEAD: Literal["urn:readmit:audit-head:1"] = "urn:readmit:audit-head:1"


class AuditHead(Record, kw_only=True):
    """The state of a workspace's audit chain: entry ``seq`` had ``hash``. Signing it makes truncation detectable."""

    workspace: Name
    seq: Count
    hash: Digest
    at: Time


class SubjectDigest(Record, kw_only=True):
    """A digest in in-toto's form."""

    sha256: Digest


class Subject(Record, kw_only=True):
    """What a statement is about."""

    name: Name
    digest: SubjectDigest


class ViewStatement(Record, kw_only=True):
    """A Return View about its items."""

    type: Literal["https://in-toto.io/Statement/v1"] = msgspec.field(name="_type")
    subject: tuple[Subject, ...]
    predicate_type: Literal["urn:readmit:return-view:1"] = msgspec.field(name="predicateType")
    predicate: ReturnView


class HeadStatement(Record, kw_only=True):
    """An audit head about its chain."""

    type: Literal["https://in-toto.io/Statement/v1"] = msgspec.field(name="_type")
    subject: tuple[Subject, ...]
    predicate_type: Literal["urn:readmit:audit-head:1"] = msgspec.field(name="predicateType")
    predicate: AuditHead


def seal_view(view: ReturnView, signer: Signer) -> Envelope:
    """Sign a Return View."""
    return seal(encode_view(view), PAYLOAD_TYPE, signer)


def open_view(envelope: Envelope, keys: Mapping[str, bytes]) -> ReturnView:
    """The Return View in an envelope that a trusted key signed; else ``SealError``."""
    return decode_view(open_envelope(envelope, keys, PAYLOAD_TYPE))


def seal_head(head: AuditHead, signer: Signer) -> Envelope:
    """Sign an audit head."""
    return seal(encode_head(head), PAYLOAD_TYPE, signer)


def open_head(envelope: Envelope, keys: Mapping[str, bytes]) -> AuditHead:
    """The audit head in an envelope that a trusted key signed; else ``SealError``."""
    return decode_head(open_envelope(envelope, keys, PAYLOAD_TYPE))


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
    statement = _decode(data, ViewStatement, what="return view")
    view = statement.predicate
    if statement.subject != _view_subjects(view):
        raise SealError("return view: subject does not list the view's items in their order")
    if digest_of_set(item.digest for item in view.items) != view.items_digest:
        raise SealError("return view: items_digest does not match the view's items")
    _require_consistent(view)
    return view


def encode_head(head: AuditHead) -> bytes:
    """The canonical statement of an audit head."""
    statement = HeadStatement(
        type=STATEMENT_TYPE, subject=_head_subjects(head), predicate_type=AUDIT_HEAD, predicate=head
    )
    data = canonical(statement)
    decode_head(data)
    return data


def decode_head(data: bytes) -> AuditHead:
    """The audit head in a statement; else ``SealError``."""
    statement = _decode(data, HeadStatement, what="audit head")
    if statement.subject != _head_subjects(statement.predicate):
        raise SealError("audit head: subject does not name the head's workspace and hash")
    return statement.predicate


S = TypeVar("S", ViewStatement, HeadStatement)


def _decode(data: bytes, kind: type[S], *, what: str) -> S:
    try:
        statement = decode(data, kind, what=what)
    except RecordError as error:
        raise SealError(str(error)) from None
    if canonical(statement) != data:
        raise SealError(f"{what}: the bytes are not canonical; sign what encode_view or encode_head wrote")
    return statement


def _view_subjects(view: ReturnView) -> tuple[Subject, ...]:
    return tuple(Subject(name=item.id, digest=SubjectDigest(sha256=item.digest)) for item in view.items)


def _head_subjects(head: AuditHead) -> tuple[Subject, ...]:
    return (Subject(name=head.workspace, digest=SubjectDigest(sha256=head.hash)),)


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
