"""What the workspace needs of a store: an append-only log with an audience, and an audit trail.

Every method concerns one workspace. An implementation has the workspace in every key it writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from readmit.ports.backend import SourceLedger
    from readmit.ports.derived import Derived
    from readmit.ports.memories import Memories
    from readmit.ports.sealer import Sealer
    from readmit.ports.timekeeper import Timekeeper
    from readmit.records.commits import EventParts
    from readmit.records.decisions import Returned
    from readmit.records.drafts import Draft
    from readmit.records.events import Checkpoint, Event
    from readmit.records.identity import Identity
    from readmit.records.items import Item
    from readmit.records.kinds import DeclaredKind
    from readmit.records.snapshot import SeenObservation, Sighting


class Listener(Protocol):
    """Waits for commits. A sign may be needless; one that is lost is made up for by looking after ``patience``."""

    patience: float
    """The most seconds to wait before looking again."""
    is_lost: bool
    """Whether the store could not be reached when it was last needed."""

    def renew(self) -> None:
        """Forget earlier signs. What is read afterwards is at least as new as they were."""

    @property
    def files(self) -> list[int]:
        """The descriptors that become readable with a sign."""

    def wait(self, seconds: float) -> None:
        """Wait for a sign."""

    def wake(self) -> None:
        """Give a sign, from any thread."""

    def close(self) -> None:
        """Stop waiting."""


class AuditRow(NamedTuple):
    """A stored row: its position, the return it belongs to, what it is about, and its canonical bytes."""

    seq: int
    return_id: str
    kind: str
    item: str
    body: bytes


class StoredDecision(NamedTuple):
    """A past decision: its canonical bytes, its envelope if it was admitted, and where its rows are."""

    body: bytes
    envelope: bytes | None
    first: int
    last: int


class Audit(Protocol):
    """The audit trail: append-only rows, covered by the commit that adds them."""

    @property
    def last(self) -> int:
        """The number of the last row."""

    def append(self, return_id: str, rows: Iterable[tuple[str, str, bytes]]) -> int:
        """Add rows ``(kind, item, canonical bytes)`` and return the number of the last one."""

    def decide(self, return_id: str, stored: StoredDecision) -> None:
        """File a decision beside its rows."""

    def decision(self, return_id: str) -> StoredDecision | None:
        """A past decision."""

    def rows(self, *, first: int = 1, last: int | None = None) -> Iterator[AuditRow]:
        """Stored rows in order, unchecked."""


class Visible(NamedTuple):
    """What an identity can see: events on the state, and the evidence of its items by digest."""

    events: list[Event]
    evidence: dict[str, Sighting]


class Log(Protocol):
    """The log of one workspace."""

    workspace: str

    @property
    def store_id(self) -> str:
        """The random id of the store that the workspace is in."""

    def seal_with(self, sealer: Sealer) -> None:
        """Sign every commit, and check every read, with a workspace's keys."""

    def sight(self, identity: Identity, *, until: int) -> Visible:
        """What an identity can see at an epoch.

        Up to the newest commit, it is proven to be all and only what the signed log holds for the identity.
        """

    @property
    def audit(self) -> Audit:
        """The audit trail of the same workspace, in the same transactions."""

    @property
    def derived(self) -> Derived:
        """Texts and vectors that models derived from the texts of the same workspace."""

    @property
    def sources(self) -> SourceLedger:
        """The sources of the records of memory backends."""

    @property
    def memories(self) -> Memories:
        """The records of the reference memory store."""

    def atomic(self, *, short: bool = False) -> AbstractContextManager[None]:
        """All or nothing, durable when the outermost ends.

        A ``short`` one runs no code of the caller, so other threads may wait for it to share its commit.
        """

    @property
    def pending(self) -> bool:
        """Whether a transaction is open, with nothing durable yet."""

    def reading(self) -> AbstractContextManager[None]:
        """Several reads of one consistent state."""

    def listen(self) -> Listener:
        """Somebody who waits for the next commit, by any process."""

    def backup(self, target: Path) -> int:
        """Copy what is committed to a new file, and return the epoch at which this log ends in it."""

    def signed_note(self) -> bytes | None:
        """The newest signed head; none if no key was at hand."""

    def consistency(self, old: int, new: int) -> list[bytes]:
        """The proof that the first ``old`` of ``new`` commits are unchanged."""

    def commit_records(self) -> Iterator[bytes]:
        """The record of every commit, in order, as it is stored."""

    def parts_of(self, epoch: int, size: int) -> EventParts:
        """What a proof of the event at an epoch is made of, for a head of ``size`` commits."""

    def close(self) -> None:
        """Close the storage."""

    @property
    def head(self) -> int:
        """The current epoch."""

    @property
    def learnt(self) -> datetime | None:
        """The last moment that the log has learnt, including an open transaction; none if it is empty."""

    def keep_time(self, keeper: Timekeeper) -> None:
        """Ask whose clocks may move the log's moment. Without it, everybody's may."""

    def append(self, drafts: Sequence[Draft], *, now: datetime, check: Callable[[Draft], None] = ...) -> list[int]:
        """Commit events in order and return their epochs. An id already used for the same content is a no-op.

        The moment of a draft that is not ``given`` is not part of its content. ``check`` sees each new
        event within the transaction and refuses it by raising. Observations that follow one another may all be checked
        before the first of them can be read.
        """

    def seen(self, identity: Identity, *, since: int = 0, until: int) -> list[Event]:
        """Events on the state that an identity can see, in order."""

    def observations(self, identity: Identity, *, since: int = 0, until: int) -> list[Event]:
        """Raw observations that an identity can see, in order."""

    def observed(self, identity: Identity, *, since: int, until: int) -> list[SeenObservation]:
        """The same, without their texts."""

    def evidence_for(self, items: Iterable[int]) -> dict[str, Sighting]:
        """The evidence bound to items recorded at these epochs, rehashed."""

    def sighting(self, digest: str) -> dict[str, Sighting]:
        """One piece of evidence, rehashed; empty if none is filed under the digest."""

    def about(self, items: Iterable[str], *, until: int) -> list[Event]:
        """Everything that concerns these items, visible or not, in order."""

    def in_slot(self, task: str | None, slot: str, *, until: int) -> list[Event]:
        """Every item recorded about a slot, visible or not, in order."""

    def rivals(
        self, tasks: Iterable[str | None], slots: Iterable[str], *, until: int, known: AbstractSet[int]
    ) -> list[Event]:
        """Every item recorded about one of these slots under one of these tasks, visible or not, in order.

        Those at the epochs in ``known`` are left out, at almost no cost.
        """

    def kin(self, items: Iterable[Item], *, until: int, known: AbstractSet[int]) -> list[Event]:
        """Items related to some items without a common slot, visible or not, in order.

        These are items that make the same statement, and other frontiers of the same obligation. Those at the epochs in
        ``known`` are left out.
        """

    def item(self, item_id: str) -> Item:
        """An item by id."""

    def evidence_id(self, digest: str) -> str | None:
        """The id on the log of the observation that is filed under this digest, if any."""

    def evidence(self, digest: str) -> Event:
        """Stored evidence by digest."""

    def event(self, epoch: int) -> Event:
        """The event at a position of the log."""

    def named(self, kind: DeclaredKind, name: str) -> Event | None:
        """The event of a kind with this id, if any. Items of all kinds share one name space."""

    def departure(self, name: str) -> Checkpoint:
        """A departure by id."""

    def returned(self, return_id: str) -> Returned:
        """A past return by id: its request and its outcome."""

    def beginning_with(self, space: str, beginning: str, *, limit: int) -> list[str]:
        """Ids in a name space (``item``, ``return``…) with this prefix, in order; an exact match first.

        The name space ``evidence`` holds the digests of observations.
        """

    def milestones(self, kind: DeclaredKind, key: str = "", *, until: int | None = None) -> list[Event]:
        """Events of a kind that belong to the workspace as a whole, a task or an agent, in order."""

    def latest(self, kind: DeclaredKind, key: str = "", *, until: int | None = None) -> Event | None:
        """The last of ``milestones``."""

    def standing(self, *kinds: DeclaredKind, key: str = "") -> list[bytes]:
        """The signed digest over ``milestones`` of each kind, empty for none. Another list has another digest."""

    def latest_of(self, kind: DeclaredKind, keys: Iterable[str], *, until: int | None = None) -> dict[str, Event]:
        """The last of ``milestones`` for each of many keys that have one, in a few queries."""

    def ends(self, draft: Draft) -> int:
        """How much an event at the end of the log would end: items that it names, or that it replaces or resets."""

    def ended(self, by: str, *, since: datetime) -> int:
        """How much the events of a principal ended since a moment, by the log's last moment at the time."""

    def duties_opened(self, by: str, *, since: datetime) -> int:
        """How many obligations a principal opened since a moment, except those of its own alone."""

    def wrote(self, by: str, *, since: int) -> bool:
        """Whether a principal wrote anything after an epoch.

        Departures, returns, exposures, acknowledgements and examinations do not count as work of its own.
        """

    def audiences(self) -> Iterator[tuple[str, str, str]]:
        """Every distinct audience of a state event, as task, principal and role.

        An empty string means any. Each costs one index search, however many events it has.
        """

    def newest_for(self, audience: tuple[str, str, str], *, until: int, most: int) -> list[Event]:
        """The newest state events for exactly this audience, in order."""

    def agents(self) -> Iterator[Checkpoint]:
        """The last departure of every agent that ever departed. Each costs a few index searches."""

    def leases(self) -> Iterator[Event]:
        """The last lease of every agent that ever had one. Each costs a few index searches."""

    def is_slot(self, name: str) -> bool:
        """Whether some item that is not private is about this slot."""

    def is_dependency(self, name: str) -> bool:
        """Whether some item that is not private supports this dependency."""

    def tail(self, *, since: int = 0, until: int | None = None) -> Iterable[Event]:
        """Every event in order, proven to be the one on the log."""

    def slots(self) -> list[tuple[str, str]]:
        """Every slot that some item is about, as its task, empty for every task, and its name."""
