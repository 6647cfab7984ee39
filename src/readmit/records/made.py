"""Records that people make themselves: checked where they are made, and not only where they are written."""

from __future__ import annotations

from typing import Any, TypeVar

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
                raise RecordError(unknown(cls.__name__, field, known))
            if isinstance(value, float):
                raise RecordError(f"{field}: {value!r} is not exact; write '{value}'")
        return convert(fields, cls, what=cls.__name__)
