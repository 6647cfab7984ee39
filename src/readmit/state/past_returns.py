"""Past returns with their decisions and dispositions, as the log and the audit hold them.

Which items an agent was handed in views, read from the log and its decisions.

A principal's private bank: experiences in quarantine, and experiences that a reset cut off permanently.

All tasks of a principal share one bank. The log keeps every experience; these functions say which may be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from readmit.records.acts.event import Checkpoint, Event, EventKind
from readmit.records.acts.looks import Resource
from readmit.records.canonical import decode, digest_of
from readmit.records.decisions import Cause, Decision, Disposition, Returned
from readmit.records.error_types import TamperedError
from readmit.records.evidence import Experience
from readmit.records.reasons import Reason
from readmit.records.verdicts import Verdict
from readmit.state.absence import Absence, last_absence
from readmit.state.authority import authority

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.log.log import Log
    from readmit.records.identity import Identity


def handed_since(log: Log, departed: Checkpoint, *, until: int) -> frozenset[str]:
    """The items of the last view that an agent was handed before it left, and of each one from then up to an epoch.

    That last view also retracts items of the views before it.
    """
    found: set[str] = set()
    for exposed in reversed(log.milestones(EventKind.EXPOSE, departed.identity.agent, until=until)):
        found |= _items(log, exposed.name)
        if exposed.epoch <= departed.epoch:
            break
    return frozenset(found)


def _items(log: Log, return_id: str) -> frozenset[str]:
    view = decision_of(log, return_id, log.returned(return_id)).view
    return frozenset() if view is None else frozenset(item.id for item in view.items)


def decision_of(log: Log, return_id: str, returned: Returned) -> Decision:
    """The decision of a return, proven to be the one in the log."""
    stored = log.audit.decision(return_id)
    if stored is None:
        raise TamperedError(f"the audit has no decision of return {return_id!r}; see `readmit audit verify`")
    if digest_of(stored.body) != returned.decision:
        raise TamperedError(
            f"the decision of return {return_id!r} is not the one in the log: a row was altered; "
            "see `readmit audit verify`"
        )
    return decode(stored.body, Decision, what="decision")


def recorded(log: Log, return_id: str) -> tuple[Returned, Decision]:
    """A past return, from the log and the audit."""
    returned = log.returned(return_id)
    return returned, decision_of(log, return_id, returned)


def worded(log: Log, one: Disposition) -> Disposition:
    """A disposition with the words that models quoted against it or for it: the audit holds none, the log does."""
    return replace(
        one,
        causes=tuple(_worded(log, cause) for cause in one.causes),
        recovered=tuple(_worded(log, cause) for cause in one.recovered),
    )


def _worded(log: Log, cause: Cause) -> Cause:
    if cause.note or cause.epoch is None or cause.reason not in {Reason.PREMISE_CHANGED, Reason.RECOVERED}:
        return cause
    match log.event(cause.epoch).payload:
        case Verdict(premise=premise, evidence_quote=quote):
            return replace(cause, note=premise or quote)
        case Resource(quote=quote):
            return replace(cause, note=quote)
    return cause


def dispositions(log: Log, return_id: str) -> Iterator[Disposition]:
    """Every candidate of a past return, in log order."""
    _, decision = recorded(log, return_id)
    for piece in log.audit.candidates(decision):
        yield from decode(piece, tuple[Disposition, ...], what=f"a piece of the audit of return {return_id!r}")


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
