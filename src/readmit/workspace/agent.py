"""An agent's handle: depart, come back, and its private bank."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from readmit.capture.checkpoint import checkpoint
from readmit.cycle import RULES
from readmit.records.canonical import checked
from readmit.records.decisions import Request
from readmit.records.errors import PendingAnswers, QuarantineError, RecordError, UnknownError
from readmit.records.events import Checkpoint, EventKind
from readmit.records.evidence import Experience
from readmit.workspace.exposing import checkpoint_named
from readmit.workspace.returning import carry_out, logger
from readmit.workspace.returns import Return

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.records.events import Event
    from readmit.records.identity import Identity
    from readmit.workspace.workspace import Workspace


class Agent:
    """One principal in one role on one task. Whoever calls has authenticated it."""

    def __init__(self, workspace: Workspace, identity: Identity) -> None:
        self._workspace = workspace
        self._log = workspace.log
        self.identity = identity

    def depart(self, *, id: str | None = None, epoch: int | None = None) -> Checkpoint:
        """Seal what this agent can see now, and quarantine its private bank.

        For an agent that crashed, ``epoch`` says how far it had followed the log.
        """
        now = self._workspace.now()
        with self._log.atomic():
            head = self._log.head
            at = head if epoch is None else epoch
            if not 0 <= at <= head:
                raise RecordError(f"epoch: {at} is not between 0 and {head}, the end of the log")
            name = id or secrets.token_hex(8)
            departed = checkpoint(self.identity, self._log.seen(self.identity, until=at), id=name, epoch=at, at=now)
            known = self._log.named(f"depart:{name}")
            if known is not None and isinstance(known.payload, Checkpoint) and known.payload.identity == self.identity:
                # The same departure told twice: the first account stands.
                return known.payload
            self._workspace.append(EventKind.DEPART, departed, by=self.identity.principal, id=name)
        return departed

    def come_back(
        self,
        *,
        purpose: str | None = None,
        checkpoint: str | None = None,
        id: str | None = None,
        prepare: Callable[[Checkpoint, str], object] | None = None,
    ) -> Return:
        """Decide what this agent may still act on. ``checkpoint`` names a departure other than its last one.

        ``prepare`` gets the departure and the return's id and brings verdicts up to date before anything is
        decided. If it fails, the return is refused; if answers are still awaited, nothing is decided yet.
        """
        departed = self.departed(checkpoint)
        return_id, instance, nonce = id or secrets.token_hex(8), secrets.token_hex(8), secrets.token_hex(16)
        unprepared = "" if prepare is None else _fault(prepare, departed, return_id)

        def ask(epoch: int) -> Request:
            request = Request(
                return_id=return_id,
                identity=self.identity,
                instance=instance,
                nonce=nonce,
                purpose=purpose,
                now=self._workspace.now(),
                policy=self._workspace.policy,
                checkpoint=departed.id,
                epoch=epoch,
                rules=RULES,
            )
            return checked(request, what="return")

        request, outcome = carry_out(self._log, departed, ask, self._workspace.signer, unprepared=unprepared)
        return Return(self._workspace, request, outcome.decision, outcome.dispositions)

    def remember(self, text: str, *, bound_to: str, id: str | None = None) -> str:
        """Keep a private experience, usable only while the item it came from is."""
        if self._away():
            raise QuarantineError(f"{self.identity.principal!r} has departed: come back before remembering anything")
        name = id or f"x{secrets.token_hex(8)}"
        experience = Experience(id=name, owner=self.identity.principal, text=text, bound_to=bound_to)
        self._workspace.append(EventKind.REMEMBER, experience, by=self.identity.principal, id=name)
        return name

    def recall(self) -> tuple[Experience, ...]:
        """The private bank of an agent that has not departed. After a return, the bundle holds what came back."""
        if self._away():
            raise QuarantineError(
                f"the private bank of {self.identity.principal!r} is quarantined until it comes back and its view "
                "is exposed"
            )
        withheld = self._withheld()
        return tuple(one for _, one in self._bank() if one.id not in withheld)

    def _bank(self) -> list[tuple[int, Experience]]:
        seen = self._log.seen(self.identity, until=self._log.head)
        return [(event.epoch, event.payload) for event in seen if isinstance(event.payload, Experience)]

    def departed(self, name: str | None = None) -> Checkpoint:
        """The departure that a return now would be from, or the one that is named."""
        if name is not None:
            departed = checkpoint_named(self._log, name)
            if departed.identity.principal != self.identity.principal:
                raise UnknownError(f"departure {name!r} is not one of {self.identity.principal!r}")
            return departed
        event = self._away()
        if event is None or not isinstance(event.payload, Checkpoint):
            raise UnknownError(
                f"{self.identity.principal!r} has not departed from {self.identity.task!r}: call depart() first, "
                "with the epoch it had reached if it crashed"
            )
        return event.payload

    def _away(self) -> Event | None:
        """The departure that no exposed return has ended."""
        departure = self._log.latest(EventKind.DEPART, self.identity.agent)
        if departure is None:
            return None
        last = self._last_exposed()
        return departure if last is None or last.epoch < departure.epoch else None

    def _last_exposed(self) -> Event | None:
        for event in reversed(self._log.milestones(EventKind.RETURN, self.identity.agent)):
            exposed = self._log.named(f"expose:{event.id.removeprefix('return:')}")
            if exposed is not None:
                return exposed
        return None

    def _withheld(self) -> frozenset[str]:
        """Experiences still in quarantine, for whichever of this principal's tasks.

        That is what it remembered before a departure that no return has ended, and what the return that ended
        one did not give back.
        """
        departures = self._log.milestones(EventKind.DEPART, self.identity.bank)
        left = {each.payload.identity for each in departures if isinstance(each.payload, Checkpoint)}
        withheld: set[str] = set()
        for agent in (Agent(self._workspace, identity) for identity in left):
            departure = self._log.latest(EventKind.DEPART, agent.identity.agent)
            quarantined = {one.id for epoch, one in self._bank() if departure is not None and epoch <= departure.epoch}
            withheld |= quarantined - agent.given_back()
        return frozenset(withheld)

    def given_back(self) -> frozenset[str]:
        """What the return that ended the last departure handed over."""
        exposed = None if self._away() else self._last_exposed()
        if exposed is None:
            return frozenset()
        view = self._workspace.decision(exposed.id.removeprefix("expose:")).view
        return frozenset() if view is None else frozenset(one.id for one in view.experiences)


def _fault(prepare: Callable[[Checkpoint, str], object], departed: Checkpoint, return_id: str) -> str:
    """What went wrong in preparing a return, in one word; empty if nothing did."""
    try:
        prepare(departed, return_id)
    except PendingAnswers:
        raise
    except Exception as error:  # noqa: BLE001 - whatever failed, the agent gets nothing and the audit gets a row
        logger.exception("return %s could not be prepared", return_id)
        return type(error).__name__
    return ""
