"""Stores to compile a LangGraph graph with: one for an agent at work, one for an agent that came back.

    with sources(h0):                                  # the sources of the next puts
        store.put(("trip",), "hotel", {"name": "Sunrise"})

``TeamStore`` reads every record and binds its puts, until its agent departs; from then on it is closed, or, if
``returned`` gives the handle of a return, a ``ReturnedStore``. That one reads through the view in ``get``, ``search``
and ``list_namespaces`` alike.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from readmit.backends import handle as handles
from readmit.backends.admission import unaltered
from readmit.backends.bank_lock import lock_name, pauses
from readmit.backends.bound_writes import BoundBackend, bindings, conservative, union
from readmit.backends.langgraph.graph_places import GraphPlace, record_id
from readmit.backends.langgraph.records import FoundRecord, LangGraphMemory, as_record, merged
from readmit.backends.langgraph.thread_presence import NEVER_LEFT, Attendance, Attending
from readmit.backends.langgraph.twins import PAUSE, Steps, adrive, drive, step
from readmit.log.ledger import TEAM, Binding, SourceLedger
from readmit.records.error_types import BackendError, NotAllowedError, QuarantineError, RecordError
from readmit.records.policy import unreserved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from readmit.backends.handle import OpenedMemory, ReturnedMemory
    from readmit.backends.port import Stored
    from readmit.log.log import Log
    from readmit.records.identity import Identity

_EVERY = 1_000_000
_named: ContextVar[tuple[Binding, ...]] = ContextVar("readmit_sources", default=())


@contextmanager
def sources(*items: str, evidence: Sequence[str] = ()) -> Iterator[None]:
    """Set the sources of every put inside this block: ids of items, digests of evidence."""
    token = _named.set(bindings(items, evidence))
    try:
        yield
    finally:
        _named.reset(token)


class TeamStore(BaseStore):
    """A LangGraph store as one agent at work uses it. It sees the team's records and its own.

    A value that is put outside a ``sources`` block is kept without a source, so no view admits it.
    """

    def __init__(
        self,
        memory: LangGraphMemory,
        *,
        log: Log,
        agent: Attending,
        private: bool = False,
        returned: Callable[[], ReturnedMemory] | None = None,
    ) -> None:
        """``log`` is the workspace's; ``private`` puts into the agent's own bank instead of the team's.

        ``returned`` gives the handle once the agent has come back, as ``ReturningSaver.memory`` does: then one graph
        serves before the departure and after the return.
        """
        identity = agent.identity
        unreserved("agent.identity.principal", identity.principal)
        if memory.workspace != identity.workspace:
            raise BackendError(f"{memory.name} serves workspace {memory.workspace!r}, not {identity.workspace!r}")
        self.supports_ttl, self.ttl_config = memory.store.supports_ttl, memory.store.ttl_config
        owner = identity.principal if private else TEAM
        _works[self] = _Work(memory, log, agent, owner, returned)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        reach = _works[self].reach()
        return [drive(reach.memory.store, one) for one in reach.jobs(ops)]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        reach = _works[self].reach()
        return [await adrive(reach.memory.store, one) for one in reach.jobs(ops)]


def _locked(ledger: SourceLedger, memory: LangGraphMemory, place: GraphPlace, steps: Steps[None]) -> Steps[None]:
    """Steps that are the only ones at a key meanwhile: a value and its sources change together."""
    bank = lock_name(memory.name, record_id(place))
    for pause in pauses(ledger, bank):
        yield step(PAUSE, pause)
    try:
        yield from steps
    finally:
        ledger.free(bank)


class _Scope(NamedTuple):
    """Whose records an operation may read, which of them, and the owner of those that it writes."""

    owners: tuple[str, ...]
    """The first one's value takes precedence over another's of the same name."""
    writes_to: str
    keep: Callable[[Stored], bool]


class _Reach(ABC):
    """The part of a LangGraph store that one agent reaches."""

    def __init__(self, memory: LangGraphMemory, ledger: SourceLedger) -> None:
        self.memory = memory
        self.ledger = ledger

    def jobs(self, ops: Iterable[Op]) -> Iterator[Steps[Any]]:
        """The steps of each operation."""
        for op in ops:
            scope = self.scope()
            if isinstance(op, PutOp):
                place = GraphPlace(scope.writes_to, op.namespace, op.key)
                yield _locked(self.ledger, self.memory, place, self.put(op, place))
            elif isinstance(op, GetOp):
                yield _get(self.memory, scope, op)
            elif isinstance(op, SearchOp):
                yield _search(self.memory, scope, op)
            else:
                yield _namespaces(self.places(scope), op)

    @abstractmethod
    def scope(self) -> _Scope:
        """The scope of one operation, now."""

    @abstractmethod
    def places(self, scope: _Scope) -> Steps[list[GraphPlace]]:
        """The places of the readable records."""

    @abstractmethod
    def put(self, op: PutOp, place: GraphPlace) -> Steps[None]:
        """Write or delete a value and its sources, alone at its key."""


class _Work(_Reach):
    """The internals of a ``TeamStore``, not among its attributes because its agent may depart and keep it."""

    def __init__(
        self,
        memory: LangGraphMemory,
        log: Log,
        agent: Attending,
        owner: str,
        returned: Callable[[], ReturnedMemory] | None,
    ) -> None:
        super().__init__(memory, log.sources)
        self.identity = agent.identity
        self._attendance = Attendance(log, agent)
        self._returned = returned
        self._scope = _Scope((TEAM, agent.identity.principal), owner, lambda _: True)

    def reach(self) -> _Reach:
        """The whole store for an agent that never left, and else the part that its view admits."""
        now = self._attendance.now()
        if now == NEVER_LEFT:
            return self
        if self._returned is None or not now.back:
            raise QuarantineError(
                f"{self.identity.principal!r} has departed: let it come back and use the ReturnedStore of its return"
            )
        return _Readmitted(self._returned(), team=self._scope.writes_to == TEAM)

    def scope(self) -> _Scope:
        return self._scope

    def places(self, scope: _Scope) -> Steps[list[GraphPlace]]:
        prefixes = [self.memory.below(owner, ()) or () for owner in scope.owners]
        found = yield step(
            "batch",
            [
                ListNamespacesOp((MatchCondition("prefix", prefix),), None, limit=_EVERY, offset=0)
                for prefix in prefixes
            ],
        )
        places = (self.memory.place(tuple(namespace), "") for part in found for namespace in part or ())
        return [one for one in places if one is not None and one.owner in scope.owners]

    def put(self, op: PutOp, place: GraphPlace) -> Steps[None]:
        if self._attendance.now() != NEVER_LEFT:
            raise QuarantineError(f"{self.identity.principal!r} departed while it waited for another writer")
        bound = BoundBackend(self.memory, self.ledger)
        named = _named.get()
        if named:
            bound.check(named)
        record = yield from self.memory.putting(place, op.value, index=op.index, ttl=op.ttl)
        if op.value is None or not named:
            self.ledger.write(self.memory.name, (), drop=(record.id,))
        else:
            bound.bind([(record, named)], by=self.identity.principal)


_works: WeakKeyDictionary[TeamStore, _Work] = WeakKeyDictionary()


class ReturnedStore(BaseStore):
    """A LangGraph store through the view of one return.

    What the agent puts goes to its private bank, so it can neither overwrite nor discover what is withheld from it;
    with ``team=True`` it goes to the team, under keys that no other principal has written. A put draws on the items
    named by ``sources``, or, without that, on everything in the view.
    """

    def __init__(self, memory: ReturnedMemory, *, team: bool = False) -> None:
        """``memory`` is the handle from ``Memory.returned`` for an exposed bundle."""
        self._memory = memory
        self._shared = team
        store = _Readmitted(memory, team=team).memory.store
        self.supports_ttl, self.ttl_config = store.supports_ttl, store.ttl_config

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        reach = _Readmitted(self._memory, team=self._shared)
        return [drive(reach.memory.store, one) for one in reach.jobs(ops)]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        reach = _Readmitted(self._memory, team=self._shared)
        return [await adrive(reach.memory.store, one) for one in reach.jobs(ops)]


class _Readmitted(_Reach):
    """The records that a view admits."""

    def __init__(self, memory: ReturnedMemory, *, team: bool) -> None:
        self._gate = gate = handles._gates[memory]  # noqa: SLF001 - the handle's own package: nothing else may look behind it
        if not isinstance(backend := gate.bound.backend, LangGraphMemory):
            raise BackendError(f"{backend.name} is not a LangGraph store; open it with LangGraphMemory")
        super().__init__(backend, gate.bound.ledger)
        self._shared = team

    def scope(self) -> _Scope:
        opened = self._gate.opened()
        reader = opened.ground.reader

        def inside(record: Stored) -> bool:
            entry = opened.entries.get(record.id)
            return entry is not None and unaltered(entry, record.text)

        return _Scope((reader, TEAM), TEAM if self._shared else reader, inside)

    def places(self, scope: _Scope) -> Steps[list[GraphPlace]]:
        # The ledger does not know which records have expired.
        found: list[GraphPlace] = []
        for owner in scope.owners:
            found += yield from self.memory.listing(owner, scope.keep)
        return found

    def put(self, op: PutOp, place: GraphPlace) -> Steps[None]:
        # Judged again: the agent may have departed, or an item fallen, while it waited for another writer.
        opened = self._gate.opened()
        memory, reader, record = self.memory, opened.ground.reader, record_id(place)
        (held,) = yield step("batch", [GetOp(memory.native(place), place.key, refresh_ttl=False)])
        # The entry of a value that expired, or was deleted natively, says nothing about a new one.
        former = None if held is None else self.ledger.entry(memory.name, record)
        if held is not None and (self._shared if former is None else former.by != reader):
            raise _taken(op)
        if op.value is None:
            if former is not None:
                yield from memory.putting(place, None)
                self.ledger.write(memory.name, (), drop=(record,))
            elif record_id(GraphPlace(TEAM, op.namespace, op.key)) in opened.entries:
                raise _taken(op)
            return
        drawn, bound = _drawn(opened), self._gate.bound
        if former is None:
            # Filed first: if the put times out after the store has written it, the key is this agent's to put again.
            bound.bind([(as_record(place, op.value), drawn)], by=reader)
        written = yield from memory.putting(place, op.value, index=op.index, ttl=op.ttl)
        if former is not None:
            # The new value may still reveal the sources of the former one.
            bound.bind([(written, union(former.bindings, drawn))], by=reader)


def refuse_unwrapped(store: object, identity: Identity) -> None:
    """Refuse a store that could hand an agent records outside its view: an unwrapped one, or another agent's."""
    if isinstance(store, TeamStore):
        owner = _works[store].identity
        if owner.agent != identity.agent:
            raise BackendError(
                f"store: it is that of {owner.principal!r} on {owner.task!r}; give {identity.principal!r} its own "
                "TeamStore(…)"
            )
    elif store is not None and not isinstance(store, ReturnedStore):
        raise BackendError(
            f"store: a {type(store).__name__} hands back what was put before a departure; compile the graph with "
            "store=TeamStore(…), or with what for_langgraph gives"
        )


