"""Bodies of requests, derived from the signatures of the library's functions.

A field is typed as the function annotates it, where JSON can say that. What the program itself supplies is left out:
``by``, callables, places to look at, handles. Fields with a default may be absent; then the function's default applies.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypeAlias, Union, get_args, get_origin, is_typeddict

import msgspec
from msgspec import UNSET, Struct, UnsetType

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = 2**53 - 1
"""The largest integer that every JSON reader keeps exact."""
Whole: TypeAlias = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
MomentText: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""A moment as ISO 8601 text with a time zone, which the function itself reads."""
Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=-LARGEST / 1_000, le=LARGEST / 1_000)]

_LEFT_OUT = frozenset({"self", "cls", "by", "probe", "prepare", "report"})
_AS_JSON: Mapping[str, Any] = {
    "Iterable": Sequence,
    "Moment": MomentText,
    "Sequence": Sequence,
    "int": Whole,
    "timedelta": Seconds,
}
"""Names of annotations that JSON spells differently, or that only type checkers import."""


def body_of(title: str, /, function: Callable[..., object], left_out: frozenset[str], **own: Any) -> type[Struct]:
    """The body that a function takes. ``own`` are fields that it has besides, or whose type is another here.

    A field of its own whose type admits ``UNSET`` may be absent.
    """
    fields: dict[str, Any] = dict(own)
    plain = inspect.unwrap(function)
    for name, parameter in inspect.signature(function).parameters.items():
        hint = _read(parameter.annotation, plain.__globals__) if name not in _LEFT_OUT | left_out else None
        if hint is None:
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            (shared,) = get_args(hint)
            fields |= {name: one for name, one in _shared(shared).items() if name not in left_out | fields.keys()}
        elif parameter.kind is parameter.VAR_POSITIONAL:
            fields[name] = Sequence[hint]  # type: ignore[valid-type]  # known only now
        elif name not in own:
            fields[name] = _as_json(hint) if parameter.default is parameter.empty else _as_json(hint) | UnsetType
    return body(title, **fields)


def body(title: str, /, **fields: Any) -> type[Struct]:
    """A body with these fields: strict, and with a difference between an absent field and null."""
    made: list[tuple[str, Any] | tuple[str, Any, Any]] = [
        (one, hint, UNSET) if UnsetType in get_args(hint) else (one, hint) for one, hint in fields.items()
    ]
    return msgspec.defstruct(
        f"{title.title().replace('_', '')}Given", made, kw_only=True, frozen=True, forbid_unknown_fields=True
    )


def given(values: Struct) -> dict[str, Any]:
    """The fields of a body that the caller gave."""
    every = ((name, getattr(values, name)) for name in values.__struct_fields__)
    return {name: value for name, value in every if value is not UNSET}


def result_of(function: Callable[..., object]) -> Any:
    """The annotated result of a function."""
    plain = inspect.unwrap(function)
    return _read(plain.__annotations__["return"], plain.__globals__)


def _read(annotation: Any, names: Mapping[str, Any]) -> Any:
    """An annotation as JSON has it. They are texts: what only type checkers import is not there at run time."""
    text = getattr(annotation, "__forward_arg__", annotation)
    if not isinstance(text, str):
        return annotation
    return eval(text, {**names, **_AS_JSON})  # noqa: S307 - an annotation of our own source


def _shared(fields: Any) -> dict[str, Any]:
    """The fields of a ``TypedDict``: those that may be absent, and those that may not."""
    read: dict[str, Any] = {}
    for name, annotation in fields.__annotations__.items():
        hint = _read(annotation, vars(inspect.getmodule(fields)))
        may_be_absent = get_origin(hint) is NotRequired or name not in fields.__required_keys__
        if get_origin(hint) is NotRequired:
            (hint,) = get_args(hint)
        read[name] = hint | UnsetType if may_be_absent else hint
    return {name: hint for name, hint in read.items() if name not in _LEFT_OUT}


def _as_json(hint: Any) -> Any:
    """A type with every ``TypedDict`` in it replaced by a body."""
    if is_typeddict(hint):
        return body(hint.__name__, **_shared(hint))
    if get_origin(hint) is Sequence:
        (inner,) = get_args(hint)
        return Sequence[_as_json(inner)]  # type: ignore[misc]  # known only now
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(map(_as_json, get_args(hint)))]  # noqa: UP007 - of types that are known only now
    return hint
