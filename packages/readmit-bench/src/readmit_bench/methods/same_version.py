"""same-version (ManBench only): compare the two task-version ids, and nothing else.

Of the answers to the version of the task that is asked, hand over the one that the agent held when it left; if it held
none, the newest. Nothing is read and no model is asked.

This is not a real admission method. It shows what ManBench-Return's construction reveals: the question stays exactly
where the old answer is right, and changes exactly where it is not, so the rule is always right. Compare any method that
sees the ids with this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit_bench.episodes import View
from readmit_bench.methods.method import retrieved

if TYPE_CHECKING:
    from readmit_bench.episodes import Checkpoint


class SameVersion:
    """An answer to the same question still holds."""

    name = "same-version"

    def view(self, checkpoint: Checkpoint) -> View:
        current = [row for row in checkpoint.rows if row.task_version == checkpoint.task_version]
        held = [row.id for row in current if row.departure]
        newest = [row.id for row in sorted(current, key=lambda row: row.at)[-1:]]
        return View(method=self.name, rows=retrieved(checkpoint, held or newest))
