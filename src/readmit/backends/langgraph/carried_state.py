"""The state of a LangGraph thread that a return carries over, its audit entry, and values kept as a history.

Tool calls without a result never cross a return. A model asked for them, and perhaps a person approved them, from what
was known before the departure. ``keep`` and ``sources`` vouch for the values of a key, not for actions with them. So a
conversation comes back without such calls, and any other value that holds one does not come back.

A return leaves most state behind, and a thread that is done starts over with new input. One that waits for work would
go on without it: an agent without its messages, a function without its input, or no work at all. LangGraph does not
report that, so the thread does not go on until the state is carried over or new input is given.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.base.id import uuid6
from langgraph.types import Send
from pydantic import BaseModel

from readmit.backends.langgraph.twins import Steps, step
from readmit.records.base import Record
from readmit.records.error_types import BackendError, LostStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from langgraph.checkpoint.base import CheckpointTuple


BEFORE_INPUT = -2
"""The step of a checkpoint from before a thread's input."""
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

    def without_open_calls(self) -> Deltas:
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
        above: CheckpointTuple | None = yield step("get_tuple", parent)
        if above is None:
            break
        writes += [(one, value) for _, one, value in reversed(above.pending_writes or []) if one in open_]
        values = above.checkpoint["channel_values"]
        seeds |= {one: values[one] for one in open_ if one in values}
        open_ -= seeds.keys()
        parent = above.parent_config
    return Deltas(seeds, writes[::-1], {_COUNTERS: {one: counted[one] for one in sorted(channels)}})


# How providers of models, and LangChain for all of them, write down a call and its result.
_CALLS = ("tool_call", "tool_call_chunk", "tool_use", "function_call")
_CALL_KEYS = {"name", "args", "id"}
_RESULTS = {"tool": "tool_call_id", "tool_result": "tool_use_id", "function_call_output": "call_id"}
_HOLDING_CALLS = ("content", "tool_calls", "tool_call_chunks", "additional_kwargs")


def is_conversation(value: Any) -> bool:
    """Whether a value is a list of messages."""
    return isinstance(value, list) and any(isinstance(one, BaseMessage) for one in value)


def unanswered(*values: Any) -> dict[Any, str]:
    """The calls in some values that none of them has the result of: the names of the tools, by the ids of the calls."""
    parts = list(_inside(values, ()))
    done = {result for one in parts if (result := _result(one)) is not None}
    made = {_id(one): _name(one) for one in parts if _is_call(one)}
    return {id_: name for id_, name in made.items() if id_ is None or id_ not in done}


def without(value: Any, calls: frozenset[Any]) -> Any:
    """A value without these calls; ``None`` if it holds one and is no message, or is nothing but a call."""
    if is_conversation(value):
        return [left for one in value if (left := without(one, calls)) is not None]
    if not any(_is_call(one) and _id(one) in calls for one in _inside(value, ())):
        return value
    if not isinstance(value, AIMessage):
        return None
    held = {name: getattr(value, name) for name in _HOLDING_CALLS if hasattr(value, name)}
    kept = value.model_copy(update={name: _others(one, calls) for name, one in held.items()})
    return kept if kept.content or kept.tool_calls else None


def _others(value: Any, calls: frozenset[Any]) -> Any:
    """A part of a message without the blocks that are these calls."""
    if isinstance(value, dict):
        return {key: _others(one, calls) for key, one in value.items()}
    if isinstance(value, list):
        return [_others(one, calls) for one in value if not (_is_call(one) and _id(one) in calls)]
    return value


def _inside(value: Any, above: tuple[int, ...]) -> Iterator[Any]:
    """A value and all values nested in it."""
    if id(value) in above:
        return
    yield value
    for one in _parts(value):
        yield from _inside(one, (*above, id(value)))


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if isinstance(value, Send):
        return (value.arg,)
    if isinstance(value, BaseModel):
        return value.__dict__.values()
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, one.name) for one in fields(value)]
    return ()


def _is_call(value: Any) -> bool:
    if not isinstance(value, dict) or _result(value) is not None:
        return False
    # A function without an id is the description of a tool.
    described = value.get("type") == "function" and "id" in value
    return value.get("type") in _CALLS or described or value.keys() >= _CALL_KEYS


def _id(call: dict[str, Any]) -> Any:
    return call.get("call_id") or call.get("id")


def _name(call: dict[str, Any]) -> str:
    return str(call.get("name") or (call.get("function") or {}).get("name") or "a tool")


def _result(value: Any) -> Any:
    """The id of the call that a value is the result of."""
    if isinstance(value, ToolMessage):
        return value.tool_call_id
    if not isinstance(value, dict):
        return None
    return next(
        (value.get(key) for kind, key in _RESULTS.items() if kind in (value.get("type"), value.get("role"))), None
    )


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


def new_checkpoint(values: dict[str, Any], versions: dict[str, Any], seen: dict[str, Any], form: int) -> Any:
    """A checkpoint of a thread with these channels, from before its next input."""
    return {
        "v": form,
        "id": str(uuid6(clock_seq=BEFORE_INPUT)),
        "ts": datetime.now(UTC).isoformat(),
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": seen,
        "updated_channels": None,
    }


def left_behind(keys: Collection[str]) -> str:
    """Which keys a return left behind, and what to do about it."""
    return (
        f"The return left behind {', '.join(keys)}: name what the node needs in keep= (it holds no memory) or sources= "
        "(which items it was formed from), or run the thread with new input"
    )


def seen_version(number: Any, before: Any = None, after: Any = None) -> Any:
    """The version that a node has seen of a channel, whose version may have changed."""
    return after if number == before else number
