"""The steps of a scenario: what a team does, in the words of the workspace.

A step says what happens in its ``do``. Evidence is named by the id of its ``observe`` step, or by its digest; items by
their id. ``at`` is when a thing was true; the clock says when it was learnt. Events whose kind is declared with a
wording have no step here: theirs is made from the declaration.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, cast

import msgspec

from readmit.records.acts.kinds import KINDS, DeclaredKind, load_declared_elsewhere, said_fields
from readmit.records.acts.operation import ItemId
from readmit.records.base import Count, Id, Name, Note, Ratio, Record, Text, Time, utc
from readmit.records.policy import Policy
from readmit.records.verdicts import Answer
from readmit.scenario.durations import Duration


class Step(Record, kw_only=True, tag_field="do"):
    """Something that happens."""


class TeamStep(Step, kw_only=True):
    """One event with a writer. Without an id, an item is named by its content, and other events are new."""

    id: Id | None = None


class EventStep(TeamStep, kw_only=True):
    """An event with its own moment."""

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
    depends_on: tuple[ItemId, ...] = ()
    purposes: tuple[Name, ...] = ()
    applies_to: tuple[Name, ...] = ()
    valid_from: Time | None = None
    valid_until: Time | None = None
    task: Name | None = None
    roles: tuple[Name, ...] = ()
    principals: tuple[Name, ...] = ()
    private: bool = False


class RecordStep(ItemStep, kw_only=True, tag="record"):
    """Record a fact or a constraint. With ``inherits`` it also supports what the item did that it supersedes.

    With ``expects`` it is refused unless that item stands in its slot, with ``expects_nothing`` unless nothing does.
    """

    kind: Literal["fact", "role_constraint", "interface_constraint"] = "fact"
    supports: tuple[Id, ...] = ()
    supersedes: ItemId | None = None
    inherits: bool = False
    expects: ItemId | None = None
    expects_nothing: bool = False


class ObligeStep(ItemStep, kw_only=True, tag="oblige"):
    """Open an obligation."""

    required: tuple[Id, ...]
    critical: tuple[Id, ...] = ()
    lists: tuple[Id, ...] = ()


class ProgressStep(ItemStep, kw_only=True, tag="progress"):
    """Move an obligation's frontier."""

    obligation: ItemId


class DeclaredStep(EventStep, kw_only=True):
    """An event of a kind whose declaration says how people write it."""

    by: Name


class SuspectStep(EventStep, kw_only=True, tag="suspect"):
    """Propose that an observation changes a premise of an item."""

    item: ItemId
    evidence: Id
    by: Name
    signal: Name = "unspecified"


class JudgeStep(EventStep, kw_only=True, tag="judge"):
    """Store a verdict on an item and an observation."""

    item: ItemId
    evidence: Id
    answer: Answer
    confidence: Ratio
    by: Name
    item_quote: Note = ""
    evidence_quote: Note = ""
    premise: Note = ""
    model: Name = "unspecified"
    prompt: Name = "unspecified"


class OverruleStep(EventStep, kw_only=True, tag="overrule"):
    """An overseer sets automated rejections aside, until ``expires`` or for a duration ``lasting``."""

    target: ItemId
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
    """A step of one agent, as a principal in a role on a task."""

    principal: Name
    role: Name
    task: Name
    id: Id | None = None


class RememberStep(AgentStep, kw_only=True, tag="remember"):
    """Keep a private experience bound to an item."""

    text: Text
    bound_to: ItemId


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


_WRITING: tuple[type[Step], ...] = (
    ObserveStep,
    RecordStep,
    ObligeStep,
    ProgressStep,
    SuspectStep,
    JudgeStep,
    OverruleStep,
    GovernStep,
    RememberStep,
    DepartStep,
)
_DECIDING: tuple[type[Step], ...] = (ReturnStep, ExposeStep, AcknowledgeStep, ClockStep)


def writing_steps() -> tuple[type[Step], ...]:
    """Every step that writes to a workspace without deciding anything."""
    load_declared_elsewhere()
    return (*_WRITING, *(declared_step(kind) for kind in KINDS.values() if kind.wording is not None))


def every_step() -> tuple[type[Step], ...]:
    """Every step of a scenario."""
    return (*writing_steps(), *_DECIDING)


_declared: dict[type, type[DeclaredStep]] = {}
_declared_by: dict[type[DeclaredStep], DeclaredKind] = {}


def declared_step(kind: DeclaredKind) -> type[DeclaredStep]:
    """The step that writes an event of a kind, made from its declaration."""
    if kind.payload not in _declared:
        fields: list[Any] = [
            (said.name, said.type) if said.default is msgspec.NODEFAULT else (said.name, said.type, said.default)
            for said in said_fields(kind)
        ]
        made = msgspec.defstruct(
            f"{kind.capitalize()}Step",
            fields,
            bases=(DeclaredStep,),
            namespace={"__doc__": kind.doc},
            module=__name__,
            tag=kind.verb,
            kw_only=True,
        )
        _declared[kind.payload] = cast("type[DeclaredStep]", made)
        _declared_by[_declared[kind.payload]] = kind
    return _declared[kind.payload]


def event_of(step: DeclaredStep) -> tuple[DeclaredKind, Record]:
    """The event that a step writes."""
    kind = _declared_by[type(step)]
    fields = {said.field: getattr(step, said.name) for said in said_fields(kind)}
    # Equal moments have equal bytes.
    moments = {name: utc(value, field=name) for name, value in fields.items() if isinstance(value, datetime)}
    payload: Record = kind.payload(**fields | moments)
    return kind, payload
