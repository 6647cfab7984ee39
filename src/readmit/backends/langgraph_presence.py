"""Whether the agent of a LangGraph thread is at work, away, or back, and the period that its state belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.ports.presence import last_absence

if TYPE_CHECKING:
    from readmit.ports.store import Log
    from readmit.records.identity import Identity


class Presence(NamedTuple):
    """An agent's presence. ``departure`` is the id of its last departure."""

    departure: str = ""
    back: bool = True
    """A view of a return from that departure was exposed, or there was no departure."""
    reset: bool = False
    """The last return from it was reset: the agent starts empty."""

    @property
    def period(self) -> str:
        """The period of work that state belongs to. State of another period does not carry over."""
        return f"{'reset' if self.reset else 'back' if self.back else 'away'}:{self.departure}"


NEVER_LEFT = Presence()


def presence(log: Log, identity: Identity) -> Presence:
    """An agent's presence now."""
    with log.reading():
        absence = last_absence(log, identity)
    if absence is None:
        return NEVER_LEFT
    name = absence.departure.name
    reset = absence.started_anew
    return Presence(name, back=absence.end is not None and not reset, reset=reset)
