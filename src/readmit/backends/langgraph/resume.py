"""Resumes a LangGraph thread by a return: steps for both interfaces of a checkpoint saver.

State from before a departure is a native record without sources, so none of it is returned unchanged. The result is a
new checkpoint without a parent: the graph's position, the state keys that were declared to hold no memory, those whose
sources are all in the view, and the view itself.
"""

from __future__ import annotations

import copy
import random
import threading
import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from readmit.backends.langgraph.carried_state import (
    BEFORE_INPUT,
    INTERRUPT,
    Deltas,
    ThreadResumed,
    history,
    left_behind,
    lost,
    new_checkpoint,
    seen_version,
    uses_history,
)
from readmit.backends.langgraph.digest import short_digest
from readmit.backends.langgraph.graph_stores import refuse_unwrapped
from readmit.backends.langgraph.human_answers import guarded, nothing_asked
from readmit.backends.langgraph.periods import SEAL, Filed, at, checkpoint_id, is_sealed
from readmit.backends.langgraph.run_or_look import is_run, notice, past_notice, refuse_on_notice, run_store
from readmit.backends.langgraph.thread_presence import NEVER_LEFT, Attendance, ReturnInterrupt, handed_over
from readmit.backends.langgraph.twins import APART, step
from readmit.records.canonical import canonical
from readmit.records.error_types import BackendError, ExposureError, LostStateError, QuarantineError
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
    )

    from readmit.backends.langgraph.carried_state import Choice
    from readmit.backends.langgraph.periods import Periods
    from readmit.backends.langgraph.thread_presence import Bundled, Presence, Returning
    from readmit.backends.langgraph.twins import Steps
    from readmit.log.log import Log
    from readmit.records.acts.event import Checkpoint as Departure
    from readmit.records.decisions import ReturnView

# The version of the checkpoint format that LangGraph writes for an empty thread.
_FORMAT = 4
_ERROR = "__error__"
_LEFT = "readmit_left"
_ATTEMPTS = 8
_PAUSE = 0.02


