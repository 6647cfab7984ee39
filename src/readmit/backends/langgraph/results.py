"""A LangGraph cache whose entries do not outlive a departure.

    graph = builder.compile(cache=ReturningCache(InMemoryCache(), agent=planner, log=trip.log), checkpointer=saver)

A cached result was formed from the agent's knowledge then, and has no sources. So an entry belongs to one agent and to
the period of work in which its task began: after a return, tasks run again.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from langgraph.cache.base import BaseCache

from readmit.backends.langgraph.thread_presence import Attendance
from readmit.records.error_types import BackendError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from langgraph.cache.base import FullKey, Namespace

    from readmit.backends.langgraph.thread_presence import Attending
    from readmit.log.log import Log
    from readmit.records.identity import Identity

# A node can reach its graph's cache, so the inner one is not among its attributes.
_behind: WeakKeyDictionary[ReturningCache, _Entries] = WeakKeyDictionary()


class ReturningCache(BaseCache[Any]):
    """A cache in front of another one, for the graphs of one agent."""

    def __init__(self, cache: BaseCache[Any], *, agent: Attending, log: Log) -> None:
        """``log`` is the workspace's. Graphs of other agents may use the same inner cache."""
        inner: object = cache
        if not isinstance(inner, BaseCache) or isinstance(inner, ReturningCache):
            raise BackendError(f"cache: {type(cache).__name__} is not a cache to stand in front of")
        super().__init__(serde=cache.serde)
        _behind[self] = _Entries(cache, agent.identity, Attendance(log, agent), {})

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        entries = _behind[self]
        ours = entries.asked(keys)
        return entries.missed(ours, entries.cache.get(tuple(ours)) if ours else {})

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        entries = _behind[self]
        ours = entries.asked(keys)
        return entries.missed(ours, await entries.cache.aget(tuple(ours)) if ours else {})

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        if kept := _behind[self].formed_now(pairs):
            _behind[self].cache.set(kept)

    async def aset(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        if kept := _behind[self].formed_now(pairs):
            await _behind[self].cache.aset(kept)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Without namespaces, this empties the inner cache for everybody."""
        _behind[self].cache.clear(_behind[self].named(namespaces))

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """The asynchronous twin of ``clear``."""
        await _behind[self].cache.aclear(_behind[self].named(namespaces))


class _Entries(NamedTuple):
    cache: BaseCache[Any]
    identity: Identity
    attendance: Attendance
    began: dict[FullKey, str]
    """The tasks that run because they were not cached, and the period each began in."""

    def period(self) -> str | None:
        """The label of the agent's period of work; none while it is away."""
        now = self.attendance.now()
        if not (now.back or now.reset):
            return None
        who = self.identity
        named = [who.workspace, who.principal, who.agent, now.period]
        return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:32]

    def asked(self, keys: Sequence[FullKey]) -> dict[FullKey, FullKey]:
        """The inner cache's keys for ours."""
        period = self.period()
        return {} if period is None else {((period, *space), key): (space, key) for space, key in keys}

    def missed(self, ours: Mapping[FullKey, FullKey], found: Mapping[FullKey, Any]) -> dict[FullKey, Any]:
        for inner, key in ours.items():
            if inner not in found:
                # The first of several that run at once: none of them stores a result if a departure came between.
                self.began.setdefault(key, inner[0][0])
        return {ours[inner]: value for inner, value in found.items()}

    def formed_now(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> dict[FullKey, tuple[Any, int | None]]:
        """The results of tasks that began in this period, by the inner cache's keys."""
        period = self.period()
        return {
            ((period, *space), key): value
            for (space, key), value in pairs.items()
            if self.began.pop((space, key), None) == period and period is not None
        }

    def named(self, namespaces: Sequence[Namespace] | None) -> list[Namespace] | None:
        period = self.period()
        if namespaces is None:
            return None
        return [] if period is None else [(period, *space) for space in namespaces]
