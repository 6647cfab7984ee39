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

from langgraph.cache.base import BaseCache, FullKey, Namespace

from readmit.backends.langgraph.thread_presence import Attendance, Attending
from readmit.backends.langgraph.twins import Steps, step, twins
from readmit.records.error_types import BackendError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit.log.log import Log
    from readmit.records.identity import Identity


class _Entries(NamedTuple):
    """The inner cache, as one agent uses it."""

    inner: BaseCache[Any]
    identity: Identity
    attendance: Attendance
    began: dict[FullKey, str]
    """The tasks that run because they were not cached, and the period each began in."""

    def get(self, keys: Sequence[FullKey]) -> Steps[dict[FullKey, Any]]:
        period = self._period()
        if period is None or not keys:
            return {}
        ours: dict[FullKey, FullKey] = {((period, *space), key): (space, key) for space, key in keys}
        found = yield step("get", tuple(ours))
        for one, key in ours.items():
            if one not in found:
                # The first of several that run at once: none of them stores a result if a departure came between.
                self.began.setdefault(key, period)
        return {ours[one]: value for one, value in found.items()}

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> Steps[None]:
        period = self._period()
        # The results of tasks that began in this period.
        kept = {
            ((period, *space), key): value
            for (space, key), value in pairs.items()
            if self.began.pop((space, key), None) == period and period is not None
        }
        if kept:
            yield step("set", kept)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> Steps[None]:
        """Without namespaces, this empties the inner cache for everybody."""
        period = self._period()
        own = () if period is None else ((period, *space) for space in namespaces or ())
        yield step("clear", None if namespaces is None else list(own))

    def _period(self) -> str | None:
        """The label of the agent's period of work; none while it is away."""
        now = self.attendance.now()
        if now.away:
            return None
        who = self.identity
        named = [who.workspace, who.principal, who.agent, now.period]
        return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:32]


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

    get, aget = twins(_behind, _Entries.get)
    set, aset = twins(_behind, _Entries.set)
    clear, aclear = twins(_behind, _Entries.clear)
