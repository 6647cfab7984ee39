"""The return of a session: decided, checked again, and sorted into what its client is to show.

What a client loads by itself is not repeated. Of that, and of what the session held, whatever no longer holds is named
with the reason. What a tool printed, the web said or a transcript holds is counted, and handed over only once a person
confirmed it or its source can be looked at.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from readmit.clients.known_clients import CLIENTS
from readmit.clients.memory_import import USER
from readmit.clients.moments.session_text import SessionEntry
from readmit.records.acts.event import Confirm
from readmit.records.error_types import ExposureError, ReadmitError
from readmit.records.evidence import Evidence
from readmit.records.items import Frontier, Obligation
from readmit.records.probes import FileProbe, place_of
from readmit.records.reasons import Reason, State
from readmit.records.retractions import FALLEN, IN_DOUBT
from readmit.text.escapes import iso_day
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from readmit.clients.memory_lines import KnownLine
    from readmit.records.decisions import Cause, Disposition
    from readmit.records.items import Item
    from readmit.records.retractions import Retraction
    from readmit.returning.expose import Bundle, RetractionBundle
    from readmit.workspace.agent import Agent
    from readmit.workspace.return_handle import Return
    from readmit.workspace.workspace import Workspace

_STANDS = frozenset({State.ADMITTED, State.NOT_NEEDED, State.WITHHELD, State.TOO_LARGE})
"""States of a line that was not found wrong, whether or not it was handed over."""
_REPLACED = frozenset({Reason.SUPERSEDED, Reason.SLOT_UPDATED})


def decide(agent: Agent) -> tuple[Return, Bundle | RetractionBundle | None]:
    """Decide a return and take what it hands over. If something fell in between, it is decided once more."""
    returned = agent.come_back()
    for last in (False, True):
        if returned.decision.faults:
            raise ReadmitError(f"the return was refused: {', '.join(returned.decision.faults)}")
        try:
            if returned.admitted:
                return returned, returned.expose()
            return returned, returned.expose_retractions() if returned.decision.retracting is not None else None
        except ExposureError:
            if last:
                raise
            returned = agent.come_back()
    raise AssertionError


class MemoryLines(NamedTuple):
    """MemoryLines of memory files that have an item, by the item's id, each with its file."""

    loaded: Mapping[str, tuple[str, KnownLine]]
    """Lines of files that the client loads by itself."""
    others: Mapping[str, tuple[str, KnownLine]]


class Sorted(NamedTuple):
    """A return, sorted into the entries that its session reads."""

    out: tuple[SessionEntry, ...]
    doubted: tuple[SessionEntry, ...]
    owed: tuple[SessionEntry, ...]
    holds: tuple[SessionEntry, ...]
    new: tuple[SessionEntry, ...]
    unlisted: int
    """How many more no longer hold."""
    unvouched: int
    """Items without a person or a source that vouches for them. They are not handed over."""
    left_out: int
    """Statements that hold, and for which there was no room."""
    unseen: int
    """Statements that may hold, with a source that could not be looked at."""
    standing: tuple[str, ...]
    """Loaded lines that were not found wrong."""
    items: tuple[Item, ...]
    """Items that were handed over."""


