"""State without which a waiting LangGraph thread must not go on.

A return leaves most state behind, and a thread that is done starts over with new input. One that waits for work would
go on without it: an agent without its messages, a function without its input, or no work at all. LangGraph does not
report that, so the thread does not go on until the state is carried over or new input is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.backends.langgraph.carried_state import uses_history
from readmit.backends.langgraph.tool_calls import is_conversation, unanswered
from readmit.records.error_types import LostStateError

if TYPE_CHECKING:
    from collections.abc import Collection

    from langgraph.checkpoint.base import CheckpointTuple

INTERRUPT = "__interrupt__"
_WORK = ("__start__", "__pregel_tasks")


class Loss(NamedTuple):
    """The missing state of a waiting thread: keys, and the tools of calls without a result among them."""

    keys: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()

    def error(self) -> LostStateError:
        """The error that names the missing keys and the remedy."""
        said = f"the thread waits for work, and a return does not carry over its {', '.join(self.keys) or 'state'}"
        if self.calls:
            return LostStateError(
                f"{said}: approvals and tool calls without a result ({', '.join(self.calls)}) never cross a return, "
                "whatever keep= and sources= name. Run the thread with new input"
            )
        return LostStateError(
            f"{said}. Name these in keep= (they hold no memory) or sources= (which items they were formed from), or "
            "run the thread with new input"
        )


def lost(saved: CheckpointTuple, carried: Collection[str], cut: Collection[str] = ()) -> Loss:
    """The state that a thread leaves behind, if its waiting work needs some of it.

    ``carried`` are the keys that come back whole, ``cut`` the tools whose calls were taken out of a history.
    """
    values = saved.checkpoint["channel_values"]
    held = [one for one, value in values.items() if one not in _WORK or value]
    waiting = {one for one in held if one in _WORK or one.startswith("branch:to:")}
    asked = any(one[1] == INTERRUPT for one in saved.pending_writes or [])
    called = {one for one in held if one not in carried and unanswered(values[one])}
    said = {one for one in held if is_conversation(values[one])} | called | uses_history(saved)
    needed = waiting | said if waiting else waiting
    if needed <= {*carried} and (waiting or not asked):
        return Loss()
    calls = {*cut, *unanswered(*(values[one] for one in called)).values()}
    return Loss(tuple(sorted({*held, *said} - {*carried})), tuple(sorted(calls)))


class Unresumable(dict[str, Any]):
    """The versions that each node has seen, where a run that goes on marks them all as seen first.

    That is the one place in which LangGraph treats going on apart from new input, and it is before any node runs.
    """

    def __init__(self, seen: dict[str, Any], loss: Loss) -> None:
        super().__init__(seen)
        self._loss = loss

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key == INTERRUPT:
            raise self._loss.error()
        return super().setdefault(key, default)
