"""An event before it is appended: checked, encoded once, with its id."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from readmit.records.acts.kinds import DeclaredKind, name_in
from readmit.records.base import LONGEST_TEXT, Record, Time, require_id, require_name, shown, utc
from readmit.records.canonical import canonical, decoded, digest_of
from readmit.records.error_types import RecordError
from readmit.records.evidence import Evidence
from readmit.records.identity import check_giver, made_id


class StoredEvent(NamedTuple):
    """What a stored event is compared by."""

    kind: str
    by: str
    at: datetime
    given: bool
    digest: str
    body: bytes


class Draft(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event before the log has given it an epoch. ``id`` makes the write idempotent.

    Made by ``draft``, which checks the payload and computes ``body`` and ``digest``.
    """

    id: str
    kind: DeclaredKind
    by: str
    at: Time
    payload: Record
    body: bytes
    digest: str
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
        if stored.digest == self.digest or not isinstance(self.payload, Evidence):
            return stored.digest == self.digest
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

    Its digest is that of its stored bytes: for an item or evidence, its address. Without an ``id``, the id is derived
    from it. An ``id`` of another writer's own is refused.
    """
    _refuse_opaque(kind, payload)
    checked: Record = decoded(canonical(payload), kind.decode, what=kind)
    settled = canonical(checked)
    digest = digest_of(settled)
    require_name("by", by)
    return Draft(
        id=kind.event_id(_derived(checked, digest, by) if id is None else check_giver(require_id("id", id), by)),
        kind=kind,
        by=by,
        at=utc(at, field="at"),
        payload=checked,
        body=settled,
        digest=digest,
        named=id is not None,
        given=given,
        about=kind.touches(checked) if about is None else about,
    )


def _derived(payload: Record, digest: str, by: str) -> str:
    """The id of what was given none."""
    return made_id(by, digest[:32], payload.scope.principals if isinstance(payload, Evidence) else ())


def _refuse_opaque(kind: DeclaredKind, payload: Any) -> None:
    """Refuse what the encoder would turn into a text that nobody wrote."""
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
    body = canonical(evidence)
    digest = digest_of(body)
    return Draft(
        id=first.kind.event_id(_derived(evidence, digest, first.by)),
        kind=first.kind,
        by=first.by,
        at=at,
        payload=evidence,
        body=body,
        digest=digest,
        named=False,
        given=given,
        about=first.about,
    )
