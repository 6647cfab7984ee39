"""A returned agent's access to a memory store: search, listing and writing, all through its view.

The store itself is not reachable through the handle's attributes. That keeps an agent's tools from bypassing the view
by accident or by a clever prompt. It is not a sandbox: code in the same process can always read its memory, so an agent
that runs its own code belongs behind a server.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn
from weakref import WeakKeyDictionary

import msgspec

from readmit.backends.admission import Ground, admissible, unaltered
from readmit.backends.bound_writes import BoundBackend, bindings, union
from readmit.backends.port import Hit, Narrowing
from readmit.log.ledger import TEAM, Binding, Entry
from readmit.records.error_types import NotAllowedError, RecordError, UnknownError

MOST = 1_000
"""Most records that one search hands over."""


class OpenedMemory(msgspec.Struct, frozen=True):
    """The records that a view admits, at one state of the ledger and of the view's items."""

    ground: Ground
    entries: Mapping[str, Entry]
    """Ledger entries of the admitted records."""
    known: int
    """How many records the ledger knows of."""


class Gate:
    """Filters one memory store for one returned agent. Held by the module, never by the handle."""

    def __init__(self, bound: BoundBackend, ground: Callable[[], Ground], note: Callable[[OpenedMemory], None]) -> None:
        """``ground`` returns the view's items that stand now, or raises; ``note`` writes admissions to the audit."""
        self.bound = BoundBackend(bound.backend, bound.ledger, may_write=ground)
        self._ground = ground
        self._note = note
        self._lock = threading.Lock()
        self._judged: tuple[int, int, OpenedMemory, Ground] | None = None

    def opened(self) -> OpenedMemory:
        """The records that may be read now, judged again whenever the ledger or the standing items change."""
        ledger, name = self.bound.ledger, self.bound.backend.name
        with self._lock:
            ground, version = self._ground(), ledger.version(name)
            if self._judged is not None and self._judged[:2] == (id(ground), version):
                return self._judged[2]
            entries = ledger.entries(name)
            carried = msgspec.structs.replace(ground, carriers=ledger.carriers(name))
            inside = {record: entry for record, entry in entries.items() if admissible(entry, carried)}
            opened = OpenedMemory(carried, inside, len(entries))
            self._note(opened)
            # Keeping the object prevents its id() from being reused.
            self._judged = id(ground), version, opened, ground
            return opened

    def search(self, query: str, limit: int) -> tuple[Hit, ...]:
        """The store's own ranking without the records that are out."""
        opened = self.opened()
        if not opened.entries:
            return ()
        return filtered_search(
            self.bound, opened.entries, query, limit=limit, reader=opened.ground.reader, of=opened.known
        )


def filtered_search(
    bound: BoundBackend, inside: Mapping[str, Entry], query: str, *, limit: int, reader: str, of: int
) -> tuple[Hit, ...]:
    """Search, drop rejected records, and search again with a higher limit if too few are left."""
    backend = bound.backend
    wanted = limit + 4
    if not (isinstance(backend, Narrowing) and backend.narrows(len(inside))):
        # Enough if rejected records are spread evenly, plus a margin: a second round costs a whole search.
        wanted = -(-(wanted + 2 * math.isqrt(limit)) * max(of, len(inside)) // len(inside))
    while True:
        found = backend.search(query, limit=wanted, reader=reader, among=inside.keys())
        hits = [
            Hit(id=hit.id, text=hit.text, score=hit.score, bindings=entry.bindings)
            for hit in found
            if (entry := inside.get(hit.id)) is not None and unaltered(entry, hit.text)
        ]
        if len(hits) >= limit or len(found) < wanted:
            return tuple(hits[:limit])
        wanted *= 4


_gates: WeakKeyDictionary[ReturnedMemory, Gate] = WeakKeyDictionary()


class ReturnedMemory:
    """A memory store as one returned agent may use it: the team's records and its own private bank, through its view.

    The set admitted at exposure only shrinks: a record is withheld as soon as one of its items falls. To see more,
    return again.
    """

    __slots__ = ("__weakref__",)

    def __init__(self, gate: Gate) -> None:
        _gates[self] = gate

    def search(self, query: str, *, limit: int = 10) -> tuple[Hit, ...]:
        """The nearest records, in the store's own order, with its own scores."""
        if not 1 <= limit <= MOST:
            raise RecordError(f"limit: {limit} must be between 1 and {MOST}")
        return _gates[self].search(query, limit)

    def records(self) -> tuple[Hit, ...]:
        """Every record that the view admits, unranked."""
        gate = _gates[self]
        inside = gate.opened().entries
        return tuple(
            Hit(id=record.id, text=record.text, score=0.0, bindings=entry.bindings)
            for record in gate.bound.backend.records()
            if (entry := inside.get(record.id)) is not None and unaltered(entry, record.text)
        )

    def context(self, query: str = "", *, limit: int = 40, max_chars: int = 4_000) -> str:
        """Whole records as lines for a prompt: the nearest to a query, or all that the view admits.

        Use it instead of a store's own context, which may still list replaced records.
        """
        lines: list[str] = []
        room = max_chars
        for hit in self.search(query, limit=limit) if query else self.records()[:limit]:
            line = "- " + " ".join(hit.text.split())
            room -= len(line) + 1
            if room < 0:
                break
            lines.append(line)
        return "\n".join(lines)

    def remember(
        self, text: str, *, sources: Sequence[str], team: bool = False, verbatim: bool = True
    ) -> tuple[str, ...]:
        """Store a text that comes from these items of the view, in the private bank or for the team."""
        gate = _gates[self]
        ground = gate.opened().ground
        owner = TEAM if team else ground.reader
        return gate.bound.form(text, _within(sources, ground), by=ground.reader, owner=owner, verbatim=verbatim)

    def revise(self, record: str, text: str, *, sources: Sequence[str] = ()) -> tuple[str, ...]:
        """Change one of the agent's own records. It keeps its former sources: the new text may still reveal them."""
        gate = _gates[self]
        entry = self._own(gate, record)
        named = _within(sources, gate.opened().ground) if sources else ()
        kept: tuple[Binding, ...] = union(entry.bindings, named)
        return gate.bound.update(record, text, kept, by=entry.by)

    def forget(self, record: str) -> None:
        """Delete one of the agent's own records."""
        gate = _gates[self]
        self._own(gate, record)
        gate.bound.delete(record)

    def _own(self, gate: Gate, record: str) -> Entry:
        opened = gate.opened()
        entry = opened.entries.get(record)
        if entry is None:
            # One message for missing and withheld records, so that the agent cannot distinguish them.
            raise UnknownError(f"record {record!r} is not among those that this view admits; search for those that are")
        if entry.by != opened.ground.reader:
            raise NotAllowedError(f"record {record!r} was written by someone else; record a correction instead")
        return entry

    def __reduce__(self) -> NoReturn:
        raise TypeError("a returned agent's memory cannot be copied or sent elsewhere; return again there")


def _within(sources: Sequence[str], ground: Ground) -> tuple[Binding, ...]:
    outside = [one for one in sources if one not in ground.admitted]
    if outside or not sources:
        raise RecordError(f"sources: name items of the view that the text comes from; not in it: {outside}")
    return bindings(items=sources)
