"""The log: what can happen to a workspace.

An event has two times: ``at``, when it was true, and ``learnt``, when the log took it in. Its ``epoch`` is
its position in the log. What happened is the payload; which payload goes with which kind is ``PAYLOADS``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from readmit.records.base import (
    Count,
    Digest,
    Id,
    Name,
    Note,
    Record,
    Text,
    Time,
)
from readmit.records.decisions import Returned
from readmit.records.errors import RecordError
from readmit.records.evidence import Evidence, Experience
from readmit.records.identity import Identity
from readmit.records.items import AnyItem, Frontier, Item, Obligation
from readmit.records.policy import Policy, with_old_defaults
from readmit.records.verdicts import Pair, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime


class EventKind(StrEnum):
    """What happened."""

    OBSERVE = "observe"
    RECORD = "record"
    OPEN = "open"
    MOVE = "move"
    SUPERSEDE = "supersede"
    REVOKE = "revoke"
    CLOSE = "close"
    REBASE = "rebase"
    SETTLE = "settle"
    DISPUTE = "dispute"
    RESOLVE = "resolve"
    SUSPECT = "suspect"
    JUDGE = "judge"
    LINK = "link"
    CONFIRM = "confirm"
    OVERRULE = "overrule"
    REMEMBER = "remember"
    DEPART = "depart"
    RETURN = "return"
    EXPOSE = "expose"
    ACKNOWLEDGE = "acknowledge"
    EXAMINE = "examine"
    GOVERN = "govern"
    KEY = "key"


class Supersede(Record, kw_only=True):
    """``successor`` replaces ``target``."""

    target: Id
    successor: Id
    reason: Note = ""
    role: Name | None = None
    """The role that the writer acts in, where the right to do this rests on it."""


class Revoke(Record, kw_only=True):
    """``target`` is withdrawn: it should not have been relied on."""

    target: Id
    reason: Note = ""
    role: Name | None = None


class Close(Record, kw_only=True):
    """``target`` is true only until ``end``."""

    target: Id
    end: Time
    reason: Note = ""


class Rebase(Record, kw_only=True):
    """A slot, and every slot below it, starts anew: what was recorded about it before is of an incompatible epoch."""

    slot: Id
    task: Name
    reason: Note = ""


class Settle(Record, kw_only=True):
    """The obligation ``target`` is done or no longer owed."""

    target: Id
    reason: Note = ""
    role: Name | None = None


class Dispute(Record, kw_only=True):
    """The named items contradict each other, or are contested: none may be acted on until this is resolved."""

    items: tuple[Id, ...]
    reason: Note = ""

    def __post_init__(self) -> None:
        if not self.items:
            raise RecordError("items must name at least one item")


class Resolve(Record, kw_only=True):
    """The dispute with this event id is over. Items in ``keep`` stand; the others were wrong."""

    dispute: Id
    keep: tuple[Id, ...] = ()
    reason: Note = ""


class Suspect(Record, kw_only=True):
    """A pair was proposed, and no verdict is known yet."""

    pair: Pair
    signal: Name = "unspecified"


class Link(Record, kw_only=True):
    """``item`` is evidence for the dependency ``need``. The latest link between the two decides."""

    item: Id
    need: Id
    quote: Note = ""
    """The words of the item that meet the need, where a model drew the link."""
    drafted: Name | None = None
    """Which model, or which signal, drew it; none for a link that its writer vouches for."""
    withdrawn: bool = False
    """The item is no evidence for the need after all."""


class Confirm(Record, kw_only=True):
    """The writer has read the drafted item ``target`` and vouches for it."""

    target: Id


class Overrule(Record, kw_only=True):
    """An overseer overrules automated rejections of ``target`` that rest on events up to this one.

    ``restore`` undoes supersession, revocation, closing, suspicion and verdicts; ``rejustify`` lets the item
    stand although a declared premise is out; ``settle`` ends disputes in its favor. It lapses at ``expires``.
    """

    target: Id
    grant: Literal["restore", "rejustify", "settle"]
    reason: Text
    expires: Time


class Checkpoint(Record, kw_only=True):
    """``D_a``: what an identity could see at departure.

    The log is append-only, so the visible events up to ``epoch`` are the content; ``digest`` over them makes
    any later difference detectable.
    """

    id: Id
    identity: Identity
    epoch: Count
    at: Time
    events: Count
    digest: Digest


class Exposed(Record, kw_only=True):
    """A view was handed over, or refused."""

    return_id: Id
    instance: Id
    refused: tuple[str, ...] = ()
    again: bool = False
    """The same workload had been handed the same view before, and asked again."""


class Acknowledge(Record, kw_only=True):
    """The workload that a view was handed to has received it. From here on it is not handed over again."""

    return_id: Id
    instance: Id


class Examine(Record, kw_only=True):
    """A verifier looked for implicit changes on behalf of one departure, up to an epoch."""

    checkpoint: Id
    identity: Identity
    verifier: Name
    until: Count
    """Every observation up to here was looked at, for everything that the agent could see when this was written."""
    purpose: Name | None = None
    """What the agent was expected to return for."""


class KeyChange(Record, kw_only=True):
    """A signing key was trusted, will be trusted only until ``until``, or is no longer trusted."""

    key: Digest
    change: Literal["trust", "retire", "revoke"]
    public: Note = ""
    until: Time | None = None
    reason: Note = ""


Payload: TypeAlias = (
    Evidence
    | AnyItem
    | Supersede
    | Revoke
    | Close
    | Rebase
    | Settle
    | Dispute
    | Resolve
    | Suspect
    | Verdict
    | Link
    | Confirm
    | Overrule
    | Experience
    | Checkpoint
    | Returned
    | Exposed
    | Acknowledge
    | Examine
    | Policy
    | KeyChange
)

PAYLOADS: dict[EventKind, Any] = {
    EventKind.OBSERVE: Evidence,
    EventKind.RECORD: AnyItem,
    EventKind.OPEN: Obligation,
    EventKind.MOVE: Frontier,
    EventKind.SUPERSEDE: Supersede,
    EventKind.REVOKE: Revoke,
    EventKind.CLOSE: Close,
    EventKind.REBASE: Rebase,
    EventKind.SETTLE: Settle,
    EventKind.DISPUTE: Dispute,
    EventKind.RESOLVE: Resolve,
    EventKind.SUSPECT: Suspect,
    EventKind.JUDGE: Verdict,
    EventKind.LINK: Link,
    EventKind.CONFIRM: Confirm,
    EventKind.OVERRULE: Overrule,
    EventKind.REMEMBER: Experience,
    EventKind.DEPART: Checkpoint,
    EventKind.RETURN: Returned,
    EventKind.EXPOSE: Exposed,
    EventKind.ACKNOWLEDGE: Acknowledge,
    EventKind.EXAMINE: Examine,
    EventKind.GOVERN: Policy,
    EventKind.KEY: KeyChange,
}

# Decoders of what is written now, which takes on today's defaults.
WRITTEN: dict[EventKind, Callable[[bytes | str], Any]] = {
    kind: msgspec.json.Decoder(payload).decode for kind, payload in PAYLOADS.items()
}


def _decode_policy(body: bytes | str) -> Policy:
    return msgspec.convert(with_old_defaults(msgspec.json.decode(body, type=dict)), Policy)


def _decode_returned(body: bytes | str) -> Returned:
    stored = msgspec.json.decode(body, type=dict)
    if isinstance(asked := stored.get("request"), dict) and isinstance(asked.get("policy"), dict):
        asked["policy"] = with_old_defaults(asked["policy"])
    return msgspec.convert(stored, Returned)


# Decoders of what is stored. A policy that was stored before a rule existed does not take on today's default for it;
# one that is written today does.
DECODERS = {**WRITTEN, EventKind.GOVERN: _decode_policy, EventKind.RETURN: _decode_returned}

# Events that take something out of use. They count against a writer's rate and need an allowed writer.
INVALIDATING = frozenset(
    {
        EventKind.SUPERSEDE,
        EventKind.REVOKE,
        EventKind.CLOSE,
        EventKind.REBASE,
        EventKind.SETTLE,
        EventKind.DISPUTE,
        EventKind.RESOLVE,
        EventKind.SUSPECT,
        EventKind.JUDGE,
    }
)


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A committed event."""

    epoch: int
    id: str
    kind: EventKind
    by: str
    at: Time
    learnt: Time
    payload: Payload
    digest: str

    @property
    def name(self) -> str:
        """Its id without the kind: for an item, a return or a dispute, what users call it by."""
        return name_in(self.id)

    def holds(self, now: datetime) -> bool:
        """Whether what it says is true at ``now``.

        What was true when it was learnt stays so, whatever a reader's clock says: a clock that lags behind the
        writer's, or was set back, must not bring back what the event took out.
        """
        return self.at <= max(now, self.learnt)


# Items share one name space, whatever event brings them in.
_PREFIX = {EventKind.RECORD: "item", EventKind.OPEN: "item", EventKind.MOVE: "item"}


def event_id(kind: EventKind, name: str) -> str:
    """The id under which the log files an event that its writer, or its content, names ``name``."""
    return f"{_PREFIX.get(kind, kind)}:{name}"


def name_in(event_id: str) -> str:
    """The name that an event's id was made of."""
    return event_id.partition(":")[2]


def targets_of(payload: Payload) -> tuple[str, ...]:
    """The items that a payload names as touched by it."""
    # Most events of a large batch are observations, which touch nothing: they are not held against every pattern.
    if type(payload) is Evidence:
        return ()
    match payload:
        case Item():
            return (payload.id,)
        case Supersede() | Revoke() | Close() | Settle() | Confirm() | Overrule():
            return (payload.target,)
        case Link():
            return (payload.item,)
        case Dispute():
            return tuple(dict.fromkeys(payload.items))
        case Suspect() | Verdict():
            return (payload.pair.item,)
        case _:
            return ()
