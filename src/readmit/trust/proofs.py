"""A proof that an event is in a workspace's log: one file, checked without the store.

The chain has four links. A trusted key signed the head of the log. The head's root covers the record of a commit. The
record covers the events of that commit. One of their leaves is the event, with the digest of its salt and its body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec

from readmit.records.base import Count, Digest, Record, Salt
from readmit.records.canonical import canonical, decode, digest_of
from readmit.records.error_types import RecordError, SealError
from readmit.trust.merkle import inclusion_proof, leaf_hash, tree_hash, verify_inclusion
from readmit.trust.notes import COSIGNATURE, LONGEST_NOTE, LogCheckpoint, NoteKey, NoteSignature, note_text, verify_note

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


PROOF_TYPE: Literal["urn:readmit:event-proof:1"] = "urn:readmit:event-proof:1"
LARGEST_PROOF = 16 * 2**20
_MOST_HASHES = 64

T = TypeVar("T")

HashPath = Annotated[tuple[Digest, ...], msgspec.Meta(max_length=_MOST_HASHES)]


class EventProof(Record, frozen=True, kw_only=True):
    """Content of a proof file: canonical JSON and a newline."""

    type: Literal["urn:readmit:event-proof:1"]
    note: Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)]
    """The signed head, perhaps with cosignatures."""
    commit: str
    """The record of the commit, byte for byte as it was hashed."""
    commit_path: HashPath
    """From the commit's record to the root of the head."""
    event: str
    """Content of the event's leaf, byte for byte as it was hashed."""
    index: Count
    """Position of the event in its commit."""
    count: Count
    """How many events its commit added."""
    event_path: HashPath
    """From the event's leaf to the commit's tree hash over its events."""
    salt: Salt | None = None
    """The bytes that the event's digest covers before its body."""
    body: str | None = None
    """The event's body as JSON. None, as the salt, if it was forgotten: the rest of the event is still proven."""


class ProvenEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event that is in the log, if the keys that signed the head can be trusted."""

    origin: str
    """The log's name."""
    size: int
    """How many commits the signed head covers."""
    commit: int
    epoch: int
    id: str
    kind: str
    by: str
    at: str
    given: bool
    """Whether the writer gave that date; otherwise it is from the writer's clock."""
    learnt: str
    digest: str
    signature: bytes | None
    """The writer's own signature, which is covered by the proof but not checked here."""
    body: bytes | None
    """None if it was forgotten."""
    signatures: tuple[NoteSignature, ...]
    """Which of the named keys and witnesses signed the head."""


class _Typed(msgspec.Struct, frozen=True):
    type: str


class _Commit(msgspec.Struct, frozen=True):
    """The fields of a commit's record that a proof needs."""

    number: Count
    epoch: Count
    events: Digest


