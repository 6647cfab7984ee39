"""The return that a preparation is for: whose, from which departure, for what, and how it is examined."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.state import load
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from datetime import datetime

    from readmit.inference.settings import Settings
    from readmit.log.log import Log
    from readmit.records.acts.event import Checkpoint
    from readmit.records.identity import Identity
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Snapshot
    from readmit.workspace.workspace import Workspace


class ExpectedReturn(NamedTuple):
    """A return that an agent may ask for, and the workspace that would decide it."""

    workspace: Workspace
    departed: Checkpoint
    identity: Identity
    purpose: str | None
    settings: Settings

    @property
    def log(self) -> Log:
        return desk_of(self.workspace).log

    @property
    def policy(self) -> Policy:
        return self.workspace.admin.policy

    @property
    def drafts(self) -> bool:
        """Whether links and replacements are drafted."""
        return self.settings.linking and self.policy.evidence.drafts != "refuse"

    def snapshot(self, epoch: int | None = None, now: datetime | None = None) -> Snapshot:
        """The state that the return would be decided on, as of an epoch or of the end of the log."""
        with self.log.reading():
            return load.snapshot(
                self.log,
                self.departed,
                self.identity,
                epoch=self.log.head if epoch is None else epoch,
                purpose=self.purpose,
                now=now or desk_of(self.workspace).writer.now(),
            )
