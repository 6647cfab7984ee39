"""Rewrites the store's statements for PostgreSQL."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_INSERT = re.compile(r"(\s*INSERT INTO \w+ VALUES) (\([?, ]+\))(.*)", re.DOTALL)
_ROWS = 100
_WRITE = re.compile(r"\s*(?:INSERT INTO|UPDATE) (\w+) ")
# Longer ones have many rows, and hardly repeat.
_MOST_TOGETHER, _LONG = 16, 1_000
_SUBQUERY = " IN (SELECT"


@lru_cache(1_000)
def translated(query: str) -> str:
    """A statement in PostgreSQL's dialect.

    ``IN (SELECT …)`` becomes ``= ANY (ARRAY(…))``, so each value is an index lookup. As a join it would be planned from
    statistics that a new table lacks, and the cost of a return would grow with the log.
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
    """Whether a statement returns rows and therefore cannot wait."""
    return not query.lstrip().startswith(("INSERT", "UPDATE", "DELETE")) or "RETURNING" in query


@lru_cache(1_000)
def numbered(statement: str) -> str:
    """A translated statement as it is prepared: its values have numbers."""
    first, *rest = statement.split("%s")
    return first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))


def writes_apart(statements: Iterable[str]) -> bool:
    """Whether each of some statements writes to a table of its own, and reads none."""
    tables = [_written(one) for one in statements]
    return None not in tables and len({*tables}) == len(tables) <= _MOST_TOGETHER


@lru_cache(1_000)
def _written(statement: str) -> str | None:
    found = _WRITE.match(statement)
    return None if found is None or "SELECT" in statement or len(statement) > _LONG else found[1]


@lru_cache(1_000)
def together(statements: tuple[str, ...], sign: str) -> str:
    """Statements that write to different tables as a single one, which also sends a sign."""
    *others, last = statements
    parts = ", ".join(f"part{number} AS ({one})" for number, one in enumerate(others))
    return f"WITH {parts} {last} RETURNING pg_notify('{sign}', '')"


def for_rows(query: str, rows: Iterable[Sequence[Any]]) -> Iterator[tuple[str, Sequence[Any]]]:
    """One statement for each row; inserts take many rows at a time."""
    found = _INSERT.fullmatch(query)
    if found is None:
        yield from ((query, row) for row in rows)
        return
    verb, marks, rest = found.groups()
    listed = list(rows)
    for start in range(0, len(listed), _ROWS):
        part = listed[start : start + _ROWS]
        yield f"{verb} {', '.join([marks] * len(part))}{rest}", list(chain.from_iterable(part))
