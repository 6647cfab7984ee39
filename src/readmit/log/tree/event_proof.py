"""The parts of a proof of one event, read from the store and checked against the newest head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.log.tree.remnants import is_remnant
from readmit.records.canonical import SALT_BYTES
from readmit.records.error_types import UnknownError
from readmit.records.items import Item
from readmit.trust.commit_record import EventParts

if TYPE_CHECKING:
    from readmit.log.event_rows import EventRows


def parts_of(rows: EventRows, epoch: int, size: int) -> EventParts:
    """The parts for a head of ``size`` commits, which may be older than the newest one."""
    commits = rows.commits
    with rows.connection.reading():
        newest = commits.head()
        last = newest.commit.epoch
        if not 1 <= epoch <= last:
            raise UnknownError(f"workspace {rows.workspace!r} has no epoch {epoch}; its log ends at {last}")
        if size > newest.edge.size:
            raise UnknownError(
                f"the signed head covers {size} commits, and workspace {rows.workspace!r} has {newest.edge.size}; "
                "the head is of another log, or this one was rolled back"
            )
        row, event = rows.checked_row(epoch)
        commit, record = commits.containing(epoch)
        if commit.number > size:
            raise UnknownError(
                f"event {epoch} is in commit {commit.number}, and the signed head covers only {size}; use a newer head"
            )
        _, first, leaves = commits.leaves_of(epoch)
        evidence = rows.evidence_for((epoch,)) if isinstance(event.payload, Item) else {}
        return EventParts(
            number=commit.number,
            commit=record,
            commit_path=commits.inclusion(commit.number, size),
            event=rows.data(row, event, evidence),
            leaves=leaves,
            place=epoch - first,
            salt=event.salt,
            body=None if is_remnant(commits, epoch, row[6]) else bytes(row[6])[SALT_BYTES:],
        )
