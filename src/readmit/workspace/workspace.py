"""``Workspace.open(...)``: one team's shared state, and the verbs that change it."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import msgspec

from readmit.diagnosis import history
from readmit.diagnosis import missing_needs as missing
from readmit.diagnosis.checkup import checkup
from readmit.diagnosis.why import why
from readmit.log.location import MEMORY, folder_of, open_store
from readmit.presence.lease import Sweeper
from readmit.presence.subscription import AT_LEAST, Subscription
from readmit.records.acts.draft import draft
from readmit.records.acts.event import EventKind, Resolve
from readmit.records.arguments import explained
from readmit.records.base import (
    listed,
    nfc,
    require,
    require_choice,
    require_flag,
    require_id,
    require_name,
    shown,
    utc,
)
from readmit.records.canonical import convert, digest
from readmit.records.error_types import RecordError, StoreError
from readmit.records.identity import Identity, check_giver, own_id
from readmit.records.policy import Policy, unreserved
from readmit.returning.delivery import Delivering
from readmit.rules.capture.moment import later
from readmit.state.authority import check_in_force, policy_in_force
from readmit.workspace.agent import Agent
from readmit.workspace.handles import Handles
from readmit.writing.act import Acting
from readmit.writing.item_content import STATEMENT_KINDS, content_of, id_of, inherited, opened_as
from readmit.writing.observation_draft import captured, drafts
from readmit.writing.rights import concerned_by
from readmit.writing.source_capture import Eyes, Probing
from readmit.writing.spelling import normal
from readmit.writing.verbs import Verbs
from readmit.writing.workspace_keys import Keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from readmit.diagnosis.checkup import Checkup
    from readmit.diagnosis.history import Explanation, Replay
    from readmit.diagnosis.missing_needs import Lack
    from readmit.diagnosis.symptoms import Diagnosis
    from readmit.presence.lease import Sweep
    from readmit.presence.subscription import FallenItem
    from readmit.records.acts.kinds import DeclaredKind
    from readmit.records.base import Moment
    from readmit.records.decisions import Decision, Disposition
    from readmit.records.items import Drafted
    from readmit.sources import Looker
    from readmit.sources.prober import Captured, LookLimits
    from readmit.trust.signer import Signer
    from readmit.writing.item_content import ItemFields, StatementKind
    from readmit.writing.observation_draft import CapturedFields, ObservationEntry, ObservationFields, Source

DEFAULT_NAME = "default"


@explained
class Workspace(Handles, Acting, Verbs, Probing, Delivering):
    """A team's log in a file or a database. Every verb is one durable event; ``batch`` makes several into one commit.

    Every event takes an ``id``: writing the same content under the same id again changes nothing. A default ``at`` from
    the clock is not compared; a given ``at`` must equal the stored one. Without an id, items are named by their
    content, and every other event is new.
    """

    @classmethod
    def open(
        cls,
        path: str | Path = MEMORY,
        *,
        name: str = DEFAULT_NAME,
        policy: Policy | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        keys: str | Path | None = None,
        prober: Callable[[LookLimits], Looker] | None = None,
    ) -> Self:
        """Open a workspace in a file, or behind a ``postgresql://`` URL, or start one under ``policy``.

        In an existing one, a policy that is given must equal the one in force, which ``govern`` changes for everybody.
        Its signing keys live in the folder that ``keys`` or ``READMIT_KEYS`` names, or in the user's configuration
        folder, under the store's id; if another store was seen at this path, it is refused. ``prober`` makes what looks
        at sources again, under the policy's limits: ``partial(Looker, databases=…)``, say.
        """
        if policy is not None:
            require("policy", policy, Policy)
        if not callable(clock):
            raise RecordError(f"clock: {shown(clock)} cannot be called; give a function that returns a datetime")
        log, folder = open_store(path, require_name("name", nfc(name)), keys)
        try:
            workspace = cls(log, Keys(log, folder), clock, eyes=Eyes(prober, folder_of(path)))
            workspace.keys.ensure(workspace.now(), lambda: policy is None or workspace.as_owner().govern(policy))
            check_in_force(log, None if policy is None else normal(policy))
        except BaseException:
            log.close()
            raise
        return workspace

    def backup(self, path: str | Path) -> int:
        """Copy the store, with all its workspaces, to a new file. Returns the epoch at which this log ends in it."""
        return self.log.backup(Path(path))

    def close(self) -> None:
        self.log.close()

    def __repr__(self) -> str:
        try:
            return f"<Workspace {self.name!r} at epoch {self.epoch}>"
        except StoreError:
            return f"<Workspace {self.name!r}, closed>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        return self.log.workspace

    @property
    def epoch(self) -> int:
        """The position of the last committed event."""
        return self.log.head

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return policy_in_force(self.log)

    def now(self) -> datetime:
        return utc(self._clock(), field="clock")

    def moment(self) -> datetime:
        """What counts as now: the later of the clock and the last moment that the log has learnt."""
        return later(self.now(), self.log.learnt)

    def signer(self) -> Signer:
        return self.keys.signer()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Several events, one durable commit: all of them or none. One beyond a limit is refused and does not wait."""
        with self.signatures.batch():
            yield

    def agent(self, principal: str, *, role: str, task: str) -> Agent:
        """A handle for one principal in one role on one task."""
        name = unreserved("principal", nfc(principal))
        self.writer.acts_for(name)
        identity = {"workspace": self.name, "principal": name, "role": nfc(role), "task": nfc(task)}
        return Agent(self, convert(identity, Identity, what="agent"))

    def sweep(self, *, trust_clock: bool = False) -> Sweep:
        """Depart for every agent whose lease ran out, once. ``Sweeper`` says when the clock must be trusted."""
        return Sweeper(self, trust_clock=require_flag("trust_clock", trust_clock)).sweep()

    def subscribe(
        self, agent: Agent, *, report: Callable[[FallenItem], object] | None = None, every: float = AT_LEAST
    ) -> Subscription:
        """Learn at once when an item of the view that an agent holds no longer stands. Iterate, or give ``report``."""
        return Subscription(self, require("agent", agent, Agent).identity, report=report, every=every)

    # What the team observes and holds.

    def observe(
        self,
        text: str,
        *,
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
        source: Source = "message",
        task: str | None = None,
        roles: Sequence[str] = (),
        principals: Sequence[str] = (),
    ) -> str:
        """Keep a raw observation and return its digest, to be named as a source."""
        now = self.now()
        entry = self._observer.draft(
            text, now if at is None else utc(at, field="at"), given=at is not None, by=self.writer.author(by), id=id,
            source=source, task=task, roles=listed("roles", roles), principals=listed("principals", principals),
        )  # fmt: skip
        if id is None:
            self._write([self.signatures.signed(entry, self.writer)], now)
            return entry.digest
        return self._observed([entry], now)[0]

    def observe_many(
        self, observations: Iterable[str | ObservationEntry], **shared: Unpack[ObservationFields]
    ) -> list[str]:
        """Keep many raw observations in one commit, all or none, and return their digests.

        Each is a text, or a mapping with the arguments of ``observe``; ``shared`` supplies the arguments that they
        leave out.
        """
        now = self.now()
        if self.writer.name is not None:
            shared.setdefault("by", self.writer.name)
        with self.signatures.batch():
            return self._observed(list(drafts(self.observe_many, self.name, observations, shared, now=now)), now)

    def _keep(self, found: Captured, fields: CapturedFields) -> str:
        now, by = self.now(), self.writer.author(fields.get("by"))
        return self._observed([captured(self.name, found.text, found.probe, fields, by=by, now=now)], now)[0]

    def record(
        self,
        text: str,
        *,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        kind: StatementKind = "fact",
        supersedes: str | None = None,
        inherits: bool = False,
        expects: str | None = None,
        expects_nothing: bool = False,
        **fields: Unpack[ItemFields],
    ) -> str:
        """Record a statement and return its id.

        ``sources`` are digests of the evidence for the statement and all its references. The current item of a ``slot``
        meets a requirement of that name; ``supports`` names further dependencies. With ``inherits`` it also supports
        what its predecessor did: the item it supersedes, or the last one in its slot. ``expects`` names what stands in
        the slot, ``expects_nothing`` says that nothing does: otherwise it is refused, and the error says what stands.
        """
        require_choice("kind", kind, STATEMENT_KINDS)
        with self._in_act(short=True):
            author = self._giver(by, id)
            if require_flag("inherits", inherits):
                fields["supports"] = inherited(
                    self.log, id, by=author, supersedes=supersedes, sources=sources, fields=fields, policy=self._rules
                )
            content = {"kind": kind, "text": text, **content_of(self.record, self.name, author, sources, fields)}
            name = id_of(content) if id is None else id
            with self._expecting(name, expects, kind, fields, author, nothing=expects_nothing):
                self._add(EventKind.RECORD, content, name, named=tuple(one for one in (supersedes, expects) if one))
                if supersedes is not None:
                    target = require_id("supersedes", supersedes)
                    self.supersede(target, name, by=author, id=own_id(author, digest((supersedes, name))[:32]))
        return name

    def oblige(
        self,
        text: str,
        *,
        required: Sequence[str],
        critical: Sequence[str] = (),
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Unpack[ItemFields],
    ) -> str:
        """Open an obligation: what the role must be able to do, and the dependencies it needs.

        ``required`` names slots, or dependencies that items support. It needs no evidence. Without an ``id``, the same
        content is the same duty while it is open, and a new duty once it is over; the ``id`` of one that is over is
        refused.
        """
        with self._in_act(short=True):
            content = {
                "kind": "obligation",
                "text": text,
                "required": listed("required", required),
                "critical": listed("critical", critical),
                **content_of(self.oblige, self.name, self._giver(by, id), sources, fields),
            }
            name = opened_as(self.log, id, content, self._rules, self.moment())
            return self._add(EventKind.OPEN, content, name)

    def progress(
        self,
        text: str,
        *,
        obligation: str,
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Unpack[ItemFields],
    ) -> str:
        """Move an obligation's frontier: what is unresolved about it now."""
        shared = content_of(self.progress, self.name, self.writer.author(by), sources, fields)
        content = {"kind": "frontier", "text": text, "obligation": require_id("obligation", obligation), **shared}
        return self._add(EventKind.MOVE, content, id_of(content) if id is None else id)

    def _add(self, event: DeclaredKind, content: dict[str, Any], name: str, named: tuple[str, ...] = ()) -> str:
        self._put(event, {"id": name, **content}, by=content["by"], id=name, named=named)
        return name

    # Looking back.

    def explain(self, return_id: str, item: str) -> Explanation:
        """Why an item was in or out of a past return."""
        return history.explain(self.log, require_id("return_id", return_id), require_id("item", item))

    def lacking(self, return_id: str) -> tuple[Lack, ...]:
        """What a past return lacked, which items last met it, why they are out, and the call that would meet it."""
        return missing.lacking(self.log, require_id("return_id", return_id))

    def why(self, return_id: str) -> Diagnosis:
        """The causes of a past return's outcome, near misses, and what would fix it now."""
        return why(self, return_id)

    def doctor(self, agent: Agent | None = None) -> Checkup:
        """What is wrong, for one agent or for all that departed, if they returned now. Nothing is written."""
        return checkup(self, None if agent is None else agent.identity)

    def replay(self, return_id: str) -> Replay:
        """Recompute a past decision from the log and compare bytes."""
        return history.replay(self.log, require_id("return_id", return_id))

    def decision(self, return_id: str) -> Decision:
        """A past decision."""
        return history.recorded(self.log, require_id("return_id", return_id))[1]

    def dispositions(self, return_id: str) -> tuple[Disposition, ...]:
        """The disposition of every candidate of a past return."""
        return tuple(history.dispositions(self.log, require_id("return_id", return_id)))

    def drafts(self, return_id: str) -> dict[str, Drafted]:
        """The candidates of a past return that a model drafted, with the model and the words it quotes."""
        return history.drafts(self.log, require_id("return_id", return_id))

    # The single entry point for writes.

    def append(
        self,
        kind: DeclaredKind,
        payload: object,
        *,
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
    ) -> int:
        """Check an event and commit it. Returns its epoch."""
        return self._put(kind, payload, by=by, id=id, at=at)

    def _put(
        self, kind: DeclaredKind, payload: object, *, by: str | None, id: str | None, at: Moment | None = None,
        clock: datetime | None = None, named: tuple[str, ...] = (),
    ) -> int:  # fmt: skip
        """Append an event. ``clock`` is its moment if none was given; ``named`` are items that its writer has seen."""
        now = self.now()
        # A resolution concerns the items of its dispute.
        about = concerned_by(self.log, payload) if isinstance(payload, Resolve) else None
        name = secrets.token_hex(8) if id is None else id
        moment = (clock or now) if at is None else utc(at, field="at")
        make = partial(draft, kind, id=name, by=self.writer.author(by), at=moment, given=at is not None, about=about)
        entry = make(payload)
        if not entry.body.isascii():
            entry = make(normal(entry.payload))
        if id is None:
            entry = msgspec.structs.replace(entry, named=False)
        epoch = self._append(self.signatures.signed(entry, self.writer), now, named)
        self.signatures.forget()
        return epoch

    def _giver(self, by: str | None, id: str | None) -> str:
        """The writer of an event, unless it gives an id that is another's own. Nothing is looked up under that."""
        author = self.writer.author(by)
        if id is not None:
            check_giver(require_id("id", id), author)
        return author

    def _said(self, kind: DeclaredKind, id: str | None, by: str | None) -> datetime | None:
        self._giver(by, id)
        event = None if id is None else self.log.named(kind, id)
        return None if event is None else event.at
