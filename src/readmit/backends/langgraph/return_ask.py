"""The port to a returning agent, and the interrupt of a return that was not admitted."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from readmit.records.acts.event import Checkpoint as Departure
    from readmit.records.decisions import ReturnView
    from readmit.records.identity import Identity
    from readmit.records.items import Item


class Bundled(Protocol):
    """The content of an exposed return: a workspace's ``Bundle``."""

    @property
    def view(self) -> ReturnView: ...
    @property
    def items(self) -> tuple[Item, ...]: ...
    def markdown(self) -> str: ...


class Decided(Protocol):
    """A decided return: a workspace's ``Return``."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def missing(self) -> tuple[str, ...]: ...
    @property
    def admitted(self) -> bool: ...
    def expose(self) -> Bundled: ...


class Returning(Protocol):
    """An agent that can come back: a workspace's ``Agent``."""

    identity: Identity

    def now(self) -> datetime: ...
    def come_back(
        self,
        *,
        purpose: str | None = None,
        checkpoint: str | None = None,
        prepare: Callable[[Departure, str], object] | None = None,
    ) -> Decided: ...


class ReturnInterrupt(GraphInterrupt):
    """A return that was not admitted. Inside another graph's node it is that node's interrupt."""

    def __init__(self, decided: Decided, identity: Identity, kind: str) -> None:
        value = {
            "readmit": kind,
            "principal": identity.principal,
            "task": identity.task,
            "return": decided.id,
            "missing": list(decided.missing),
        }
        super().__init__((Interrupt(value=value, id=hashlib.sha256(decided.id.encode()).hexdigest()[:32]),))

    @property
    def interrupts(self) -> tuple[Interrupt, ...]:
        return tuple(self.args[0])
