"""The statements of the store as PostgreSQL takes them best."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_INSERT = re.compile(r"(\s*INSERT INTO \w+ VALUES) (\([?, ]+\))(.*)", re.DOTALL)
_ROWS = 100
_SUBQUERY = " IN (SELECT"


@lru_cache(1_000)
def translated(query: str) -> str:
    """A statement as PostgreSQL takes it.

    What a subquery finds is looked up in the index, value by value. As a join, it would be planned from figures that a
    new table does not have, and the cost of a return would follow the size of the log, not what it returns.
    """
    text = query.replace("?", "%s")
    while (start := text.rfind(_SUBQUERY)) >= 0:
        opened = start + len(" IN (")
        end, depth = opened, 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = f"{text[:start]} = ANY (ARRAY({text[opened:end]}){text[end:]}"
    return text


@lru_cache(1_000)
def only_reads(query: str) -> bool:
    """Whether a statement changes nothing."""
    return query.lstrip().startswith("SELECT")


@lru_cache(1_000)
def answers(query: str) -> bool:
    """Whether a statement returns rows, so that it cannot wait."""
    return not query.lstrip().startswith(("INSERT", "UPDATE", "DELETE")) or "RETURNING" in query


def for_rows(query: str, rows: Iterable[Sequence[Any]]) -> Iterator[tuple[str, Sequence[Any]]]:
    """One statement for each row; of an insert, one for many rows."""
    found = _INSERT.fullmatch(query)
    if found is None:
        yield from ((query, row) for row in rows)
        return
    verb, marks, rest = found.groups()
    listed = list(rows)
    for start in range(0, len(listed), _ROWS):
        part = listed[start : start + _ROWS]
        yield f"{verb} {', '.join([marks] * len(part))}{rest}", list(chain.from_iterable(part))
