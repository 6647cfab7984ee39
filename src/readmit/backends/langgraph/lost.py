"""State without which a waiting LangGraph thread must not go on.

A return leaves most state behind, and a thread that is done starts over with new input. One that waits for work would
go on with what is left: an agent without its messages, a function without its input, or no work at all. Nothing in
LangGraph says so, therefore the thread does not go on until that state is carried over or new input is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage

from readmit.backends.langgraph.carried import uses_history
from readmit.records.errors import LostStateError

if TYPE_CHECKING:
    from collections.abc import Collection

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple

INTERRUPT = "__interrupt__"
# In the metadata of the checkpoint that a return writes: what it left behind, and of which checkpoint.
_LEFT, _FROM = "readmit_left", "readmit_from"
_WORK = ("__start__", "__pregel_tasks")


def lost(saved: CheckpointTuple, carried: Collection[str]) -> tuple[str, ...]:
    """What of a thread's state is left behind, if it waits for work that needs some of it."""
    values = saved.checkpoint["channel_values"]
    held = [one for one, value in values.items() if one not in _WORK or value]
    waiting = {one for one in held if one in _WORK or one.startswith("branch:to:")}
    asked = any(one[1] == INTERRUPT for one in saved.pending_writes or [])
    said = {one for one in held if _is_conversation(values[one])} | uses_history(saved)
    needed = waiting | said if waiting else waiting
    if needed <= {*carried} and (waiting or not asked):
        return ()
    return tuple(sorted({*held, *said} - {*carried}))


def _is_conversation(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, BaseMessage) for one in value)


def noted(left: Collection[str], saved: CheckpointTuple) -> dict[str, Any]:
    """The metadata that names a loss, and the checkpoint that has it all."""
    return {_LEFT: sorted(left), _FROM: saved.metadata.get(_FROM) or saved.checkpoint["id"]}


def named(saved: CheckpointTuple) -> tuple[tuple[str, ...], str]:
    """What the metadata of a checkpoint names."""
    metadata: Any = saved.metadata
    return tuple(metadata.get(_LEFT) or ()), metadata.get(_FROM) or ""


def original(saved: CheckpointTuple) -> RunnableConfig:
    """Where the state is that a return could not carry over."""
    return {"configurable": {**saved.config["configurable"], "checkpoint_id": named(saved)[1]}}


def lost_state(names: Collection[str]) -> LostStateError:
    """The error for a thread that waits without this state."""
    return LostStateError(
        f"the thread waits for work, and a return does not carry over its {', '.join(names) or 'state'}. Name these in "
        "keep= (they hold no memory) or sources= (which items they were formed from), or run the thread with new input"
    )


class Unresumable(dict[str, Any]):
    """The versions that each node has seen, where a run that goes on marks them all as seen first.

    That is the one place in which LangGraph treats going on apart from new input, and it is before any node runs.
    """

    def __init__(self, seen: dict[str, Any], left: Collection[str]) -> None:
        super().__init__(seen)
        self._left = left

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key == INTERRUPT:
            raise lost_state(self._left)
        return super().setdefault(key, default)
