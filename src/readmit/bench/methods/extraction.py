"""Statements from a checkpoint's sessions, by a model: slot, operation, and a verbatim quote bound to a turn.

What is handed over later is the quote, never the model's own words. A session that the model could not read is
read by the general rules instead, so that a lost answer costs precision and hides nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING

from readmit.bench.methods.state import Ending, Statement, session_of
from readmit.bench.reading import read
from readmit.models.stages.extract import Extracted, Observation, Turn, extract
from readmit.ports.models import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from readmit.bench.episodes import Row
    from readmit.ports.models import Model


@dataclass(frozen=True)
class Extracting:
    """How sessions are read: the paper's parameters of one benchmark."""

    per_call: int = 1
    max_items: int = 16
    min_confidence: Decimal = Decimal("0.45")
    max_chars: int = 24_000


@dataclass(frozen=True)
class Extract:
    """What the sessions state, what they delete, and how many could not be read."""

    statements: tuple[Statement, ...]
    endings: tuple[Ending, ...]
    premises: dict[str, tuple[str, ...]]
    unread: int


def extracted(model: Model, rows: Sequence[Row], how: Extracting) -> Extract:
    """Read every session."""
    parts = [list(part) for _, part in groupby(sorted(rows, key=lambda row: row.at), key=session_of)]
    observations = [
        Observation(key=session_of(part[0]), turns=tuple(Turn(row.source, row.text) for row in part)) for part in parts
    ]
    results = extract(
        model,
        observations,
        per_call=how.per_call,
        max_items=how.max_items,
        min_confidence=how.min_confidence,
        max_chars=how.max_chars,
    )
    statements: list[Statement] = []
    deletions: list[tuple[str, Row]] = []
    premises: dict[str, tuple[str, ...]] = {}
    for part, result in zip(parts, results, strict=True):
        said = () if isinstance(result, Failure) else result.items
        for number, item in enumerate(said):
            row = part[item.turn]
            if item.operation == "delete":
                deletions.append((item.slot, row))
                continue
            name = f"{row.id}.e{number}"
            statements.append(Statement(id=name, row=row, text=_verbatim(item, row), slot=item.slot))
            premises[name] = item.premises
        spoken_of = {part[item.turn].id for item in said}
        statements += _unextracted(row for row in part if row.id not in spoken_of)
    unread = sum(isinstance(result, Failure) for result in results)
    return Extract(tuple(statements), tuple(_endings(statements, deletions)), premises, unread)


def _unextracted(rows: Iterable[Row]) -> Iterable[Statement]:
    """The turns from which nothing was extracted stay observations of their own, as far as they state anything."""
    for row in rows:
        if row.operation != "delete" and read(row).own:
            yield Statement(id=row.id, row=row, text=row.text, slot=row.slot, depends_on=row.depends_on)


def _verbatim(item: Extracted, row: Row) -> str:
    """The quote as it stands in the row, whatever white space the model made of it."""
    pattern = r"\s+".join(re.escape(word) for word in item.quote.split())
    found = re.search(pattern, row.text)
    return found[0] if found else row.text


def _endings(statements: Sequence[Statement], deletions: Iterable[tuple[str, Row]]) -> Iterable[Ending]:
    for slot, row in deletions:
        for statement in statements:
            if statement.slot == slot and statement.row.at < row.at:
                yield Ending(statement.id, row.at, f"deleted by {row.id}")
