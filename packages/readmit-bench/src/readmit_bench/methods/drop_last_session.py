"""drop-last-session (STALE only): ordinary retrieval over everything but the last session before the departure.

This is not a real admission method. It shows what STALE's adaptation reveals: the departure is set at the end of the
session that holds the old statement, so its position says what to reject. No statement is read and no model is asked.
Compare any method that rejects the old statement with this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit_bench.episodes import View
from readmit_bench.methods.method import retrieved
from readmit_bench.methods.state import SESSION

if TYPE_CHECKING:
    from readmit_bench.episodes import Checkpoint


class DropLastSession:
    """Treats the last session before the absence as the one that no longer holds."""

    name = "drop-last-session"

    def view(self, checkpoint: Checkpoint) -> View:
        last = max((row.at // SESSION for row in checkpoint.rows if row.departure), default=None)
        kept = {row.id for row in checkpoint.rows if row.operation != "delete" and row.at // SESSION != last}
        return View(method=self.name, rows=retrieved(checkpoint, kept))
