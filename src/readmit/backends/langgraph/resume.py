"""What a LangGraph thread returns when its agent resumes: steps for both interfaces of a checkpoint saver.

State from before a departure is a native record without sources, so none of it is returned unchanged. The result is a
new checkpoint without a parent: the graph's position, the state keys that were declared to hold no memory, those whose
sources are all in the view, and the view itself.
"""

from __future__ import annotations

import copy
import hashlib
import random
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar
from uuid import uuid4

from langgraph.checkpoint.base.id import uuid6
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from readmit.backends.langgraph.answers import Questions
from readmit.backends.langgraph.carried import ThreadResumed, history, uses_history
from readmit.backends.langgraph.looking import is_run, notice, past_notice, refuse_on_notice
from readmit.backends.langgraph.lost import lost, noted, original
from readmit.backends.langgraph.presence import NEVER_LEFT, handed_over
from readmit.records.canonical import canonical
from readmit.records.errors import BackendError, ExposureError, QuarantineError
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

    from readmit.backends.langgraph.periods import Periods
    from readmit.backends.langgraph.presence import Presence
    from readmit.ports.store import Log
    from readmit.records.decisions import ReturnView
    from readmit.records.events import Checkpoint as Departure
    from readmit.records.identity import Identity
    from readmit.records.items import Item

T = TypeVar("T")
Steps: TypeAlias = "Generator[tuple[str, tuple[Any, ...]], Any, T]"
"""Which method of the inner saver to call next, by its synchronous name; ``""`` calls the given function."""

# The version of the checkpoint format that LangGraph writes for an empty thread.
_FORMAT = 4
_BEFORE_INPUT = -2
_ATTEMPTS = 8
_PAUSE = 0.02


class Bundled(Protocol):
    """What an exposed return hands over: a workspace's ``Bundle``."""

    @property
    def view(self) -> ReturnView: ...
    @property
    def items(self) -> tuple[Item, ...]: ...
    def markdown(self) -> str: ...


class Decided(Protocol):
    """A decided return: a workspace's ``Return``."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def missing(self) -> tuple[str, ...]: ...
    @property
    def admitted(self) -> bool: ...
    def expose(self) -> Bundled: ...


class Returning(Protocol):
    """An agent that can come back: a workspace's ``Agent``."""

    identity: Identity

    def come_back(
        self,
        *,
        purpose: str | None = None,
        checkpoint: str | None = None,
        prepare: Callable[[Departure, str], object] | None = None,
    ) -> Decided: ...


class ReturnInterrupt(GraphInterrupt):
    """A return that was not admitted. Inside another graph's node it is that node's interrupt."""

    def __init__(self, decided: Decided, identity: Identity, kind: str) -> None:
        value = {
            "readmit": kind,
            "principal": identity.principal,
            "task": identity.task,
            "return": decided.id,
            "missing": list(decided.missing),
        }
        super().__init__((Interrupt(value=value, id=hashlib.sha256(decided.id.encode()).hexdigest()[:32]),))

    @property
    def interrupts(self) -> tuple[Interrupt, ...]:
        return tuple(self.args[0])


