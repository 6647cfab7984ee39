"""The state of a LangGraph thread that a return carries over, its audit entry, and values kept as a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.backends.langgraph.tool_calls import unanswered, without
from readmit.records.base import Record
from readmit.records.error_types import BackendError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from collections.abc import Set as AbstractSet

    from langgraph.checkpoint.base import CheckpointTuple

    from readmit.backends.langgraph.resume import Steps

_COUNTERS = "counters_since_delta_snapshot"


class ThreadResumed(Record, kw_only=True):
    """Audit entry: which state keys of a thread a return handed back, and which it left behind.

    A key in both came back without its tool calls that have no result.
    """

    thread: str
    namespace: str
    checkpoint: str
    """The checkpoint that the thread continues from; empty if it had none."""
    carried: tuple[str, ...]
    left: tuple[str, ...]
    altered: bool
    """The state was written since the last return, but is not as it was written."""


class Choice(NamedTuple):
    """The caller's settings for the state of a saver's threads."""

    keep: frozenset[str]
    """Keys that hold no memory."""
    into: str | None
    """The key that gets the view."""
    sources: Callable[[str, Any], Collection[str]] | None
    """The items that a value was formed from."""

    def carried(self, former: dict[str, Any], admitted: AbstractSet[str]) -> tuple[dict[str, Any], set[str]]:
        """The values that come back, and the keys of those that do so whole."""
        values: dict[str, Any] = {}
        whole: set[str] = set() if self.into is None else {self.into}
        for channel, value in former.items():
            if self._passes(channel, value, admitted):
                calls = frozenset(unanswered(value))
                left = without(value, calls) if calls else value
                if left is not None or not calls:
                    values[channel] = left
                if not calls:
                    whole.add(channel)
        return values, whole

    def _passes(self, channel: str, value: Any, admitted: AbstractSet[str]) -> bool:
        if channel in self.keep:
            return True
        # The graph's position, not its data: a taken edge, the names of joined nodes.
        if channel.startswith("branch:to:"):
            return value is None
        if channel.startswith("join:"):
            return isinstance(value, set | frozenset | list | tuple)
        formed_from = () if self.sources is None else self.sources(channel, value)
        if isinstance(formed_from, str):
            raise BackendError(f"sources: return [{formed_from!r}] for {channel!r}, a list of ids of items")
        return bool(formed_from) and admitted >= {*formed_from}


class Deltas(NamedTuple):
    """Values that LangGraph keeps as writes since a snapshot."""

    seeds: dict[str, Any]
    writes: list[tuple[str, Any]]
    """Channel and value, the oldest first."""
    counters: dict[str, Any]
    """Metadata that says when the next snapshot is due."""

    def calls(self) -> dict[str, dict[Any, str]]:
        """The tool calls without a result in each channel that has some."""
        channels = {one: [seed] for one, seed in self.seeds.items()}
        for one, value in self.writes:
            channels.setdefault(one, []).append(value)
        return {one: calls for one, parts in channels.items() if (calls := unanswered(*parts))}

    def settled(self) -> Deltas:
        """The history without the given tool calls."""
        calls = {one: frozenset(held) for one, held in self.calls().items()}
        seeds = {one: without(value, calls.get(one, frozenset())) for one, value in self.seeds.items()}
        writes = [(one, without(value, calls.get(one, frozenset()))) for one, value in self.writes]
        return self._replace(seeds=seeds, writes=[(one, value) for one, value in writes if value is not None])


def uses_history(saved: CheckpointTuple) -> set[str]:
    """The ``DeltaChannel`` keys whose value is not in a checkpoint itself."""
    counted: Any = saved.metadata.get(_COUNTERS) or {}
    return set(counted) - saved.checkpoint["channel_values"].keys()


def history(saved: CheckpointTuple, channels: Collection[str]) -> Steps[Deltas]:
    """Values that are not in a checkpoint, from its ancestors."""
    counted: Any = saved.metadata.get(_COUNTERS) or {}
    seeds: dict[str, Any] = {}
    writes: list[tuple[str, Any]] = []
    open_, parent = set(channels), saved.parent_config
    while open_ and parent is not None:
        above: CheckpointTuple | None = yield "get_tuple", (parent,)
        if above is None:
            break
        writes += [(one, value) for _, one, value in reversed(above.pending_writes or []) if one in open_]
        values = above.checkpoint["channel_values"]
        seeds |= {one: values[one] for one in open_ if one in values}
        open_ -= seeds.keys()
        parent = above.parent_config
    return Deltas(seeds, writes[::-1], {_COUNTERS: {one: counted[one] for one in sorted(channels)}})
