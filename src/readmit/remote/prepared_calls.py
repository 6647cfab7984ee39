"""Calls of verbs, made from the table's rows and the arguments of the library's functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from readmit.records.arguments import bound
from readmit.records.base import shown
from readmit.records.canonical import canonical
from readmit.records.error_types import RecordError
from readmit.remote.connection import VerbCall, request_key
from readmit.remote.verb_table import verbs

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.writing.author import Author

_ROWS = {verb.name: verb for verb in verbs()}
_HERE = "a server looks at no place for its callers: read it here, and give its text"


def arguments(
    function: Callable[..., object], author: Author, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> dict[str, Any]:
    """Arguments of a call of a function of the library, by name, without its writer: that is the credential's."""
    given = bound(function, (None, *args), kwargs)
    given.pop(next(iter(given)))
    given |= {**given.pop("fields", {}), **given.pop("shared", {})}
    return _unwritten(given, author)


def _unwritten(given: dict[str, Any], author: Author) -> dict[str, Any]:
    author.of(given.pop("by", None))
    if given.pop("probe", None) is not None:
        raise RecordError(f"probe: {_HERE}")
    if "observations" in given:
        given["observations"] = [
            _unwritten(dict(one), author) if isinstance(one, Mapping) else one for one in given["observations"]
        ]
    return {name: _plain(name, one) for name, one in given.items()}


def _plain(field: str, value: Any) -> Any:
    """A value as JSON has it. What JSON would carry as something else is refused, as the function itself would."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes | bytearray | memoryview) or value != value:  # noqa: PLR0124 - not a number
        raise RecordError(f"{field}: {shown(value)} is not a value that a server can be sent")
    if isinstance(value, list | tuple | set | frozenset | Iterator):
        return [_plain(field, one) for one in value]
    return value


def prepared(name: str, place: Mapping[str, str], given: Mapping[str, Any]) -> VerbCall:
    """The request for a verb. ``place`` has the values of the handle that it is called on."""
    verb = _ROWS[name]
    values = {**place, **given}
    path = re.sub(r"{(\w+)}", lambda found: quote(str(values[found[1]]), safe=""), verb.path)
    fields = verb.given.__struct_fields__
    body = {one: place[one] for one in fields if one in place} | {
        one: value for one, value in given.items() if f"{{{one}}}" not in verb.path
    }
    headers = {} if verb.is_idempotent else request_key()
    if verb.method == "GET":
        query = _texts({one: value for one, value in body.items() if value is not None})
        return VerbCall(verb.method, path, query, None, headers, _reader(name), is_safe=True)
    headers["content-type"] = "application/json"
    # Under its key an event has an id, also in a server that was started again. A return that is decided again replaces
    # the one before it.
    is_safe = verb.is_idempotent or "id" in fields
    return VerbCall(verb.method, path, {}, canonical(body), headers, _reader(name), is_safe)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}


@cache
def _reader(name: str) -> Callable[[bytes | str], Any]:
    """Reads the answer of a verb."""
    return msgspec.json.Decoder(_ROWS[name].result).decode
