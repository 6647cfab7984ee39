"""Walks an agent's handle: every text through its calls, and every object through its attributes."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING

from readmit.backends.handle import MOST, ReturnedMemory
from readmit.testing.journey import KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator


QUERIES = (
    *(word for word, _ in KNOWN.values()),
    *(text for _, text in KNOWN.values()),
    "the",
    "where do we go",
    "lunch",
)


def texts(handle: ReturnedMemory) -> set[str]:
    """Every text that any search or listing hands over."""
    found = {hit.text for hit in handle.records()}
    for query in QUERIES:
        found |= {hit.text for hit in handle.search(query, limit=5)}
        found |= {hit.text for hit in handle.search(query, limit=MOST)}
    return found


def objects(start: object, *, depth: int = 8) -> Iterator[object]:
    """Every object reachable through attributes, items, bound instances and closures. Module globals are not walked."""
    seen: set[int] = set()
    layer = [start]
    for _ in range(depth):
        following: list[object] = []
        for one in layer:
            if id(one) in seen or isinstance(one, type | ModuleType | BuiltinFunctionType | str | bytes | int | float):
                continue
            seen.add(id(one))
            yield one
            following += _next(one)
        layer = following


def _next(one: object) -> Iterator[object]:
    if isinstance(one, dict):
        yield from (*one.keys(), *one.values())
    elif isinstance(one, list | tuple | set | frozenset):
        yield from one
    if isinstance(one, FunctionType):
        yield from (cell.cell_contents for cell in one.__closure__ or ())
        yield from (one.__defaults__, one.__kwdefaults__, one.__dict__)
        return
    if isinstance(one, MethodType):
        yield from (one.__self__, one.__func__)
        return
    for name in dir(one):
        # Dunder names that hold data; the others are methods of every object.
        if not name.startswith("__") or name in ("__dict__", "__wrapped__", "__weakref__", "__annotations__"):
            try:
                yield getattr(one, name)
            except Exception:  # noqa: BLE001, S112 - what cannot be got at is not reached
                continue
