"""Writes an examination to the log: which verifier looked for implicit changes, and up to which epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.acts.event import EventKind
from readmit.records.base import LONGEST_NAME
from readmit.records.verdicts import Examine
from readmit.state.examination import examination, observations, statements
from readmit.workspace.workspace import as_readmit, desk_of

if TYPE_CHECKING:
    from readmit.inference.prepared import Prepared
    from readmit.records.acts.event import Checkpoint
    from readmit.workspace.workspace import Workspace


def note(workspace: Workspace, departed: Checkpoint, prepared: Prepared, *, purpose: str | None, verifier: str) -> bool:
    """Record the epoch up to which a preparation has examined the log, unless events arrived meanwhile.

    In one transaction, so that everything before the event was available to it. An examination that is already on the
    log is not repeated: a watch that finds nothing new writes nothing.
    """
    log, policy, identity = desk_of(workspace).log, workspace.admin.policy, prepared.identity
    with log.atomic():
        head = log.head
        if observations(log, departed, identity, since=prepared.epoch, until=head, policy=policy) or statements(
            log, departed, identity, since=prepared.epoch, until=head
        ):
            return False
        verifier = verifier[:LONGEST_NAME]
        known = examination(log, departed, identity, purpose=purpose, epoch=head, policy=policy)
        missed = observations(log, departed, identity, since=prepared.until, until=head, policy=policy)
        if known is None or known.verifier != verifier or known.unexamined > len(missed):
            examined = Examine(
                checkpoint=departed.id, identity=identity, verifier=verifier, until=prepared.until, purpose=purpose
            )
            desk_of(as_readmit(workspace)).writer.write(EventKind.EXAMINE, examined)
    return True
