"""The log: what can happen to a workspace.

An event has two times: ``at``, when it was true, and ``learnt``, the log's moment when it took it in, which never
decreases along the log. Unless its writer gave ``at``, that is what the writer's clock said, and orders nothing. Its
``epoch`` is its position in the log. What happened is the payload; ``EventKind`` declares each kind with its payload.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from readmit.records.acts.forgotten import Forget
from readmit.records.acts.kinds import DeclaredKind, Wording, declare, name_in
from readmit.records.acts.looks import Looked, Resource
from readmit.records.acts.operation import (
    Acknowledge,
    Approve,
    Decline,
    DisputeId,
    Exposed,
    ItemId,
    Lease,
    Reassign,
    Void,
    Wait,
    Why,
    WriterKey,
)
from readmit.records.base import Count, Digest, Id, Name, Note, Record, Text, Time
from readmit.records.decisions import Returned
from readmit.records.error_types import RecordError
from readmit.records.evidence import Evidence, Experience
from readmit.records.identity import Identity, agent_key
from readmit.records.items import AnyItem, Frontier, Item, Obligation
from readmit.records.policy import Policy
from readmit.records.verdicts import Examine, Pair, Verdict


class Supersede(Record, kw_only=True):
    """``successor`` replaces ``target``."""

    target: ItemId
    successor: ItemId
    reason: Why = ""


class Revoke(Record, kw_only=True):
    """``target`` is withdrawn: it should not have been relied on."""

    target: ItemId
    reason: Why = ""


class Close(Record, kw_only=True):
    """``target`` is true only until ``end``."""

    target: ItemId
    end: Annotated[Time, msgspec.Meta(description="When it stops being true, as in 2026-05-04T09:00:00Z.")]
    reason: Why = ""


class Settle(Record, kw_only=True):
    """The obligation ``target`` is done or no longer owed."""

    target: ItemId
    reason: Why = ""


class Dispute(Record, kw_only=True):
    """The named items contradict each other, or are contested: none may be acted on until this is resolved."""

    items: tuple[ItemId, ...]
    reason: Why = ""
    basis: Count | None = None
    """If readmit found it: the epoch up to which the writer of the last item had seen the log."""
    plan: ItemId | None = None
    """If readmit found it: the planned item that the last item, later news, passed over. It begins with the plan."""

    def __post_init__(self) -> None:
        if not self.items:
            raise RecordError("items must name at least one item")


class Resolve(Record, kw_only=True):
    """The dispute with this event id is over. Items in ``keep`` stand; the others were wrong."""

    dispute: DisputeId
    keep: Annotated[tuple[ItemId, ...], msgspec.Meta(description="Item that stands. Repeatable.")] = ()
    reason: Why = ""


class Suspect(Record, kw_only=True):
    """A pair was proposed, and no verdict is known yet."""

    pair: Pair
    signal: Name = "unspecified"


class Link(Record, kw_only=True):
    """``item`` is evidence for the dependency ``need``. The latest link between the two decides."""

    item: ItemId
    need: Id
    quote: Note = ""
    """The words of the item that meet the need, if a model drew the link."""
    drafted: Name | None = None
    """The model or signal that drew it; none for a link that its writer drew."""
    withdrawn: Annotated[bool, msgspec.Meta(description="The item is not evidence for it after all.")] = False


class Confirm(Record, kw_only=True):
    """The writer has read the drafted item ``target`` and confirms it."""

    target: ItemId


class Overrule(Record, kw_only=True):
    """An overseer restores ``target``, whatever events up to this one took it out, until ``expires``.

    It undoes supersession, revocation, closing, suspicion and verdicts, lets the item stand although a declared premise
    is out, and ends disputes in its favor.
    """

    target: Id
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
    reason: Literal["", "lease_expired"] = ""
    """Why readmit departed for the agent; empty if the agent departed itself."""


class KeyChange(Record, kw_only=True):
    """A signing key was trusted, will be trusted only until ``until``, or is no longer trusted."""

    key: Digest
    change: Literal["trust", "retire", "revoke"]
    public: Note = ""
    until: Time | None = None
    reason: Note = ""


def _target(payload: Any) -> tuple[str, ...]:
    return (payload.target,)


def _of_item(item: Item) -> tuple[str, ...]:
    return (item.id,)


def _of_return(returned: Returned) -> tuple[str, ...]:
    who = returned.request.identity
    return (who.agent, who.resets, who.own_resets) if returned.starts_anew else (who.agent,)


class EventKind:
    """The kinds of event that readmit declares itself."""

    OBSERVE = declare("observe", Evidence)
    # Items of all event kinds share one name space.
    RECORD = declare(
        "record", AnyItem, doc="A fact or a constraint, with its evidence.",
        touches=_of_item, belongs=lambda it: it.dated, prefix="item",
    )  # fmt: skip
    OPEN = declare("open", Obligation, touches=_of_item, prefix="item", verb="oblige")
    MOVE = declare("move", Frontier, touches=_of_item, prefix="item", verb="progress")
    SUPERSEDE = declare(
        "supersede",
        Supersede,
        touches=_target,
        invalidates=True,
        ends_items=True,
        is_act=True,
        wording=Wording(
            arguments=("target", "successor"),
            done="{successor} replaces {target}",
            examples=('readmit supersede h0 h1 --by A2 --reason "Sunrise cancelled"',),
            meaning="Say that one item replaces another.",
        ),
    )
    REVOKE = declare(
        "revoke",
        Revoke,
        touches=_target,
        invalidates=True,
        ends_items=True,
        settles=True,
        wording=Wording(
            arguments=("target",),
            done="Revoked {target}",
            examples=('readmit revoke h0 --by A2 --reason "Riverside is flooded"',),
            meaning="Withdraw an item: it should not have been relied on.",
        ),
    )
    CLOSE = declare(
        "close",
        Close,
        touches=_target,
        verb="close_validity",
        invalidates=True,
        ends_items=True,
        settles=True,
        wording=Wording(
            arguments=("target",),
            done="{target} is true until {end}",
            examples=("readmit close-validity h0 --end 2026-05-04T09:00:00Z --by A2",),
            meaning="Say that an item is true only until a moment.",
        ),
    )
    SETTLE = declare(
        "settle",
        Settle,
        touches=_target,
        invalidates=True,
        ends_items=True,
        is_act=True,
        wording=Wording(
            arguments=("obligation",),
            done="Settled {target}",
            examples=('readmit settle o_plan --by A1 --reason "sent to the family"',),
            meaning="Say that an obligation is done, or no longer owed.",
            names={"target": "obligation"},
        ),
    )
    DISPUTE = declare(
        "dispute",
        Dispute,
        touches=lambda it: tuple(dict.fromkeys(it.items)),
        belongs=lambda it: () if it.plan is None else ("",),
        invalidates=True,
        wording=Wording(
            arguments=("items",),
            done="No one may act on {items} until the dispute is resolved",
            examples=('readmit dispute h0 h1 --by A2 --reason "two hotels for one night"',),
            meaning="Contest items: none of them may be acted on until the dispute is resolved.",
            unsaid=("basis", "plan"),
        ),
    )
    RESOLVE = declare(
        "resolve",
        Resolve,
        invalidates=True,
        is_act=True,
        wording=Wording(
            arguments=("dispute",),
            done="Resolved dispute {dispute}",
            examples=("readmit resolve 3f2a91 --keep h1 --by lead",),
            meaning="End a dispute: the items that are kept stand, the others were wrong.",
        ),
    )
    SUSPECT = declare("suspect", Suspect, touches=lambda it: (it.pair.item,), invalidates=True)
    JUDGE = declare("judge", Verdict, touches=lambda it: (it.pair.item,), invalidates=True, settles=True)
    LINK = declare(
        "link",
        Link,
        touches=lambda it: (it.item,),
        settles=True,
        wording=Wording(
            arguments=("item", "need"),
            done=lambda it: f"{it.item} is {'no longer ' if it.withdrawn else ''}evidence for {it.need}",
            examples=("readmit link h0 d_h --by A2", "readmit link h0 d_h --by A2 --withdraw"),
            meaning="Say that an item is evidence for a dependency. The latest link between the two decides.",
            options={"withdrawn": "withdraw"},
            unsaid=("quote", "drafted"),
        ),
    )
    RESOURCE = declare("resource", Resource, touches=_target)
    CONFIRM = declare(
        "confirm",
        Confirm,
        touches=_target,
        settles=True,
        wording=Wording(
            arguments=("item",),
            done="Confirmed {target}",
            examples=("readmit confirm x1 --by A2",),
            meaning="Confirm an item that a model drafted. It does not count in the confirmer's own return.",
            names={"target": "item"},
        ),
    )
    WAIT = declare("wait", Wait, is_reserved=True, is_work=False)
    # One answer for each: they share a name space.
    APPROVE = declare(
        "approve",
        Approve,
        prefix="answer",
        is_act=True,
        wording=Wording(
            arguments=("waiting",),
            done="Approved and appended what waited as {waiting}",
            examples=('readmit admin approve 3f2a91 --by lead --reason "the catalog is being replaced"',),
            meaning="Let through what hit its writer's limit. Overseers only.",
        ),
    )
    DECLINE = declare(
        "decline",
        Decline,
        prefix="answer",
        is_act=True,
        wording=Wording(
            arguments=("waiting",),
            done="Declined what waited as {waiting}",
            examples=('readmit admin decline 3f2a91 --by lead --reason "a loop in the importer"',),
            meaning="Refuse for good what hit its writer's limit. Overseers only.",
        ),
    )
    VOID = declare(
        "void",
        Void,
        is_act=True,
        wording=Wording(
            arguments=("event",),
            done="Voided the date of event {event}; what it says stays in effect",
            examples=('readmit admin void 17 --as-owner --reason "its host said 2060"',),
            meaning="Void the date of an event whose host's clock was ahead, never its effect. Overseers only.",
        ),
    )
    # Milestones of the workspace: a replay that needs what was erased says when and by whom.
    FORGET = declare("forget", Forget, touches=lambda it: it.items, belongs=lambda _: ("",), is_act=True)
    OVERRULE = declare("overrule", Overrule, touches=_target, settles=True)
    REMEMBER = declare("remember", Experience, reaches=lambda it: ("", it.owner, ""), belongs=lambda _: ())
    LEASE = declare("lease", Lease, belongs=lambda it: (it.identity.agent,), is_reserved=True, is_work=False)
    DEPART = declare("depart", Checkpoint, belongs=lambda it: it.identity.departed(it.reason), is_work=False)
    RETURN = declare("return", Returned, belongs=_of_return, is_reserved=True, is_work=False)
    EXPOSE = declare("expose", Exposed, belongs=lambda it: (it.agent,), is_reserved=True, is_work=False)
    ACKNOWLEDGE = declare("acknowledge", Acknowledge, is_reserved=True, is_work=False)
    LOOK = declare("look", Looked, belongs=lambda it: it.keys, is_reserved=True, is_work=False)
    REASSIGN = declare(
        "reassign",
        Reassign,
        belongs=lambda it: (agent_key(it.principal, it.task), agent_key(it.principal, "")),
        is_act=True,
        wording=Wording(
            arguments=("principal",),
            done="{principal} has the role {role} on {task}",
            examples=("readmit admin reassign A1 --task trip --was planner --role booker --by lead",),
            meaning="Say which role an agent has on a task, and in which it comes back. Owner and overseers only.",
        ),
    )
    EXAMINE = declare("examine", Examine, belongs=lambda it: (it.identity.agent,), is_work=False)
    GOVERN = declare("govern", Policy)
    KEY = declare("key", KeyChange, is_reserved=True)
    WRITER = declare("writer", WriterKey, is_reserved=True)


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A committed event."""

    epoch: int
    id: str
    kind: DeclaredKind
    by: str
    at: Time
    learnt: Time
    payload: Record
    digest: str
    salt: bytes = b""
    """The random bytes that its digest covers before its content."""
    given: bool = False
    """Whether its writer gave ``at``; otherwise it is what the writer's clock said."""
    signature: bytes | None = None
    """The signature of the principal that wrote it, if it has a key."""

    @property
    def said(self) -> Time:
        """When it counts from: its date if one was given, but never later than the log learnt it; else that moment."""
        return min(self.at, self.learnt) if self.given else self.learnt

    @property
    def effective(self) -> Time:
        """From when it is in effect: when the log learnt it, or the date that was given, if that is later."""
        return max(self.at, self.learnt) if self.given else self.learnt

    @property
    def name(self) -> str:
        """Its id without the kind: the id that users see of an item, a return or a dispute."""
        return name_in(self.id)

    def holds(self, now: Time) -> bool:
        """Whether it is in effect at ``now``. A clock that lags does not bring back what the event took out."""
        return self.effective <= max(now, self.learnt)
