"""Static: ordinary retrieval over everything stored, old and new.

The store keeps versions: a row that names its predecessor in ``supersedes`` is its new version, and
retrieval returns the last one. Nothing else is checked. On ManBench this hands over the challenger,
which may be wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit_bench.episodes import View
from readmit_bench.methods.method import retrieved

if TYPE_CHECKING:
    from readmit_bench.episodes import Checkpoint


class Static:
    """No admission: what retrieval finds is what the agent gets."""

    name = "Static"

    def view(self, checkpoint: Checkpoint) -> View:
        replaced = {old for row in checkpoint.rows for old in row.supersedes}
        # A deletion is an operation on the store, not a statement in it.
        current = {row.id for row in checkpoint.rows if row.operation != "delete"} - replaced
        return View(method=self.name, rows=retrieved(checkpoint, current))
