"""Whether the agent of a LangGraph thread is at work, away, or back, and the period that its state belongs to.

Also the port to that agent, and the interrupt of a return that was not admitted.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple, Protocol

from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from readmit.records.canonical import decode, digest_of
from readmit.records.decisions import Decision, ReturnView
from readmit.records.error_types import TamperedError, UnknownError
from readmit.state.absence import Absence, last_absence, tenure

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.acts.event import Checkpoint as Departure
    from readmit.records.identity import Identity
    from readmit.records.items import Item


class Attending(Protocol):
    """An agent that may depart, or whose lease may run out: a workspace's ``Agent``."""

    identity: Identity

    def now(self) -> datetime: ...


class Presence(NamedTuple):
    """An agent's presence. ``departure`` is the id of its last departure."""

    departure: str = ""
    back: bool = True
    """A view of a return from that departure was exposed, or there was no departure."""
    reset: bool = False
    """The last return from it was reset: the agent starts empty."""
    exposed: str = ""
    """The return whose view was exposed last."""

    @property
    def away(self) -> bool:
        """No return from the departure has ended it."""
        return not (self.back or self.reset)

    @property
    def period(self) -> str:
        """The period of work that state belongs to. State of another period does not carry over."""
        return f"{'reset' if self.reset else 'back' if self.back else 'away'}:{self.departure}"


NEVER_LEFT = Presence()
LAPSED = Presence(back=False)
"""The agent's lease ran out, and its departure is not yet written. The lease decides, not the sweeper."""


class _Known(NamedTuple):
    """The agent's presence at an epoch of the log."""

    head: int
    presence: Presence
    until: datetime | None
    """When the agent's lease runs out."""


class Attendance:
    """The presence of one agent. The log is read again when it has grown; a lease is judged by the clock each time."""

    def __init__(self, log: Log, agent: Attending) -> None:
        self._log = log
        self._agent = agent
        self._known: _Known | None = None

    def now(self) -> Presence:
        """The agent's presence now."""
        known = self._known
        if known is None or known.head != self._log.head:
            known = self._read()
            # The epochs of a transaction that is undone are given to other events.
            self._known = None if self._log.pending else known
        lapsed = known.until is not None and self._agent.now() >= known.until
        return LAPSED if lapsed else known.presence

    def _read(self) -> _Known:
        log, who = self._log, self._agent.identity
        with log.reading():
            held = tenure(log, who.agent)
            return _Known(log.head, _presence(last_absence(log, who)), None if held is None else held.lease.until)


def _presence(absence: Absence | None) -> Presence:
    if absence is None:
        return NEVER_LEFT
    name = absence.departure.name
    if absence.end is None:
        return Presence(name, back=False)
    reset = absence.started_anew
    return Presence(name, back=not reset, reset=reset, exposed="" if reset else absence.end.name)


def handed_over(log: Log, return_id: str) -> ReturnView:
    """The view of an exposed return, for another process than the one that exposed it."""
    returned, stored = log.returned(return_id), log.audit.decision(return_id)
    if stored is None or digest_of(stored.body) != returned.decision:
        raise TamperedError(
            f"the decision of return {return_id!r} is not the one in the log; see `readmit audit verify`"
        )
    view = decode(stored.body, Decision, what="decision").view
    if view is None:
        raise UnknownError(f"return {return_id!r} has no view")
    return view


class Bundled(Protocol):
    """The content of an exposed return: a workspace's ``Bundle``."""

    @property
    def view(self) -> ReturnView: ...
    @property
    def items(self) -> tuple[Item, ...]: ...
    def markdown(self) -> str: ...


class Decided(Protocol):
    """A decided return: a workspace's ``Return``."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def missing(self) -> tuple[str, ...]: ...
    @property
    def admitted(self) -> bool: ...
    def expose(self) -> Bundled: ...


class Returning(Attending, Protocol):
    """An agent that can come back."""

    def come_back(
        self,
        *,
        purpose: str | None = None,
        checkpoint: str | None = None,
        prepare: Callable[[Departure, str], object] | None = None,
    ) -> Decided: ...


class ReturnInterrupt(GraphInterrupt):
    """A return that was not admitted. Inside another graph's node it is that node's interrupt."""

    def __init__(self, decided: Decided, identity: Identity, kind: str) -> None:
        value = {
            "readmit": kind,
            "principal": identity.principal,
            "task": identity.task,
            "return": decided.id,
            "missing": list(decided.missing),
        }
        super().__init__((Interrupt(value=value, id=hashlib.sha256(decided.id.encode()).hexdigest()[:32]),))

    @property
    def interrupts(self) -> tuple[Interrupt, ...]:
        return tuple(self.args[0])