class Resume:
    """How one agent's threads are resumed."""

    def __init__(
        self,
        saver: BaseCheckpointSaver[Any],
        periods: Periods,
        *,
        agent: Returning,
        log: Log,
        keep: frozenset[str],
        into: str | None,
        sources: Callable[[str, Any], Collection[str]] | None,
        purpose: str | None,
        prepare: Callable[[Departure, str], object] | None,
    ) -> None:
        self.saver = saver
        self.periods = periods
        self.questions = Questions(log.sources, agent.identity)
        self._agent = agent
        self._log = log
        self._keep = keep
        self._into = into
        self._sources = sources
        self._purpose = purpose
        self._prepare = prepare
        self._lock = threading.Lock()
        # Shared with clones: the bundle by departure, and the end of the log then.
        self._given: dict[str, tuple[int, Bundled]] = {}

    def over(self, saver: BaseCheckpointSaver[Any]) -> Resume:
        """The same for another clone of the inner saver. What was handed over counts for both."""
        clone = copy.copy(self)
        clone.saver = saver
        clone.periods = self.periods.reading_with(saver.serde)
        return clone

    def returned(self) -> str:
        """The return that the agent came back with last, here or in another process."""
        exposed = self.periods.now().exposed
        if not exposed:
            raise QuarantineError(f"{self._agent.identity.principal!r} has not come back: resume its thread first")
        return exposed

    def view(self, return_id: str) -> ReturnView:
        """The view of a return that was exposed."""
        return handed_over(self._log, return_id)

    def resuming(self, config: RunnableConfig) -> Steps[CheckpointTuple | None]:
        """The part of a thread's state that the agent may have now."""
        config = past_notice(config)
        saved: CheckpointTuple | None = yield "get_tuple", (config,)
        now = self.periods.now()
        named = config["configurable"].get("checkpoint_id")
        if saved is not None and self.periods.holds(saved, now):
            checked = self.periods.checked(saved, now)
            if now == NEVER_LEFT:
                return checked
            if named or not is_run(config) or not self.questions.lost_by(checked):
                return self.questions.guarded(checked)
        elif named and saved is not None:
            raise QuarantineError(
                "checkpoint_id: it names state from before the agent's last departure, or that was changed since it "
                "was written; resume the thread without it"
            )
        if now.reset and saved is not None and is_run(config):
            return self.questions.nothing_asked(saved)
        if now == NEVER_LEFT or now.reset or (saved is None and now.back):
            return None
        if not is_run(config):
            return None if saved is None else notice(saved, self._agent.identity)
        bundle = yield "", (self._come_back, now)
        return (yield from self._readmitting(config, (yield from self._before_a_loss(saved)), bundle))

    def _before_a_loss(self, saved: CheckpointTuple | None) -> Steps[CheckpointTuple | None]:
        """The state that an earlier return could not carry over: another saver may, or a later view."""
        if saved is None or not self.questions.lost_by(saved):
            return saved
        whole: CheckpointTuple | None = yield "get_tuple", (original(saved),)
        return whole or saved

    def putting(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Steps[RunnableConfig]:
        """Write a checkpoint and remember that it was written now."""
        refuse_on_notice(config, self._agent.identity)
        now = self.periods.now()
        if not config["configurable"].get("checkpoint_ns"):
            # A run may go on while its agent departs. Nothing else is written then.
            if now.away and metadata.get("source") != "loop":
                raise QuarantineError(f"{self._agent.identity.principal!r} is away: run the thread, then update it")
            if now.back and self._into in checkpoint["channel_versions"].keys() - checkpoint["channel_values"].keys():
                self.check_keys(())
        self.questions.inherit(config, checkpoint["id"], metadata)
        return (yield from self._writing(config, checkpoint, metadata, versions, now))

    def check_keys(self, keys: Collection[str]) -> None:
        """Refuse a graph whose state has no place for the view."""
        if self._into is not None and self._into not in keys:
            raise BackendError(
                f"into: the graph's state has no key {self._into!r} for the view; add it, or name another one"
            )

    def filing(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task: str, path: str) -> None:
        """Remember pending writes, before they are written."""
        refuse_on_notice(config, self._agent.identity)
        self.questions.file(config, writes, task, path)
        self.periods.file_writes(config, writes, task)

    def _writing(
        self, config: Any, checkpoint: Any, metadata: Any, versions: Any, now: Presence
    ) -> Steps[RunnableConfig]:
        # The ledger first: a value that cannot be recorded must not be half-written.
        self.periods.file_state(config, checkpoint, versions, now)
        written: RunnableConfig = yield "put", (config, checkpoint, metadata, versions)
        return written

    def copy(self, source: str, target: str) -> None:
        """Record that a thread is copied."""
        self.periods.copy(source, target)
        self.questions.copy(source, target)

    def narrow(self, thread: str, survivors: Iterable[CheckpointTuple]) -> None:
        """Forget what is no longer stored of a pruned thread."""
        left = list(survivors)
        self.periods.narrow(thread, left)
        self.questions.narrow(thread, left)

    def forget(self, thread: str) -> None:
        """Forget a deleted thread."""
        self.periods.forget(thread)
        self.questions.forget(thread)

    def unchanged(self, config: RunnableConfig) -> Steps[str | None]:
        """The id of the question that a thread waits for, if it waited for the same one before the return."""
        saved: CheckpointTuple | None = yield "get_tuple", (config,)
        return None if saved is None else self.questions.unchanged(saved)

    def _come_back(self, now: Presence) -> Bundled:
        """Return, or stop the run. Until something changes, other threads get the same bundle."""
        with self._lock:
            head, bundle = self._given.get(now.departure, (0, None))
            if bundle is None or head != self._log.head:
                bundle = self._return(now)
                self._given.clear()
                self._given[now.departure] = self._log.head, bundle
            return bundle

    def _return(self, now: Presence) -> Bundled:
        for attempt in range(_ATTEMPTS):
            decided = self._agent.come_back(purpose=self._purpose, checkpoint=now.departure, prepare=self._prepare)
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
        now = self.periods.now()
        former: Any = {} if saved is None else saved.checkpoint
        admitted = frozenset(item.id for item in bundle.items)
        values = {
            channel: value
            for channel, value in former.get("channel_values", {}).items()
            if self._passes(channel, value, admitted)
        }
        left = () if saved is None else lost(saved, {*values, *self._keep, self._into or ""})
        if saved is not None and not left:
            left = self.questions.lost_by(saved)
        if saved is not None:
            self._note(bundle, saved, values, now)
        # A channel without a version is not loaded from the thread's former values.
        versions = {one: number for one, number in former.get("channel_versions", {}).items() if one in values}
        named = config["configurable"]
        place: Any = {"thread_id": named["thread_id"], "checkpoint_ns": named.get("checkpoint_ns", "")}
        metadata: Any = {"source": "update", "step": _BEFORE_INPUT, "parents": {}}
        if saved is not None:
            metadata["step"] = saved.metadata.get("step", _BEFORE_INPUT)
            if kept := uses_history(saved) & self._keep:
                versions |= yield from self._carry_history(place, metadata, saved, kept)
        if self._into is not None:
            values[self._into] = bundle.markdown()
            versions[self._into] = self.saver.get_next_version(max(versions.values(), default=None), None)
        elif left and not versions:
            # Without any version LangGraph takes a resume for the input of an empty thread.
            versions[left[0]] = self.saver.get_next_version(None, None)
        if saved is None and self._into is None:
            return None
        seen = {
            node: {one: number for one, number in theirs.items() if one in versions}
            for node, theirs in former.get("versions_seen", {}).items()
        }
        checkpoint = _checkpoint(values, versions, seen, former.get("v", _FORMAT))
        # First: no answer may reach the new checkpoint without this.
        self.questions.carry(saved, {"configurable": place | {"checkpoint_id": checkpoint["id"]}}, left)
        if saved is not None and left:
            metadata |= noted(left, saved)
        # All versions are new: each carried value is stored again and must come back from here on.
        written = yield from self._writing({"configurable": place}, checkpoint, metadata, versions, now)
        found: CheckpointTuple = yield "get_tuple", (written,)
        return self.questions.guarded(found)

    def _carry_history(
        self, place: dict[str, Any], metadata: Any, saved: CheckpointTuple, channels: Collection[str]
    ) -> Steps[dict[str, Any]]:
        """Write the histories of ``DeltaChannel`` values below the new checkpoint, and give their versions in it."""
        now = self.periods.now()
        deltas = yield from history(saved, channels)
        first = self.saver.get_next_version(max(saved.checkpoint["channel_versions"].values()), None)
        root = _checkpoint(deltas.seeds, dict.fromkeys(deltas.seeds, first), {}, saved.checkpoint["v"])
        below = yield from self._writing({"configurable": place}, root, metadata, root["channel_versions"], now)
        if deltas.writes:
            task = str(uuid4())
            self.periods.file_writes(below, deltas.writes, task)
            yield "put_writes", (below, deltas.writes, task)
        place |= {"checkpoint_id": root["id"]}
        metadata |= deltas.counters
        # A version of its own: under the first one, the snapshot below would be taken for the value itself.
        return dict.fromkeys(channels, self.saver.get_next_version(first, None))

    def _note(self, bundle: Bundled, saved: CheckpointTuple, carried: Collection[str], now: Presence) -> None:
        """Name in the audit what is handed back and what is left behind."""
        place, by_history = saved.config["configurable"], uses_history(saved)
        left = (saved.checkpoint["channel_values"].keys() | by_history) - {*carried} - (by_history & self._keep)
        entry = ThreadResumed(
            thread=str(place["thread_id"]),
            namespace=place.get("checkpoint_ns", ""),
            checkpoint=saved.checkpoint["id"],
            carried=tuple(sorted({*carried} | (by_history & self._keep))),
            left=tuple(sorted(left)),
            altered=self.periods.knows(saved, now),
        )
        self._log.audit.append(bundle.view.return_id, [("thread", "", canonical(entry))])

    def _passes(self, channel: str, value: Any, admitted: frozenset[str]) -> bool:
        if channel in self._keep:
            return True
        # The graph's position, not its data: a taken edge, the names of joined nodes.
        if channel.startswith("branch:to:"):
            return value is None
        if channel.startswith("join:"):
            return isinstance(value, set | frozenset | list | tuple)
        named = frozenset() if self._sources is None else frozenset(self._sources(channel, value))
        return bool(named) and named <= admitted


def _checkpoint(values: dict[str, Any], versions: dict[str, Any], seen: dict[str, Any], form: int) -> Any:
    return {
        "v": form,
        "id": str(uuid6(clock_seq=_BEFORE_INPUT)),
        "ts": datetime.now(UTC).isoformat(),
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": seen,
        "updated_channels": None,
    }
