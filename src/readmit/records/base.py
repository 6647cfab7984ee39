"""What every record shares: frozen, keyword-only, no unknown field; and the vocabulary of small values."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, dataclass_transform

import msgspec

from readmit.records.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable

# Printable ASCII without spaces: safe in a terminal, a page, a file name list and a signed statement.
_ID = r"^[!-~]{1,128}$(?!\n)"
Id = Annotated[str, msgspec.Meta(pattern=_ID)]
LONGEST_NAME = 256
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]
LONGEST_TEXT = 200_000
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TEXT)]
Note = Annotated[str, msgspec.Meta(max_length=2_000)]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Time = Annotated[datetime, msgspec.Meta(tz=True)]
# Exact, and written as a string: signed records hold no floats.
Ratio = Decimal


# For type checkers alone: subclasses inherit ``frozen`` from msgspec, which its own annotation does not say.
@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Record(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """An immutable value with strict decoding.

    Values cannot form a cycle, so frequent ones opt out of garbage collection (``gc=False``).
    """


def utc(moment: datetime, *, field: str = "time") -> datetime:
    """The same moment in UTC, so that equal moments have equal bytes."""
    if moment.tzinfo is None:
        raise RecordError(f"{field}: {moment.isoformat()} has no time zone; write {moment.isoformat()}Z for UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise RecordError(f"{field}: {moment.isoformat()} is outside the years 1 to 9999 in UTC") from None


def require_id(field: str, value: str) -> str:
    """The value, if it is a valid id."""
    if not re.match(_ID, str(value)):
        raise RecordError(f"{field}: {value!r} is not an id; use 1 to 128 printable ASCII characters without spaces")
    return value


def require_name(field: str, value: str) -> str:
    """The value, if it is a valid name of a principal, role, task or workspace."""
    if not 1 <= len(value) <= LONGEST_NAME:
        raise RecordError(f"{field}: {value!r} is not a name; use 1 to {LONGEST_NAME} characters")
    return value


def nfc(name: str) -> str:
    """A name in Unicode's composed form: the same name typed on two systems is the same name."""
    if not isinstance(name, str) or name.isascii():  # type: ignore[redundant-expr]  # callers are not type-checked
        # Other types are left to the type check, which knows the field's name.
        return name
    return unicodedata.normalize("NFC", name)


def listed(field: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """The values as a tuple. A single string is refused: Python would read it as a sequence of letters."""
    if isinstance(values, str):
        raise RecordError(f"{field}: give a list, as in [{values!r}]")
    return tuple(values)


def require_share(field: str, value: Decimal) -> None:
    """Refuse a ratio outside 0 to 1. Not-a-number compares false with everything, so it is refused too."""
    if not isinstance(value, Decimal):
        raise RecordError(f"{field}: {value!r} is not exact; write Decimal('{value}')")
    if not (value.is_finite() and 0 <= value <= 1):
        raise RecordError(f"{field} must lie between 0 and 1")
