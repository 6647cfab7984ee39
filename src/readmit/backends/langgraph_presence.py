"""Whether an agent is at work, away, or back: read from the log, as its own handle does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.records.decisions import Returned
from readmit.records.events import EventKind

if TYPE_CHECKING:
    from readmit.ports.store import Log
    from readmit.records.identity import Identity


class Presence(NamedTuple):
    """Where an agent stands. ``departure`` is the id of its last one."""

    departure: str = ""
    back: bool = True
    """A view of a return from that departure was exposed, or there was no departure."""
    reset: bool = False
    """The last return from it ended in a reset: the agent starts from nothing."""

    @property
    def period(self) -> str:
        """Names the stretch of work that state belongs to. State of another period does not carry over."""
        return f"{'reset' if self.reset else 'back' if self.back else 'away'}:{self.departure}"


NEVER_LEFT = Presence()


def presence(log: Log, identity: Identity) -> Presence:
    """Where an agent stands now."""
    with log.reading():
        departure = log.latest(EventKind.DEPART, identity.agent)
        if departure is None:
            return NEVER_LEFT
        name = departure.id.removeprefix("depart:")
        since = [one for one in log.milestones(EventKind.RETURN, identity.agent) if one.epoch > departure.epoch]
        if any(log.named(f"expose:{one.id.removeprefix('return:')}") is not None for one in since):
            return Presence(name)
        last = since[-1].payload if since else None
        return Presence(name, back=False, reset=isinstance(last, Returned) and last.kind == "reset")
