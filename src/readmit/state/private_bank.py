"""A principal's private bank: experiences in quarantine, and experiences that a reset cut off permanently.

All tasks of a principal share one bank. The log keeps every experience; these functions say which may be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.acts.event import Checkpoint, Event, EventKind
from readmit.records.decisions import Returned
from readmit.records.evidence import Experience
from readmit.state.absence import Absence, last_absence
from readmit.state.authority import authority
from readmit.state.handed import decision_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.log.log import Log
    from readmit.records.identity import Identity


def readable(log: Log, identity: Identity) -> tuple[Experience, ...]:
    """The experiences that a present agent may read, in the order in which they were remembered."""
    remembered = (event for event in log.seen(identity, until=log.head) if isinstance(event.payload, Experience))
    signing = authority(log)
    counting = remembered if signing is None else (event for event in remembered if signing.counts(event))
    bank = within_reach(log, identity, counting, until=log.head)
    withheld = _withheld(log, identity, bank)
    experiences = (event.payload for event in bank if event.epoch not in withheld)
    return tuple(one for one in experiences if isinstance(one, Experience))


def within_reach(log: Log, identity: Identity, bank: Iterable[Event], *, until: int) -> tuple[Event, ...]:
    """The experiences that no reset up to an epoch has cut off.

    A reset cuts its own agent off from everything before it, and the principal's other tasks from what the absence had
    quarantined. They keep what they remembered meanwhile.
    """
    cut = max((_cut(log, identity, event) for event in log.milestones(EventKind.RETURN, identity.resets, until=until)),
              default=0)  # fmt: skip
    return tuple(event for event in bank if event.epoch > cut)


def _cut(log: Log, identity: Identity, reset: Event) -> int:
    assert isinstance(reset.payload, Returned)  # noqa: S101 - the key of the milestone says so
    agent = reset.payload.request.identity.agent
    if agent == identity.agent:
        return reset.epoch
    departure = log.latest(EventKind.DEPART, agent, until=reset.epoch)
    return 0 if departure is None else departure.epoch


def _withheld(log: Log, identity: Identity, bank: Iterable[Event]) -> frozenset[int]:
    """Positions of experiences still in quarantine, for any of the principal's tasks.

    These are the experiences from before a departure that no return has ended, and those that the ending return did not
    give back.
    """
    departures = (event.payload for event in log.milestones(EventKind.DEPART, identity.bank))
    agents = {one.identity.agent: one.identity for one in departures if isinstance(one, Checkpoint)}
    withheld: set[int] = set()
    for agent in agents.values():
        absence = last_absence(log, agent)
        if absence is not None:
            back = _given_back(log, absence)
            withheld |= {
                event.epoch
                for event in bank
                if event.epoch <= absence.departure.epoch
                and isinstance(event.payload, Experience)
                and event.payload.id not in back
            }
    return frozenset(withheld)


def _given_back(log: Log, absence: Absence) -> frozenset[str]:
    """The experiences that the return at the end of an absence handed over."""
    if absence.end is None or absence.started_anew:
        return frozenset()
    view = decision_of(log, absence.end.name, log.returned(absence.end.name)).view
    return frozenset() if view is None else frozenset(one.id for one in view.experiences)
