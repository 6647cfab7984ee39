"""Work-state items: what the team holds true, still has to do, and must respect.

Paper, section 2.1: an item "carries content, a source receipt, an epoch and validity interval, principal
and role scope, task purpose, dependency links, and supersession status". The epoch and the supersession
status belong to the log, not to the item: an item never changes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

import msgspec

from readmit.records.base import Digest, Id, Name, Note, Record, Text, Time
from readmit.records.error_types import RecordError


class Interval(Record, kw_only=True, gc=False):
    """When a statement is true: from ``start`` up to, not including, ``end``. An open side is unbounded."""

    start: Time | None = None
    end: Time | None = None

    def __post_init__(self) -> None:
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise RecordError("valid_until must be later than valid_from")


class Scope(Record, kw_only=True, gc=False):
    """The readers of an item. An empty list means everyone; no task means every task."""

    workspace: Name
    principals: tuple[Name, ...] = ()
    roles: tuple[Name, ...] = ()
    task: Name | None = None
    visibility: Literal["team", "private"] = "team"

    def __post_init__(self) -> None:
        if self.visibility == "private" and not self.principals:
            raise RecordError("scope.principals: a private scope names at least one; name its readers")


class Receipt(Record, kw_only=True, gc=False):
    """Binds an item, or references it makes, to one piece of evidence.

    ``binds`` holds ``"item"`` for the statement itself, and the ids of the premises and dependencies that this evidence
    supports.
    """

    evidence: Digest
    binds: tuple[Id, ...] = ("item",)


class Drafted(Record, kw_only=True, gc=False):
    """A model wrote the item, on behalf of its author."""

    model: Name
    quote: Note = ""
    """The words of the evidence that the item repeats. None for a duty, which is planned from a task."""
    instead_of: Id | None = None
    """The item that the quoted observation invalidated."""


class Kind(StrEnum):
    """The five kinds of work-state item."""

    FACT = "fact"
    FRONTIER = "frontier"
    OBLIGATION = "obligation"
    ROLE_CONSTRAINT = "role_constraint"
    INTERFACE_CONSTRAINT = "interface_constraint"


class Item(Record, kw_only=True, tag_field="kind", gc=False):
    """One statement of the shared work state. Use one of its five kinds."""

    id: Id
    text: Text
    by: Name
    scope: Scope
    slot: Id | None = None
    purposes: tuple[Name, ...] = ()
    applies_to: tuple[Name, ...] = ()
    """``U``: the tasks that it serves; empty means every one. Who may see it, ``A``, is its scope."""
    valid: Interval = Interval()
    depends_on: tuple[Id, ...] = ()
    supports: tuple[Id, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    drafted: Drafted | None = None
    """Which model wrote it, if one did."""

    @property
    def kind(self) -> Kind:
        return KINDS[type(self)]

    @property
    def covers(self) -> tuple[str, ...]:
        """``D(m)``: the dependencies that this item meets, including its slot."""
        return self.supports if self.slot is None else (*self.supports, self.slot)

    @property
    def dated(self) -> tuple[str, ...]:
        """Its slot, if it says from when it holds: then it may be a plan."""
        return () if self.slot is None or self.valid.start is None else (self.slot,)

    @property
    def length(self) -> int:
        """``ℓ(m)``: the item's share of the character budget."""
        return len(self.text)


class Fact(Item, kw_only=True, tag="fact"):
    """Something observed or decided."""


class RoleConstraint(Item, kw_only=True, tag="role_constraint"):
    """A rule for what a role must or must not do."""


class InterfaceConstraint(Item, kw_only=True, tag="interface_constraint"):
    """A demand of another component or party."""


class Obligation(Item, kw_only=True, tag="obligation"):
    """A duty of the role: its required dependencies ``R_o`` and the critical ones ``K_o ⊆ R_o``."""

    required: tuple[Id, ...]
    critical: tuple[Id, ...] = ()
    lists: tuple[Id, ...] = ()
    """Dependencies of which a view takes every item that fits, not one: each such item is one member of the list."""

    def __post_init__(self) -> None:
        for name, some in (("critical", self.critical), ("lists", self.lists)):
            if not set(some) <= set(self.required):
                raise RecordError(f"{name} must be a subset of required")
        if self.supports:
            raise RecordError("an obligation supports nothing: it is what needs support")

    @property
    def covers(self) -> tuple[str, ...]:
        """Nothing: it is what needs support."""
        return ()


class Frontier(Item, kw_only=True, tag="frontier"):
    """The unresolved part of an obligation. It describes missing work and is never evidence."""

    obligation: Id

    def __post_init__(self) -> None:
        if self.supports:
            raise RecordError("supports: a frontier describes missing work; leave it out, or record a fact")

    @property
    def covers(self) -> tuple[str, ...]:
        """Nothing: it is never evidence."""
        return ()


CONSTRAINTS = (RoleConstraint, InterfaceConstraint)
"""The kinds that limit what the role may do, whatever its duties are."""
BINDING = (Obligation, *CONSTRAINTS)
"""The kinds that bind somebody."""

AnyItem = Fact | Obligation | Frontier | RoleConstraint | InterfaceConstraint
if TYPE_CHECKING:
    ReadItem = Item
else:
    ReadItem = AnyItem
"""``Item`` in records that are also read from JSON, where its ``kind`` says which one it is."""

KINDS: dict[type[Item], Kind] = {
    Fact: Kind.FACT,
    Obligation: Kind.OBLIGATION,
    Frontier: Kind.FRONTIER,
    RoleConstraint: Kind.ROLE_CONSTRAINT,
    InterfaceConstraint: Kind.INTERFACE_CONSTRAINT,
}

decode_item = msgspec.json.Decoder(AnyItem).decode
