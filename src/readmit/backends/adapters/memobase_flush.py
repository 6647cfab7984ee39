"""The changes that one flush of Memobase made to the records of a bank. Pure.

The server's model merges a chat into slots, and once a topic has more than 15 of them, it rewrites the whole topic into
a few new ones: the former vanish, and their text goes on in the new ones, and in the event if it names one of them. So
a slot that appears in a topic may hold the text of every slot that vanished from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.backends.port import Change, Stored
from readmit.log.ledger import Precision

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from readmit.backends.adapters.memobase_server import Flushed


class Slot(NamedTuple):
    """A profile slot as the server lists it."""

    record: Stored
    topic: str
    sub_topic: str


class SessionEvent(NamedTuple):
    """An event as the server lists it, with the topics of the slots that it quotes."""

    record: Stored
    topics: frozenset[str]


def outdated(before: Mapping[str, Slot], after: Mapping[str, Slot], flushed: Flushed) -> bool:
    """Whether a list, by native id, seems to be from before the flush."""
    kept = set(flushed.updated) - set(flushed.deleted)
    same = {name for name in kept if name in before and after.get(name) == before[name]}
    return bool(same or set(flushed.added) - after.keys() or set(flushed.deleted) & after.keys())


def vanished(before: Mapping[str, Slot], after: Mapping[str, Slot], flushed: Flushed) -> dict[str, Slot]:
    """The slots that are gone, named by the flush or not."""
    return {name: one for name, one in before.items() if name not in after or name in flushed.deleted}


def changes(
    before: Mapping[str, Slot], after: Mapping[str, Slot], events: Mapping[str, SessionEvent], flushed: Flushed
) -> list[Change]:
    """The changes that the flush names. Any other changed slot was written by another program."""
    gone = vanished(before, after, flushed)
    added = [after[name] for name in flushed.added if name in after and name not in before]
    # Text that left a topic without a successor there may be in any of the new ones.
    successors = {unified(one.topic) for one in added}
    stray = {unified(one.topic) for one in gone.values()} - successors
    # A slot that came and went since the list before: nothing is known of it, nor of what may hold its text.
    unlisted = tuple(name for name in flushed.deleted if name not in before)

    def holds(topics: Iterable[str]) -> tuple[str, ...]:
        wanted = {*map(unified, topics), *stray}
        return (*(one.record.id for one in gone.values() if unified(one.topic) in wanted), *unlisted)

    found = [
        Change(kind="added", record=one.record, precision=Precision.CONSERVATIVE, holds=holds((one.topic,)))
        for one in added
    ]
    merged = dict.fromkeys((*flushed.updated, *(name for name in flushed.added if name in before)))
    found += [
        Change(kind="merged", record=after[name].record, precision=Precision.CONSERVATIVE)
        for name in merged
        if name in after and name not in flushed.deleted
    ]
    found += [
        Change(kind="added", record=one.record, precision=Precision.CONSERVATIVE, holds=holds(one.topics))
        for one in events.values()
    ]
    return [*found, *(Change(kind="deleted", record=one.record) for one in gone.values())]


def unified(topic: str) -> str:
    """A topic as the server writes it when its model does."""
    return topic.lower().strip().replace(" ", "_")
