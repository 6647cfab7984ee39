"""The place of a LangGraph item: bank, namespace and key, and one id for all three."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import NamedTuple, TypeAlias
from urllib.parse import quote, unquote

from readmit.backends.id_escape import escape_id

Namespace: TypeAlias = tuple[str, ...]
LONGEST_ID = 512
"""Most UTF-8 bytes of an id, the limit of the ledger's index. A longer id is replaced by its digest."""


class GraphPlace(NamedTuple):
    """A record's location as users name it: bank, namespace and key."""

    owner: str
    namespace: Namespace
    key: str


def record_id(place: GraphPlace) -> str:
    """One unambiguous id for owner, namespace and key.

    It is a path, so it contains a slash; if that would be too long, it is a digest, which contains none.
    """
    made = f"{_path(place.owner, place.namespace)}/{escape_id(place.key)}"
    if made.isascii() and len(made) <= LONGEST_ID:
        return made
    body = made.encode()
    return made if len(body) <= LONGEST_ID else f"~{hashlib.sha256(body).hexdigest()}"


@lru_cache(maxsize=4_096)
def _path(owner: str, namespace: Namespace) -> str:
    return "/".join(escape_id(part) for part in (owner, *namespace))


def label(name: str) -> str:
    """A name as a namespace label, without periods or wildcards."""
    return quote(name, safe="").replace(".", "%2E").replace("%", "=")


def unlabel(text: str) -> str:
    """The name of a label."""
    return unquote(text.replace("=", "%"))
