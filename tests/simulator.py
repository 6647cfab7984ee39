"""A team in memory: who sees what, what is still in force, and what a return must therefore decide.

An independent restatement in the plainest Python: lists, loops and recursion over the whole history, with no index,
no snapshot and no code of the library. Slow and obvious on purpose; tests drive it beside the library and compare.
Reasons are their codes as plain strings.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from datetime import datetime

ENDED = {
    "principal_out_of_scope", "role_out_of_scope", "task_out_of_scope", "revoked", "dispute_lost", "superseded",
    "slot_updated", "frontier_moved", "settled", "epoch_incompatible", "expired", "not_yet_valid",
    "kind_not_admitted", "other_task", "other_purpose", "writer_not_allowed",
}  # fmt: skip
RESTORED = {"revoked", "superseded", "slot_updated", "epoch_incompatible", "expired", "suspected", "premise_changed"}
DISPUTES = {"disputed", "dispute_lost"}


@dataclass(frozen=True)
class Who:
    """A principal in a role on a task."""

    principal: str
    role: str
    task: str


@dataclass(frozen=True)
class Rules:
    """The part of a policy that the model decides by."""

    writers: tuple[str, ...] = ()
    overseers: tuple[str, ...] = ("boss",)
    kinds: tuple[str, ...] = ("fact", "frontier", "obligation", "role_constraint", "interface_constraint")
    max_items: int = 16
    max_chars: int = 8_000
    max_item_chars: int = 2_000
    gamma: Decimal = Decimal(1)
    rho: Decimal = Decimal(1)
    min_confidence: Decimal = Decimal("0.65")
    on_unsure: Literal["exclude", "exclude_critical"] = "exclude"
    require_frontier: bool = False
    view_seconds: int = 900


@dataclass(frozen=True)
class Seen:
    """An observation."""

    epoch: int
    by: str
    text: str


@dataclass(frozen=True)
class Statement:
    """An item."""

    id: str
    kind: str
    text: str
    by: str
    epoch: int = 0
    task: str | None = None
    roles: tuple[str, ...] = ()
    principals: tuple[str, ...] = ()
    slot: str | None = None
    purposes: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    start: datetime | None = None
    end: datetime | None = None
    depends_on: tuple[str, ...] = ()
    supports: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    bound: bool = True
    """Whether the sources speak for its references too."""
    required: tuple[str, ...] = ()
    critical: tuple[str, ...] = ()
    obligation: str | None = None


@dataclass(frozen=True)
class Mark:
    """Something that happened to items, or to a slot."""

    epoch: int
    kind: str
    by: str
    at: datetime
    learnt: datetime
    items: tuple[str, ...]
    data: dict[str, Any] = field(default_factory=dict)

    def holds(self, now: datetime) -> bool:
        return self.at <= now or self.at <= self.learnt


@dataclass(frozen=True)
class Against:
    """One thing that speaks against an item: the code, when it came into the log, whether through a premise."""

    code: str
    epoch: int | None = None
    through: bool = False


@dataclass(frozen=True)
class Expected:
    """What a return must come to."""

    admitted: bool
    candidates: dict[str, frozenset[str]]
    """Every candidate with the codes against it; none means eligible."""
    mandatory: frozenset[str]


@dataclass(frozen=True)
class Issued:
    """A view as the model remembers it."""

    who: Who
    departed: Who
    purpose: str | None
    issued: datetime
    expires: datetime
    items: tuple[str, ...]
    key: str


class TeamSimulator:
    """Plays the whole team."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.epoch = 0
        self.rules = Rules()
        self.evidence: dict[str, Seen] = {}
        self.items: dict[str, Statement] = {}
        self.marks: list[Mark] = []
        self.departures: dict[tuple[str, str], tuple[Who, int, int]] = {}
        """Per principal and task: who left, what it had seen, and when the log learnt of it."""
        self.views: dict[str, Issued] = {}
        self.newest: dict[tuple[str, str], str] = {}
        self.exposed: dict[str, int] = {}
        self.keys: list[str] = []
        self.retired: dict[str, datetime] = {}
        self.revoked_keys: set[str] = set()
        self.bank: dict[str, tuple[str, str, int]] = {}
        """Experience → owner, item, epoch."""

    # What happens.

    def tick(self) -> int:
        self.epoch += 1
        return self.epoch

    def observe(self, digest: str, by: str, text: str) -> None:
        self.evidence[digest] = Seen(self.tick(), by, text)

    def add(self, statement: Statement) -> None:
        self.items[statement.id] = replace(statement, epoch=self.tick())

    def mark(self, kind: str, by: str, *items: str, at: datetime | None = None, **data: Any) -> None:
        moment = self.now if at is None else at
        self.marks.append(Mark(self.tick(), kind, by, moment, self.now, items, data))

    def depart(self, who: Who, seen: int | None = None) -> None:
        reached = self.epoch if seen is None else seen
        self.departures[who.principal, who.task] = (who, reached, self.tick())

    def away(self, who: Who) -> bool:
        """Whether the last departure from this task has not been ended by an exposed return."""
        left = self.departures.get((who.principal, who.task))
        if left is None:
            return False
        ended = [
            epoch
            for name, epoch in self.exposed.items()
            if (self.views[name].who.principal, self.views[name].who.task) == (who.principal, who.task)
        ]
        return max(ended, default=0) < left[2]

    # Who sees what.

    def in_scope(self, item: Statement, who: Who) -> bool:
        return not self.scope_codes(item, who)

    def scope_codes(self, item: Statement, who: Who) -> set[str]:
        codes = set()
        if item.principals and who.principal not in item.principals:
            codes.add("principal_out_of_scope")
        if item.roles and who.role not in item.roles:
            codes.add("role_out_of_scope")
        if item.task is not None and item.task != who.task:
            codes.add("task_out_of_scope")
        return codes

    def reaches(self, item: Statement, who: Who) -> bool:
        """In scope, or the frontier of what is, or later news of a slot that an earlier statement in scope is about."""
        if self.in_scope(item, who):
            return True
        if item.kind == "frontier" and self.reaches(self.items[item.obligation], who):
            return True
        return item.slot is not None and any(
            other.epoch < item.epoch and self.in_scope(other, who)
            for other in self.items.values()
            if (other.task, other.slot) == (item.task, item.slot)
        )

    def projection(self, who: Who) -> list[str]:
        """Every item that an identity can see now, in the order of the log."""
        return [item.id for item in self.items.values() if self.reaches(item, who)]

    def candidates(self, departed: Who, who: Who) -> list[str]:
        return [item.id for item in self.items.values() if self.reaches(item, departed) or self.reaches(item, who)]

    # What is in force.

    def flaws(self, item: Statement) -> list[Against]:
        found = []
        if not item.sources:
            found.append(Against("unproven"))
        allowed = [one for one in item.sources if self.allowed(self.evidence[one].by)]
        if len(allowed) < len(item.sources) or (item.sources and not self.allowed(item.by)):
            found.append(Against("writer_not_allowed"))
        references = item.depends_on or item.supports
        if item.sources and (not allowed or (references and not item.bound)):
            found.append(Against("reference_unbound"))
        return found

    def allowed(self, writer: str) -> bool:
        return not self.rules.writers or writer in self.rules.writers

    def standing(self, name: str, who: Who, purpose: str | None, known: list[str]) -> list[Against]:
        """What stands against an item's currency once overseers had their say."""
        item = self.items[name]
        against = [*self.by_clock(item), *self.by_events(item, who), *self.by_replacement(item, who, known)]
        against += self.by_verdicts(item, who, purpose, known)
        for premise in item.depends_on:
            fallen = self.standing(premise, who, purpose, known) + self.flaws(self.items[premise])
            if fallen:
                epochs = [one.epoch for one in fallen if one.epoch is not None]
                against.append(Against("premise_changed", max(epochs, default=None), through=True))
        return [one for one in against if not self.set_aside(item, one, who)]

    def by_clock(self, item: Statement) -> list[Against]:
        against = []
        if item.end is not None and item.end <= self.now:
            against.append(Against("expired"))
        if item.start is not None and item.start > self.now:
            against.append(Against("not_yet_valid"))
        return against

    def by_events(self, item: Statement, who: Who) -> list[Against]:
        against = []
        codes = {"supersede": "superseded", "revoke": "revoked", "settle": "settled"}
        for mark in self.marks:
            if item.id not in mark.items or not mark.holds(self.now):
                continue
            if mark.kind in codes:
                against.append(Against(codes[mark.kind], mark.epoch))
            if mark.kind == "close" and (mark.data["end"] <= self.now or mark.data["end"] <= mark.learnt):
                against.append(Against("expired", mark.epoch))
            if mark.kind == "dispute":
                endings = [one for one in self.marks if one.kind == "resolve" and one.data["of"] == mark.data["id"]]
                if not endings or not endings[-1].holds(self.now) or endings[-1].by == who.principal:
                    against.append(Against("disputed", mark.epoch))
                elif item.id not in endings[-1].data["keep"]:
                    against.append(Against("dispute_lost", endings[-1].epoch))
        return against

    def by_replacement(self, item: Statement, who: Who, known: list[str]) -> list[Against]:
        against = []
        for other in self.items.values():
            later = other.epoch > item.epoch and not self.flaws(other)
            started = other.start is None or other.start <= self.now
            spoken = item.slot is not None and (other.task, other.slot) == (item.task, item.slot)
            state = {item.kind, other.kind} <= {"fact", "role_constraint", "interface_constraint"}
            if later and started and spoken and state:
                against.append(Against("slot_updated", other.epoch))
            moved = item.kind == other.kind == "frontier" and item.obligation == other.obligation
            if later and moved and other.id in known:
                against.append(Against("frontier_moved", other.epoch))
        for mark in self.marks:
            if not mark.holds(self.now):
                continue
            if mark.kind == "settle" and item.obligation in mark.items and item.obligation in known:
                against.append(Against("settled", mark.epoch))
            if mark.kind == "rebase" and item.slot is not None and item.epoch < mark.epoch:
                slot = mark.data["slot"]
                below = item.slot == slot or item.slot.startswith(slot + ".")
                if below and (item.task or who.task) == mark.data["task"]:
                    against.append(Against("epoch_incompatible", mark.epoch))
        return against

    def by_verdicts(self, item: Statement, who: Who, purpose: str | None, known: list[str]) -> list[Against]:
        use = f"{who.task}/{who.role}/{purpose or ''}"
        critical = {name for one in known for name in self.items[one].critical}
        against = []
        for digest, seen in self.evidence.items():
            about = [
                mark
                for mark in self.marks
                if mark.kind in {"suspect", "judge"} and mark.items == (item.id,) and mark.data["evidence"] == digest
            ]
            verdicts = [one for one in about if one.kind == "judge" and one.data["use"] in {"", use}]
            suspicions = [one for one in about if one.kind == "suspect"]
            invalidating = [one for one in verdicts if self.answer(one, item, seen) == "invalidates"]
            if invalidating:
                against.append(Against("premise_changed", invalidating[-1].epoch))
                continue
            if verdicts:
                unsure = verdicts[-1] if self.answer(verdicts[-1], item, seen) == "unsure" else None
            else:
                unsure = suspicions[0] if suspicions else None
            if unsure and (self.rules.on_unsure == "exclude" or critical & set(item.supports)):
                against.append(Against("suspected", unsure.epoch))
        return against

    def answer(self, verdict: Mark, item: Statement, seen: Seen) -> str:
        said: str = verdict.data["answer"]
        if verdict.data["confidence"] < self.rules.min_confidence:
            return "unsure"
        own = [item.text, *(self.evidence[one].text for one in item.sources)]
        found = any(verdict.data["item_quote"] in text for text in own) and verdict.data["evidence_quote"] in seen.text
        quoted = verdict.data["item_quote"].strip() and verdict.data["evidence_quote"].strip() and found
        if said == "invalidates" and not (quoted and seen.epoch > self.said_at(item)):
            return "unsure"
        return said

    def said_at(self, item: Statement) -> int:
        """An item is as old as the newest evidence behind it; without any, as its entry in the log."""
        return max((self.evidence[one].epoch for one in item.sources), default=item.epoch)

    def set_aside(self, item: Statement, one: Against, who: Who) -> bool:
        for mark in self.marks:
            if mark.kind != "overrule" or item.id not in mark.items:
                continue
            if mark.by not in self.rules.overseers or mark.by == who.principal:
                continue
            if not mark.at <= self.now < mark.data["expires"]:
                continue
            grant = mark.data["grant"]
            if grant == "rejustify" and one.through and (one.epoch is None or one.epoch <= mark.epoch):
                return True
            reached = one.epoch is not None and one.epoch <= mark.epoch and not one.through
            if reached and one.code in {"restore": RESTORED, "settle": DISPUTES}.get(grant, set()):
                return True
        return False

    def codes(self, name: str, who: Who, purpose: str | None, known: list[str]) -> frozenset[str]:
        """Every code against a candidate; none means that it is eligible."""
        item = self.items[name]
        codes = self.scope_codes(item, who)
        codes |= {one.code for one in self.standing(name, who, purpose, known)}
        if item.kind not in self.rules.kinds:
            codes.add("kind_not_admitted")
        if item.tasks and who.task not in item.tasks:
            codes.add("other_task")
        if item.purposes and purpose not in item.purposes:
            codes.add("other_purpose")
        codes |= {one.code for one in self.flaws(item)}
        if len(item.text) > self.rules.max_item_chars:
            codes.add("too_large")
        return frozenset(codes)

    # What a return comes to.

    def expected(self, departed: Who, who: Who, purpose: str | None) -> Expected:
        known = self.candidates(departed, who)
        codes = {name: self.codes(name, who, purpose, known) for name in known}
        owed, mandatory, complete = self.duties(codes)
        eligible = [self.items[name] for name in known if not codes[name]]
        useful = [one for one in eligible if one.kind not in {"obligation", "frontier"} and one.supports]
        fits = complete and self.sufficient_set(owed, [self.items[name] for name in mandatory], useful)
        return Expected(fits, codes, frozenset(mandatory))

    def duties(self, codes: dict[str, frozenset[str]]) -> tuple[list[Statement], list[str], bool]:
        """What is owed, what must be handed over, and whether it can be."""
        live = [self.items[name] for name in codes if not codes[name] & ENDED]
        owed = [item for item in live if item.kind == "obligation"]
        mandatory, complete = [], True
        for duty in owed:
            fronts = [item for item in live if item.kind == "frontier" and item.obligation == duty.id]
            usable = [item for item in fronts if not codes[item.id]]
            if not fronts and self.rules.require_frontier:
                complete = False
            for item in (duty, *(usable or fronts)[-1:]):
                if codes[item.id]:
                    complete = False
                else:
                    mandatory.append(item.id)
        return owed, mandatory, complete

    def sufficient(self, owed: list[Statement], chosen: list[Statement]) -> bool:
        supported = {name for item in chosen for name in item.supports}
        covered = [duty for duty in owed if set(duty.required) <= supported]
        critical = {name for duty in owed for name in duty.critical}
        return len(covered) >= ceil(self.rules.gamma * len(owed)) and len(critical & supported) >= ceil(
            self.rules.rho * len(critical)
        )

    def within_budget(self, chosen: list[Statement]) -> bool:
        chars = sum(len(item.text) for item in chosen)
        return len(chosen) <= self.rules.max_items and chars <= self.rules.max_chars

    def sufficient_set(self, owed: list[Statement], mandatory: list[Statement], useful: list[Statement]) -> bool:
        """Whether any set at all would do: every subset is tried."""
        return any(
            self.sufficient(owed, list(chosen)) and self.within_budget([*mandatory, *chosen])
            for size in range(len(useful) + 1)
            for chosen in combinations(useful, size)
        )

    # Views.

    def issue(
        self, name: str, who: Who, departed: tuple[Who, int], purpose: str | None, items: tuple[str, ...]
    ) -> None:
        expires = self.now + timedelta(seconds=self.rules.view_seconds)
        self.views[name] = Issued(who, departed, purpose, self.now, expires, items, self.keys[-1])

    def returned(self, name: str, who: Who) -> None:
        self.newest[who.principal, who.task] = name
        self.tick()

    def refusals(self, name: str) -> set[str]:
        """Why a view must not be exposed now; none means that it must."""
        view = self.views[name]
        if view.key in self.revoked_keys or (view.key in self.retired and self.retired[view.key] <= self.now):
            return {"signature_invalid"}
        reasons = set()
        if not view.issued <= self.now < view.expires:
            reasons.add("view_expired")
        if name in self.exposed:
            reasons.add("view_consumed")
        if self.newest[view.who.principal, view.who.task] != name:
            reasons.add("view_replaced")
        known = self.candidates(view.departed, view.who)
        codes = {item: self.codes(item, view.who, view.purpose, known) for item in known}
        if any(item not in codes or codes[item] for item in view.items):
            reasons.add("item_no_longer_eligible")
        owed, mandatory, complete = self.duties(codes)
        shown = [self.items[item] for item in view.items]
        evidence = [item for item in shown if item.kind not in {"obligation", "frontier"}]
        kept = set(mandatory) <= set(view.items) and all(duty.id in view.items for duty in owed)
        small = all(len(item.text) <= self.rules.max_item_chars for item in shown)
        if not (complete and kept and small and self.sufficient(owed, evidence) and self.within_budget(shown)):
            reasons.add("coverage_lost")
        return reasons