def _drawn(opened: OpenedMemory) -> tuple[Binding, ...]:
    named, admitted = _named.get(), opened.ground.admitted
    outside = [one.ref for one in named if one.of != "item" or one.ref not in admitted]
    if outside or not admitted:
        raise RecordError(f"sources: name items of the view that the value comes from; not in it: {outside}")
    return named or tuple(map(conservative, bindings(sorted(admitted))))


def _taken(op: PutOp) -> NotAllowedError:
    return NotAllowedError(f"key: {op.key!r} in {op.namespace!r} is not this agent's to change; choose another key")


def _get(memory: LangGraphMemory, scope: _Scope, op: GetOp) -> Steps[Item | None]:
    for owner in scope.owners:
        place = GraphPlace(owner, op.namespace, op.key)
        if not memory.holds(place):
            continue
        (item,) = yield step("batch", [GetOp(memory.native(place), op.key, refresh_ttl=False)])
        record = None if item is None else memory.stored(item)
        if record is not None and scope.keep(record):
            yield from _refresh(memory, op, [item])
            shown: Item = _shown(memory, item)
            return shown
    return None


def _search(memory: LangGraphMemory, scope: _Scope, op: SearchOp) -> Steps[list[SearchItem]]:
    found: list[FoundRecord] = []
    for owner in scope.owners:
        found += yield from memory.searching(owner, op, scope.keep)
    handed = [one.item for one in merged(found)[op.offset : op.offset + op.limit]]
    yield from _refresh(memory, op, handed)
    return [_shown(memory, one) for one in handed]


def _refresh(memory: LangGraphMemory, op: GetOp | SearchOp, handed: list[Any]) -> Steps[None]:
    """Refresh the time to live of handed-over values only. A withheld value expires although it was read."""
    if op.refresh_ttl and memory.store.supports_ttl and handed:
        yield step("batch", [GetOp(tuple(one.namespace), one.key, refresh_ttl=True) for one in handed])


def _shown(memory: LangGraphMemory, item: Any) -> Any:
    """An item under its users' name, as a copy: an in-memory store returns its own objects."""
    place = memory.place(tuple(item.namespace), item.key)
    shown = copy.deepcopy(item)
    shown.namespace = () if place is None else place.namespace
    return shown


def _namespaces(finding: Steps[list[GraphPlace]], op: Op) -> Steps[list[tuple[str, ...]]]:
    """Match, truncate and page namespaces with LangGraph's own code."""
    if not isinstance(op, ListNamespacesOp):
        raise BackendError(f"{type(op).__name__} is an operation that this version of readmit does not know")
    places = yield from finding
    listing = InMemoryStore()
    listing.batch([PutOp(one.namespace, "", {}) for one in places])
    (found,) = listing.batch([op])
    return found  # type: ignore[return-value]  # what a listing answers