class ReturnOfSession:
    """One decided return, and the lines that its client knows."""

    def __init__(
        self, workspace: Workspace, returned: Return, handed: Bundle | RetractionBundle | None, lines: MemoryLines
    ) -> None:
        self._log = desk_of(workspace).log
        self._returned = returned
        self._handed = handed
        self._lines = lines
        self._known = {**lines.others, **lines.loaded}
        self._judged = {one.item: one for one in returned.dispositions}

    def sorted(self, also: Collection[str], *, everything: bool = False) -> Sorted:
        """Sort the outcome. ``also`` names items that the session knows besides; or it may know everything."""
        listed = {one.id: one for one in self._returned.retractions.listed}
        extra = [one for one in self._judged.values() if self._is_told(one, also, everything)]
        extra.sort(key=lambda one: max((cause.epoch or 0 for cause in one.causes), default=0), reverse=True)
        names = dict.fromkeys((*listed, *(one.item for one in extra)))
        entries = {name: self._fallen(name, listed.get(name)) for name in names}
        fell = {name: entry for name, entry in entries.items() if entry is not None}
        items = [item for item in self._items if item.id not in self._lines.loaded]
        vouched = [item for item in items if item.id in self._shown]
        news = {one.id: one.news for one in self._returned.view.items} if self._returned.view is not None else {}
        holds = [item for item in vouched if not isinstance(item, Obligation | Frontier)]
        return Sorted(
            out=tuple(entry for name, entry in fell.items() if self._state(name) in FALLEN),
            doubted=tuple(entry for name, entry in fell.items() if self._state(name) not in FALLEN),
            owed=tuple(self._held(item) for item in vouched if isinstance(item, Obligation | Frontier)),
            holds=tuple(self._held(item) for item in holds if news.get(item.id) != "new"),
            new=tuple(self._held(item) for item in holds if news.get(item.id) == "new"),
            unlisted=self._returned.retractions.more + len(entries) - len(fell),
            unvouched=len(items) - len(vouched),
            left_out=sum(
                one.state is State.NOT_NEEDED and one.item not in self._lines.loaded for one in self._judged.values()
            )
            if self._returned.admitted
            else 0,
            unseen=sum(bool(one.unseen) and one.state not in FALLEN for one in self._judged.values()),
            standing=tuple(name for name in self._lines.loaded if self._state(name) in _STANDS),
            items=tuple(vouched),
        )

    @cached_property
    def _items(self) -> tuple[Item, ...]:
        """The items of the view."""
        return getattr(self._handed, "items", ())

    @cached_property
    def _shown(self) -> dict[str, str]:
        """The texts of the view that may be named, by item."""
        loaded = self._lines.loaded
        return {item.id: item.text for item in self._items if item.id in loaded or self.is_vouched(item)}

    def _state(self, name: str) -> State | None:
        one = self._judged.get(name)
        return None if one is None else one.state

    def _is_told(self, one: Disposition, also: Collection[str], everything: bool) -> bool:  # noqa: FBT001 - of this class alone
        """Whether the session believes something that no longer holds, beyond what the return lists."""
        if one.state not in FALLEN and one.state not in IN_DOUBT:
            return False
        if one.item in self._lines.loaded or one.item in also:
            return True
        return everything and self._log.item(one.item).text not in self._standing_texts

    @cached_property
    def _standing_texts(self) -> frozenset[str]:
        lines = (line.text for name, (_, line) in self._known.items() if self._state(name) in _STANDS)
        return frozenset((*lines, *(item.text for item in self._items)))

    def _fallen(self, name: str, retraction: Retraction | None) -> SessionEntry | None:
        """The entry of an item that no longer holds, with the reason; none if its text must not be named."""
        one = self._judged.get(name)
        texts = {item.id: item.text for item in getattr(self._handed, "withdrawn", ())}
        if name in self._known:
            text: str | None = self._known[name][1].text
        elif retraction is None:
            text = self._log.item(name).text
        else:
            text = texts.get(name)
        if text is None or one is None:
            return None
        where = self._place(name)
        if not where:
            item = self._log.item(name)
            if not self.is_vouched(item):
                return None
            where = self._source(item)
        causes = [cause for cause in one.causes if cause.reason.state is one.state] or list(one.causes)
        instead = self._instead(causes, retraction)
        why = next((cause.note for cause in causes if cause.note), "" if instead else one.state.replace("_", " "))
        return SessionEntry(name, text, where, why, instead)

    def _instead(self, causes: list[Cause], retraction: Retraction | None) -> str:
        """The replacement of a fallen item, if the session reads that, or its client loads it."""
        names = [retraction.instead] if retraction is not None and retraction.instead is not None else []
        names += [cause.ref for cause in causes if cause.reason in _REPLACED]
        for name in names:
            if name in self._shown:
                return self._shown[name]
            if name in self._known and self._state(name) in _STANDS:
                return self._known[name][1].text
        return ""

    def _held(self, item: Item) -> SessionEntry:
        return SessionEntry(item.id, item.text, self._place(item.id) or self._source(item))

    def _place(self, name: str) -> str:
        """The place of a line; empty for an item of another kind."""
        if name not in self._known:
            return ""
        path, line = self._known[name]
        return f"{path.rpartition('/')[2]}:{line.first}"

    def _source(self, item: Item) -> str:
        """The place that a statement comes from, in a few words."""
        for one in self.evidence(item):
            if isinstance(one.probe, FileProbe) and one.probe.first:
                return f"{one.probe.path}:{one.probe.first}"
            return place_of(one.probe) if one.probe is not None else f"{one.by}, {iso_day(one.at)}"
        return item.by

    def evidence(self, item: Item) -> Iterator[Evidence]:
        """The evidence of a statement."""
        for receipt in item.receipts:
            for sighting in self._log.sighting(receipt.evidence).values():
                yield msgspec.json.decode(sighting.body, type=Evidence)

    def is_vouched(self, item: Item) -> bool:
        """Whether a person said or confirmed it, or its source can be looked at again."""
        if isinstance(item, Obligation | Frontier):
            return not _is_session(item.by) or self._is_confirmed(item)
        found = list(self.evidence(item))
        if found and all(
            one.source != "tool_result" and (one.writer == USER or one.probe is not None) for one in found
        ):
            return True
        return self._is_confirmed(item)

    def _is_confirmed(self, item: Item) -> bool:
        marks = self._log.about([item.id], until=self._log.head)
        return any(isinstance(one.payload, Confirm) and not _is_session(one.by) for one in marks)


def _is_session(principal: str) -> bool:
    """Whether a principal is a session of some client."""
    return principal.partition(":")[0] in CLIENTS
