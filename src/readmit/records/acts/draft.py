"""An event before it is appended: checked, encoded once, with its id."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from readmit.records.acts.kinds import DeclaredKind, name_in
from readmit.records.base import LONGEST_TEXT, Record, Time, require_id, require_name, shown, utc
from readmit.records.canonical import canonical, decoded, digest_of, new_salt
from readmit.records.error_types import RecordError
from readmit.records.evidence import Evidence
from readmit.records.identity import check_giver, made_id


class StoredEvent(NamedTuple):
    """The fields that a stored event is compared by."""

    kind: str
    by: str
    at: datetime
    given: bool
    body: bytes
    """Its content, without the salt."""


class Draft(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event before the log has given it an epoch. ``id`` makes the write idempotent.

    Made by ``draft``, which checks the payload, draws a ``salt`` and computes ``body`` and ``digest``.
    """

    id: str
    kind: DeclaredKind
    by: str
    at: Time
    payload: Record
    body: bytes
    """Its content in canonical JSON."""
    salt: bytes
    digest: str
    """The digest of salt and body. Once both are erased, it confirms no guess of the content."""
    named: bool = True
    """Whether the writer gave it its id; otherwise the id is random, or that of an observation its digest."""
    given: bool = False
    """Whether the writer gave ``at``. A default from the clock orders nothing, and a repetition may have another."""
    signature: bytes | None = None
    """The signature of the principal that wrote it, if it has a key."""
    about: tuple[str, ...] = ()
    """The items that this concerns: everyone who can see one of them sees the event."""

    @property
    def name(self) -> str:
        """Its id without the kind."""
        return name_in(self.id)

    def repeats(self, stored: StoredEvent) -> bool:
        """Whether this has the same content as a stored event with this id."""
        if (stored.kind, stored.by) != (self.kind, self.by):
            return False
        if self.given and not (stored.given and stored.at == self.at):
            return False
        if stored.body == self.body or not isinstance(self.payload, Evidence):
            return stored.body == self.body
        known = self.kind.decode(stored.body)
        return msgspec.structs.replace(known, at=self.at) == self.payload  # type: ignore[no-any-return]


def draft(
    kind: DeclaredKind,
    payload: object,
    *,
    id: str | None,
    by: str,
    at: Time,
    given: bool = False,
    about: tuple[str, ...] | None = None,
) -> Draft:
    """Check a payload as strictly as a stored one, whatever it was built from, and make it ready to append.

    Its digest is that of its stored bytes, salt included: for an item or evidence, its address. Without an ``id``, the
    id is derived from it. An ``id`` of another writer's own is refused.
    """
    _refuse_opaque(kind, payload)
    checked: Record = decoded(canonical(payload), kind.decode, what=kind)
    body = canonical(checked)
    salt = new_salt()
    digest = digest_of(salt + body)
    require_name("by", by)
    return Draft(
        id=kind.event_id(_derived(checked, digest, by) if id is None else check_giver(require_id("id", id), by)),
        kind=kind,
        by=by,
        at=utc(at, field="at"),
        payload=checked,
        body=body,
        salt=salt,
        digest=digest,
        named=id is not None,
        given=given,
        about=kind.touches(checked) if about is None else about,
    )


def _derived(payload: Record, digest: str, by: str) -> str:
    """The id of an event that was given none."""
    return made_id(by, digest[:32], payload.scope.principals if isinstance(payload, Evidence) else ())


def _refuse_opaque(kind: DeclaredKind, payload: Any) -> None:
    """Refuse values that the encoder would turn into a text of its own."""
    is_record = isinstance(payload, msgspec.Struct)
    for field in payload.__struct_fields__ if is_record else payload if isinstance(payload, dict) else ():
        value = getattr(payload, field) if is_record else payload[field]
        if type(value) in _OPAQUE:
            raise RecordError(f"{kind}.{field}: {shown(value)} is not a value that a record can hold; give a text")


_OPAQUE = frozenset({bytes, bytearray, memoryview, date, time, timedelta, UUID})


def draft_alike(first: Draft, text: str, at: datetime, *, given: bool) -> Draft:
    """An observation that differs from a checked one in its text and its moment, in UTC: only the text is checked."""
    like = first.payload
    if not isinstance(like, Evidence) or not 1 <= len(text) <= LONGEST_TEXT:
        raise RecordError(f"text: give an observation of 1 to {LONGEST_TEXT} characters")
    evidence = Evidence(text=text, by=like.by, at=at, scope=like.scope, source=like.source)
    body, salt = canonical(evidence), new_salt()
    digest = digest_of(salt + body)
    return Draft(
        id=first.kind.event_id(_derived(evidence, digest, first.by)),
        kind=first.kind,
        by=first.by,
        at=at,
        payload=evidence,
        body=body,
        salt=salt,
        digest=digest,
        named=False,
        given=given,
        about=first.about,
    )
