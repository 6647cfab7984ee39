"""Canonical bytes and digests (RFC 8785 on a restricted profile).

The profile makes all encoders agree: no floats, integers below 2**53, ASCII keys. On it, msgspec's sorted encoding and
RFC 8785 give the same bytes (``tests/properties`` checks that against an independent implementation).
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import secrets
from ast import literal_eval
from enum import Enum, EnumType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast, get_args, get_type_hints

import msgspec

from readmit.records.arguments import near_name, unknown
from readmit.records.base import PATTERNS
from readmit.records.error_types import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

T = TypeVar("T")

SALT_BYTES = 16
"""The random bytes before a stored body. Without them no reader can confirm a guess of an erased text by its digest."""

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


def new_salt() -> bytes:
    """The salt of a new event. Drawn many at a time: a call of the system costs more than hashing an observation."""
    try:
        return _salts.pop()
    except IndexError:
        drawn = secrets.token_bytes(_DRAWN * SALT_BYTES)
        _salts.extend(drawn[at : at + SALT_BYTES] for at in range(SALT_BYTES, len(drawn), SALT_BYTES))
        return drawn[:SALT_BYTES]


_DRAWN = 256
_salts: list[bytes] = []
# A child must not hand out the salts of its parent.
os.register_at_fork(after_in_child=_salts.clear)


def salted_digest(salt: bytes, value: object) -> str:
    """The digest that commits to a record on the log: over its salt and its canonical bytes."""
    return digest_of(salt + canonical(value))


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
        if found := re.match(rf"{what}((?:\.\w+)+)(\[\d+\])?: Invalid enum value", said):
            said += f"; use one of {', '.join(_choices(_hint(kind, found[1].split('.')[1:])))}"
        raise RecordError(said) from None


def checked(record: T, *, what: str) -> T:
    """Type-check a record built in Python: its constructor does not."""
    data = canonical(record)
    return decode(data, type(record), what=what)


def explained(error: Exception, data: bytes | str) -> str:
    """The fault of some JSON, with line and column if it is malformed."""
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


def _hint(kind: Any, path: Iterable[str]) -> Any:
    """The annotation of a field, within records."""
    for name in path:
        kind = get_type_hints(kind)[name]
    return kind


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
        return f"{path}.{_in_a_group(path, found[1], kind, place) or unknown(path, found[1], fields_at(kind, place))}"
    if found := re.fullmatch(r"Expected `str` matching regex (.+)", words):
        return f"{path}: not {PATTERNS.get(literal_eval(found[1]), 'in the right form')}"
    if found := re.fullmatch(r"Expected `str` of length ([<>]=) (\d+)", words):
        return f"{path}: use at {'most' if found[1] == '<=' else 'least'} {int(found[2]):,} characters, in any script"
    if "RFC3339" in words or "timezone" in words:
        return f"{path}: {words}; write it as 2026-05-04T09:00:00Z"
    return f"{path}: {words}"


def fields_at(kind: Any, place: str) -> tuple[str, ...]:
    """The fields of the record at a place that msgspec names (``$.looks``); none where that is unknown."""
    return tuple(_types_at(kind, place))


def _types_at(kind: Any, place: str) -> dict[str, msgspec.inspect.Type]:
    """The types of those fields."""
    if kind is None:
        return {}
    info = _record(msgspec.inspect.type_info(kind))
    for name in re.findall(r"\.(\w+)", place):
        inner = _types(info)
        info = _record(inner[name]) if name in inner else None
    return _types(info)


def _types(info: msgspec.inspect.StructType | None) -> dict[str, msgspec.inspect.Type]:
    return {} if info is None else {field.encode_name: field.type for field in info.fields}


def _in_a_group(path: str, given: str, kind: Any, place: str) -> str:
    """The message about an unknown field that a record within this one has, or has a similar one."""
    known = _types_at(kind, place)
    groups = {name: group for group, type_ in known.items() for name in _types(_record(type_))}
    if given in groups:
        return f"{given}: belongs to {groups[given]}; write it as {groups[given]}.{given}"
    near = near_name(given, (*known, *groups))
    if near in groups:
        return f"{given}: {path} has no such field; did you mean {groups[near]}.{near}?"
    return ""


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


LONGEST_PIECE = 100
"""Most entries in a piece. An author who chooses digests cannot make a piece longer."""
# One digest in 16: pieces are small enough to write again for one change, and few enough to name.
_ENDS_A_PIECE = "0"
_names = msgspec.json.Decoder(list[str]).decode


class Pieces(NamedTuple):
    """A long list in pieces that are named by their digests, so that nearly equal lists share nearly all of them.

    A piece ends after an entry whose digest says so: an entry that changes, comes or goes changes its own piece alone.
    Above the pieces of entries lie pieces of names, cut the same way, up to a single one. Its name stands for the list.
    """

    root: str
    parts: Mapping[str, bytes]


def cut(entries: Sequence[T], digests: Sequence[str]) -> Pieces:
    """The pieces of a list whose entries have these digests. Equal lists have equal pieces."""
    level = [canonical(part) for part in _runs(entries, digests)] or [canonical(())]
    parts: dict[str, bytes] = {}
    while True:
        names = [digest_of(part) for part in level]
        parts.update(zip(names, level, strict=True))
        if len(names) == 1:
            return Pieces(names[0], parts)
        level = [canonical(part) for part in _runs(names, names)]


def _runs(entries: Sequence[T], digests: Sequence[str]) -> Iterator[Sequence[T]]:
    start = 0
    for at, each in enumerate(digests, 1):
        if each.startswith(_ENDS_A_PIECE) or at - start == LONGEST_PIECE or at == len(digests):
            yield entries[start:at]
            start = at


def below(piece: bytes) -> list[str] | None:
    """The names in a piece; none if it holds entries."""
    return _names(piece) if piece.startswith(b'["') else None


def joined(root: str, read: Callable[[Iterable[str]], Mapping[str, bytes]]) -> Iterator[bytes]:
    """The pieces of entries of a list, in order. ``read`` gets pieces by name, and checks that they are those."""
    level = [root]
    while True:
        found = read(level)
        lists = [below(found[name]) for name in level]
        if lists[0] is None:
            yield from (found[name] for name in level)
            return
        level = [name for names in lists for name in names or ()]
