"""A LangGraph checkpoint saver whose resume is a return.

    saver = ReturningSaver(SqliteSaver(connection), agent=planner, log=trip.log, keep=["step"], into="view")
    graph = builder.compile(checkpointer=saver)

While its agent is at work, it passes through to the inner saver. After a departure, the first resume requests a return.
If it is admitted, the thread continues from the state that the view allows; if not, the run stops with an interrupt
that names the unmet needs, and the next run tries again. After a reset, the next run starts the thread empty.
"""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from langgraph.checkpoint.base import BaseCheckpointSaver

from readmit.backends.langgraph.carried_state import Choice
from readmit.backends.langgraph.periods import Periods
from readmit.backends.langgraph.resume import Resume
from readmit.records.error_types import BackendError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple

    from readmit.backends.handle import ReturnedMemory
    from readmit.backends.langgraph.resume import Steps
    from readmit.backends.langgraph.return_ask import Returning
    from readmit.log.log import Log
    from readmit.records.acts.event import Checkpoint as Departure
    from readmit.records.error_types import LostStateError

T = TypeVar("T")

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

    def lacking(self, config: RunnableConfig, missing: KeyError) -> LostStateError | None:
        """The error for a node that failed because a return left a key behind; none if it failed for another reason."""
        return self._drive(_behind[self].lacking(config, missing))

    async def alacking(self, config: RunnableConfig, missing: KeyError) -> LostStateError | None:
        """The asynchronous twin of ``lacking``."""
        return await self._adrive(_behind[self].lacking(config, missing))

    # Reading.

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._drive(_behind[self].resuming(config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._adrive(_behind[self].resuming(config))

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
        for saved in resume.saver.list(config, filter=filter, before=before):
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
        async for saved in resume.saver.alist(config, filter=filter, before=before):
            if count == limit:
                return
            if periods.holds(saved, periods.filed(saved), now):
                count += 1
                yield periods.checked(saved, now)

    # Writing.

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self._drive(_behind[self].putting(config, checkpoint, metadata, new_versions))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self._adrive(_behind[self].putting(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self._drive(_behind[self].filing(config, writes, task_id, task_path))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self._adrive(_behind[self].filing(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        gone = _ids(_behind[self].saver.list(_whole(thread_id)))
        _behind[self].saver.delete_thread(thread_id)
        _behind[self].clear(thread_id, gone, [])

    async def adelete_thread(self, thread_id: str) -> None:
        gone = _ids([one async for one in _behind[self].saver.alist(_whole(thread_id))])
        await _behind[self].saver.adelete_thread(thread_id)
        _behind[self].clear(thread_id, gone, [])

    # What only some savers can do. One that cannot says so itself.

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        resume = _behind[self]
        gone = {one: _ids(resume.saver.list(_whole(one))) for one in thread_ids}
        resume.saver.prune(thread_ids, strategy=strategy)
        for one in thread_ids:
            resume.clear(one, gone[one], resume.saver.list(_whole(one)))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        resume = _behind[self]
        gone = {one: _ids([saved async for saved in resume.saver.alist(_whole(one))]) for one in thread_ids}
        await resume.saver.aprune(thread_ids, strategy=strategy)
        for one in thread_ids:
            resume.clear(one, gone[one], [saved async for saved in resume.saver.alist(_whole(one))])

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        resume = _behind[self]
        of_runs = [one for run in run_ids for one in resume.saver.list(None, filter={"run_id": run})]
        resume.saver.delete_for_runs(run_ids)
        for thread in _threads(of_runs):
            resume.clear(thread, _ids(of_runs), resume.saver.list(_whole(thread)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        resume = _behind[self]
        of_runs = [one for run in run_ids async for one in resume.saver.alist(None, filter={"run_id": run})]
        await resume.saver.adelete_for_runs(run_ids)
        for thread in _threads(of_runs):
            resume.clear(thread, _ids(of_runs), [one async for one in resume.saver.alist(_whole(thread))])

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        _behind[self].periods.copy(source_thread_id, target_thread_id)
        _behind[self].saver.copy_thread(source_thread_id, target_thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        _behind[self].periods.copy(source_thread_id, target_thread_id)
        await _behind[self].saver.acopy_thread(source_thread_id, target_thread_id)

    @property
    def config_specs(self) -> Any:
        return _behind[self].saver.config_specs

    def get_next_version(self, current: Any, channel: None) -> Any:
        return _behind[self].saver.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> ReturningSaver:
        """A saver in front of a clone of the inner one, which may load more types."""
        inner = _behind[self].saver.with_allowlist(extra_allowlist)
        if inner is _behind[self].saver:
            return self
        clone = copy.copy(self)
        clone.serde = inner.serde
        _behind[clone] = _behind[self].over(inner)
        return clone

    # Both interfaces of the inner saver.

    def _drive(self, steps: Steps[T]) -> T:
        saver = _behind[self].saver
        try:
            method, args = next(steps)
            while True:
                method, args = steps.send(getattr(saver, method)(*args) if method else args[0](*args[1:]))
        except StopIteration as end:
            result: T = end.value
            return result

    async def _adrive(self, steps: Steps[T]) -> T:
        saver = _behind[self].saver
        try:
            method, args = next(steps)
            while True:
                # A return may ask a model: not on the event loop.
                answer = getattr(saver, f"a{method}")(*args) if method else asyncio.to_thread(*args)
                method, args = steps.send(await answer)
        except StopIteration as end:
            result: T = end.value
            return result


def _whole(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread}}


def _ids(saved: Iterable[CheckpointTuple]) -> list[str]:
    return [one.checkpoint["id"] for one in saved]


def _threads(saved: Iterable[CheckpointTuple]) -> set[str]:
    return {str(one.config["configurable"]["thread_id"]) for one in saved}


def check_graph(graph: Any) -> None:
    """Refuse a graph that has no place for the view, or a store that is not its agent's.

    Its saver learns the one from the first checkpoint and the other from the first run.
    """
    if isinstance(graph.checkpointer, ReturningSaver):
        _behind[graph.checkpointer].check_graph(graph)
