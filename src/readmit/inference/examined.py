"""Put on the log that it was looked for implicit changes, by whom, and how far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.base import LONGEST_NAME
from readmit.records.events import EventKind, Examine
from readmit.records.policy import AUTHOR
from readmit.workspace.examining import examination, observations, statements

if TYPE_CHECKING:
    from readmit.inference.prepared import Prepared
    from readmit.records.events import Checkpoint
    from readmit.workspace.workspace import Workspace


def note(workspace: Workspace, departed: Checkpoint, prepared: Prepared, *, purpose: str | None, verifier: str) -> bool:
    """Write down how far a preparation has looked, if nothing has come in meanwhile that it has not.

    In one transaction, so that whatever precedes the event was there to be looked at. What the log says already is not
    said again: a watch that finds nothing new writes nothing.
    """
    log, policy, identity = workspace.log, workspace.policy, prepared.identity
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
            workspace.append(EventKind.EXAMINE, examined, by=AUTHOR)
    return True
