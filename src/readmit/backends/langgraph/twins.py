"""Steps that serve both interfaces of a LangGraph object: its methods, and their asynchronous twins ``a…``."""

from __future__ import annotations

import asyncio
import inspect
import time
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

T = TypeVar("T")
Steps: TypeAlias = "Generator[TwinCall, Any, T]"
APART, PAUSE = "apart", "pause"
"""Steps that call no method: run a function, not on the event loop as it may ask a model; wait for some seconds."""


class TwinCall(NamedTuple):
    """A call of the inner object's method, by its synchronous name. ``list`` answers with the whole list."""

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any]


def step(name: str, *args: Any, **options: Any) -> TwinCall:
    """The next call, as ``step("get_tuple", config)``."""
    return TwinCall(name, args, options)


class Inner(Protocol):
    """The hidden part of a wrapper."""

    @property
    def inner(self) -> Any:
        """The wrapped LangGraph object."""
        ...


def drive(inner: Any, steps: Steps[T]) -> T:
    """Run steps on an object's synchronous methods."""
    alone: dict[str, Callable[..., Any]] = {APART: _called, PAUSE: time.sleep}
    try:
        name, args, options = next(steps)
        while True:
            answer = (alone.get(name) or getattr(inner, name))(*args, **options)
            name, args, options = steps.send([*answer] if name == "list" else answer)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        # A lock that the steps hold is freed now, not when they are collected.
        steps.close()


async def adrive(inner: Any, steps: Steps[T]) -> T:
    """Run steps on an object's asynchronous methods."""
    alone: dict[str, Callable[..., Any]] = {APART: asyncio.to_thread, PAUSE: asyncio.sleep}
    try:
        name, args, options = next(steps)
        while True:
            answer = (alone.get(name) or getattr(inner, f"a{name}"))(*args, **options)
            answer = [one async for one in answer] if name == "list" else await answer
            name, args, options = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        steps.close()


def _called(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def twins(behind: Mapping[Any, Inner], steps: Callable[..., Steps[Any]]) -> tuple[Any, Any]:
    """A method of a wrapper and its asynchronous twin, from the steps of its hidden part."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return drive(behind[self].inner, steps(behind[self], *args, **options))

    async def twin(self: Any, *args: Any, **options: Any) -> Any:
        return await adrive(behind[self].inner, steps(behind[self], *args, **options))

    signature = inspect.signature(steps)
    result = str(signature.return_annotation).removeprefix("Steps[").removesuffix("]")
    for made in (method, twin):
        update_wrapper(made, steps).__signature__ = signature.replace(return_annotation=result)  # type: ignore[attr-defined]
    return method, twin
