"""Results of verbs that differ from those of the library: handles as values, and rows of listings."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

import msgspec

from readmit.records.acts.event import Checkpoint
from readmit.records.base import Time
from readmit.records.decisions import Cause, Decision, Disposition, Request
from readmit.records.identity import Identity
from readmit.records.items import AnyItem
from readmit.records.reasons import Reason, State

T = TypeVar("T")


class ReturnAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a return, without anything about items that were left out."""

    id: str
    kind: Literal["admitted", "blocked", "reset"]
    admitted: bool
    missing: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    partial: bool = False
    secret: str = ""
    """Proves that the view was issued to this workload. Given once; the server keeps only its hash."""


class PastReturn(msgspec.Struct, frozen=True, kw_only=True):
    """A past return with every disposition, for those who may inspect."""

    request: Request
    decision: Decision
    dispositions: tuple[Disposition, ...] = ()


class PresenceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The presence of an agent under a lease."""

    token: int
    until: Time


class FoundItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item of the view that an agent holds, which still stands; or a draft of the agent itself."""

    id: str
    text: str
    kind: str = "draft"
    by: str | None = None
    slot: str | None = None


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a search through an agent's view, best matches first."""

    holds: tuple[FoundItem, ...]
    more: int
    """Items that match too, beyond the limit."""
    drafts: tuple[FoundItem, ...]
    """Drafts of the agent that wait for a person."""
    notice: str


class WorkspaceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace and the position of its last event."""

    name: str
    epoch: int
    principal: str
    """The principal that the caller writes as."""


class ReturnEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A past return in a listing."""

    id: str
    epoch: int
    at: Time
    identity: Identity
    kind: Literal["admitted", "blocked", "reset"]


class ItemEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An item, its epoch, and the causes against it."""

    item: AnyItem
    epoch: int
    state: State | None = None
    """None if it stands for a reader of its task."""
    causes: tuple[Cause, ...] = ()


class EventEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the log."""

    epoch: int
    id: str
    kind: str
    by: str
    at: Time
    learnt: Time
    digest: str
    payload: Any
    """The content, as its kind declares it."""
    given: bool = False
    """Whether its writer gave ``at``."""


class ItemHistory(msgspec.Struct, frozen=True, kw_only=True):
    """An item and every event about it, in order."""

    item: ItemEntry
    events: tuple[EventEntry, ...]


class AgentEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The last departure of an agent, and whether it is away."""

    departure: Checkpoint
    away: bool


class HeadAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The signed head of the log: a note that anybody can check with the workspace's key."""

    workspace: str
    note: str


class KeyEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A key that the workspace signs with: its digest, and its public half in base64."""

    key: str
    public: str


class ListPage(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """Some entries of a listing, and where the rest begins."""

    entries: tuple[T, ...]
    next: str | None = None
    """The ``after`` of the next page; none after the last."""


class FallenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An item of the view that an agent holds, which no longer stands."""

    return_id: str
    item: str
    state: State


class StageAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A stage of a return that has begun."""

    stage: str


class ProblemAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``application/problem+json``: why a request was not served."""

    type: str
    """``/problems/`` and the class of the error, which the clients raise again."""
    title: str
    status: int
    detail: str = ""
    """The error's text."""
    field: str | None = None
    """The field of the request that has to change, where that is known."""
    reasons: tuple[Reason, ...] = ()
    """Checks that a view did not pass."""


class BatchCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call of a batch: the name of a verb, and what it is given."""

    verb: str
    given: dict[str, Any] = {}


class BatchGiven(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Several calls in one commit: all of them or none."""

    calls: tuple[BatchCall, ...]
