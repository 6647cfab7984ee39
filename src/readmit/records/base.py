"""The base of every record: frozen, keyword-only, no unknown field; and the vocabulary of small values."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, TypeAlias, TypeVar, dataclass_transform

import msgspec

from readmit.records.error_types import RecordError

T = TypeVar("T")

# Printable ASCII without spaces: safe in a terminal, a page, a file name list and a signed statement.
_ID = r"^[!-~]{1,128}$(?!\n)"
_DIGEST = r"^[0-9a-f]{64}$(?!\n)"
AN_ID = "an id; use 1 to 128 printable ASCII characters without spaces"
A_DIGEST = "a digest of evidence; use the 64 hexadecimal digits that observe returned"
_SALT = r"^[0-9a-f]{32}$(?!\n)"
PATTERNS = {_ID: AN_ID, _DIGEST: A_DIGEST}
"""Words for each regular expression, for error messages."""
Id = Annotated[str, msgspec.Meta(pattern=_ID)]
LONGEST_NAME = 256
LONGEST_SHOWN = 80
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]
LONGEST_TEXT = 200_000
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TEXT)]
Note = Annotated[str, msgspec.Meta(max_length=2_000)]
Digest = Annotated[str, msgspec.Meta(pattern=_DIGEST)]
Salt = Annotated[str, msgspec.Meta(pattern=_SALT)]
"""16 random bytes in hex."""
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Time = Annotated[datetime, msgspec.Meta(tz=True)]
Moment: TypeAlias = datetime | str
"""A moment as callers give it: with a time zone, as a value or as ISO 8601 text."""
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
    repr_omit_defaults=True,
):
    """An immutable value with strict decoding.

    Values cannot form a cycle, so frequent ones opt out of garbage collection (``gc=False``).
    """


def utc(moment: datetime | str, *, field: str = "time") -> datetime:
    """A moment in UTC, so that equal moments have equal bytes. A text is read as ISO 8601."""
    if not isinstance(moment, datetime):
        moment = _read(moment, field)
    if moment.tzinfo is None:
        raise RecordError(f"{field}: {moment.isoformat()} has no time zone; write {moment.isoformat()}Z for UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise RecordError(f"{field}: {moment.isoformat()} is outside the years 1 to 9999 in UTC") from None


def _read(moment: object, field: str) -> datetime:
    try:
        return datetime.fromisoformat(moment)  # type: ignore[arg-type]  # anything but a text is refused below
    except (TypeError, ValueError):
        raise RecordError(
            f"{field}: {shown(moment)} is not a moment; give a datetime with a time zone, or 2026-05-04T09:00:00Z"
        ) from None


def require_id(field: str, value: object) -> str:
    """The value, if it is a valid id."""
    if not (isinstance(value, str) and re.match(_ID, value)):
        raise RecordError(f"{field}: {shown(value)} is not {AN_ID}")
    return value


def require_digest(field: str, value: object) -> str:
    """The value, if it is a valid digest of evidence."""
    if not (isinstance(value, str) and re.match(_DIGEST, value)):
        raise RecordError(f"{field}: {shown(value)} is not {A_DIGEST}")
    return value


def require_name(field: str, value: object) -> str:
    """The value, if it is a valid name of a principal, role, task or workspace."""
    if not (isinstance(value, str) and 1 <= len(value) <= LONGEST_NAME):
        raise RecordError(f"{field}: {shown(value)} is not a name; use 1 to {LONGEST_NAME} characters, in any script")
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise RecordError(
            f"{field}: {shown(value)} holds half of a character (a surrogate); give text that UTF-8 can encode"
        )
    return value


def require_text(field: str, value: object) -> str:
    """The value, if it is a text that can be stored."""
    if not (isinstance(value, str) and 1 <= len(value) <= LONGEST_TEXT):
        raise RecordError(f"{field}: {shown(value)} is not a text; give one of 1 to {LONGEST_TEXT:,} characters")
    return value


def require_choice(field: str, value: object, choices: Collection[str]) -> None:
    """Refuse a value that is not among the choices."""
    if not (isinstance(value, str) and value in choices):
        raise RecordError(f"{field}: {shown(value)} is unknown; give one of {', '.join(choices)}")


def require(field: str, value: object, kind: type[T]) -> T:
    """The value, if it is of a kind of record that callers make."""
    if not isinstance(value, kind):
        raise RecordError(f"{field}: {shown(value)} is not a {kind.__name__}; make one, as {kind.__name__}(…)")
    return value


def require_flag(field: str, value: object) -> bool:
    """The value, if it is exactly true or false."""
    if not isinstance(value, bool):
        raise RecordError(f"{field}: {shown(value)} is no flag; give True or False")
    return value


def shown(value: object) -> str:
    """A value as an error message quotes it, cut where it is long."""
    said = repr(value)
    return said if len(said) <= LONGEST_SHOWN else f"{said[:LONGEST_SHOWN]}…"


def nfc(name: str) -> str:
    """A name in Unicode's composed form: the same name typed on two systems is the same name."""
    if not isinstance(name, str) or name.isascii():  # type: ignore[redundant-expr]  # callers are not type-checked
        # Other types are left to the type check, which knows the field's name.
        return name
    return unicodedata.normalize("NFC", name)


def listed(field: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """The values as a tuple. A single string is refused: Python would read it as a sequence of letters."""
    if isinstance(values, tuple):
        return values
    if isinstance(values, str):
        raise RecordError(f"{field}: give a list, as in [{shown(values)}]")
    if isinstance(values, bytes | Mapping) or not isinstance(values, Iterable):
        raise RecordError(f"{field}: {shown(values)} is not a list; give one, or leave it out")
    return tuple(values)


def require_share(field: str, value: Decimal) -> None:
    """Refuse a ratio outside 0 to 1. Not-a-number compares false with everything, so it is refused too."""
    if not isinstance(value, Decimal):
        raise RecordError(f"{field}: {shown(value)} is not exact; write Decimal('{value}')")
    if not (value.is_finite() and 0 <= value <= 1):
        raise RecordError(f"{field} must be between 0 and 1")