class _Leaf(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Content of an event's leaf."""

    epoch: Count
    id: str
    kind: str
    by: str
    at: str
    given: Literal[0, 1]
    learnt: str
    digest: Digest
    signature: bytes | None
    bound: tuple[Any, ...]


def prove_event(
    *,
    note: bytes,
    commit: bytes,
    commit_path: Sequence[bytes],
    event: bytes,
    leaves: Sequence[bytes],
    index: int,
    salt: bytes,
    body: bytes | None,
) -> bytes:
    """Write a proof file. ``leaves`` are the leaves of all events of the commit; ``event`` is the data of one."""
    path = inclusion_proof(index, len(leaves), lambda level, at: tree_hash(leaves[at << level : (at + 1) << level]))
    proof = EventProof(
        type=PROOF_TYPE,
        note=note.decode(),
        commit=commit.decode(),
        commit_path=tuple(one.hex() for one in commit_path),
        event=event.decode(),
        index=index,
        count=len(leaves),
        event_path=tuple(one.hex() for one in path),
        salt=None if body is None else salt.hex(),
        body=None if body is None else body.decode(),
    )
    return canonical(proof) + b"\n"


def is_proof(data: bytes) -> bool:
    """Whether a file says that it is a proof of an event."""
    try:
        return msgspec.json.decode(data, type=_Typed).type == PROOF_TYPE
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def read_proof(data: bytes) -> EventProof:
    """Decode a proof file without verifying it. Only the form that ``prove_event`` writes is accepted."""
    if len(data) > LARGEST_PROOF:
        raise SealError(f"proof: {len(data)} bytes are too long; the limit is {LARGEST_PROOF}")
    try:
        proof = decode(data, EventProof, what="proof")
    except RecordError as error:
        raise SealError(str(error)) from None
    if canonical(proof) + b"\n" != data:
        raise SealError("proof: not the canonical form; it was edited: export it again")
    return proof


def check_proof(data: bytes, keys: Iterable[NoteKey], witnesses: Iterable[NoteKey] = ()) -> ProvenEvent:
    """The event, if one of the ``keys`` signed a head that covers it and every witness cosigned that head.

    Raises ``SealError`` with the link that does not hold.
    """
    proof = read_proof(data)
    head, signatures = _opened(proof.note.encode(), tuple(keys), tuple(witnesses))
    commit_data, event_data = proof.commit.encode(), proof.event.encode()
    body = None if proof.body is None else proof.body.encode()
    commit = _decoded(commit_data, _Commit, "commit")
    if not verify_inclusion(
        leaf_hash(commit_data), commit.number - 1, head.size, _hashes(proof.commit_path), head.root
    ):
        raise SealError("proof.commit_path: the commit is not under the signed head; the proof was altered")
    root = bytes.fromhex(commit.events)
    if not verify_inclusion(leaf_hash(event_data), proof.index, proof.count, _hashes(proof.event_path), root):
        raise SealError("proof.event_path: the event is not in the commit; the proof was altered")
    leaf = _decoded(event_data, _Leaf, "event")
    if commit.epoch - leaf.epoch != proof.count - 1 - proof.index:
        raise SealError("proof.index: the event is at another place in its commit; the proof was altered")
    if (body is None) != (proof.salt is None):
        raise SealError("proof.salt: salt and body stand together or not at all; the proof was altered")
    if body is not None and digest_of(bytes.fromhex(proof.salt or "") + body) != leaf.digest:
        raise SealError("proof.body: it is not what the event says; the proof was altered")
    return ProvenEvent(
        origin=head.origin,
        size=head.size,
        commit=commit.number,
        epoch=leaf.epoch,
        id=leaf.id,
        kind=leaf.kind,
        by=leaf.by,
        at=leaf.at,
        given=bool(leaf.given),
        learnt=leaf.learnt,
        digest=leaf.digest,
        signature=leaf.signature,
        body=body,
        signatures=signatures,
    )


def _opened(
    note: bytes, keys: tuple[NoteKey, ...], witnesses: tuple[NoteKey, ...]
) -> tuple[LogCheckpoint, tuple[NoteSignature, ...]]:
    """The head, if a key of its log signed it and all witnesses cosigned it."""
    head = LogCheckpoint.from_text(note_text(note))
    # A key of one log must not sign for another, and a witness not for a log.
    own = [key for key in keys if key.name == head.origin and key.kind != COSIGNATURE]
    _, signatures = verify_note(note, (*own, *witnesses))
    found = {one.key for one in signatures}
    if not found.intersection(own):
        raise SealError(f"proof.note: none of the named keys of {head.origin!r} signed the head; name the right key")
    for witness in witnesses:
        if witness not in found:
            raise SealError(
                f"proof.note: {witness.name} did not cosign the head; ask for a proof under one that it did"
            )
    return head, signatures


def _decoded(data: bytes, kind: type[T], what: str) -> T:
    try:
        return decode(data, kind, what=f"proof.{what}")
    except RecordError as error:
        raise SealError(str(error)) from None


def _hashes(path: tuple[str, ...]) -> list[bytes]:
    return [bytes.fromhex(one) for one in path]
