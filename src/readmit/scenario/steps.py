"""The steps of a scenario: what a team does, in the words of the workspace.

A step says what happens in its ``do``. Evidence is named by the id of the ``observe`` step that brought it in,
or by its digest; items by their id. ``at`` is when a thing was true; the clock says when it was learnt.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from readmit.records.base import Count, Id, Name, Note, Ratio, Record, Text, Time
from readmit.records.policy import Policy
from readmit.records.verdicts import Answer
from readmit.scenario.durations import Duration


class Step(Record, kw_only=True, tag_field="do"):
    """Something that happens."""


class TeamStep(Step, kw_only=True):
    """One event that somebody writes. Without an id, items and evidence are named by content, others at random."""

    id: Id | None = None


class EventStep(TeamStep, kw_only=True):
    """An event that was true at a moment of its own."""

    at: Time | None = None


class ObserveStep(EventStep, kw_only=True, tag="observe"):
    """Keep a raw observation as evidence."""

    text: Text
    by: Name
    source: Literal["message", "tool_result", "document"] = "message"
    task: Name | None = None
    roles: tuple[Name, ...] = ()
    principals: tuple[Name, ...] = ()


class ReceiptOf(Record, kw_only=True):
    """Binds the statement (``item``), or references it makes, to one observation."""

    evidence: Id
    binds: tuple[Id, ...] = ("item",)


class ItemStep(TeamStep, kw_only=True):
    """A statement. ``sources`` bind it and all its references; ``receipts`` bind them one by one."""

    text: Text
    by: Name
    sources: tuple[Id, ...] = ()
    receipts: tuple[ReceiptOf, ...] = ()
    slot: Id | None = None
    depends_on: tuple[Id, ...] = ()
    purposes: tuple[Name, ...] = ()
    tasks: tuple[Name, ...] = ()
    valid_from: Time | None = None
    valid_until: Time | None = None
    task: Name | None = None
    roles: tuple[Name, ...] = ()
    principals: tuple[Name, ...] = ()
    private: bool = False


class RecordStep(ItemStep, kw_only=True, tag="record"):
    """Record a fact or a constraint. With ``inherits`` it also supports what its predecessor did."""

    kind: Literal["fact", "role_constraint", "interface_constraint"] = "fact"
    supports: tuple[Id, ...] = ()
    supersedes: Id | None = None
    inherits: bool = False


class ObligeStep(ItemStep, kw_only=True, tag="oblige"):
    """Open an obligation."""

    required: tuple[Id, ...]
    critical: tuple[Id, ...] = ()


class ProgressStep(ItemStep, kw_only=True, tag="progress"):
    """Move an obligation's frontier."""

    obligation: Id


class SupersedeStep(EventStep, kw_only=True, tag="supersede"):
    """``successor`` replaces ``target``."""

    target: Id
    successor: Id
    by: Name
    reason: Note = ""
    role: Name | None = None


class RevokeStep(EventStep, kw_only=True, tag="revoke"):
    """Withdraw an item."""

    target: Id
    by: Name
    reason: Note = ""
    role: Name | None = None


class CloseStep(EventStep, kw_only=True, tag="close"):
    """An item is true only until ``end``."""

    target: Id
    end: Time
    by: Name
    reason: Note = ""


class RebaseStep(EventStep, kw_only=True, tag="rebase"):
    """A slot, and those below it, start anew."""

    slot: Id
    task: Name
    by: Name
    reason: Note = ""


class SettleStep(EventStep, kw_only=True, tag="settle"):
    """An obligation is done, or no longer owed. Whoever owes it in a role says in which ``role``."""

    obligation: Id
    by: Name
    reason: Note = ""
    role: Name | None = None


class DisputeStep(EventStep, kw_only=True, tag="dispute"):
    """Contest items. ``id`` names the dispute for a later ``resolve``."""

    items: tuple[Id, ...]
    by: Name
    reason: Note = ""


