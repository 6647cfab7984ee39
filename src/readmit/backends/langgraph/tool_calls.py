"""Tool calls without a result, which no return carries over.

A model asked for them, and perhaps a person approved them, from what was known before the departure. ``keep`` and
``sources`` vouch for the values of a key, not for actions with them. So a conversation comes back without
such calls, and any other value that holds one does not come back.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import Send
from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
