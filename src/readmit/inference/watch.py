"""Work done when events arrive: the same preparation, for everyone who is away or holds a view.

A return that follows finds the verdicts on the log. Holders of an exposed view are notified when one of its items no
longer stands, for any reason; views that are not exposed yet are rechecked before exposure. Sources that are due are
looked at first.
"""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from readmit.inference.prepared import Prepared
from readmit.presence.subscription import judge_view
from readmit.records.acts.event import Checkpoint, Event, EventKind
from readmit.records.acts.looks import Looked
from readmit.records.acts.operation import Exposed
from readmit.records.base import Count, Id, Record
from readmit.records.canonical import canonical
from readmit.records.identity import Identity
from readmit.records.reasons import Reason, State
from readmit.returning.due_looks import look_for
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from readmit.records.decisions import ReturnView

logger = logging.getLogger("readmit")

ANNOUNCED = "announced"


class Announcement(Record, kw_only=True):
    """An item of an exposed view no longer stands. Its holder knows the item; the reason is for the operator."""

    return_id: Id
    identity: Identity
    item: Id
    state: State
    reasons: tuple[Reason, ...]
    epoch: Count


class Look(msgspec.Struct, frozen=True):
    """The result of one look at the log."""

    epoch: int
    prepared: tuple[Prepared, ...] = ()
    announced: tuple[Announcement, ...] = ()


class Watch:
    """Follows one workspace. ``prepare`` is the preparation that an agent's return would run."""

    def __init__(
        self,
        workspace: Workspace,
        prepare: Callable[[Checkpoint, Identity, str | None], Prepared],
        *,
        purposes: Sequence[str | None] = (None,),
        report: Callable[[Announcement], object] | None = None,
    ) -> None:
        """``purposes`` are the expected purposes of returns; ``report`` gets each announcement."""
        self._workspace = workspace
        self._desk = desk_of(workspace)
        self._log = self._desk.log
        self._prepare = prepare
        self._purposes = tuple(purposes)
        self._report = report
        self._read = 0
        self._looked: datetime | None = None
        self._departures: dict[str, Checkpoint] = {}
        self._exposed: dict[str, str] = {}

    def look(self) -> Look:
        """Bring verdicts and announcements up to date with the log. Without new events this costs almost nothing."""
        news = self._news()
        if self._look_again(news):
            news = self._news()
        if not any(map(_is_news, news)):
            self._read = news[-1].epoch if news else self._read
            return Look(self._read)
        prepared = [
            self._prepare(departed, departed.identity, purpose)
            for departed in list(self._departures.values())
            for purpose in self._purposes_of(departed)
        ]
        announced = tuple(self._announce())
        # Only now, so that a look that stopped for pending answers starts over.
        self._read = news[-1].epoch
        return Look(self._log.head, tuple(prepared), announced)

    def _news(self) -> list[Event]:
        news = list(self._log.tail(since=self._read))
        for event in news:
            self._note(event)
        return news

    def _look_again(self, news: Sequence[Event]) -> bool:
        """Look at the due sources of everyone who is away or holds a view. Returns whether any was due."""
        now, every = self._desk.writer.now(), timedelta(seconds=self._workspace.admin.policy.looks.lifetime)
        if not any(map(_is_news, news)) and self._looked is not None and now < self._looked + every:
            return False
        self._looked = now
        looks = [
            look_for(self._desk, departed, departed.identity, purpose=purpose, again=False)
            for departed in list(self._departures.values())
            for purpose in self._purposes_of(departed)
        ]
        return any(look is not None for look in looks)

    def follow(self, *, every: float = 1.0, until: Callable[[], bool] = lambda: False) -> Iterator[Look]:
        """Look, wait and look again until ``until`` returns true. Yields looks with preparations or announcements."""
        while not until():
            found = self.look()
            if found.prepared or found.announced:
                yield found
            time.sleep(every)

    def _note(self, event: Event) -> None:
        match event.payload:
            case Checkpoint(identity=identity):
                self._departures[identity.agent] = event.payload
            case Exposed(return_id=return_id, refused=()):
                returned = self._log.returned(return_id)
                self._exposed[returned.request.identity.agent] = return_id

    def _purposes_of(self, departed: Checkpoint) -> tuple[str | None, ...]:
        held = self._exposed.get(departed.identity.agent)
        own = () if held is None else (self._log.returned(held).request.purpose,)
        return tuple(dict.fromkeys((*self._purposes, *own)))

    def _announce(self) -> Iterator[Announcement]:
        for return_id in list(self._exposed.values()):
            view = self._workspace.returned(return_id).decision.view
            for announcement in () if view is None else self._fallen(return_id, view):
                with self._log.atomic():
                    self._log.derived.write(ANNOUNCED, return_id, {announcement.item: b"1"})
                    self._log.audit.append(return_id, [("announcement", announcement.item, canonical(announcement))])
                logger.warning(
                    "view %s of %s holds %s, which is %s now",
                    return_id, announcement.identity.principal, announcement.item, announcement.state,
                )  # fmt: skip
                if self._report is not None:
                    self._report(announcement)
                yield announcement

    def _fallen(self, return_id: str, view: ReturnView) -> Iterator[Announcement]:
        """Items of a view that no longer pass the gates and have not been announced."""
        announced = self._log.derived.read(ANNOUNCED, return_id, [one.id for one in view.items])
        request = self._log.returned(return_id).request
        with self._log.reading():
            head, judged = self._log.head, judge_view(self._desk.writer, return_id)
        for name, fate in judged.rejected.items():
            if name not in announced:
                yield Announcement(
                    return_id=return_id,
                    identity=request.identity,
                    item=name,
                    state=fate.state,
                    reasons=fate.reasons,
                    epoch=head,
                )


def _is_news(event: Event) -> bool:
    """Whether an event can change which items stand. The record of a look that found no change cannot."""
    if isinstance(event.payload, Looked):
        return any(not one.since for one in event.payload.found)
    return event.kind is not EventKind.EXAMINE
