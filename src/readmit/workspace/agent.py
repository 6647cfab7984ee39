"""An agent's handle: depart, come back, and its private bank."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from readmit.presence.departure import depart, departure_of, is_away
from readmit.presence.lease import LeaseFence, begin, extend, followed, is_over
from readmit.presence.subscription import AT_LEAST, FallenItem, Subscription
from readmit.records.acts.event import Checkpoint, EventKind
from readmit.records.arguments import explained
from readmit.records.base import require_id
from readmit.records.error_types import LeaseError, QuarantineError
from readmit.records.evidence import Experience
from readmit.records.identity import Identity, own_id
from readmit.state.past_returns import readable
from readmit.workspace.return_handle import Delivery, Return
from readmit.writing.author import Author

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from readmit.records.acts.looks import Looked
    from readmit.returning.desk import Desk
    from readmit.workspace.workspace import Workspace


@explained
class Agent:
    """One principal in one role on one task. The caller has authenticated it."""

    def __init__(self, workspace: Workspace, desk: Desk, identity: Identity) -> None:
        self._workspace = workspace
        self._desk = desk
        self._presence: PresentAgent | None = None
        self.identity = identity

    def __repr__(self) -> str:
        who = self.identity
        return f"<Agent {who.principal!r} as {who.role!r} on {who.task!r} in {who.workspace!r}>"

    def present(self, *, lease: timedelta | int, epoch: int | None = None, token: int | None = None) -> PresentAgent:
        """Be present under a lease, which calls through this agent and through the presence renew.

        If it runs out, a sweeper departs for the agent at the last epoch it had seen, and nothing that the agent writes
        is accepted until it returns. ``lease`` is a number of seconds or a timedelta; ``epoch`` says how far the agent
        has followed the log. Another worker of a present agent joins its presence; with a ``token``, only if it is the
        one with this token.
        """
        writer = self._desk.writer
        fence = begin(writer, self.identity, lease, epoch, token)
        author = Author(self.identity.principal, writer.author.signer, fence)
        self._desk = self._desk.as_written_by(writer.as_author(author))
        self._workspace = type(self._workspace)(self._desk)
        self._presence = PresentAgent(self._workspace, self._desk, fence)
        return self._presence

    def depart(self, *, id: str | None = None, epoch: int | None = None) -> Checkpoint:
        """Seal what this agent can see now, and quarantine its private bank.

        For an agent that crashed, ``epoch`` says how far it had followed the log.
        """
        return depart(self._desk.writer, self.identity, id=id, epoch=epoch)

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
        made = self._desk.come_back(self.identity, purpose=purpose, checkpoint=checkpoint, id=id, prepare=prepare)
        return Return(self._desk, made.request, made.outcome.decision, made.outcome.dispositions, secret=made.secret)

    def delivery(self, return_id: str, *, secret: str) -> Delivery:
        """The delivery of a return that another process of this workload was given, with the secret it was given."""
        return Delivery(self._desk, require_id("return_id", return_id), self.identity, secret)

    def look(self, *, purpose: str | None = None) -> Looked | None:
        """Look at the due sources that the return of this absent agent rests on; a return does so itself.

        Returns the looks that were written down, for the operator; none if there were none.
        """
        return self._desk.look(self.identity, purpose=purpose)

    def subscribe(
        self, *, report: Callable[[FallenItem], object] | None = None, every: float = AT_LEAST
    ) -> Subscription:
        """Learn at once when an item of the agent's view no longer stands. Iterate, or give ``report``."""
        return Subscription(self._desk.writer, self.identity, report=report, every=every)

    def remember(self, text: str, *, bound_to: str, id: str | None = None) -> str:
        """Store a private experience, usable only while its source item is."""
        if is_away(self._desk.writer, self.identity):
            raise QuarantineError(f"{self.identity.principal!r} has departed: come back before remembering anything")
        name = f"x{secrets.token_hex(8)}" if id is None else require_id("id", id)
        experience = Experience(
            id=name, owner=self.identity.principal, text=text, bound_to=require_id("bound_to", bound_to)
        )
        # Each private bank has ids of its own.
        own = own_id(experience.owner, name)
        self._desk.writer.write(EventKind.REMEMBER, experience, by=experience.owner, id=own)
        return name

    def recall(self) -> tuple[Experience, ...]:
        """The private bank of an agent that has not departed. After a return, the bundle holds what came back."""
        if is_away(self._desk.writer, self.identity):
            raise QuarantineError(
                f"the private bank of {self.identity.principal!r} is quarantined until it comes back and its view "
                "is exposed"
            )
        if self._presence is not None:
            self._presence.touch()
        return readable(self._desk.log, self.identity)

    def now(self) -> datetime:
        """The moment that counts for this agent and its lease: the later of its clock and the log's last moment."""
        return self._desk.writer.now()

    def settle(self, obligation: str, *, reason: str = "") -> int:
        """Settle a duty that this agent owes in its role."""
        if is_over(self._desk.writer, self.identity):
            raise LeaseError(f"the lease of {self.identity.principal!r} ran out: come back before settling anything")
        return self._workspace.settle(obligation, by=self.identity.principal, reason=reason)

    def departed(self, name: str | None = None) -> Checkpoint:
        """The departure that a return now would be from, or the named one.

        Refused in a role that the agent does not have, and on a task that nothing it may see names.
        """
        return departure_of(self._desk.log, self.identity, name)


class PresentAgent:
    """An agent that is present under a lease. Every call through its ``workspace`` renews the lease."""

    def __init__(self, workspace: Workspace, desk: Desk, fence: LeaseFence) -> None:
        self.workspace = workspace
        """Writes as the agent, while it is present."""
        self._desk = desk
        self._fence = fence

    def __repr__(self) -> str:
        who = self._fence.identity
        return f"<PresentAgent of {who.principal!r} on {who.task!r}, token {self.token}>"

    @property
    def token(self) -> int:
        """Grows with every presence of the agent. Writes under an older one are refused."""
        return self._fence.token

    @property
    def until(self) -> datetime:
        """When the lease runs out, unless it is renewed."""
        return self._fence.check(self._desk.log, self._desk.writer.clock()).lease.until

    def renew(self, *, epoch: int | None = None) -> datetime:
        """Renew the lease at once, and say when it runs out. For an agent that thinks longer than it calls.

        ``epoch`` says how far the agent has followed the log; by default, to where its last call ended.
        """
        writer, log = self._desk.writer, self._desk.log
        now = writer.clock()
        with log.atomic():
            seen = self._fence.seen if epoch is None else followed(log, epoch)
            held = self._fence.check(log, now)
            lease = extend(log, writer.signatures, writer.author, held, now, epoch=seen)
        self._fence.seen = seen
        return lease.until

    def touch(self) -> None:
        """Renew the lease if it is due; refuse if it ran out."""
        writer = self._desk.writer
        with self._fence.passed(writer.log, writer.signatures, writer.author, writer.clock()) as epochs:
            epochs.append(writer.log.head)
