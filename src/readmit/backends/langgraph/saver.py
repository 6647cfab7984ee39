"""A LangGraph checkpoint saver whose resume is a return.

    saver = ReturningSaver(SqliteSaver(connection), agent=planner, log=trip.log, keep=["step"], into="view")
    graph = builder.compile(checkpointer=saver)

While its agent is at work, it passes through to the inner saver. After a departure, the first resume requests a return.
If it is admitted, the thread continues from the state that the view allows; if not, the run stops with an interrupt
that names the unmet needs, and the next run tries again. After a reset, the next run starts the thread empty.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from readmit.backends.langgraph.carried_state import Choice
from readmit.backends.langgraph.periods import Periods
from readmit.backends.langgraph.resume import Resume
from readmit.backends.langgraph.twins import twins
from readmit.records.error_types import BackendError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterator

    from langchain_core.runnables import RunnableConfig

    from readmit.backends.handle import ReturnedMemory
    from readmit.backends.langgraph.thread_presence import Returning
    from readmit.log.log import Log
    from readmit.records.acts.event import Checkpoint as Departure

# A node can reach its graph's saver, so the inner saver is not among its attributes.
_behind: WeakKeyDictionary[ReturningSaver, Resume] = WeakKeyDictionary()


class ReturningSaver(BaseCheckpointSaver[Any]):
    """A checkpoint saver in front of another one, for the threads of one agent."""

    def __init__(
        self,
        saver: BaseCheckpointSaver[Any],
        *,
        agent: Returning,
        log: Log,
        keep: Collection[str] = (),
        into: str | None = None,
        sources: Callable[[str, Any], Collection[str]] | None = None,
        purpose: str | None = None,
        prepare: Callable[[Departure, str], object] | None = None,
    ) -> None:
        """``keep`` names state keys that hold no memory, as counters and flags; ``into`` the one that gets the view.

        ``sources`` returns, for any other key and its value, the items the value was formed from: it comes back if
        there are any and the view holds them all. ``log`` is the workspace's; ``prepare`` is ``come_back``'s.
        """
        inner: object = saver
        if not isinstance(inner, BaseCheckpointSaver) or isinstance(inner, ReturningSaver):
            raise BackendError(f"saver: {type(saver).__name__} is not a checkpoint saver to stand in front of")
        if isinstance(keep, str):
            raise BackendError(f"keep: write [{keep!r}], a list of state keys")
        if sources is not None and not callable(sources):
            raise BackendError(
                f"sources: a {type(sources).__name__} says nothing of values; give a function that takes a state key "
                "and its value and returns the ids of the items it was formed from, such as "
                "lambda key, value: ['h0'] if key == 'plan' else []"
            )
        super().__init__(serde=saver.serde)
        _behind[self] = Resume(
            saver,
            Periods(log, agent.identity, saver.serde),
            agent=agent,
            log=log,
            choice=Choice(frozenset(keep), into, sources),
            purpose=purpose,
            prepare=prepare,
        )

    def memory(self, open_with: Callable[[Any], ReturnedMemory]) -> Callable[[], ReturnedMemory]:
        """The memory handle of the agent's last exposure, in any process. ``open_with`` is ``Memory.returned``."""
        opened: dict[str, ReturnedMemory] = {}

        def current() -> ReturnedMemory:
            resume = _behind[self]
            named = resume.returned()
            if named not in opened:
                handle = open_with(resume.view(named))
                opened.clear()
                opened[named] = handle
            return opened[named]

        return current

    lacking, alacking = twins(_behind, Resume.lacking)

    # Reading.

    get_tuple, aget_tuple = twins(_behind, Resume.get_tuple)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name for it
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints of the current period only."""
        resume, count = _behind[self], 0
        now, periods = resume.attendance.now(), resume.periods
        for saved in resume.inner.list(config, filter=filter, before=before):
            if count == limit:
                return
            if periods.holds(saved, periods.filed(saved), now):
                count += 1
                yield periods.checked(saved, now)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name for it
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Checkpoints of the current period only."""
        resume, count = _behind[self], 0
        now, periods = resume.attendance.now(), resume.periods
        async for saved in resume.inner.alist(config, filter=filter, before=before):
            if count == limit:
                return
            if periods.holds(saved, periods.filed(saved), now):
                count += 1
                yield periods.checked(saved, now)

    # Writing.

    put, aput = twins(_behind, Resume.put)
    put_writes, aput_writes = twins(_behind, Resume.put_writes)
    delete_thread, adelete_thread = twins(_behind, Resume.delete_thread)

    # Methods that only some savers have. One without them says so itself.

    prune, aprune = twins(_behind, Resume.prune)
    delete_for_runs, adelete_for_runs = twins(_behind, Resume.delete_for_runs)
    copy_thread, acopy_thread = twins(_behind, Resume.copy_thread)

    @property
    def config_specs(self) -> Any:
        return _behind[self].inner.config_specs

    def get_next_version(self, current: Any, channel: None) -> Any:
        return _behind[self].inner.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> ReturningSaver:
        """A saver in front of a clone of the inner one, which may load more types."""
        inner = _behind[self].inner.with_allowlist(extra_allowlist)
        if inner is _behind[self].inner:
            return self
        clone = copy.copy(self)
        clone.serde = inner.serde
        _behind[clone] = _behind[self].over(inner)
        return clone


def check_graph(graph: Any) -> None:
    """Refuse a graph that has no place for the view, or a store that is not its agent's.

    Its saver learns the one from the first checkpoint and the other from the first run.
    """
    if isinstance(graph.checkpointer, ReturningSaver):
        _behind[graph.checkpointer].check_graph(graph)
