"""What a LangGraph thread returns when its agent resumes: steps for both interfaces of a checkpoint saver.

State from before a departure is a native record without sources, so none of it is returned unchanged. The result is a
new checkpoint without a parent: the graph's position, the state keys that were declared to hold no memory, those whose
sources are all in the view, and the view itself.
"""

from __future__ import annotations

import hashlib
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from langgraph.checkpoint.base.id import uuid6
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from readmit.backends.langgraph_answers import Questions
from readmit.backends.langgraph_lost import FROM, LEFT, lost
from readmit.backends.langgraph_presence import NEVER_LEFT
from readmit.records.errors import ExposureError, QuarantineError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

    from readmit.backends.langgraph_periods import Periods
    from readmit.backends.langgraph_presence import Presence
    from readmit.ports.store import Log
    from readmit.records.events import Checkpoint as Departure
    from readmit.records.identity import Identity
    from readmit.records.items import Item

T = TypeVar("T")
Steps: TypeAlias = "Generator[tuple[str, tuple[Any, ...]], Any, T]"
"""Which method of the inner saver to call next, by its synchronous name; ``""`` calls the given function."""

# The version of the checkpoint format that LangGraph writes for an empty thread.
_FORMAT = 4
_BEFORE_INPUT = -2


class Bundled(Protocol):
    """What an exposed return hands over: a workspace's ``Bundle``."""

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
        self._given: tuple[str, int, Bundled] | None = None

    def bundle(self) -> Bundled:
        """The bundle of the agent's last resume here."""
        if self._given is None or self._given[0] != self.periods.now().departure:
            raise QuarantineError(f"{self._agent.identity.principal!r} has not come back here: resume its thread first")
        return self._given[2]

    def resuming(self, config: RunnableConfig) -> Steps[CheckpointTuple | None]:
        """The part of a thread's state that the agent may have now."""
        saved: CheckpointTuple | None = yield "get_tuple", (config,)
        now = self.periods.now()
        if saved is not None and self.periods.holds(saved, now):
            checked = self.periods.checked(saved, now)
            if now == NEVER_LEFT:
                return checked
            again = self.questions.to_try_again(checked)
            saved = (yield "get_tuple", (again,)) if again else None
            if saved is None:
                return self.questions.guarded(checked)
        elif config["configurable"].get("checkpoint_id") and saved is not None:
            raise QuarantineError(
                "checkpoint_id: it names state from before the agent's last departure, or that was changed since it "
                "was written; resume the thread without it"
            )
        if now == NEVER_LEFT or now.reset or (saved is None and now.back):
            return None
        bundle = yield "", (self._come_back, now)
        return (yield from self._readmitting(config, saved, bundle))

    def putting(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Steps[RunnableConfig]:
        """Write a checkpoint and remember that it was written now."""
        written: RunnableConfig = yield "put", (config, checkpoint, metadata, versions)
        self.periods.file_state(written, checkpoint)
        return written

    def unchanged(self, config: RunnableConfig) -> Steps[str | None]:
        """The id of the question that a thread waits for, if it waited for the same one before the return."""
        saved: CheckpointTuple | None = yield "get_tuple", (config,)
        return None if saved is None else self.questions.unchanged(saved)

    def _come_back(self, now: Presence) -> Bundled:
        """Return, or stop the run. Until something changes, other threads get the same bundle."""
        with self._lock:
            if self._given is not None and self._given[:2] == (now.departure, self._log.head):
                return self._given[2]
            decided = self._agent.come_back(purpose=self._purpose, checkpoint=now.departure, prepare=self._prepare)
            if not decided.admitted:
                raise ReturnInterrupt(decided, self._agent.identity, decided.kind)
            try:
                bundle = decided.expose()
            except ExposureError:
                raise ReturnInterrupt(decided, self._agent.identity, "blocked") from None
            self._given = now.departure, self._log.head, bundle
            return bundle

    def _readmitting(
        self, config: RunnableConfig, saved: CheckpointTuple | None, bundle: Bundled
    ) -> Steps[CheckpointTuple | None]:
        former: Any = {} if saved is None else saved.checkpoint
        admitted = frozenset(item.id for item in bundle.items)
        values = {
            channel: value
            for channel, value in former.get("channel_values", {}).items()
            if self._passes(channel, value, admitted)
        }
        left = () if saved is None else lost(saved, {*values, self._into or ""})
        # A channel without a version is not loaded from the thread's former values.
        versions = {one: number for one, number in former.get("channel_versions", {}).items() if one in values}
        new = {}
        if self._into is not None:
            values[self._into] = bundle.markdown()
            new[self._into] = self.saver.get_next_version(max(versions.values(), default=None), None)
        elif left and not versions:
            # Without any version LangGraph takes a resume for the input of an empty thread.
            new[left[0]] = self.saver.get_next_version(None, None)
        if saved is None and not new:
            return None
        versions |= new
        seen = {
            node: {one: number for one, number in theirs.items() if one in versions}
            for node, theirs in former.get("versions_seen", {}).items()
        }
        checkpoint = {
            "v": former.get("v", _FORMAT),
            "id": str(uuid6(clock_seq=_BEFORE_INPUT)),
            "ts": datetime.now(UTC).isoformat(),
            "channel_values": values,
            "channel_versions": versions,
            "versions_seen": seen,
            "updated_channels": None,
        }
        step = _BEFORE_INPUT if saved is None else saved.metadata.get("step", _BEFORE_INPUT)
        named = config["configurable"]
        place = {"thread_id": named["thread_id"], "checkpoint_ns": named.get("checkpoint_ns", "")}
        # First: no answer may reach the new checkpoint without this.
        self.questions.carry(saved, {"configurable": place | {"checkpoint_id": checkpoint["id"]}}, left)
        metadata = {"source": "update", "step": step, "parents": {}}
        if saved is not None and left:
            metadata |= {LEFT: list(left), FROM: saved.checkpoint["id"]}
        written = yield from self.putting({"configurable": place}, checkpoint, metadata, new)
        found: CheckpointTuple = yield "get_tuple", (written,)
        return self.questions.guarded(found)

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