class Resume:
    """Resumes the threads of one agent."""

    def __init__(
        self,
        saver: BaseCheckpointSaver[Any],
        periods: Periods,
        *,
        agent: Returning,
        log: Log,
        choice: Choice,
        purpose: str | None,
        prepare: Callable[[Departure, str], object] | None,
    ) -> None:
        self.inner = saver
        self.periods = periods
        self.attendance = Attendance(log, agent)
        self._agent = agent
        self._log = log
        self._choice = choice
        self._into = choice.into
        self._purpose = purpose
        self._prepare = prepare
        self._lock = threading.Lock()
        # Shared with clones: the bundle by departure, and the end of the log then.
        self._given: dict[str, tuple[int, Bundled]] = {}

    def over(self, saver: BaseCheckpointSaver[Any]) -> Resume:
        """A resumption over another clone of the inner saver. It shares the handed-over bundles."""
        clone = copy.copy(self)
        clone.inner = saver
        clone.periods = self.periods.reading_with(saver.serde)
        return clone

    def returned(self) -> str:
        """The return that the agent came back with last, here or in another process."""
        exposed = self.attendance.now().exposed
        if not exposed:
            raise QuarantineError(f"{self._agent.identity.principal!r} has not come back: resume its thread first")
        return exposed

    def view(self, return_id: str) -> ReturnView:
        """The view of a return that was exposed."""
        return handed_over(self._log, return_id)

    def get_tuple(self, config: RunnableConfig) -> Steps[CheckpointTuple | None]:
        """The part of a thread's state that the agent may have now."""
        config, runs = past_notice(config), is_run(config)
        if runs:
            refuse_unwrapped(run_store(config), self._agent.identity)
        saved: CheckpointTuple | None = yield step("get_tuple", config)
        now = self.attendance.now()
        if now == NEVER_LEFT:
            return saved
        filed = self.periods.filed(saved)
        if saved is not None and filed is not None and self.periods.holds(saved, filed, now):
            checked = self.periods.checked(saved, now)
            if not runs or checkpoint_id(config) or not self._may_mend(filed, checked):
                return guarded(checked, filed, config) if runs else checked
        elif saved is not None and checkpoint_id(config):
            raise QuarantineError(
                "checkpoint_id: it names state from before the agent's last departure, or that was changed since it "
                "was written; resume the thread without it"
            )
        if now.reset:
            return nothing_asked(saved) if saved is not None and runs else None
        if not runs:
            return None if saved is None else notice(saved, self._agent.identity)
        if saved is None and now.back and (self._into is None or config["configurable"].get("checkpoint_ns")):
            return None
        bundle = yield step(APART, self._come_back, now)
        return (yield from self._readmitting(config, (yield from self._before_a_loss(saved)), bundle))

    def _may_mend(self, filed: Filed, saved: CheckpointTuple) -> bool:
        """Whether state that a return could not carry over may be carried now, by another saver or a later view.

        A thread that has asked since then waits for that answer.
        """
        asked = any(channel == INTERRUPT for _, channel, _ in saved.pending_writes or [])
        named_now = self._choice.sources is not None or not self._choice.keep.isdisjoint(filed.behind)
        return bool(filed.loss.keys) or bool(filed.original and named_now and not asked)

    def _before_a_loss(self, saved: CheckpointTuple | None) -> Steps[CheckpointTuple | None]:
        """The state that an earlier return could not carry over."""
        filed = self.periods.filed(saved)
        if saved is None or filed is None or not filed.original or not self._may_mend(filed, saved):
            return saved
        whole: CheckpointTuple | None = yield step("get_tuple", at(saved.config, filed.original))
        return whole or saved

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Steps[RunnableConfig]:
        """Write a checkpoint, and seal that it was written now."""
        refuse_on_notice(config, self._agent.identity)
        now = self.attendance.now()
        if not config["configurable"].get("checkpoint_ns"):
            # A run may go on while its agent departs. Nothing else is written then.
            if now.away and metadata.get("source") != "loop":
                raise QuarantineError(f"{self._agent.identity.principal!r} is away: run the thread, then update it")
            if now.back and self._into in checkpoint["channel_versions"].keys() - checkpoint["channel_values"].keys():
                self.check_keys(())
        # Which threads there were before a reset is not known.
        before = Filed(from_before=now.reset)
        if is_sealed(now) and checkpoint_id(config):
            before = (yield from self._parent(config, now)).heir
        return (yield from self._writing(config, checkpoint, metadata, new_versions, now=now, before=before))

    def _parent(self, config: RunnableConfig, now: Presence) -> Steps[Filed]:
        filed = self.periods.filed_before(config, now)
        if filed is None:
            filed = self.periods.filed((yield step("get_tuple", config)))
        if filed is None or filed.period != now.period:
            raise QuarantineError(
                "this run began before its agent's last departure, so its state is not written; run the thread again"
            )
        return filed

    def delete_thread(self, thread_id: str) -> Steps[None]:
        gone = yield from self._checkpoints(thread_id)
        yield step("delete_thread", thread_id)
        self._clear(thread_id, gone, [])

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> Steps[None]:
        gone: dict[str, list[CheckpointTuple]] = {}
        for one in thread_ids:
            gone[one] = yield from self._checkpoints(one)
        yield step("prune", thread_ids, strategy=strategy)
        for one in thread_ids:
            self._clear(one, gone[one], (yield from self._checkpoints(one)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> Steps[None]:
        gone: list[CheckpointTuple] = []
        for run in run_ids:
            gone += yield step("list", None, filter={"run_id": run})
        yield step("delete_for_runs", run_ids)
        for thread in {str(one.config["configurable"]["thread_id"]) for one in gone}:
            self._clear(thread, gone, (yield from self._checkpoints(thread)))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> Steps[None]:
        self.periods.copy(source_thread_id, target_thread_id)
        yield step("copy_thread", source_thread_id, target_thread_id)

    def _checkpoints(self, thread: str) -> Steps[list[CheckpointTuple]]:
        found: list[CheckpointTuple] = yield step("list", {"configurable": {"thread_id": thread}})
        return found

    def _clear(self, thread: str, gone: Iterable[CheckpointTuple], left: Iterable[CheckpointTuple]) -> None:
        self.periods.clear(thread, [one.checkpoint["id"] for one in gone], left, self.attendance.now())

    def check_keys(self, keys: Collection[str]) -> None:
        """Refuse a graph whose state has no place for the view."""
        if self._into is not None and self._into not in keys:
            raise BackendError(
                f"into: the graph's state has no key {self._into!r} for the view; add it, or name another one"
            )

    def check_graph(self, graph: Any) -> None:
        """Refuse a graph that a return cannot serve."""
        self.check_keys(graph.channels)
        for one in (graph, *(part for _, part in graph.get_subgraphs(recurse=True))):
            refuse_unwrapped(one.store, self._agent.identity)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> Steps[None]:
        """Write pending writes, and before them the seals that they were written now."""
        refuse_on_notice(config, self._agent.identity)
        now = self.attendance.now()
        if is_sealed(now) and writes:
            self._name_lost_keys(self.periods.filed_before(config, now), writes)
            seal = self.periods.seal_writes(config, writes, task_id, now)
            yield step("put_writes", config, [(SEAL, seal)], f"readmit-{short_digest(seal)}")
        yield step("put_writes", config, writes, task_id, task_path)

    def _name_lost_keys(self, filed: Filed | None, writes: Sequence[tuple[str, Any]]) -> None:
        """Say, where a node failed, which state it may have missed."""
        for channel, error in writes:
            if channel == _ERROR and isinstance(error, Exception) and filed is not None and filed.behind:
                error.add_note(left_behind(filed.behind))

    def lacking(self, config: RunnableConfig, missing: KeyError) -> Steps[LostStateError | None]:
        """The error for a node that failed for a key that a return left behind; none for another failure."""
        saved: CheckpointTuple | None = yield step("get_tuple", config)
        filed = self.periods.filed(saved)
        if filed is None or missing.args[:1] not in {(one,) for one in filed.behind}:
            return None
        return LostStateError(f"a node reads {missing.args[0]!r}. {left_behind(filed.behind)}")

    def _writing(
        self, config: Any, checkpoint: Any, metadata: Any, versions: Any, *, now: Presence, before: Filed
    ) -> Steps[RunnableConfig]:
        if is_sealed(now):
            metadata = {**metadata, SEAL: self.periods.file(config, checkpoint, versions, now, before)}
        written: RunnableConfig = yield step("put", config, checkpoint, metadata, versions)
        return written

    def _come_back(self, now: Presence) -> Bundled:
        """Return, or stop the run. Until the log changes, other threads get the same bundle."""
        with self._lock:
            head, bundle = self._given.get(now.departure, (0, None))
            if bundle is None or head != self._log.head or bundle.view.expires <= self._agent.now():
                bundle = self._return()
                self._given.clear()
                self._given[self.attendance.now().departure] = self._log.head, bundle
            return bundle

    def _return(self) -> Bundled:
        for attempt in range(_ATTEMPTS):
            # Without a departure, a lease ran out that nobody swept: coming back writes the departure.
            departure = self.attendance.now().departure or None
            decided = self._agent.come_back(purpose=self._purpose, checkpoint=departure, prepare=self._prepare)
            if not decided.admitted:
                raise ReturnInterrupt(decided, self._agent.identity, decided.kind)
            try:
                return decided.expose()
            except ExposureError as refused:
                if refused.reasons != (Reason.VIEW_REPLACED,):
                    break
                # Another worker let the agent return in between. It waits, or both replace each other's view for ever.
                time.sleep(random.uniform(0, _PAUSE * 2**attempt))  # noqa: S311 - no secret
        raise ReturnInterrupt(decided, self._agent.identity, "blocked") from None

    def _readmitting(
        self, config: RunnableConfig, saved: CheckpointTuple | None, bundle: Bundled
    ) -> Steps[CheckpointTuple | None]:
        now = self.attendance.now()
        former: Any = {} if saved is None else saved.checkpoint
        kept = set() if saved is None else uses_history(saved) & self._choice.keep
        deltas = (yield from history(saved, kept)) if saved is not None and kept else Deltas({}, [], {})
        values, whole = self._choice.carried(former.get("channel_values", {}), {item.id for item in bundle.items})
        cut = deltas.calls()
        whole |= kept - cut.keys()
        found = Filed(from_before=saved is not None)
        if saved is not None:
            tools = {name for calls in cut.values() for name in calls.values()}
            found = self._left(saved, former["channel_values"].keys() - values.keys() - kept, whole, tools)
            self._note(bundle, saved, {*values, *kept}, whole, now)
        # A channel without a version is not loaded from the thread's former values. Under its former version, a value
        # that came back in part would take the place of the whole.
        numbers = former.get("channel_versions", {})
        versions = {one: numbers[one] for one in values if one in numbers}
        parts = versions.keys() - whole
        if parts:
            versions |= dict.fromkeys(parts, self.inner.get_next_version(max(numbers.values()), None))
        given = config["configurable"]
        place: Any = {"thread_id": given["thread_id"], "checkpoint_ns": given.get("checkpoint_ns", "")}
        metadata: Any = {"source": "update", "step": BEFORE_INPUT, "parents": {}}
        if found.behind:
            metadata[_LEFT] = list(found.behind)
        if saved is not None:
            metadata["step"] = saved.metadata.get("step", BEFORE_INPUT)
            if kept:
                versions |= yield from self._carry_history(place, metadata, saved, deltas.without_open_calls(), kept)
        if self._into is not None:
            values[self._into] = bundle.markdown()
            versions[self._into] = self.inner.get_next_version(max(versions.values(), default=None), None)
        elif found.loss.keys and not versions:
            # Without any version LangGraph takes a resume for the input of an empty thread.
            versions[found.loss.keys[0]] = self.inner.get_next_version(None, None)
        if saved is None and self._into is None:
            return None
        renewed = {one: (numbers[one], versions[one]) for one in parts}
        seen = {
            node: {
                one: seen_version(number, *renewed.get(one, ())) for one, number in theirs.items() if one in versions
            }
            for node, theirs in former.get("versions_seen", {}).items()
        }
        checkpoint = new_checkpoint(values, versions, seen, former.get("v", _FORMAT))
        below = self.periods.filed_before({"configurable": place}, now) or Filed()
        found = msgspec.structs.replace(found, must=below.must, may=below.may)
        # All versions are new: each carried value is stored again and must come back from here on.
        above: Any = {"configurable": place}
        written = yield from self._writing(above, checkpoint, metadata, versions, now=now, before=found)
        stored: CheckpointTuple = yield step("get_tuple", written)
        return guarded(self.periods.checked(stored, now), found, config)

    def _left(
        self, saved: CheckpointTuple, behind: Collection[str], whole: Collection[str], cut: Collection[str]
    ) -> Filed:
        """The notice about the state that a return leaves behind."""
        loss, former = lost(saved, whole, cut), self.periods.filed(saved)
        original = saved.checkpoint["id"]
        if former is not None and former.loss.keys:
            # The state itself is gone, so nothing carried it over.
            loss, original = loss if loss.keys else former.loss, former.original
        own = tuple(sorted(one for one in behind if not one.startswith(("__", "branch:", "join:"))))
        return Filed(from_before=True, behind=own, loss=loss, original=original if loss.keys or own else "")

    def _carry_history(
        self, place: dict[str, Any], metadata: Any, saved: CheckpointTuple, deltas: Deltas, channels: Collection[str]
    ) -> Steps[dict[str, Any]]:
        """Write the histories of ``DeltaChannel`` values below the new checkpoint, and give their versions in it."""
        now = self.attendance.now()
        first = self.inner.get_next_version(max(saved.checkpoint["channel_versions"].values()), None)
        root = new_checkpoint(deltas.seeds, dict.fromkeys(deltas.seeds, first), {}, saved.checkpoint["v"])
        below = yield from self._writing(
            {"configurable": place}, root, metadata, root["channel_versions"], now=now, before=Filed(from_before=True)
        )
        if deltas.writes:
            yield from self.put_writes(below, deltas.writes, str(uuid4()))
        place |= {"checkpoint_id": root["id"]}
        metadata |= deltas.counters
        # A version of its own: under the first one, the snapshot below would be taken for the value itself.
        return dict.fromkeys(channels, self.inner.get_next_version(first, None))

    def _note(
        self,
        bundle: Bundled,
        saved: CheckpointTuple,
        carried: Collection[str],
        whole: Collection[str],
        now: Presence,
    ) -> None:
        """Write the keys handed back and left behind to the audit."""
        place, filed = saved.config["configurable"], self.periods.filed(saved)
        entry = ThreadResumed(
            thread=str(place["thread_id"]),
            namespace=place.get("checkpoint_ns", ""),
            checkpoint=saved.checkpoint["id"],
            carried=tuple(sorted(carried)),
            left=tuple(sorted((saved.checkpoint["channel_values"].keys() | uses_history(saved)) - {*whole})),
            altered=filed is not None and filed.period == now.period,
        )
        self._log.audit.append(bundle.view.return_id, [("thread", "", canonical(entry))])
