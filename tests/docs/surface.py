"""What users import: every public name with its signature, read from the code.

``docs/reference/surface.txt`` is the list as committed. ``python -m tests.docs.surface`` rewrites it, and with
``--check`` says what differs and fails, so that no public name comes, goes or changes by accident.
"""

from __future__ import annotations

import difflib
import enum
import inspect
import sys
from importlib import import_module
from types import UnionType
from typing import TYPE_CHECKING, Any

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PUBLIC = (
    "readmit",
    "readmit.types",
    "readmit.policies",
    "readmit.memory",
    "readmit.remote",
    "readmit.server",
    "readmit.inference",
    "readmit.models",
    "readmit.backends",
    "readmit.backends.langgraph",
    "readmit.pages",
    "readmit.sources",
    "readmit.errors",
    "readmit.events",
    "readmit.testing",
    "readmit.lab",
)
"""The public modules. What is not in the ``__all__`` of one of them is private; ``readmit.lab`` is unstable."""

COMMITTED = ROOT / "docs" / "reference" / "surface.txt"


def surface() -> str:
    """Every public name with what can be called or read on it, one a line."""
    return "\n".join(line for module in PUBLIC for line in _module(module)) + "\n"


def table(module: str) -> str:
    """A table of a module's public names, each with the first line of its docstring."""
    rows = [
        f"| `{name}` | {_first_line(getattr(import_module(module), name)).replace('|', chr(92) + '|')} |"
        for name in import_module(module).__all__
    ]
    return "\n".join(["| name | |", "|---|---|", *rows])


def error_tree() -> str:
    """Every error below its own base class, each with the first line of its docstring."""
    from readmit import errors

    public = {getattr(errors, name) for name in errors.__all__}

    def below(kind: type, indent: str) -> Iterator[tuple[str, str]]:
        children = sorted(public.intersection(kind.__subclasses__()), key=lambda one: one.__name__)
        for child in children:
            last = child is children[-1]
            yield f"{indent}{'└── ' if last else '├── '}{child.__name__}", _first_line(child)
            yield from below(child, indent + ("    " if last else "│   "))

    rows = [("ReadmitError", _first_line(errors.ReadmitError)), *below(errors.ReadmitError, "")]
    width = max(len(name) for name, _ in rows)
    return "\n".join(["```text", *(f"{name:{width}}  {what}" for name, what in rows), "```"])


def signature(value: Any) -> str:
    """A signature as it is written, without the defaults' addresses in memory."""
    try:
        found = inspect.signature(value)
    except ValueError:
        return "(…)"
    shown = [
        one.replace(default=_default(one.default), annotation=_annotation(one.annotation))
        for one in found.parameters.values()
    ]
    return str(found.replace(parameters=shown, return_annotation=_annotation(found.return_annotation)))


class _Code(str):
    """Text that a signature shows as it stands, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _annotation(value: Any) -> Any:
    return _Code(value) if isinstance(value, str) else value


def _default(value: Any) -> Any:
    return value if value is inspect.Parameter.empty else _Code("…" if callable(value) else repr(value))


def _module(module: str) -> Iterator[str]:
    yield f"{module}"
    for name in import_module(module).__all__:
        yield from (f"  {line}" for line in _name(name, getattr(import_module(module), name)))


def _name(name: str, value: Any) -> Iterator[str]:
    if not inspect.isclass(value):
        yield f"def {name}{signature(value)}" if callable(value) else f"{name} = {value!r}"
        return
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    yield f"class {name}({bases})" if bases else f"class {name}"
    if issubclass(value, enum.Enum):
        yield "  " + ", ".join(f"{member.name} = {member.value!r}" for member in value)
        return
    if "__init__" in vars(value) and not getattr(value, "_is_protocol", False):
        yield f"  __init__{signature(value.__init__)}"
    yield from (f"  {line}" for line in _members(value))


def _members(kind: type) -> Iterator[str]:
    annotations: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        annotations |= vars(base).get("__annotations__", {}) if base.__module__.startswith("readmit") else {}
    for name in sorted({*dir(kind), *annotations} - set(dir(Exception) if issubclass(kind, Exception) else ())):
        if name.startswith("_"):
            continue
        home = next((base for base in kind.__mro__ if name in vars(base)), kind)
        if not home.__module__.startswith("readmit"):
            continue
        value = inspect.getattr_static(kind, name, None)
        if isinstance(value, property):
            yield f"{name} -> {inspect.signature(value.fget).return_annotation}" if value.fget else name
        elif isinstance(value, classmethod | staticmethod):
            yield f"{type(value).__name__} {name}{signature(value.__func__)}"
        elif inspect.isfunction(value) and "." in value.__qualname__:
            yield f"{'async ' * inspect.iscoroutinefunction(value)}def {name}{signature(value)}"
        elif hasattr(value, "__wrapped__"):
            yield f"async def {name}{signature(value.__wrapped__)}"
        elif name in annotations:
            yield f"{name}: {annotations[name]}"
        else:
            yield name


def _first_line(value: Any) -> str:
    if isinstance(value, UnionType):
        return f"One of {', '.join(f'`{kind.__name__}`' for kind in value.__args__)}."
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return f"`{value!r}`"
    return (value.__doc__ or "").strip().partition("\n")[0].replace("``", "`")


def main(*arguments: str) -> int:
    """Rewrite the committed list, or check it."""
    now = surface()
    if "--check" not in arguments:
        COMMITTED.write_text(now, encoding="utf-8")
        return 0
    before = COMMITTED.read_text(encoding="utf-8")
    if before != now:
        sys.stderr.writelines(
            difflib.unified_diff(before.splitlines(True), now.splitlines(True), "committed", "in the code", n=1)
        )
        sys.stderr.write("The public surface has changed. If that is meant, run `make docs` and commit the result.\n")
    return int(before != now)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
