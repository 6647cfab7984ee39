"""Reset: nothing. The agent starts over; nothing stale can reach it, and nothing valid does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit_bench.episodes import View

if TYPE_CHECKING:
    from readmit_bench.episodes import Checkpoint


class Reset:
    """Forget everything."""

    name = "Reset"

    def view(self, checkpoint: Checkpoint) -> View:  # noqa: ARG002  # the rule is to look at nothing
        return View(method=self.name, rows=())