class ResolveStep(EventStep, kw_only=True, tag="resolve"):
    """End a dispute: items in ``keep`` stand, the others were wrong."""

    dispute: Id
    keep: tuple[Id, ...] = ()
    by: Name
    reason: Note = ""


class SuspectStep(EventStep, kw_only=True, tag="suspect"):
    """Propose that an observation changes a premise of an item."""

    item: Id
    evidence: Id
    by: Name
    signal: Name = "unspecified"


class JudgeStep(EventStep, kw_only=True, tag="judge"):
    """Store a verdict on an item and an observation."""

    item: Id
    evidence: Id
    answer: Answer
    confidence: Ratio
    by: Name
    item_quote: Note = ""
    evidence_quote: Note = ""
    premise: Note = ""
    use: Note = ""
    model: Name = "unspecified"
    prompt: Name = "unspecified"


class LinkStep(EventStep, kw_only=True, tag="link"):
    """Say that an item is evidence for a dependency, or with ``withdrawn`` that it is none after all."""

    item: Id
    need: Id
    by: Name
    withdrawn: bool = False


class ConfirmStep(EventStep, kw_only=True, tag="confirm"):
    """Vouch for an item that a model drafted."""

    item: Id
    by: Name


class OverruleStep(EventStep, kw_only=True, tag="overrule"):
    """An overseer sets automated rejections aside, until ``expires`` or for a duration ``lasting``."""

    target: Id
    grant: Literal["restore", "rejustify", "settle"]
    by: Name
    reason: Text
    expires: Time | None = None
    lasting: Duration | None = None

    def __post_init__(self) -> None:
        if (self.expires is None) == (self.lasting is None):
            raise ValueError("give either expires (a moment) or lasting (a duration such as 2h)")


class GovernStep(EventStep, kw_only=True, tag="govern"):
    """Put a policy in force."""

    policy: Policy
    by: Name


class AgentStep(Step, kw_only=True):
    """What one agent does, as a principal in a role on a task."""

    principal: Name
    role: Name
    task: Name
    id: Id | None = None


class RememberStep(AgentStep, kw_only=True, tag="remember"):
    """Keep a private experience bound to an item."""

    text: Text
    bound_to: Id


class DepartStep(AgentStep, kw_only=True, tag="depart"):
    """Leave. ``epoch`` says how far a crashed agent had followed the log."""

    epoch: Count | None = None


class ReturnStep(AgentStep, kw_only=True, tag="return", rename={"label": "as"}):
    """Come back. ``as`` labels the decision; ``expose`` hands the view over at once if it is admitted."""

    purpose: Name | None = None
    checkpoint: Id | None = None
    label: Name | None = None
    expose: bool = False


class ExposeStep(Step, kw_only=True, tag="expose", rename={"label": "return"}):
    """Hand over the view of the return with this label."""

    label: Name


class AcknowledgeStep(Step, kw_only=True, tag="acknowledge", rename={"label": "return"}):
    """The view of the return with this label has arrived."""

    label: Name


class ClockStep(Step, kw_only=True, tag="clock"):
    """Set the clock, or let time pass."""

    at: Time | None = None
    advance: Duration | None = None

    def __post_init__(self) -> None:
        if (self.at is None) == (self.advance is None):
            raise ValueError("give either at (a moment) or advance (a duration such as 2h)")


Writing: TypeAlias = (
    ObserveStep
    | RecordStep
    | ObligeStep
    | ProgressStep
    | SupersedeStep
    | RevokeStep
    | CloseStep
    | RebaseStep
    | SettleStep
    | DisputeStep
    | ResolveStep
    | SuspectStep
    | JudgeStep
    | LinkStep
    | ConfirmStep
    | OverruleStep
    | GovernStep
    | RememberStep
    | DepartStep
)
"""What can be written to a workspace without deciding anything."""

AnyStep: TypeAlias = Writing | ReturnStep | ExposeStep | AcknowledgeStep | ClockStep
