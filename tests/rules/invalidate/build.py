"""A few items, observations and events, dated in hours, and what is found against the items."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from readmit import Answer, Identity, Pair, Verdict
from readmit.events import EventKind
from readmit.lab import Suspect, canonical, digest
from readmit.policies import Policy
from readmit.records.acts.event import Close, Dispute, Overrule, Resolve, Revoke, Settle, Supersede
from readmit.records.snapshot import Held, Sighting, Snapshot, WorkState
from readmit.rules.capture.bindings import flaws
from readmit.rules.invalidate.order import Order
from readmit.rules.invalidate.resolve import Findings, resolve
from readmit.types import Checkpoint, Event, Evidence, Fact, Frontier, Interval, Item, Obligation, Receipt, Scope
from tests.scene import HOUR, START

if TYPE_CHECKING:
    from datetime import datetime

    from readmit.events import DeclaredKind, Record

WHO = Identity(workspace="w", principal="ann", role="planner", task="trip")
KINDS: dict[type, DeclaredKind] = {
    Supersede: EventKind.SUPERSEDE, Revoke: EventKind.REVOKE, Close: EventKind.CLOSE, Settle: EventKind.SETTLE,
    Dispute: EventKind.DISPUTE, Suspect: EventKind.SUSPECT, Verdict: EventKind.JUDGE, Overrule: EventKind.OVERRULE,
    Resolve: EventKind.RESOLVE,
}  # fmt: skip


def hour(number: float) -> datetime:
    return START + number * HOUR


class Board:
    """What ann, a planner on a trip, can see or is concerned by. Everything said takes the next place in the log."""

    def __init__(self, *, now: float = 100, purpose: str | None = None, **policy: Any) -> None:
        self.now = hour(now)
        self.purpose = purpose
        self.policy = Policy(evidence={"overseers": ("boss",)}).changed(**policy)
        self.epoch = 0
        self.held: dict[str, Held] = {}
        self.hidden: set[str] = set()
        self.evidence: dict[str, Sighting] = {}
        self.resolutions: dict[str, tuple[Event, ...]] = {}

    def said(self, at: float = 0, *, learnt: float | None = None, by: str = "bob", text: str = "It is so.") -> str:
        """An observation: its digest."""
        self.epoch += 1
        known = hour(at if learnt is None else learnt)
        evidence = Evidence(text=f"{text} {self.epoch}", by=by, at=hour(at), scope=Scope(workspace="w"))
        name = digest(evidence)
        self.evidence[name] = Sighting(self.epoch, by, True, canonical(evidence), min(hour(at), known).isoformat())
        return name

    def fact(self, id: str, *sources: str, at: float = 0, hidden: bool = False, **fields: Any) -> str:
        """A statement in slot ``s``, from an observation of its own unless the test says otherwise."""
        sources = sources or (self.said(at),)
        return self._add(fields.pop("kind", Fact), id, sources, hidden=hidden, **{"slot": "s", **fields})

    def duty(self, id: str, *, hidden: bool = False, **fields: Any) -> str:
        return self._add(Obligation, id, (), hidden=hidden, **{"required": ("d",), **fields})

    def frontier(self, id: str, *sources: str, at: float = 0, hidden: bool = False, **fields: Any) -> str:
        sources = sources or (self.said(at),)
        return self._add(Frontier, id, sources, hidden=hidden, **{"obligation": "o", **fields})

    def _add(self, kind: Any, id: str, sources: tuple[str, ...], *, hidden: bool, **fields: Any) -> str:
        scope = {name: fields.pop(name) for name in ("principals", "roles", "task", "visibility") if name in fields}
        begins, ends = fields.pop("valid_from", None), fields.pop("valid_until", None)
        binds = ("item", *fields.get("depends_on", ()), *fields.get("supports", ()))
        item: Item = kind(
            **{
                "id": id,
                "text": f"the text of {id}",
                "by": "bob",
                "scope": Scope(workspace="w", **scope),
                "receipts": tuple(Receipt(evidence=one, binds=binds) for one in sources),
                "valid": Interval(
                    start=None if begins is None else hour(begins), end=None if ends is None else hour(ends)
                ),
                **fields,
            }
        )
        self.epoch += 1
        self.held[id] = Held(item, digest(item), self.epoch)
        if hidden:
            self.hidden.add(id)
        return id

    def mark(self, payload: Record, *, at: float = 50, learnt: float | None = None, by: str = "bob") -> str:
        """An event, and the items it names are marked with it: its id."""
        self.epoch += 1
        kind = KINDS[type(payload)]
        event = Event(
            epoch=self.epoch, id=f"{kind}:{self.epoch}", kind=kind, by=by, at=hour(at),
            learnt=hour(at if learnt is None else learnt), payload=payload, digest="0" * 64,
            given=True,
        )  # fmt: skip
        match payload:
            case Resolve(dispute=name):
                self.resolutions[name] = (*self.resolutions.get(name, ()), event)
                touched: tuple[str, ...] = ()
            case Dispute(items=touched):
                pass
            case Suspect(pair=pair) | Verdict(pair=pair):
                touched = (pair.item,)
            case _:
                touched = (payload.target,)  # type: ignore[attr-defined]
        for name in touched:
            held = self.held[name]
            self.held[name] = msgspec.structs.replace(held, marks=(*held.marks, event))
        return event.id.removeprefix(f"{kind}:")

    def revoke(self, target: str, **when: Any) -> str:
        return self.mark(Revoke(target=target), **when)

    def supersede(self, target: str, successor: str, **when: Any) -> str:
        return self.mark(Supersede(target=target, successor=successor), **when)

    def dispute(self, *items: str, **when: Any) -> str:
        return self.mark(Dispute(items=items), **when)

    def suspect(self, item: str, evidence: str, **when: Any) -> str:
        return self.mark(Suspect(pair=Pair(item=item, evidence=evidence)), **when)

    def judge(
        self, item: str, evidence: str, answer: str = "invalidates", *, stale: Decimal | None = None, **when: Any
    ) -> str:
        said: dict[str, Any] = {"item_quote": "the text", "evidence_quote": "It is so", "confidence": Decimal(1)}
        pair = Pair(item=item, evidence=evidence)
        return self.mark(Verdict(pair=pair, answer=Answer(answer), stale=stale, **said), **when)

    def overrule(self, target: str, *, expires: float = 1_000, **when: Any) -> str:
        payload = Overrule(target=target, reason="asked them", expires=hour(expires))
        return self.mark(payload, **{"by": "boss", **when})

    def snapshot(self) -> Snapshot:
        visible = {name: held for name, held in self.held.items() if name not in self.hidden}
        hidden = {name: held for name, held in self.held.items() if name in self.hidden}
        left = Checkpoint(id="c", identity=WHO, epoch=0, at=START, events=0, digest="0" * 64)
        return Snapshot(
            identity=WHO,
            purpose=self.purpose,
            now=self.now,
            checkpoint=left,
            intact=True,
            state=WorkState(self.epoch, visible, self.resolutions),
            evidence=self.evidence,
            background=WorkState(self.epoch, hidden),
        )

    def order(self) -> Order:
        return Order(self.snapshot(), self.policy)

    def findings(self) -> Findings:
        state = self.snapshot()
        return resolve(state, flaws(state, self.policy), self.policy)

    def out(self) -> dict[str, str]:
        """Each item that is out, with every reason and what it refers to."""
        return {
            name: ", ".join(f"{cause.reason} {cause.ref}".strip() for cause in causes)
            for name, causes in self.findings().against.items()
        }
