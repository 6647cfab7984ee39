"""What of a LangGraph thread's state comes back with a return: the audit entry, and values kept as a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.records.base import Record

if TYPE_CHECKING:
    from collections.abc import Collection

    from langgraph.checkpoint.base import CheckpointTuple

    from readmit.backends.langgraph.resume import Steps

_COUNTERS = "counters_since_delta_snapshot"


class ThreadResumed(Record, kw_only=True):
    """Audit entry: which state keys of a thread a return handed back, and which it left behind."""

    thread: str
    namespace: str
    checkpoint: str
    """The checkpoint that the thread continues from; empty if it had none."""
    carried: tuple[str, ...]
    left: tuple[str, ...]
    altered: bool
    """The state was written since the last return, but is not as it was written."""


class Deltas(NamedTuple):
    """Values that LangGraph keeps as writes since a snapshot."""

    seeds: dict[str, Any]
    writes: list[tuple[str, Any]]
    """Channel and value, the oldest first."""
    counters: dict[str, Any]
    """Metadata that says when the next snapshot is due."""


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
