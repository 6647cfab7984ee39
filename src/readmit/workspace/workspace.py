"""``Workspace.open(...)``: one team's shared state, and the verbs that change it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from readmit.log.location import MEMORY, folder_of, open_store
from readmit.records.acts.event import EventKind
from readmit.records.arguments import explained
from readmit.records.base import (
    Moment,
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
from readmit.records.identity import Identity, own_id
from readmit.records.policy import AUTHOR, OWNER, LookRules, Policy, unreserved
from readmit.returning.desk import Desk
from readmit.sources import Looker
from readmit.sources.lazy_prober import LazyProber
from readmit.sources.places import Place
from readmit.state.authority import check_in_force, host_time
from readmit.trust.signer import Signer, load_signer
from readmit.workspace.admin import Admin
from readmit.workspace.agent import Agent
from readmit.workspace.return_handle import Return, past_return
from readmit.workspace.verbs import Verbs
from readmit.writing.author import Author
from readmit.writing.item_content import (
    STATEMENT_KINDS,
    ItemFields,
    StatementKind,
    content_of,
    id_of,
    inherited,
    normal,
    opened_as,
)
from readmit.writing.new_event import ObservationEntry, ObservationFields, Source, captured, drafts
from readmit.writing.workspace_keys import Keys
from readmit.writing.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from readmit.diagnosis.checkup import Checkup
    from readmit.records.acts.kinds import DeclaredKind

DEFAULT_NAME = "default"


@explained
class Workspace(Verbs):
    """A team's log in a file or a database. Every verb is one durable event; ``batch`` makes several into one commit.

    Every event takes an ``id``: writing the same content under the same id again changes nothing. A default ``at`` from
    the clock is not compared; a given ``at`` must equal the stored one. Without an id, items are named by their
    content, and every other event is new.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._writer = desk.writer

    @classmethod
    def open(
        cls,
        path: str | Path = MEMORY,
        *,
        name: str = DEFAULT_NAME,
        policy: Policy | None = None,
        clock: Callable[[], datetime] = host_time,
        keys: str | Path | None = None,
        prober: Callable[[LookRules], Looker] | None = None,
    ) -> Self:
        """Open a workspace in a file or at a ``postgresql://`` URL, or start one under ``policy``.

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
            writer = Writer(log, clock)
            desk = Desk(writer, Keys(writer, folder), LazyProber(prober or Looker, folder_of(path)))
            workspace = cls(desk)
            desk.keys.ensure(lambda: policy is None or workspace.as_owner().admin.govern(policy))
            check_in_force(log, None if policy is None else normal(policy))
        except BaseException:
            log.close()
            raise
        return workspace

    def close(self) -> None:
        self._desk.log.close()

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
        return self._desk.log.workspace

    @property
    def epoch(self) -> int:
        """The position of the last committed event."""
        return self._desk.log.head

    @property
    def admin(self) -> Admin:
        """Verbs of the owner, the overseers and the operator of the store."""
        return Admin(self._desk)

    # Handles for one author or agent. All share one log and one connection.

    def principal(self, name: str, *, signer: Signer | str | Path | None = None) -> Self:
        """A handle that writes as one principal. Its verbs need no ``by``, and refuse that of anybody else.

        With a ``signer``, or the file of a private key, its events are signed.
        """
        who = unreserved("name", nfc(require_name("name", name)))
        self._writer.author.acts_for(who)
        return self._as(Author(who, _signer(signer)))

    def as_owner(self, *, signer: Signer | str | Path | None = None) -> Self:
        """A handle that writes as ``owner``, who governs and changes keys. For the operator's code only."""
        self._writer.author.acts_for(OWNER)
        return self._as(Author(OWNER, _signer(signer)))

    def agent(self, principal: str, *, role: str, task: str) -> Agent:
        """A handle for one principal in one role on one task."""
        name = unreserved("principal", nfc(principal))
        self._writer.author.acts_for(name)
        identity = {"workspace": self.name, "principal": name, "role": nfc(role), "task": nfc(task)}
        return Agent(self, self._desk, convert(identity, Identity, what="agent"))

    def returned(self, return_id: str) -> Return:
        """A past return, to look into: its decision, why each item was in or out, and a replay.

        The handle of one principal knows its own returns only.
        """
        return past_return(self._desk, require_id("return_id", return_id))

    def doctor(self, agent: Agent | None = None) -> Checkup:
        """The problems of one agent, or of all that departed, if they returned now. Nothing is written."""
        self._writer.check_operator("doctor")
        from readmit.diagnosis.checkup import checkup

        return checkup(self._desk, None if agent is None else agent.identity)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Several events, one durable commit: all of them or none. One beyond a limit is refused and does not wait."""
        with self._writer.signatures.batch():
            yield

    def _as(self, author: Author) -> Self:
        return type(self)(self._desk.as_written_by(self._writer.as_author(author)))

    # What the team observes and holds.

    def observe(
        self,
        text: str | None = None,
        *,
        probe: Place | None = None,
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
        source: Source | None = None,
        task: str | None = None,
        roles: Sequence[str] = (),
        principals: Sequence[str] = (),
    ) -> str:
        """Keep a raw observation and return its digest, to be named as a source.

        Either a ``text``, or the text at a place that can be looked at again: ``probe=File("plan.md")``.
        """
        author, now = self._writer.author.of(by), self._writer.clock()
        if probe is not None:
            if text is not None:
                raise RecordError("text: the probe reads it; give either text or probe")
            if not isinstance(probe, Place):
                raise RecordError(f"probe: {shown(probe)} is not a place; give File(…) or another of readmit.sources")
            found = self._desk.prober.under(self._writer.policy().looks).capture(probe)
            entry = captured(
                self.name, found.text, found.probe, by=author, now=now, id=id, at=at, source=source or "document",
                task=task, roles=roles, principals=principals,
            )  # fmt: skip
        elif text is None:
            raise RecordError("text: give the observation, or a probe that reads it")
        else:
            entry = self._writer.observer.draft(
                text, now if at is None else utc(at, field="at"), given=at is not None, by=author, id=id,
                source="message" if source is None else source, task=task, roles=listed("roles", roles),
                principals=listed("principals", principals),
            )  # fmt: skip
        return self._writer.write_observations([entry], now)[0]

    def observe_many(
        self, observations: Iterable[str | ObservationEntry], **shared: Unpack[ObservationFields]
    ) -> list[str]:
        """Keep many raw observations in one commit, all or none, and return their digests.

        Each is a text, or a mapping with the arguments of ``observe``; ``shared`` supplies the arguments that they
        leave out.
        """
        now = self._writer.clock()
        if self._writer.author.name is not None:
            shared.setdefault("by", self._writer.author.name)
        with self.batch():
            entries = list(drafts(self.observe_many, self.name, observations, shared, now=now))
            return self._writer.write_observations(entries, now)

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
        what the item did that it ``supersedes``. ``expects`` names what stands in the slot, ``expects_nothing`` says
        that nothing does: otherwise it is refused, and the error says what stands.
        """
        require_choice("kind", kind, STATEMENT_KINDS)
        with self._writer.act(short=True):
            author = self._writer.giver(by, id)
            if require_flag("inherits", inherits):
                fields["supports"] = inherited(
                    self._writer.log,
                    id,
                    by=author,
                    supersedes=supersedes,
                    sources=sources,
                    fields=fields,
                    policy=self._writer.policy,
                )
            content = {"kind": kind, "text": text, **content_of(self.record, self.name, author, sources, fields)}
            name = id_of(self._writer.log, content) if id is None else id
            with self._writer.expecting(name, expects, kind, fields, author, nothing=expects_nothing):
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
        lists: Sequence[str] = (),
        sources: Sequence[str] = (),
        by: str | None = None,
        id: str | None = None,
        **fields: Unpack[ItemFields],
    ) -> str:
        """Open an obligation: a duty of a role, and the dependencies it needs.

        ``required`` names slots, or dependencies that items support; ``lists`` names those of them that one item meets
        and of which a view takes as many different items as fit. It needs no evidence. Without an ``id``, the same
        content is the same duty while it is open, and a new duty once it is over; the ``id`` of one that is over is
        refused.
        """
        with self._writer.act(short=True):
            content = {
                "kind": "obligation",
                "text": text,
                "required": listed("required", required),
                "critical": listed("critical", critical),
                "lists": listed("lists", lists),
                **content_of(self.oblige, self.name, self._writer.giver(by, id), sources, fields),
            }
            name = opened_as(self._writer.log, id, content, self._writer.policy, self._writer.now())
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
        """Move an obligation's frontier: its unresolved work."""
        shared = content_of(self.progress, self.name, self._writer.author.of(by), sources, fields)
        content = {"kind": "frontier", "text": text, "obligation": require_id("obligation", obligation), **shared}
        return self._add(EventKind.MOVE, content, id_of(self._writer.log, content) if id is None else id)

    def _add(self, event: DeclaredKind, content: dict[str, Any], name: str, named: tuple[str, ...] = ()) -> str:
        self._writer.write(event, {"id": name, **content}, by=content["by"], id=name, named=named)
        return name


def desk_of(workspace: Workspace) -> Desk:
    """The desk of a handle: log, writer, keys and prober. For the rooms of readmit, not for users."""
    return workspace._desk  # noqa: SLF001 - of this room


def as_readmit(workspace: Workspace) -> Workspace:
    """A handle that writes as ``readmit``: findings of models that the program itself ran."""
    return workspace._as(Author(AUTHOR))  # noqa: SLF001 - of this room


def _signer(given: Signer | str | Path | None) -> Signer | None:
    if isinstance(given, str | Path):
        return load_signer(given)
    return given
