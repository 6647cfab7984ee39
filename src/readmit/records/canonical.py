"""Canonical bytes and digests (RFC 8785 on a restricted profile).

The profile makes all encoders agree: no floats, integers below 2**53, ASCII keys. On it, msgspec's sorted encoding and
RFC 8785 give the same bytes (``tests/properties`` checks that against an independent implementation).
"""

from __future__ import annotations

import codecs
import hashlib
import re
from ast import literal_eval
from enum import Enum, EnumType
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, get_type_hints

import msgspec

from readmit.records.arguments import unknown
from readmit.records.base import PATTERNS
from readmit.records.error_types import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

_WHOLE = "value"

_BYTE = re.compile(r" \(byte (\d+)\)")
# In JSON that was decoded before, a string with a colon after it is a key.
_KEYS_AND_OBJECTS = re.compile(rb'("(?:[^"\\]|\\.)*+")(\s*:)?|[{}]')

_encode = msgspec.json.Encoder(order="sorted", decimal_format="string").encode


def canonical(value: object) -> bytes:
    """Encode a record. Equal records have equal bytes, in every process and on every machine."""
    try:
        return _encode(value)
    except UnicodeEncodeError as error:
        raise RecordError(f"{_culprit(value)} holds a character that UTF-8 cannot encode: {error.reason}") from None
    except (TypeError, OverflowError, RecursionError) as error:
        raise RecordError(f"{_culprit(value)}: not a value that a record can hold: {error}") from None


def _culprit(value: object) -> str:
    """The path of the field that cannot be encoded."""
    fields = msgspec.structs.asdict(value) if isinstance(value, msgspec.Struct) else value
    for field, part in fields.items() if isinstance(fields, dict) else ():
        try:
            _encode(part)
        except Exception:  # noqa: BLE001 - whichever it is, this is the field
            inner = _culprit(part)
            return f"{field}.{inner}" if inner != _WHOLE else str(field)
    return _WHOLE


def digest_of(data: bytes) -> str:
    """The lower-case hex SHA-256 of some bytes: how items and evidence are addressed."""
    return hashlib.sha256(data).hexdigest()


def digest(value: object) -> str:
    """The digest of a record's canonical bytes."""
    return digest_of(canonical(value))


def digest_of_lines(lines: Iterable[bytes]) -> str:
    """The digest of lines joined by line feeds, read one at a time: together they may exceed memory."""
    whole = hashlib.sha256()
    for number, line in enumerate(lines):
        whole.update(b"\n" if number else b"")
        whole.update(line)
    return whole.hexdigest()


def digest_of_set(digests: Iterable[str]) -> str:
    """One digest over an ordered set of digests and their count, so that none can be dropped or swapped."""
    listed = list(digests)
    return digest_of(f"{len(listed)}\n{''.join(listed)}".encode("ascii"))


def decode(data: bytes | str, kind: type[T], *, what: str) -> T:
    """Decode JSON strictly; the error names the record and the path of the field."""
    return decoded(data, msgspec.json.Decoder(kind).decode, what=what, kind=kind)


def decode_file(data: bytes | str, kind: type[T], *, what: str) -> T:
    """As ``decode``, for what people write: a repeated key is refused, where JSON would take the last."""
    data = without_mark(data)
    made = decode(data, kind, what=what)
    if said := repeated_key(data):
        raise RecordError(f"{what}: {said}")
    return made


def without_mark(data: bytes | str) -> bytes:
    """A file's text without the byte order mark that some editors write before it."""
    return _raw(data).removeprefix(codecs.BOM_UTF8)


def repeated_key(data: bytes | str) -> str | None:
    """Which key of an object stands in it twice, with line and column; none if all differ. Takes well-formed JSON."""
    raw = _raw(data)
    objects: list[set[str]] = []
    for found in _KEYS_AND_OBJECTS.finditer(raw):
        if found[0] == b"{":
            objects.append(set())
        elif found[0] == b"}":
            objects.pop()
        elif found[2] is not None:
            key = msgspec.json.decode(found[1], type=str)
            if key in objects[-1]:
                return f"{_position(raw, found.start())}: the key {key!r} is given twice; keep one of them"
            objects[-1].add(key)
    return None


