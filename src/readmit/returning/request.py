"""The request of a return, put together in one place: a return, its rehearsal and its preparation ask the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.records.canonical import checked
from readmit.records.decisions import Examination, Request
from readmit.rules.cycle import RULES
from readmit.state.examination import examination
from readmit.state.log_moment import jumped

if TYPE_CHECKING:
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.acts.event import Checkpoint
    from readmit.records.identity import Identity
    from readmit.records.policy import Policy


class Caller(NamedTuple):
    """Who a view would be sealed for: the return, the workload that asks, and a number used once."""

    return_id: str
    instance: str
    nonce: str


REHEARSAL = Caller("rehearsal", "rehearsal", "rehearsal")
"""Of a return that is decided and not committed."""


def ask(
    log: Log,
    departed: Checkpoint,
    identity: Identity,
    *,
    purpose: str | None,
    now: datetime,
    policy: Policy,
    caller: Caller = REHEARSAL,
    examined_by: str = "",
) -> Request:
    """The request of a return at the end of the log.

    ``examined_by`` names the verifier that examines everything up to there on behalf of this return: a preparation asks
    what it would hand over before it is on record.
    """
    epoch = log.head
    if examined_by:
        looked: Examination | None = Examination(verifier=examined_by, until=epoch)
    else:
        looked = examination(log, departed, identity, purpose=purpose, epoch=epoch, policy=policy)
    request = Request(
        return_id=caller.return_id,
        identity=identity,
        instance=caller.instance,
        nonce=caller.nonce,
        purpose=purpose,
        now=now,
        policy=policy,
        checkpoint=departed.id,
        epoch=epoch,
        rules=RULES,
        learnt=log.learnt,
        jump=jumped(log, now, policy),
        examination=looked,
    )
    return checked(request, what="return")
