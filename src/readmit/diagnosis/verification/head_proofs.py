"""Heads and proofs that leave the store: signed, perhaps cosigned by a witness, checked by anyone with the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.error_types import SealError
from readmit.trust.head_sealer import origin_of
from readmit.trust.merkle import leaf_hash, verify_inclusion
from readmit.trust.notes import LogCheckpoint, NoteKey, note_text
from readmit.trust.proofs import prove_event
from readmit.trust.witness.client import witnessed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.log.log import Log


def verifier_key(log: Log, public: bytes) -> NoteKey:
    """A signing key of a workspace under the name of its log."""
    return NoteKey(origin_of(log.store_id, log.workspace), public)


def signed_head(log: Log) -> bytes:
    """The newest head, as a signed note."""
    note = log.signed_note()
    if note is None:
        raise SealError(
            f"workspace {log.workspace!r} has no signed head: nothing is written yet, or no key was at hand; "
            "`readmit doctor` says which"
        )
    return note


def witnessed_head(log: Log, url: str, *, keys: Iterable[NoteKey] = ()) -> bytes:
    """The newest head with the cosignatures of a witness."""
    note = signed_head(log)
    size = LogCheckpoint.from_text(note_text(note)).size
    return witnessed(url, note, lambda old: log.consistency(old, size), keys=keys)


def proof_of(log: Log, epoch: int, note: bytes) -> bytes:
    """A proof that the event at an epoch is in the log, under a signed head of it."""
    head = LogCheckpoint.from_text(note_text(note))
    parts = log.parts_of(epoch, head.size)
    leaf, index = leaf_hash(parts.commit), parts.number - 1
    if not verify_inclusion(leaf, index, head.size, parts.commit_path, head.root):
        raise SealError(
            f"the head is not one of workspace {log.workspace!r}; name the file that `readmit audit head` made"
        )
    return prove_event(
        note=note, commit=parts.commit, commit_path=parts.commit_path, event=parts.event, leaves=parts.leaves,
        index=parts.place, salt=parts.salt, body=parts.body,
    )  # fmt: skip