def decoded(data: bytes | str, decoder: Callable[[bytes | str], T], *, what: str, kind: Any = None) -> T:
    """As ``decode``, with a prepared decoder, and the type that it reads if errors are to name the nearest field."""
    try:
        return decoder(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(located(explained(error, data), what, kind)) from None


def convert(value: Any, kind: type[T], *, what: str) -> T:
    """Turn plain Python values into a record as strictly as the decoder would."""
    try:
        return msgspec.convert(value, kind, strict=True)
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as error:
        if isinstance(error, UnicodeEncodeError):
            raise RecordError(f"{what}.{_culprit(value)}: holds a character that UTF-8 cannot carry") from None
        said = located(str(error) or type(error).__name__, what, kind)
        if found := re.match(rf"{what}\.(\w+)(\[\d+\])?: Invalid enum value", said):
            said += f"; use one of {', '.join(_choices(get_type_hints(kind)[found[1]]))}"
        raise RecordError(said) from None


def checked(record: T, *, what: str) -> T:
    """Type-check a record built in Python: its constructor does not."""
    data = canonical(record)
    return decode(data, type(record), what=what)


def explained(error: Exception, data: bytes | str) -> str:
    """What is wrong with some JSON, with line and column if it is malformed."""
    message = str(error) or type(error).__name__
    raw = _raw(data)
    if isinstance(error, UnicodeDecodeError):
        message, at = "not UTF-8 text", error.start
    elif found := _BYTE.search(message):
        message, at = message.replace(found[0], ""), int(found[1])
    elif "truncated" in message:
        message, at = "JSON is malformed: it ends too early", len(raw)
    else:
        return message
    return f"{_position(raw, at)}: {message}"


def _raw(data: bytes | str) -> bytes:
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)


def _position(raw: bytes, at: int) -> str:
    line = raw.count(b"\n", 0, at) + 1
    column = len(raw[raw.rfind(b"\n", 0, at) + 1 : at].decode("utf-8", "replace")) + 1
    return f"line {line}, column {column}"


def _choices(hint: Any) -> Iterable[str]:
    """The values that a type lists, however deep in it."""
    if isinstance(hint, EnumType):
        return [str(one.value) for one in cast("Iterable[Enum]", hint)]
    return [one for part in get_args(hint) for one in ([part] if isinstance(part, str) else _choices(part))]


def located(message: str, what: str, kind: Any = None) -> str:
    """A message of msgspec's with the path of the field in front, and in words where it gives a regular expression.

    ``kind`` is the type that was read, where it is known: an unknown field is then named with the nearest known one.
    """
    words, _, place = message.partition(" - at `")
    path = what + place.removesuffix("`").removeprefix("$")
    if found := re.fullmatch(r"Object missing required field `(.+)`", words):
        return f"{path}.{found[1]}: required, but missing"
    if found := re.fullmatch(r"Object contains unknown field `(.+)`", words):
        return f"{path}.{unknown(path, found[1], fields_at(kind, place))}"
    if found := re.fullmatch(r"Expected `str` matching regex (.+)", words):
        return f"{path}: not {PATTERNS.get(literal_eval(found[1]), 'in the right form')}"
    if found := re.fullmatch(r"Expected `str` of length ([<>]=) (\d+)", words):
        return f"{path}: use at {'most' if found[1] == '<=' else 'least'} {int(found[2]):,} characters, in any script"
    if "RFC3339" in words or "timezone" in words:
        return f"{path}: {words}; write it as 2026-05-04T09:00:00Z"
    return f"{path}: {words}"


def fields_at(kind: Any, place: str) -> tuple[str, ...]:
    """The fields of the record at a place that msgspec names (``$.looks``); none where that is unknown."""
    if kind is None:
        return ()
    info = _record(msgspec.inspect.type_info(kind))
    for name in re.findall(r"\.(\w+)", place):
        inner = {field.encode_name: field.type for field in info.fields} if info is not None else {}
        info = _record(inner[name]) if name in inner else None
    return () if info is None else tuple(field.encode_name for field in info.fields)


def _record(info: msgspec.inspect.Type) -> msgspec.inspect.StructType | None:
    """The one record within a type, if there is one."""
    match info:
        case msgspec.inspect.StructType():
            return info
        case msgspec.inspect.Metadata(type=inner) | msgspec.inspect.VarTupleType(item_type=inner):
            return _record(inner)
        case msgspec.inspect.UnionType(types=types):
            found = [one for one in map(_record, types) if one is not None]
            return found[0] if len(found) == 1 else None
    return None
