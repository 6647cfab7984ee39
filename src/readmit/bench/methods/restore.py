"""Restore: the departure checkpoint, whole, and nothing later.

Whatever happened in the absence is ignored, including what replaced a row. The budget is that of every
other method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.bench.episodes import View
from readmit.bench.methods.protocol import retrieved

if TYPE_CHECKING:
    from readmit.bench.episodes import Checkpoint


class Restore:
    """Carry on as if no time had passed."""

    name = "Restore"

    def view(self, checkpoint: Checkpoint) -> View:
        held = [row for row in checkpoint.rows if row.departure]
        replaced = {old for row in held for old in row.supersedes}
        current = {row.id for row in held if row.operation != "delete"} - replaced
        return View(method=self.name, rows=retrieved(checkpoint, current))
