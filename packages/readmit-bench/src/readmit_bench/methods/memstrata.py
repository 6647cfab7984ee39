"""MemStrata: a bi-temporal ledger that keeps one open row per key, without any model call.

Key: entity::attribute, normalized, else the slot, else the row itself. Fingerprint of a value: its text,
case-folded, without punctuation. Rows are taken in time order:

* a ``supersedes`` link closes its target;
* a deletion closes the open row of its key and leaves a tombstone: nothing that began to hold earlier
  is opened again;
* same key, same fingerprint: a duplicate, dropped;
* same key, new value: the old row's valid-to becomes the new row's valid-from. A value that arrives
  late, having begun before the open one, enters closed;
* invalidated and expired rows drop out.

The view is retrieval over the open rows.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from readmit_bench.episodes import View
from readmit_bench.methods.method import retrieved

if TYPE_CHECKING:
    from readmit_bench.episodes import Checkpoint, Row


class MemStrata:
    """The last writer of a key wins."""

    name = "MemStrata"

    def view(self, checkpoint: Checkpoint) -> View:
        opened = open_rows(checkpoint.rows, checkpoint.now)
        return View(method=self.name, rows=retrieved(checkpoint, opened))


def open_rows(rows: tuple[Row, ...], now: int) -> frozenset[str]:
    """The ids of the rows that are open at ``now``."""
    ledger: dict[str, Row] = {}
    tombstones: dict[str, int] = {}
    for row in sorted(rows, key=lambda r: (r.at, r.id)):
        for linked in row.supersedes:
            for name in [name for name, held in ledger.items() if held.id == linked]:
                del ledger[name]
        name = key(row)
        held = ledger.get(name)
        if row.operation == "delete":
            ledger.pop(name, None)
            tombstones[name] = max(row.start, tombstones.get(name, row.start))
        elif row.invalidated or row.start < tombstones.get(name, row.start):
            continue
        elif held is None or (fingerprint(held.text) != fingerprint(row.text) and held.start <= row.start):
            ledger[name] = row
    return frozenset(row.id for row in ledger.values() if row.holds_at(now))


def key(row: Row) -> str:
    """What the row is about. A row that does not say stands alone."""
    if row.entity and row.attribute:
        return f"{normalized(row.entity)}::{normalized(row.attribute)}"
    return f"slot:{normalized(row.slot)}" if row.slot else f"row:{row.id}"


def normalized(name: str) -> str:
    """Case-folded, with runs of anything but letters and digits as one space."""
    return " ".join(re.findall(r"\w+", name.casefold().replace("_", " ")))


def fingerprint(text: str) -> str:
    """The value as compared: case-folded, without punctuation, white space collapsed."""
    bare = "".join(c for c in text.casefold() if not unicodedata.category(c).startswith("P"))
    return " ".join(bare.split())
