"""Digests of LangGraph state that are the same in every process and for every saver.

Storage does not hand values back byte for byte: sets iterate in the order of the process's hash seed, and a saver may
keep plain values as JSON, where a string enum becomes a string and 1e22 an integer. A digest must not depend on either.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import ormsgpack
from langgraph.checkpoint.serde.jsonplus import EXT_CONSTRUCTOR_SINGLE_ARG, JsonPlusSerializer

from readmit.records.error_types import BackendError

_plain = JsonPlusSerializer()
_SHORT = 32


def value_digest(place: str, value: Any) -> str:
    """The digest of a state value. ``place`` names it in the error for a value that has none."""
    return hashlib.sha256(_encoded(place, _as_json(value))).hexdigest()


def frame_digest(checkpoint: Any) -> str:
    """Digest of the fields that decide which node runs next: channel versions, versions seen, updated channels."""
    parts = [checkpoint[part] for part in ("v", "channel_versions", "versions_seen")]
    return short_digest(json.dumps([*parts, checkpoint.get("updated_channels")], sort_keys=True))


def short_digest(text: str) -> str:
    """128 bits of a text's digest."""
    return hashlib.sha256(text.encode()).hexdigest()[:_SHORT]


def _as_json(value: Any) -> Any:
    """A plain value as JSON keeps it. PostgreSQL's saver stores these outside its serializer."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else float(value)
    return value


def _encoded(place: str, value: Any) -> bytes:
    # Not the saver's own serializer: an encrypting one gives different bytes each time.
    try:
        kind, body = _plain.dumps_typed(value)
    except (TypeError, ValueError, RecursionError):
        kind, body = "object", _by_parts(place, value)
    else:
        body = ormsgpack.packb(_opened(body), option=ormsgpack.OPT_NON_STR_KEYS) if kind == "msgpack" else bytes(body)
    return kind.encode() + b"\0" + body


def _opened(body: bytes) -> Any:
    return ormsgpack.unpackb(body, ext_hook=_reordered, option=ormsgpack.OPT_NON_STR_KEYS)


def _reordered(code: int, data: bytes) -> ormsgpack.Ext:
    """An object of LangGraph's encoding, with the elements of every set in it in the order of their bytes."""
    inner = _opened(data)
    if code == EXT_CONSTRUCTOR_SINGLE_ARG and isinstance(inner[2], list) and _has_no_order(*inner[:2]):
        inner[2] = sorted(ormsgpack.packb(one, option=ormsgpack.OPT_NON_STR_KEYS) for one in inner[2])
    return ormsgpack.Ext(code, ormsgpack.packb(inner, option=ormsgpack.OPT_NON_STR_KEYS))


def _has_no_order(module: str, name: str) -> bool:
    # A class inside a function is not found; of those with one list as argument, it is most likely a set.
    kind = getattr(sys.modules.get(module), name, set)
    return isinstance(kind, type) and issubclass(kind, set | frozenset)


def _by_parts(place: str, value: Any) -> bytes:
    """A value that only the saver's own serializer can store, by the parts that pickling would take it apart into."""
    return json.dumps(_parts(place, value, ())).encode()


def _parts(place: str, value: Any, above: tuple[int, ...]) -> Any:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if value is None or isinstance(value, bool | int | float | str | bytes | bytearray):
        return [kind, repr(value)]
    if isinstance(value, type) or callable(value):
        return ["name", getattr(value, "__module__", ""), getattr(value, "__qualname__", "")]
    if id(value) in above:
        raise _no_digest(place, value, "it contains itself")
    inside = [_parts(place, one, (*above, id(value))) for one in _inside(place, value)]
    return [kind, sorted(inside, key=json.dumps) if isinstance(value, set | frozenset) else inside]


def _inside(place: str, value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [list(pair) for pair in value.items()]
    if isinstance(value, set | frozenset | list | tuple):
        return list(value)
    try:
        reduced = value.__reduce_ex__(4)
    except Exception as error:
        raise _no_digest(place, value, str(error)) from error
    return [list(part) if hasattr(part, "__next__") else part for part in ([reduced], reduced)[type(reduced) is tuple]]


def _no_digest(place: str, value: Any, why: str) -> BackendError:
    return BackendError(
        f"{place}: a {type(value).__name__} cannot be recognized when it is read back ({why}); "
        "keep a value in the state that can be pickled"
    )
