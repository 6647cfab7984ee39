"""Ids that one writer alone can give: those that begin with ``@``, its name and ``/``.

Ids of a workspace share one name space, so a given id tells its giver whether it was taken. What is not for everybody
therefore has an id of its writer's own (ADR 0044).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from readmit.records.canonical import digest_of
from readmit.records.errors import NotAllowedError

if TYPE_CHECKING:
    from collections.abc import Sequence

OWN = "@"
"""What a writer's own ids begin with."""
# Of the printable ASCII characters, all but the slash, which ends a name here, and the percent sign, which escapes.
_AS_IT_IS = "!\"#$&'()*+,:;<=>?@[\\]^`{|}"
_LONGEST = 60


@lru_cache(maxsize=1024)
def own_space(by: str) -> str:
    """What the own ids of a writer begin with. No two writers share it, and none is the beginning of another's."""
    name = quote(by, safe=_AS_IT_IS)
    # An escaped name has no two percent signs in a row.
    return f"{OWN}{name if len(name) <= _LONGEST else f'%%{digest_of(by.encode())[:32]}'}/"


def own_id(by: str, name: str) -> str:
    """An id that only this writer can give."""
    return f"{own_space(by)}{name}"


def made_id(by: str, name: str, principals: Sequence[str]) -> str:
    """An id that is made of a content. Who guesses a content that is for some principals must not be able to ask."""
    return own_id(by, name) if principals else name


def is_own(name: str, by: str) -> bool:
    """Whether only this writer can give an id."""
    return name.startswith(own_space(by))


def check_giver(name: str, by: str) -> str:
    """The id, unless it is another writer's own. Whether something has this id makes no difference."""
    if name.startswith(OWN) and not is_own(name, by):
        raise NotAllowedError(
            f"id: {name!r} is for the writer that it names; leave id out, or give one that begins with "
            f"{own_space(by)!r} or without {OWN!r}"
        )
    return name
