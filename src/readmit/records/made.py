"""Records that people make themselves: checked where they are made, and not only where they are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, get_type_hints

from msgspec import StructMeta

from readmit.records.arguments import unknown
from readmit.records.base import shown
from readmit.records.canonical import convert
from readmit.records.error_types import RecordError

T = TypeVar("T")


class Made(StructMeta):
    """Type of a record whose constructor refuses what the decoder would, and takes an exact number as text."""

    def __call__(cls: type[T], *values: object, **fields: Any) -> T:  # noqa: N805 - it is the type's own call
        if values:
            raise RecordError(f"{cls.__name__}: {shown(values[0])} has no name; give every field as name=value")
        known = cls.__struct_encode_fields__  # type: ignore[attr-defined]  # of every record
        for field, value in fields.items():
            if field not in known:
                raise RecordError(_without_group(cls, field) or unknown(cls.__name__, field, known))
            for name, one in value.items() if isinstance(value, Mapping) else ():
                _require_exact(f"{field}.{name}", one)
            _require_exact(field, value)
        return convert(fields, cls, what=cls.__name__)


def _require_exact(field: str, value: object) -> None:
    if isinstance(value, float):
        raise RecordError(f"{field}: {value!r} is not exact; write '{value}'")


def _without_group(cls: type, field: str) -> str:
    """Which group of settings a field belongs to that was given outside of it."""
    groups = get_type_hints(cls).items()
    found = [name for name, hint in groups if field in getattr(hint, "__struct_encode_fields__", ())]
    return f"{field}: a setting of {found[0]}; write {found[0]}={{{field!r}: …}}" if found else ""
