"""Forgetting: finds every event that holds a text, erases it there, and says what could not be reached."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.log.erasure import erase, erase_memory
from readmit.log.tree.state_map import remnants
from readmit.records.acts.event import Event, EventKind
from readmit.records.acts.forgotten import Forget, remnant_of
from readmit.records.acts.kinds import kind_named
from readmit.records.acts.looks import Looked, Resource
from readmit.records.acts.operation import ERASED_SALT, HeldBack, Wait
from readmit.records.base import listed, require_text
from readmit.records.canonical import canonical
from readmit.records.error_types import ConflictError, RecordError, StoreError, UnknownError
from readmit.records.evidence import Evidence, Experience
from readmit.records.items import Item
from readmit.records.verdicts import Verdict
from readmit.text.escapes import format_moment
from readmit.writing.write_checks import check_governor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.log.log import Log
    from readmit.writing.writer import Writer


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """The texts that forgetting erased, the items that fell with them, and places where a text may still be."""

    epoch: int
    erased: tuple[str, ...]
    """The ids on the log of the events whose content was erased: the targets, and all that quoted them."""
    fell: tuple[str, ...]
    """Items that no longer count."""
    same_text: tuple[str, ...]
    """Events that say the same words and were not asked to be forgotten."""
    records: tuple[str, ...]
    """Records of other memory stores that were formed from it, as ``backend/record``: delete them there."""
    copies: tuple[str, ...]
    """Copies of the store that are beside it. Others cannot be known from here."""
    left: str
    """The places that may still hold the bytes, and until when; empty if none is known."""


class _Search:
    """One pass over a log for everything that holds the content of some events."""

    def __init__(self, log: Log, targets: Sequence[Event]) -> None:
        self._log = log
        self._targets = {event.epoch for event in targets}
        self.texts = {event.payload.text for event in targets}  # type: ignore[attr-defined]
        self.ids = {event.id for event in targets}
        self.items = {event.name for event in targets if isinstance(event.payload, Item)}
        self.evidence = {event.digest for event in targets if isinstance(event.payload, Evidence)}
        self.found: list[Event] = []
        self.remnants: dict[int, object] = {}
        self.fell: list[str] = []
        self.same: list[str] = []

    def run(self) -> None:
        """Find events in the order of the log: what quotes a text follows it."""
        known = remnants(self._log.commits)
        for event in self._log.tail():
            payload: Any = event.payload
            if isinstance(payload, Item) and (event.name in self.items or self._rests(payload)):
                self.fell.append(event.name)
            if event.epoch in known:
                continue
            if event.epoch in self._targets or self._holds(payload):
                self._add(event)
            elif any(_within(text, payload) for text in self.texts):
                self.same.append(event.id)

    def _add(self, event: Event) -> None:
        payload: Any = event.payload
        if isinstance(payload, Item):
            self.items.add(event.name)
            self.texts.add(payload.text)
        self.ids.add(event.id)
        self.found.append(event)
        self.remnants[event.epoch] = self._waits(payload) if isinstance(payload, Wait) else remnant_of(payload)

    def _rests(self, item: Item) -> bool:
        return any(receipt.evidence in self.evidence for receipt in item.receipts)

    def _holds(self, payload: Any) -> bool:
        """Whether an event was made from a text that goes, by readmit or a model, and holds words of it."""
        match payload:
            case Item(drafted=drafted):
                return drafted is not None and self._rests(payload)
            case Verdict(pair=pair):
                return pair.item in self.items or pair.evidence in self.evidence
            case Resource():
                return payload.target in self.items or bool({payload.evidence, payload.now} & self.evidence)
            case Looked(found=found):
                return any({one.evidence, one.now} & self.evidence for one in found)
            case Wait(events=events):
                return any(self._is_held(one) for one in events)
        return bool(getattr(payload, "quote", "")) and payload.item in self.items

    def _is_held(self, one: HeldBack) -> bool:
        return one.id in self.ids or any(_encoded(text) in one.body for text in self.texts)

    def _waits(self, wait: Wait) -> Wait:
        """A wait for an overseer, open or over, without the texts that go."""
        return msgspec.structs.replace(
            wait, events=tuple(_emptied(one) if self._is_held(one) else one for one in wait.events)
        )


def _emptied(one: HeldBack) -> HeldBack:
    kind = kind_named(one.kind)
    return msgspec.structs.replace(one, body=canonical(remnant_of(kind.decode(one.body))).decode(), salt=ERASED_SALT)


def _encoded(text: str) -> str:
    """A text as it stands within JSON."""
    return canonical(text).decode()[1:-1]


def _within(text: str, payload: object) -> bool:
    return _encoded(text) in canonical(payload).decode()


def forget(writer: Writer, targets: Sequence[str], *, by: str | None, reason: str) -> Forgotten:
    """Erase observations, items and memories with everything that quotes them. Owner and overseers only.

    One event names them, with who did it and why. Remnants without text stay in their place, bound by the signed map,
    so the log and every proof stand.
    """
    log, names = writer.log, listed("targets", targets)
    require_text("reason", reason)
    if not names:
        raise RecordError("targets: name what to forget: ids of items and memories, digests or ids of observations")
    if log.pending:
        raise StoreError("forget: free pages cannot be cleared within a batch; forget after it")
    with log.atomic():
        # Before anything is looked up: a refusal tells nobody what there is.
        check_governor(log, writer.author.of(by), writer.policy(), EventKind.FORGET)
        search = _Search(log, [_target(log, name) for name in names])
        search.run()
        if any(text in reason for text in search.texts):
            raise RecordError("reason: it repeats the text, and it stays on the log; say it without")
        said = Forget(targets=names, items=tuple(search.fell), erased=tuple(sorted(search.remnants)), reason=reason)
        epoch = writer.write(EventKind.FORGET, said, by=by)
        erase(log, search.remnants, search.found)
        records = erase_memory(log, frozenset(search.items | search.evidence), writer.clock().isoformat())
    return Forgotten(
        epoch=epoch,
        erased=tuple(event.id for event in search.found),
        fell=tuple(search.fell),
        same_text=tuple(search.same),
        records=records,
        left=log.connection.compact(),
        copies=log.connection.copies(),
    )


def texts_in_reach(log: Log, targets: Sequence[str]) -> frozenset[str]:
    """The texts that forgetting some targets would erase: theirs, and those of drafts that were made from them."""
    with log.reading():
        search = _Search(log, [_target(log, name) for name in listed("targets", targets)])
        search.run()
    return frozenset(search.texts)


def _target(log: Log, name: str) -> Event:
    """The item, observation or memory with this id or digest, or this id on the log."""
    event = _named(log, name)
    if event.epoch in remnants(log.commits):
        raise ConflictError(f"targets: {was_forgotten(log, event.epoch) or name}; there is nothing left to forget")
    assert isinstance(event.payload, Item | Evidence | Experience)  # noqa: S101 - of the kinds above
    return event


def _named(log: Log, name: str) -> Event:
    for kind in (EventKind.RECORD, EventKind.OBSERVE, EventKind.REMEMBER):
        for id_ in dict.fromkeys((name, name.removeprefix(f"{kind.prefix}:"))):
            if (event := log.named(kind, id_)) is not None:
                return event
    with suppress(UnknownError):
        return log.evidence(name)
    # An agent knows its memories by an id of its own, which another agent may use too.
    memories = [event for event in log.tail() if isinstance(event.payload, Experience) and event.payload.id == name]
    if len(memories) == 1:
        return memories[0]
    if memories:
        several = ", ".join(event.name for event in memories)
        raise ConflictError(f"targets: {name!r} is a memory of several agents; name one of {several}")
    raise UnknownError(
        f"targets: no item, observation or memory {name!r} in workspace {log.workspace!r}; "
        "`readmit items` and `readmit log` show the ids"
    )


def was_forgotten(log: Log, epoch: int, *, since: int = 0) -> str:
    """The erasure of an event's content after an epoch, in words: by whom and when; empty if it was not erased."""
    for event in log.milestones(EventKind.FORGET):
        if isinstance(event.payload, Forget) and event.epoch > since and epoch in event.payload.erased:
            name = log.event(epoch).name
            return f"{name} was forgotten on {format_moment(event.learnt)} by {event.by} (epoch {event.epoch})"
    return ""
