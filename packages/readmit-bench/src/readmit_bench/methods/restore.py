"""Restore: the departure checkpoint, whole, and nothing later.

Whatever happened in the absence is ignored, including what replaced a row. Nothing is retrieved and nothing is cut: its
rule is a whole state, so it alone is exempt from the budget of rows. The most relevant rows come first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit_bench.episodes import View
from readmit_bench.retrieval import in_turn

if TYPE_CHECKING:
    from readmit_bench.episodes import Checkpoint


class Restore:
    """Carry on as if no time had passed."""

    name = "Restore"

    def view(self, checkpoint: Checkpoint) -> View:
        held = [row for row in checkpoint.rows if row.departure]
        replaced = {old for row in held for old in row.supersedes}
        current = {row.id for row in held if row.operation != "delete"} - replaced
        ranked = (row for row in in_turn(checkpoint.relevance) if row in current)
        unranked = (row.id for row in held if row.id in current)
        return View(method=self.name, rows=tuple(dict.fromkeys((*ranked, *unranked))))
