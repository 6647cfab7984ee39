"""A team in memory: who sees what, which of two statements stands, what is owed, and what a return must come to.

An independent restatement in the plainest Python: lists, loops and recursion over the whole history, with no index,
no snapshot and no code of the library. Slow and obvious on purpose; tests drive it beside the library and compare.
Reasons and states are their codes as plain strings.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import ceil
from typing import Any, Literal, TypeAlias

STATEMENTS = ("fact", "role_constraint", "interface_constraint")
CONSTRAINTS = ("role_constraint", "interface_constraint")

# Which state each code puts an item in; the first of these that applies is the item's state.
STATES = {
    "unauthorized": ("principal_out_of_scope", "out_of_scope"),
    "revoked": ("revoked", "dispute_lost"),
    "superseded": ("superseded", "slot_updated", "frontier_moved", "settled"),
    "expired": ("expired",),
    "not_yet_valid": ("not_yet_valid",),
    "premise_changed": ("premise_changed",),
    "disputed": ("disputed", "concurrent_update", "slot_contested"),
    "suspected": ("suspected",),
    "not_applicable": ("kind_not_admitted", "other_task", "other_purpose"),
    "unproven": ("unproven", "writer_not_allowed"),
    "too_large": ("too_large",),
    "withheld": ("withheld",),
    "not_needed": ("not_needed",),
    "admitted": ("mandatory", "covers", "fills"),
}
# A frontier in one of these has ended; in another one it is merely obscured, and its duty with it.
ENDED = ("unauthorized", "revoked", "superseded", "expired", "not_yet_valid", "not_applicable")
RESTORED = {
    "revoked", "superseded", "expired", "suspected", "premise_changed", "disputed", "concurrent_update", "dispute_lost"
}  # fmt: skip
EVER = datetime(1, 1, 1, tzinfo=UTC)
OWED = ("owed", "overdue", "obstructed")

Key: TypeAlias = "tuple[datetime, int, int]"


def state_of(codes: frozenset[str]) -> str:
    """The one state that an item's codes put it in."""
    return next(state for state, members in STATES.items() if codes & set(members))


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
    invalid_at: Decimal = Decimal("0.5")
    suspect_at: Decimal = Decimal("0.3")
    on_unsure: Literal["exclude", "exclude_critical"] = "exclude"
    on_concurrent: Literal["ask", "newest"] = "ask"
    on_incomplete: Literal["block", "reset", "partial"] = "block"
    constraints: Literal["always", "as_needed"] = "always"
    newest: Literal["always", "as_needed"] = "always"
    examination: Literal["optional", "required"] = "optional"
    selection: Literal["greedy_then_exact", "greedy", "cheapest"] = "greedy_then_exact"
    fill: Literal["always", "nothing_owed", "never", "block"] = "nothing_owed"
    require_frontier: bool = False
    max_retractions: int = 32
    max_retraction_chars: int = 0
    view_seconds: int = 900
    max_clock_skew: int = 3_600


@dataclass(frozen=True)
class Seen:
    """An observation."""

    epoch: int
    by: str
    text: str
    said: datetime
    """Its date if one was given, but never later than the log learnt it; otherwise the log's moment at its position."""


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
    private: bool = False
    slot: str | None = None
    purposes: tuple[str, ...] = ()
    applies_to: tuple[str, ...] = ()
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

    @property
    def covers(self) -> set[str]:
        """What it meets: what it supports, and its slot."""
        if self.kind not in STATEMENTS:
            return set()
        return {*self.supports, *([] if self.slot is None else [self.slot])}

    @property
    def words(self) -> tuple[Any, ...]:
        """What a reader learns from it: handing it over twice adds nothing."""
        return (self.kind, self.text, self.slot)

    @property
    def said(self) -> tuple[Any, ...]:
        """What makes two items the same statement."""
        scope = (self.task, self.roles, self.principals, self.private)
        return (self.kind, self.text, self.slot, scope, self.depends_on, self.obligation)


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


@dataclass(frozen=True)
class Departure:
    """Who left, how far it had followed the log, and where the log learnt of it."""

    who: Who
    seen: int
    epoch: int


@dataclass(frozen=True)
class Against:
    """One objection to an item: the code, when it entered the log, and whether it comes through a premise."""

    code: str
    epoch: int | None = None
    through: bool = False
    doubtful: bool = False
    """Counts against what is critical only."""


@dataclass(frozen=True)
class Owing:
    """What became of one duty, and what nothing eligible supplies to it."""

    state: str
    lacks: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Expected:
    """What a return must come to."""

    kind: str
    reasons: frozenset[str]
    candidates: dict[str, frozenset[str]] = field(default_factory=dict)
    """Every candidate with the codes against it; none means eligible."""
    recovered: dict[str, frozenset[str]] = field(default_factory=dict)
    """Items that stand because a fallen premise was said again, with those premises."""
    duties: dict[str, Owing] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    """Every constraint with its state."""
    absent: frozenset[str] = frozenset()
    """What had to be handed over and cannot be."""
    missing: frozenset[str] | None = None
    """Dependencies that are lacking, where that does not depend on which set was tried."""
    mandatory: frozenset[str] = frozenset()
    constraints: frozenset[str] = frozenset()
    withheld: frozenset[str] = frozenset()
    open_pairs: int = 0
    crowded: bool = False
    """Whether everything would fit but for the constraints."""

    @property
    def admitted(self) -> bool:
        return self.kind == "admitted"


@dataclass(frozen=True)
class Issued:
    """A view as the model remembers it."""

    who: Who
    departure: Departure
    purpose: str | None
    epoch: int
    issued: datetime
    expires: datetime
    items: tuple[str, ...]
    withheld: tuple[str, ...]
    experiences: frozenset[str]
    key: str


class TeamSimulator:
    """Plays the whole team."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.learnt = now
        """The last moment that the log has learnt."""
        self.epoch = 0
        self.rules = Rules()
        self.ruled: list[tuple[int, Rules]] = []
        self.evidence: dict[str, Seen] = {}
        self.items: dict[str, Statement] = {}
        self.marks: list[Mark] = []
        self.departures: dict[tuple[str, str], Departure] = {}
        """The last one of each principal and task."""
        self.left: list[Departure] = []
        """All of them."""
        self.views: dict[str, Issued] = {}
        self.newest: dict[tuple[str, str], str] = {}
        self.exposed: dict[str, int] = {}
        """When each view was first handed over."""
        self.acknowledged: set[str] = set()
        self.received: set[str] = set()
        """Views that were handed over and acknowledged, or whose principal wrote something since."""
        self.resets: list[tuple[Departure, int]] = []
        """Absences that ended in a fresh start, and where."""
        self.keys: list[str] = []
        self.retired: dict[str, datetime] = {}
        self.revoked_keys: set[str] = set()
        self.bank: dict[str, tuple[str, str, int]] = {}
        """Experience → owner, item, epoch."""

    # What happens.

    def tick(self, by: str | None = None) -> int:
        """The next place in the log. Only clocks of allowed writers, and of those who govern, move its moment."""
        self.epoch += 1
        if by is None or self.allowed(by):
            self.learnt = max(self.learnt, self.now)
        return self.epoch

    @property
    def moment(self) -> datetime:
        """The moment that a return or an exposure judges: never earlier than what the log has learnt."""
        return max(self.now, self.learnt)

    @property
    def skewed(self) -> bool:
        return self.learnt - self.now > timedelta(seconds=self.rules.max_clock_skew)

    def wrote(self, by: str) -> None:
        """An agent that writes has received what it was handed."""
        self.received |= {name for name in self.exposed if self.views[name].who.principal == by}

    def observe(self, digest: str, by: str, text: str, at: datetime | None = None) -> None:
        epoch = self.tick(by)
        said = self.learnt if at is None else min(at, self.learnt)
        self.evidence[digest] = Seen(epoch, by, text, said)
        self.wrote(by)

    def add(self, statement: Statement) -> None:
        self.items[statement.id] = replace(statement, epoch=self.tick(statement.by))
        self.wrote(statement.by)

    def mark(self, kind: str, by: str, *items: str, at: datetime | None = None, **data: Any) -> None:
        epoch = self.tick(None if kind in {"overrule", "reassign"} else by)
        true = self.learnt if at is None else at
        self.marks.append(Mark(epoch, kind, by, true, self.learnt, items, data))
        self.wrote(by)

    def govern(self, rules: Rules) -> None:
        self.ruled.append((self.tick(), rules))
        self.rules = rules

    def writers_at(self, epoch: int) -> tuple[str, ...]:
        return next((rules.writers for since, rules in reversed(self.ruled) if since <= epoch), ())

    def depart(self, who: Who, seen: int | None = None) -> None:
        reached = self.epoch if seen is None else seen
        self.departures[who.principal, who.task] = Departure(who, reached, self.tick(who.principal))
        self.left.append(self.departures[who.principal, who.task])

    def role(self, departure: Departure, who: Who) -> str:
        """The role in which an agent comes back: that of its first departure since it was back, or a later one."""
        own = [one for one in self.left if (one.who.principal, one.who.task) == (who.principal, departure.who.task)]
        place = own.index(departure)
        while place and not self.back_between(own[place - 1], own[place]):
            place -= 1
        role, since = own[place].who.role, own[place - 1].epoch if place else 0
        for mark in self.marks:
            if mark.kind == "reassign" and mark.epoch > since and mark.data["who"] == (who.principal, who.task):
                role = mark.data["role"] if mark.data["was"] == role else role
        return role

    def purposes(self, who: Who) -> set[str]:
        """What an identity may see is for."""
        return {name for item in self.items.values() if not self.scope_codes(item, who) for name in item.purposes}

    def back_between(self, one: Departure, other: Departure) -> bool:
        agent = (one.who.principal, one.who.task)
        handed = [
            name
            for name, epoch in self.exposed.items()
            if self.agent_of(name) == agent and self.views[name].epoch > one.epoch and epoch < other.epoch
        ]
        resets = [epoch for departure, epoch in self.resets if departure.who.principal == agent[0] and departure == one]
        return bool(handed or resets)

    def away(self, principal: str, task: str) -> bool:
        """Whether neither an exposed view nor a reset has ended the last departure from this task."""
        left = self.departures.get((principal, task))
        return left is not None and not self.reset_since(left) and self.handed(left) is None

    def may_return(self, who: Who) -> bool:
        """A view that was handed over and never arrived does not stop a new return."""
        left = self.departures.get((who.principal, who.task))
        if left is None or self.reset_since(left):
            return False
        view = self.handed(left)
        return view is None or view not in self.received

    def reset_since(self, left: Departure) -> bool:
        return any(departure == left for departure, _ in self.resets)

    def handed(self, left: Departure) -> str | None:
        """The newest view of an absence that was handed over."""
        agent = (left.who.principal, left.who.task)
        views = [name for name in self.exposed if self.agent_of(name) == agent and self.views[name].epoch > left.epoch]
        return max(views, key=lambda name: self.views[name].epoch, default=None)

    def agent_of(self, view: str) -> tuple[str, str]:
        return self.views[view].who.principal, self.views[view].who.task

    # Who may do what.

    def allowed(self, writer: str) -> bool:
        return not self.rules.writers or writer in self.rules.writers

    def knows(self, by: str, item: Statement) -> bool:
        """Whether an item exists at all for somebody who names it."""
        return not item.principals or by in (item.by, *item.principals, *self.rules.overseers, "owner", "readmit")

    def may_touch(self, by: str, item: Statement) -> bool:
        """Whether somebody may say something of an item: a private one is for its author and the overseers."""
        return not item.private or by in (item.by, *self.rules.overseers, "owner", "readmit")

    def may_decide(self, by: str, item: Statement) -> bool:
        """Whether somebody may decide about an item: nobody who is away from its task, or without one from any."""
        tasks = [task for principal, task in self.departures if principal == by and item.task in (None, task)]
        return not any(self.away(by, task) for task in tasks)

    def may_take_out(self, by: str, item: Statement) -> bool:
        """Whether somebody may withdraw or end an item: a fact that has begun, also while away."""
        begun = item.start is None or item.start <= self.moment
        return (item.kind == "fact" and begun) or self.may_decide(by, item)

    def is_over(self, duty: str) -> bool:
        """Whether a duty was settled, withdrawn or replaced. Between two duties the latest act decides."""
        marks = [mark for mark in self.marks if duty in mark.items[:1] and mark.at <= max(self.moment, mark.learnt)]
        if any(mark.kind in {"settle", "revoke"} for mark in marks):
            return True
        after = {mark.data["successor"] for mark in marks if mark.kind == "supersede"}
        return any(self._replaced(duty, one) >= self._replaced(one, duty, in_effect=True) for one in after)

    def _replaced(self, one: str, other: str, *, in_effect: bool = False) -> int:
        """When one item was last said to be replaced by another."""
        start = self.items[other].start
        if in_effect and start is not None and start > self.moment:
            return 0
        said = [mark for mark in self.marks if mark.kind == "supersede" and one in mark.items[:1]]
        said = [mark for mark in said if not in_effect or mark.at <= max(self.moment, mark.learnt)]
        return max((mark.epoch for mark in said if mark.data["successor"] == other), default=0)

    def binds(self, item: Statement) -> bool:
        """Whether an item is a constraint that always applies."""
        return item.kind in CONSTRAINTS and self.rules.constraints == "always"

    def contests(self, item: str) -> list[Mark]:
        """The disputes about writers that did not know of each other in which an item is a side."""
        return [mark for mark in self.marks if mark.data.get("concurrent") and item in mark.items]

    def is_side(self, by: str, item: str) -> bool:
        """Whether somebody wrote an item that is a side of a contest."""
        return self.items[item].by == by and bool(self.contests(item))

    def resolves_for_itself(self, by: str, dispute: str, keep: tuple[str, ...]) -> bool:
        """Whether a side of a contested slot would do more than concede."""
        mark = next(one for one in self.marks if one.kind == "dispute" and one.data["id"] == dispute)
        others = {name for name in mark.items if self.items[name].by != by}
        contested = mark.data.get("concurrent") or mark.data.get("plan")
        return bool(contested) and 0 < len(others) < len(mark.items) and set(keep) != others

    def may_end(self, by: str, item: Statement) -> bool:
        """Whether somebody may end a duty or a constraint. Everybody may end anything else.

        Its author, an overseer, or an agent that owes the duty, in a role that was given to it.
        """
        if item.kind != "obligation" and not self.binds(item):
            return True
        given = {one.data["who"]: one.data["role"] for one in self.marks if one.kind == "reassign"}
        roles = {role for (who, task), role in given.items() if who == by and item.task in (None, task)}
        owes = (not item.principals or by in item.principals) and (not item.roles or bool(roles & set(item.roles)))
        return by == item.by or by in self.rules.overseers or (owes and item.kind == "obligation")

    # Who sees what.

    def scope_codes(self, item: Statement, who: Who) -> set[str]:
        codes = set()
        if item.principals and who.principal not in item.principals:
            codes.add("principal_out_of_scope")
        if item.roles and who.role not in item.roles:
            codes.add("out_of_scope")
        if item.task is not None and item.task != who.task:
            codes.add("out_of_scope")
        return codes

    def reaches(self, item: Statement, who: Who) -> bool:
        """In scope, or the frontier of what is, or later news of a slot that an earlier statement in scope is about."""
        if not self.scope_codes(item, who):
            return True
        if item.kind == "frontier" and item.obligation and self.reaches(self.items[item.obligation], who):
            return True
        return item.slot is not None and any(
            other.epoch < item.epoch and not self.scope_codes(other, who)
            for other in self.items.values()
            if (other.task, other.slot) == (item.task, item.slot)
        )

    def projection(self, who: Who) -> list[str]:
        """Every item that an identity can see now, in the order of the log."""
        return [item.id for item in self.items.values() if self.reaches(item, who)]

    def candidates(self, departed: Who, who: Who) -> list[str]:
        return [item.id for item in self.items.values() if self.reaches(item, departed) or self.reaches(item, who)]

    # What a return comes to, and when a view may be handed over.

    def expected(self, departure: Departure, who: Who, purpose: str | None) -> Expected:
        return Deciding(self, departure, who, purpose).expected()

    def issue(
        self, name: str, who: Who, departure: Departure, purpose: str | None, shown: tuple[str, ...], *withheld: str
    ) -> None:
        self.views[name] = Issued(
            who=who,
            departure=departure,
            purpose=purpose,
            epoch=self.epoch,
            issued=self.now,
            expires=self.now + timedelta(seconds=self.rules.view_seconds),
            items=shown,
            withheld=withheld,
            experiences=frozenset(name for name in self.reach(who) if self.bank[name][1] in shown),
            key=self.keys[-1],
        )

    def returned(self, name: str, who: Who, *, reset: bool = False) -> None:
        self.newest[who.principal, who.task] = name
        self.tick(who.principal)
        if reset:
            self.resets.append((self.departures[who.principal, who.task], self.epoch))

    def refusals(self, name: str) -> set[str]:
        """Why a view must not be exposed now; none means that it must."""
        view = self.views[name]
        if self.skewed:
            return {"clock_skew"}
        if view.key in self.revoked_keys or (view.key in self.retired and self.retired[view.key] <= self.moment):
            return {"signature_invalid"}
        if self.role(view.departure, view.who) != view.who.role:
            return {"binding_mismatch"}
        reasons = set()
        # A view's own life runs by the clock.
        if not view.issued <= self.now < view.expires:
            reasons.add("view_expired")
        if name in self.received:
            reasons.add("view_consumed")
        if self.newest[view.who.principal, view.who.task] != name:
            reasons.add("view_replaced")
        if self.departures[view.who.principal, view.who.task].epoch > view.epoch:
            reasons.add("view_consumed")
        return reasons | Deciding(self, view.departure, view.who, view.purpose).lost(view)

    def reach(self, who: Who) -> set[str]:
        """The private experiences that no reset has cut off.

        A reset cuts its own agent off from everything before it, and the principal's other tasks from what was in
        quarantine then.
        """
        cuts = [
            epoch if departure.who.task == who.task else departure.epoch
            for departure, epoch in self.resets
            if departure.who.principal == who.principal
        ]
        return {name for name, one in self.bank.items() if one[0] == who.principal and one[2] > max(cuts, default=0)}

    def recall(self, who: Who) -> set[str]:
        """What an agent that is not away may read of its own: nothing that is in quarantine for any of its tasks."""
        known = self.reach(who)
        for left in [one for one in self.departures.values() if one.who.principal == who.principal]:
            view = None if self.reset_since(left) else self.handed(left)
            back = frozenset() if view is None else self.views[view].experiences
            known -= {name for name in known if self.bank[name][2] <= left.epoch and name not in back}
        return known

    def expose(self, name: str) -> None:
        """Each time is audited; the log has the first."""
        if name not in self.exposed:
            self.exposed[name] = self.tick(self.views[name].who.principal)

    def acknowledge(self, name: str) -> None:
        if name not in self.acknowledged:
            self.tick(self.views[name].who.principal)
        self.acknowledged.add(name)
        self.received.add(name)


class Reading:
    """What stands and what does not, for one reader at one moment."""

    def __init__(self, team: TeamSimulator, departure: Departure, who: Who, purpose: str | None) -> None:
        self.team, self.departure, self.who, self.purpose = team, departure, who, purpose
        self.rules, self.items, self.evidence = team.rules, team.items, team.evidence
        self.moment = team.moment
        self.known = team.candidates(departure.who, who)
        self.marks = [mark for mark in team.marks if mark.at <= self.moment]
        self.critical = {name for one in self.known for name in self.items[one].critical}
        self.twins = {
            item.id: [
                other
                for other in self.items.values()
                if other.id != item.id and other.said == item.said and item.kind != "obligation"
            ]
            for item in self.items.values()
        }
        self._standing: dict[str, list[Against]] = {}
        self._raised: dict[str, list[Against]] = {}
        self._doubts: dict[str, list[Against]] = {}
        self.succession = self._succession()

    # Provenance.

    def bound_by(self, item: Statement) -> list[Seen]:
        """The evidence behind an item whose writers are allowed."""
        return [self.evidence[one] for one in item.sources if self.team.allowed(self.evidence[one].by)]

    def flaws(self, item: Statement) -> list[Against]:
        if item.kind == "obligation":
            # Opening it is the act: it needs no evidence.
            return [] if self.team.allowed(item.by) else [Against("writer_not_allowed")]
        if not item.sources:
            return [Against("unproven"), *([] if self.team.allowed(item.by) else [Against("writer_not_allowed")])]
        own = self.bound_by(item)
        bound = bool(own) and (item.bound or not (item.depends_on or item.supports))
        found = []
        if not bound:
            found.append(Against("unproven"))
        # A receipt from outside harms only where the others do not bind everything.
        if not self.team.allowed(item.by) or (not bound and len(own) < len(item.sources)):
            found.append(Against("writer_not_allowed"))
        return found

    def position(self, item: Statement) -> int:
        """An item is as old as its newest own evidence; without any, as its entry in the log."""
        return max((one.epoch for one in self.bound_by(item)), default=item.epoch)

    def start(self, item: Statement) -> datetime:
        """From when an item holds. Without evidence nothing says since when."""
        said = max((one.said for one in self.bound_by(item)), default=EVER)
        return said if item.start is None else max(item.start, said)

    def begun(self, item: Statement) -> bool:
        if item.kind == "obligation":
            return item.start is None or item.start <= self.moment
        return self.start(item) <= self.moment

    def key(self, item: Statement) -> Key:
        return self.start(item), max((one.epoch for one in self.bound_by(item)), default=0), item.epoch

    # What is held against a statement is held against saying it again, unless from later evidence.

    def confirms(self, item: Statement, epoch: int, moment: datetime) -> bool:
        """Whether an item's own evidence is later than something."""
        own = self.bound_by(item)
        return bool(own) and max(one.epoch for one in own) > epoch and max(one.said for one in own) >= moment

    def held(self, item: Statement, kind: str) -> list[Mark]:
        """The marks of a kind that are held against an item."""
        return [mark for mark in self.marks if mark.kind == kind and self.named(item, mark)]

    def named(self, item: Statement, mark: Mark) -> bool:
        """Whether a mark is about an item, or about the same statement and still held against that."""
        if item.id in mark.items:
            return True
        code = {"revoke": "revoked", "close": "expired", "supersede": "superseded"}
        against = Against(code.get(mark.kind, ""), mark.epoch)
        again = [twin for twin in self.twins[item.id] if twin.id in mark.items and not self.set_aside(twin, against)]
        if not self.counts_again(item, mark):
            return False
        return bool(again) and not self.confirms(item, mark.epoch, min(mark.at, mark.learnt))

    def counts_again(self, item: Statement, mark: Mark) -> bool:
        """A constraint ends by its author and the overseers, also where somebody else had repeated it."""
        return not self.team.binds(item) or mark.by in (item.by, *self.rules.overseers)

    # Time, lifecycle, disputes.

    def by_clock(self, item: Statement) -> list[Against]:
        against = []
        if item.end is not None and item.end <= self.moment and item.kind != "obligation":
            against.append(Against("expired"))
        if item.start is not None and item.start > self.moment:
            against.append(Against("not_yet_valid"))
        return against

    def by_events(self, item: Statement) -> list[Against]:
        against = [Against("revoked", mark.epoch) for mark in self.held(item, "revoke")]
        against += [Against("settled", mark.epoch) for mark in self.held(item, "settle")]
        if item.kind != "obligation":
            closings = [mark for mark in self.held(item, "close") if mark.data["end"] <= self.moment]
            against += [Against("expired", mark.epoch) for mark in closings]
        if item.obligation is not None:
            # A settled duty has no frontier any more, also for those who never saw the duty.
            against += [Against("settled", mark.epoch) for mark in self.held(self.items[item.obligation], "settle")]
        return against + self.by_disputes(item)

    def by_disputes(self, item: Statement) -> list[Against]:
        against = []
        for mark in self.marks:
            twins = [twin for twin in self.twins[item.id] if twin.id in mark.items]
            if mark.kind == "dispute" and item.id in mark.items:
                against += [one for one, _ in self.disputed(item, mark)]
            elif mark.kind == "dispute":
                found = [
                    pair for twin in twins for pair in self.disputed(twin, mark) if not self.set_aside(twin, pair[0])
                ]
                against += [
                    one
                    for one, event in found[:1]
                    if not self.confirms(item, event.epoch, min(event.at, event.learnt))
                    and (one.code != "dispute_lost" or self.counts_again(item, event))
                ]
        return against

    def disputed(self, item: Statement, dispute: Mark) -> list[tuple[Against, Mark]]:
        """What a dispute that names an item has come to, and through which event."""
        # Nobody settles a dispute for their own return.
        endings = [
            one
            for one in self.marks
            if one.kind == "resolve" and one.data["of"] == dispute.data["id"] and one.by != self.who.principal
        ]
        if dispute.data.get("plan") and not endings:
            # What that comes to depends on what else was said about the slot.
            return []
        if not endings:
            if not dispute.data.get("concurrent"):
                return [(Against("disputed", dispute.epoch), dispute)]
            sides = [self.items[name] for name in dispute.items]
            acts = [one for one in self.marks if one.kind == "supersede"]
            between = [(self.items[one.items[0]], self.items[one.data["successor"]]) for one in acts]
            settled = any(self.opposed(*pair, *act) for pair in combinations(sides, 2) for act in between)
            decided = settled or self.rules.on_concurrent == "newest"
            return [] if decided else [(Against("concurrent_update", dispute.epoch), dispute)]
        lost = item.id not in endings[-1].data["keep"]
        return [(Against("dispute_lost", endings[-1].epoch), endings[-1])] if lost else []

    # Verdicts and suspicions.

    def by_verdicts(self, item: Statement) -> list[Against]:
        against = []
        for digest, seen in self.evidence.items():
            held = self.pair(item, digest)
            if not self.confirms(item, seen.epoch, seen.said):
                for twin in self.twins[item.id]:
                    held += [one for one in self.pair(twin, digest) if not self.set_aside(twin, one)]
            vital = bool(self.critical & item.covers)
            strict = self.rules.on_unsure == "exclude" or vital
            against += [
                one for one in held if one.code == "premise_changed" or (strict and (vital or not one.doubtful))
            ]
        return against

    def pair(self, item: Statement, digest: str) -> list[Against]:
        """What an observation does to an item, if anything."""
        about = [
            mark
            for mark in self.team.marks
            if mark.kind in {"suspect", "judge"} and mark.items == (item.id,) and mark.data["evidence"] == digest
        ]
        suspicions = [mark for mark in about if mark.kind == "suspect"]
        verdicts = [
            (self.heard(mark, item, self.evidence[digest]), mark.epoch) for mark in about if mark.kind == "judge"
        ]
        verdicts = [one for one in verdicts if one[0]]
        invalidating = [one for one in verdicts if one[0] == "invalidates"]
        codes = {"invalidates": "premise_changed", "unsure": "suspected", "doubtful": "suspected"}
        if invalidating or verdicts:
            answer, epoch = (invalidating or verdicts)[-1]
            return [Against(codes[answer], epoch, doubtful=answer == "doubtful")] if answer in codes else []
        return [Against("suspected", suspicions[0].epoch)] if suspicions else []

    def heard(self, verdict: Mark, item: Statement, seen: Seen) -> str:
        """What a verdict says to this reader. Nobody clears or weakens a doubt for the own return."""
        said = self.answer(verdict, item, seen)
        if verdict.by == self.who.principal:
            return {"compatible": "", "doubtful": "unsure"}.get(said, said)
        return said

    def answer(self, verdict: Mark, item: Statement, seen: Seen) -> str:
        score: Decimal | None = verdict.data.get("stale")
        if score is not None:
            said = "invalidates" if score >= self.rules.invalid_at else "doubtful"
            said = "compatible" if score < self.rules.suspect_at else said
        else:
            said = verdict.data["answer"]
            if verdict.data["confidence"] < self.rules.min_confidence:
                return "unsure"
        own = [item.text, *(self.evidence[one].text for one in item.sources)]
        found = any(verdict.data["item_quote"] in text for text in own) and verdict.data["evidence_quote"] in seen.text
        quoted = verdict.data["item_quote"].strip() and verdict.data["evidence_quote"].strip() and found
        if said in {"invalidates", "doubtful"} and not (quoted and seen.epoch > self.position(item)):
            return "unsure"
        return said

    def open_pairs(self) -> int:
        """Suspected changes that no verdict has settled."""
        seen = [self.items[name] for name in self.known if not self.team.scope_codes(self.items[name], self.who)]
        pairs = [(one, item) for item in seen for digest in self.evidence for one in self.pair(item, digest)]
        suspected = [(one, item) for one, item in pairs if one.code == "suspected"]
        return sum(1 for one, item in suspected if not one.doubtful or self.critical & item.covers)

    # Which of two stands.

    def same_thing(self, one: Statement, other: Statement) -> bool:
        overlap = one.task is None or other.task is None or one.task == other.task
        if one.kind == other.kind == "frontier":
            return overlap and one.obligation == other.obligation
        return overlap and one.slot is not None and one.slot == other.slot and {one.kind, other.kind} <= set(STATEMENTS)

    def _succession(self) -> list[tuple[Statement, Statement, int]]:
        """Who was explicitly replaced by whom, and by which event.

        An event is about two statements, and the latest between them decides; if both items make the same statement, it
        is about these two. A successor that has not begun replaces nothing yet, and undoes nothing.
        """
        marks = [mark for mark in self.marks if mark.kind == "supersede"]
        acts = [(self.items[mark.items[0]], self.items[mark.data["successor"]], mark) for mark in marks]
        acts = [act for act in acts if self.begun(act[1])]
        found = []
        for number, (target, successor, mark) in enumerate(acts):
            if any(self.opposed(target, successor, *later[:2]) for later in acts[number + 1 :]):
                continue
            targets, successors = [target], [successor]
            if not self.repeats(target, successor):
                # Replaced with it: the same, said again from evidence before that event. Whoever says what the
                # successor says comes after.
                targets += [twin for twin in self.twins[target.id] if self.named(twin, mark)]
                successors += self.twins[successor.id]
            found += [(one, other, mark.epoch) for one in targets for other in successors]
        return found

    def repeats(self, one: Statement, other: Statement) -> bool:
        return other in self.twins[one.id]

    def opposed(self, target: Statement, successor: Statement, one: Statement, other: Statement) -> bool:
        """Whether a later event is about the same two statements, whichever way round."""
        if self.repeats(target, successor):
            return {one.id, other.id} == {target.id, successor.id}
        pairs = ((one, other), (other, one))
        return any(
            (a == target or self.repeats(a, target)) and (b == successor or self.repeats(b, successor))
            for a, b in pairs
        )

    def rank(self, item: Statement, task: str) -> tuple[tuple[Key, int, Key], int]:
        """The item's place in the order of a task, and the latest supersession that it owes it to."""
        best, through = (self.key(item), 0, self.key(item)), 0
        for target, successor, epoch in self.succession:
            # A frontier that an overseer restored is not replaced by the one that was named for it.
            aside = item.kind == "frontier" and self.meant_for(successor, target)
            if aside and self.set_aside(target, Against("superseded", epoch)):
                continue
            if successor.id == item.id and self.same_thing(target, item) and target.task in (None, task):
                (base, depth, _), earlier = self.rank(target, task)
                if (base, depth + 1, self.key(item)) > best:
                    best, through = (base, depth + 1, self.key(item)), max(epoch, earlier)
        return best, through

    def above(self, one: Statement, other: Statement) -> int | None:
        """Since which event one item comes after another in the order; none if it does not."""
        task = other.task or self.who.task
        rank, through = self.rank(one, task)
        behind, earlier = self.rank(other, task)
        if rank > behind:
            since = max(one.epoch, through, self.named_after(one, other))
            if self.restored_over(other, one, since) or self.lifted(other, one, task):
                return None
            # It was restored itself, over one that had been restored over it.
            return max(since, self.restores(one)) if self.restored_over(other, one, since, undone=True) else since
        since = max(other.epoch, earlier, self.named_after(other, one))
        return self.restores(one) if self.restored_over(one, other, since) or self.lifted(one, other, task) else None

    def outranks(self, one: Statement, other: Statement) -> bool:
        task = other.task or self.who.task
        return self.rank(one, task)[0] > self.rank(other, task)[0]

    def named_after(self, one: Statement, other: Statement) -> int:
        """The last event that names one item as the successor of another."""
        acts = (epoch for old, new, epoch in self.succession if (old.id, new.id) == (other.id, one.id))
        return max(acts, default=0)

    def restored_over(self, older: Statement, newer: Statement, since: int, *, undone: bool = False) -> bool:
        """Whether an overseer restored an item that another had replaced by then: that puts it above the other.

        With ``undone``, also one that restored the other since.
        """
        restored = self.overrules(older)
        replaced = self.competes(newer) and self.concerns(newer, older) and older.kind != "frontier"
        if not restored or not replaced:
            return False
        last = restored[-1]
        return last.epoch >= max(since, 0 if undone else self.restores(newer)) and self.start(newer) <= max(
            last.at, last.learnt
        )

    def lifted(self, older: Statement, newer: Statement, task: str) -> bool:
        """Whether an overseer restored an item over a third one that ranks no lower than another: ranks are one line.

        What is said afterwards from older evidence than that of the third one undoes nothing.
        """
        if not self.overrules(older):
            return False
        own, least = self.rank(older, task)[0], self.rank(newer, task)[0]
        for third in self.items.values():
            is_rival = third.id not in (older.id, newer.id) and self.same_thing(third, older)
            if not is_rival or third.task not in (None, task) or self.repeats(older, third):
                continue
            rank, through = self.rank(third, task)
            since = max(third.epoch, through, self.named_after(third, older))
            if rank > own and rank >= least and self.restored_over(older, third, since):
                return True
        return False

    def restores(self, item: Statement) -> int:
        """The last event by which an overseer restored an item."""
        return max((mark.epoch for mark in self.overrules(item)), default=0)

    def competes(self, item: Statement) -> bool:
        """Whether an item was in force at some moment."""
        start = self.start(item)
        ends = [mark.data["end"] for mark in self.held(item, "close")]
        ends += [] if item.end is None else [item.end]
        return (
            not self.flaws(item)
            and start <= self.moment
            and all(end >= start for end in ends)
            and not any(max(mark.at, mark.learnt) < start for mark in self.held(item, "revoke"))
            and not any(one.code == "dispute_lost" for one in self.doubts(item))
        )

    def concerns(self, newer: Statement, older: Statement) -> bool:
        """Whether what one item says can end another for this reader, on its task and for its purpose."""
        task = older.task or self.who.task
        applies = newer.task in (None, task) and (not newer.applies_to or task in newer.applies_to)
        return applies and self.serves(newer) and self.takes_purposes(newer, older) and self.meant_for(newer, older)

    def takes_purposes(self, newer: Statement, older: Statement) -> bool:
        """In a return for every purpose, two that name purposes are rivals if they share one.

        One for some purposes does not end one for all of them.
        """
        if self.purpose is not None or not newer.purposes or older.kind == "frontier":
            return True
        return any(one in older.purposes for one in newer.purposes)

    def serves(self, item: Statement) -> bool:
        """Whether an item serves the purpose of this return. Without one, it is for every purpose."""
        return self.purpose is None or not item.purposes or self.purpose in item.purposes

    def meant_for(self, newer: Statement, older: Statement) -> bool:
        """What names principals replaces only for those."""
        covered = bool(older.principals) and set(older.principals) <= set(newer.principals)
        return not newer.principals or self.who.principal in newer.principals or covered

    def doubts(self, item: Statement) -> list[Against]:
        """Disputes and suspicions that no overseer has set aside."""
        if item.id not in self._doubts:
            found = self.by_disputes(item) + [one for one in self.by_verdicts(item) if one.code == "suspected"]
            self._doubts[item.id] = [one for one in found if not self.set_aside(item, one)]
        return self._doubts[item.id]

    # Plans that later news passed over.

    def on_its_date(self, item: Statement) -> tuple[list[Against], set[str], set[str]]:
        """What a plan and the news about it come to on the item's task.

        The slot is told from its oldest statement to its newest. Each takes the place of what stands, except a plan
        that somebody has passed over with what stands: it stays contested, or by the policy yields.

        Given are the objections to the item, those that are contested, and the plans that yield to the news.
        """
        task = item.task or self.who.task
        alike = [one for one in self.items.values() if self.same_thing(one, item) and one.kind != "frontier"]
        rivals = [
            one
            for one in alike
            if one.task in (None, task)
            and (not one.applies_to or task in one.applies_to)
            and self.serves(one)
            and (not one.principals or self.who.principal in one.principals)
            and self.competes(one)
        ]
        holding: list[Statement] = []
        contests: list[tuple[Statement, Statement, Mark]] = []
        yielding: set[str] = set()
        for one in self.in_order(rivals):
            passed = [(news, mark) for news in holding for mark in self.passing(one, news)]
            if passed and self.rules.on_concurrent == "newest":
                yielding.add(one.id)
                continue
            contests += [(one, news, mark) for news, mark in passed]
            contesting = [news for news, _ in passed]
            holding = [other for other in holding if other in contesting or not self.displaces(one, other)] + [one]
        contests = [found for found in contests if found[0] in holding and found[1] in holding]
        contested = {side.id for plan, news, _ in contests for side in (plan, news)}
        against = [
            Against("concurrent_update", mark.epoch) for plan, news, mark in contests if item.id in (plan.id, news.id)
        ]
        return against, contested, yielding

    def displaces(self, newer: Statement, older: Statement) -> bool:
        """Whether one statement can take the place of another, different one."""
        binding = self.team.binds(older) and not self.relieves(newer, older)
        return newer.said != older.said and self.concerns(newer, older) and not binding

    def in_order(self, rivals: list[Statement]) -> list[Statement]:
        """The statements about one slot, each after those that it comes after."""
        placed: list[Statement] = []
        for one in rivals:
            behind = [number for number, other in enumerate(placed) if self.above(one, other) is not None]
            placed.insert(max(behind, default=-1) + 1, one)
        return placed

    def passing(self, plan: Statement, news: Statement) -> list[Mark]:
        """The disputes between a plan and news that still stands against it, where nobody has settled them."""
        over = (
            any(self.held(news, kind) for kind in ("revoke",))
            or any(mark.data["end"] <= self.moment for mark in self.held(news, "close"))
            or (news.end is not None and news.end <= self.moment)
            or any(target.id == news.id and self.meant_for(successor, news) for target, successor, _ in self.succession)
        )
        over = over and not self.restores(news)
        found = []
        for mark in self.marks:
            if mark.kind != "dispute" or mark.data.get("plan") != plan.id or over:
                continue
            other = self.items[mark.items[-1]]
            acts = [one for one in self.marks if one.kind == "supersede"]
            between = [(self.items[one.items[0]], self.items[one.data["successor"]]) for one in acts]
            endings = [one for one in self.marks if one.kind == "resolve" and one.data["of"] == mark.data["id"]]
            settled = (
                any(one.by != self.who.principal for one in endings)
                or any(self.opposed(plan, other, *act) for act in between)
                or self.set_aside(plan, Against("concurrent_update", mark.epoch))
            )
            either = self.displaces(plan, news) and self.displaces(news, plan)
            if (other.id == news.id or self.repeats(other, news)) and either and not settled:
                found.append(mark)
        return found

    def by_replacement(self, item: Statement) -> list[Against]:
        against: list[Against] = []
        moved = "frontier_moved" if item.kind == "frontier" else "slot_updated"
        contested_plans, yielding = set[str](), set[str]()
        if item.slot is not None and item.kind in STATEMENTS and any(mark.data.get("plan") for mark in self.marks):
            against, contested_plans, yielding = self.on_its_date(item)
        if item.id in yielding:
            against.append(Against(moved, item.epoch))
        # What rests on nothing has no place in the order: it is unproven, and that is all.
        settled: list[tuple[Statement, int]] = []
        contesting: list[tuple[Statement, int]] = []
        for other in self.items.values() if self.bound_by(item) or self.team.binds(item) else ():
            rivals = other.id != item.id and other.said != item.said and self.same_thing(other, item)
            if not rivals or not self.concerns(other, item) or not self.competes(other):
                continue
            if self.team.binds(item) and not self.relieves(other, item):
                continue
            since = None if other.id in yielding else self.above(other, item)
            if since is not None:
                contested = other.id in contested_plans or any(
                    one.code in {"disputed", "concurrent_update", "suspected"} for one in self.doubts(other)
                )
                (contesting if contested else settled).append((other, since))
        # The highest replaced it; a contest is as old as its last side. Saying a side again adds none.
        highest = [
            since
            for one, since in settled
            if not any(self.above(other, one) for other, _ in settled if other is not one)
        ]
        sides = [
            since
            for one, since in contesting
            if not any(self.repeats(one, other) and self.outranks(other, one) for other, _ in contesting)
        ]
        if settled:
            against.append(Against(moved, max(highest or [since for _, since in settled])))
        elif sides:
            against.append(Against("slot_contested", max(sides)))
        return against + self.by_supersession(item)

    def by_supersession(self, item: Statement) -> list[Against]:
        against = []
        for target, successor, epoch in self.succession:
            if item.kind == "obligation":
                # Only another duty takes the place of one.
                ends = successor.kind == item.kind and self.imposed(successor)
            elif self.team.binds(item):
                ends = self.binds_instead(successor) and self.meant_for(successor, item)
            else:
                ends = self.meant_for(successor, item)
            if target.id == item.id and ends:
                against.append(Against("superseded", epoch))
        return against

    def binds_instead(self, successor: Statement) -> bool:
        return self.team.binds(successor) and not self.flaws(successor)

    def relieves(self, other: Statement, item: Statement) -> bool:
        """Whether a constraint takes the place of another one for all whom that one binds here.

        One of somebody who may not end the other does so only while it is in force.
        """
        over = {one.code for one in self.by_clock(other) + self.by_events(other) if not self.set_aside(other, one)}
        replaced = [
            Against("superseded", epoch)
            for target, successor, epoch in self.succession
            if target.id == other.id and self.binds_instead(successor) and self.meant_for(successor, other)
        ]
        over |= {one.code for one in replaced if not self.set_aside(other, one)}
        entitled = other.by in (item.by, *self.rules.overseers)
        here = not other.roles or self.who.role in other.roles or (item.roles and set(item.roles) <= set(other.roles))
        purposes = (
            not other.purposes
            or self.purpose in other.purposes
            or (item.purposes and set(item.purposes) <= set(other.purposes))
        )
        return (
            self.team.binds(other)
            and (entitled or not over & {"revoked", "expired", "superseded"})
            and bool(here and purposes)
            and (bool(self.bound_by(item)) or other.epoch > item.epoch)
        )

    def imposed(self, duty: Statement) -> bool:
        return self.team.allowed(duty.by)

    # Everything together.

    def standing(self, item: Statement) -> list[Against]:
        """Objections to an item being current that remain after the decisions of overseers."""
        if item.id not in self._standing:
            against = self.by_clock(item) + self.by_events(item) + self.by_replacement(item) + self.by_verdicts(item)
            for premise in map(self.items.__getitem__, item.depends_on):
                fallen = self.fallen(premise)
                if fallen and not self.restored(premise):
                    epochs = [one.epoch for one in fallen if one.epoch is not None]
                    against.append(Against("premise_changed", max(epochs, default=None), through=True))
            self._raised[item.id] = against
            left = [one for one in against if not self.set_aside(item, one)]
            # Where something newer stands, it does not matter that something else contests it too.
            replaced = any(one.code in {"slot_updated", "frontier_moved"} for one in left)
            self._standing[item.id] = [one for one in left if not (replaced and one.code == "slot_contested")]
        return self._standing[item.id]

    def is_reached(self, item: Statement) -> bool:
        """Whether an overruling now would set something aside that is against an item."""
        self.standing(item)
        now = Mark(self.team.epoch + 1, "overrule", "", self.moment, self.moment, (item.id,), {})
        return any(self.reaches(now, one) for one in self._raised[item.id])

    def fallen(self, premise: Statement) -> list[Against]:
        return self.standing(premise) + self.flaws(premise)

    def restored(self, premise: Statement) -> list[Statement]:
        """The same statement, made again, that stands where a premise fell."""
        return [twin for twin in self.twins[premise.id] if not self.fallen(twin)]

    def recovered(self, item: Statement) -> frozenset[str]:
        """Premises that fell and were said again."""
        premises = [self.items[name] for name in item.depends_on]
        return frozenset(one.id for one in premises if self.fallen(one) and self.restored(one))

    def set_aside(self, item: Statement, one: Against) -> bool:
        return any(self.reaches(mark, one) for mark in self.overrules(item))

    def reaches(self, mark: Mark, one: Against) -> bool:
        """Whether an overruling sets an objection aside."""
        if one.through:
            return one.epoch is None or one.epoch <= mark.epoch
        return one.epoch is not None and one.epoch <= mark.epoch and one.code in RESTORED

    def overrules(self, item: Statement) -> list[Mark]:
        """What overseers have said in favour of an item. It lapses, and does not count for their own return."""
        return [
            mark
            for mark in self.marks
            if mark.kind == "overrule"
            and item.id in mark.items
            and mark.by in self.rules.overseers
            and mark.by != self.who.principal
            and self.moment < mark.data["expires"]
        ]

    def codes(self, item: Statement) -> frozenset[str]:
        """Every code against a candidate; none means that it is eligible."""
        codes = self.team.scope_codes(item, self.who)
        codes |= {one.code for one in (*self.standing(item), *self.flaws(item))}
        if item.kind not in self.rules.kinds and item.kind != "obligation" and not self.team.binds(item):
            codes.add("kind_not_admitted")
        if item.applies_to and self.who.task not in item.applies_to:
            codes.add("other_task")
        if not self.serves(item):
            codes.add("other_purpose")
        if len(item.text) > self.rules.max_item_chars:
            codes.add("too_large")
        return frozenset(codes)


class Deciding(Reading):
    """What is owed, what may be handed over, and whether that is enough."""

    def __init__(self, team: TeamSimulator, departure: Departure, who: Who, purpose: str | None) -> None:
        super().__init__(team, departure, who, purpose)
        self.against = {name: self.codes(self.items[name]) for name in self.known}
        self.eligible = [self.items[name] for name in self.known if not self.against[name]]
        self.evident = [item for item in self.eligible if item.kind in STATEMENTS]
        self.attainable = {name for item in self.evident for name in item.covers}
        self.absent: dict[str, list[str]] = {}
        """What cannot be handed over of each duty, although it has to be."""
        self.mandatory: dict[str, list[Statement]] = {}
        """What can be handed over of each duty: itself and its frontier."""
        duties = [self.items[name] for name in self.known if self.items[name].kind == "obligation"]
        self.duties = {duty.id: self.owing(duty) for duty in duties}
        self.owed = [duty for duty in duties if self.duties[duty.id].state in OWED]
        applying = [item for item in self.evident if self.team.binds(item)]
        self.constraints = list({item.words: item for item in applying}.values())
        limits = [self.items[name] for name in self.known if self.team.binds(self.items[name])]
        self.limits = {item.id: self.limiting(item) for item in limits}
        self.obstructed = [name for name, state in self.limits.items() if state == "obstructed"]
        self.crowded = False

    # Duties.

    def owing(self, duty: Statement) -> Owing:
        state = self.ended(duty) or self.obstacle(duty)
        if state not in OWED:
            return Owing(state)
        return Owing(state, frozenset(set(duty.required) - self.attainable))

    def ended(self, duty: Statement) -> str:
        """Why a duty is not owed; empty if it is."""
        codes = self.against[duty.id]
        if state_of(codes | {"mandatory"}) == "unauthorized":
            return "others"
        for code in ("settled", "revoked", "superseded", "other_task", "other_purpose"):
            if code in codes:
                return code
        if "not_yet_valid" in codes:
            return "not_begun"
        return "not_imposed" if "writer_not_allowed" in codes and not self.was_owed(duty) else ""

    def limiting(self, item: Statement) -> str:
        """What a constraint is to this return."""
        codes = set(self.against[item.id])
        if not codes:
            return "owed"
        if self.team.allowed(item.by):
            # Evidence of others does not say whether it was imposed.
            codes -= {"writer_not_allowed"}
        if state_of(frozenset(codes | {"mandatory"})) == "unauthorized":
            return "others"
        ends = {"dispute_lost": "revoked", "slot_updated": "superseded", "not_yet_valid": "not_begun"}
        ended = {ends.get(code, code) for code in codes}
        for state in ("revoked", "superseded", "expired", "other_task", "other_purpose", "not_begun"):
            if state in ended:
                return state
        if "writer_not_allowed" in codes and not self.was_owed(item):
            return "not_imposed"
        if item.words in [one.words for one in self.constraints]:
            return "superseded"
        return "obstructed"

    def was_owed(self, duty: Statement) -> bool:
        """Whether it bound somebody at departure."""
        writers = self.team.writers_at(self.departure.seen)
        return duty.epoch <= self.departure.seen and (not writers or duty.by in writers)

    def obstacle(self, duty: Statement) -> str:
        """What an owed duty is: whether it can be handed over, with its frontier."""
        codes = self.against[duty.id]
        fronts = [self.items[name] for name in self.known if self.items[name].obligation == duty.id]
        live = [one for one in fronts if self.lives(one)]
        usable = [one for one in live if not self.against[one.id]]
        usable.sort(key=lambda one: self.rank(one, self.who.task)[0])
        absent = [duty.id] if codes or (self.rules.require_frontier and not live) else []
        absent += [] if usable else [one.id for one in live[-1:]]
        self.absent[duty.id] = absent
        self.mandatory[duty.id] = [*([] if codes else [duty]), *usable[-1:]]
        if absent or "writer_not_allowed" in codes:
            return "obstructed"
        late = [mark.data["end"] for mark in self.held(duty, "close")] + ([] if duty.end is None else [duty.end])
        return "overdue" if any(end <= self.moment for end in late) else "owed"

    def lives(self, frontier: Statement) -> bool:
        """Whether nothing has ended a frontier. One by a principal that may not write does not bind."""
        ended = {code for state in ENDED for code in STATES[state]} | {"writer_not_allowed"}
        return not self.against[frontier.id] & ended

    # Coverage.

    def sufficient(self, owed: list[Statement], chosen: list[Statement]) -> bool:
        supported = {name for item in chosen for name in item.covers}
        covered = [duty for duty in owed if set(duty.required) <= supported]
        critical = {name for duty in owed for name in duty.critical}
        enough = len(covered) >= ceil(Fraction(self.rules.gamma) * len(owed))
        return enough and len(critical & supported) >= ceil(Fraction(self.rules.rho) * len(critical))

    def whole(self, owed: list[Statement], chosen: list[Statement]) -> bool:
        supported = {name for item in chosen for name in item.covers}
        return all(set(duty.required) <= supported for duty in owed)

    def within_budget(self, chosen: list[Statement]) -> bool:
        chars = sum(len(item.text) for item in chosen)
        return len(chosen) <= self.rules.max_items and chars <= self.rules.max_chars

    def small(self, chosen: list[Statement]) -> bool:
        return all(len(item.text) <= self.rules.max_item_chars for item in chosen)

    def fits(self, owed: list[Statement], beside: list[Statement], *, whole: bool = False) -> bool:
        """Whether any set at all would do beside what is in already: every subset is tried."""
        useful = [item for item in self.evident if item.covers & self.required(owed) and item not in beside]
        enough = self.whole if whole else self.sufficient
        return any(
            enough(owed, [*beside, *chosen]) and self.within_budget([*beside, *chosen])
            for size in range(len(useful) + 1)
            for chosen in combinations(useful, size)
        )

    def must(self, owed: list[Statement]) -> list[Statement]:
        """The duties and frontiers that have to be in."""
        return [item for duty in owed for item in self.mandatory.get(duty.id, [])]

    def latest(self, owed: list[Statement]) -> list[Statement]:
        """What has to be in because nothing newer meets a need, where something meets it without a slot.

        Something that is merely too long counts too: then nothing fits.
        """
        standing = [self.items[name] for name in self.known if self.against[name] <= {"too_large"}]
        found = {}
        for need in sorted(self.required(owed)) if self.rules.newest == "always" else ():
            meeting = [item for item in standing if need in item.covers]
            if any(item.slot is None for item in meeting):
                newest = max(meeting, key=self.key)
                found[newest.id] = newest
        return list(found.values())

    def beside(self, owed: list[Statement], constraints: list[Statement]) -> list[Statement]:
        """Everything that has to be in, each said once."""
        latest = self.latest(owed)
        rest = [item for item in constraints if item.words not in [one.words for one in latest]]
        return [*self.must(owed), *latest, *rest]

    # The decision.

    def expected(self) -> Expected:
        if self.team.skewed:
            # Such a return judges nothing.
            return Expected("blocked", frozenset({"clock_skew"}))
        reasons, absent = self.obstacles()
        kept = self.owed
        if "not_examined" not in reasons and reasons and self.rules.on_incomplete == "partial":
            kept = self.wholly()
            reasons = set() if kept else reasons
        # Those two block whatever an incomplete admission ends in.
        starts_over = self.rules.on_incomplete == "reset" and not reasons & {"not_examined", "nothing_owed"}
        kind = "admitted" if not reasons else "reset" if starts_over else "blocked"
        short = reasons & {"coverage_short", "mandatory_missing"}
        return Expected(
            kind=kind,
            reasons=frozenset(reasons),
            candidates=self.against,
            recovered={name: found for name in self.known if (found := self.recovered(self.items[name]))},
            duties=self.duties,
            limits=self.limits,
            absent=frozenset(absent if reasons else ()),
            missing=frozenset(self.required(self.owed) - self.attainable) if short else None,
            mandatory=frozenset(item.id for item in self.must(kept)),
            constraints=frozenset(
                item.id for item in self.evident if item.words in [one.words for one in self.constraints]
            ),
            withheld=frozenset(duty.id for duty in self.owed if duty not in kept),
            open_pairs=self.open_pairs(),
            crowded=self.crowded,
        )

    def obstacles(self) -> tuple[set[str], list[str]]:
        """What stands in the way of handing everything over, and what is absent."""
        if self.rules.examination == "required":
            return {"not_examined"}, []
        absent = [*(name for names in self.absent.values() for name in names), *self.obstructed]
        if not self.owed and self.rules.fill == "block":
            return {"nothing_owed"}, []
        if absent:
            return {"mandatory_missing"}, absent
        if not self.sufficient(self.owed, self.evident):
            return {"coverage_short"}, []
        must, latest = self.must(self.owed), self.latest(self.owed)
        if self.within_budget(must) and not (self.small(latest) and self.within_budget([*must, *latest])):
            return {"budget_short"}, [item.id for item in latest]
        if not self.fits(self.owed, self.beside(self.owed, [])):
            return {"budget_short"}, []
        self.crowded = not self.fits(self.owed, self.beside(self.owed, self.constraints))
        return ({"budget_short"} if self.crowded else set()), []

    def wholly(self) -> list[Statement]:
        """The duties that can be covered whole: those with most critical dependencies first, then the oldest."""
        kept: list[Statement] = []
        if self.obstructed:
            return kept
        for duty in sorted(self.owed, key=lambda one: (-len(set(one.critical)), one.epoch)):
            if self.duties[duty.id].state in {"owed", "overdue"}:
                tried = [*kept, duty]
                beside = self.beside(tried, self.constraints)
                if self.small(self.latest(tried)) and self.fits(tried, beside, whole=True):
                    kept = tried
        return kept

    # What was decided, held against what may be.

    def wrong(self, shown: list[Statement], withheld: list[str], reasons: dict[str, str]) -> list[str]:
        """What is wrong with an admitted view. ``reasons`` says of every eligible item why it is in or out."""
        kept = [duty for duty in self.owed if duty.id not in withheld]
        evident = [item for item in shown if item.kind in STATEMENTS]
        enough = self.whole(kept, evident) if withheld else self.sufficient(kept, evident)
        must = {item.id for item in self.must(kept)}
        owed = {name for name, code in reasons.items() if code == "mandatory"}
        chosen = {name for name, code in reasons.items() if code == "covers"}
        fills = {name for name, code in reasons.items() if code == "fills"}
        base = [item for item in shown if item.id not in fills]
        out = {item.id: reasons[item.id] for item in self.eligible if item not in shown}
        checks = {
            "an item that is not eligible": all(item in self.eligible for item in shown),
            "a duty or frontier": must == {item.id for item in shown if item not in evident},
            "must be in": must <= owed,
            "no constraint": all(self.items[name].kind in CONSTRAINTS for name in owed - must),
            "a constraint is lacking": {item.words for item in self.constraints} <= {item.words for item in shown},
            "not sufficient": enough,
            "not the newest": set(self.latest(kept)) <= set(shown),
            "over the budgets": self.within_budget(shown),
            "two statements about one thing": not self.at_odds(evident),
            "a cover that covers nothing": all(self.items[name].covers & self.required(kept) for name in chosen),
            "not the cheapest cover": self.rules.selection != "cheapest" or self.cheapest(kept, chosen),
            "not filled with the newest": fills == self.filled(base, kept),
            "left out for another reason": out == {name: self.left(self.items[name], kept) for name in out},
        }
        return [what for what, holds in checks.items() if not holds]

    def required(self, owed: list[Statement]) -> set[str]:
        return {name for duty in owed for name in duty.required}

    def of_withheld(self, item: Statement, kept: list[Statement]) -> bool:
        """Whether an item belongs to a duty that is withheld."""
        held = [duty for duty in self.owed if duty not in kept]
        return item in held or item.obligation in [duty.id for duty in held] or bool(item.covers & self.required(held))

    def fillable(self, item: Statement, kept: list[Statement]) -> bool:
        """Nothing of a duty that is withheld, unless another one that is not needs it too."""
        return not self.of_withheld(item, kept) or bool(item.covers & self.required(kept))

    def left(self, item: Statement, kept: list[Statement]) -> str:
        """Why an eligible item is not in a view that was issued."""
        return "withheld" if self.of_withheld(item, kept) else "not_needed"

    def unused(self, item: Statement) -> str:
        """Why an eligible item is not handed over where no view was issued."""
        owed = [duty.id for duty in self.owed]
        structure = item.id in owed or item.obligation in owed
        bound = item.words in [one.words for one in self.constraints]
        return "withheld" if structure or bound or item.covers & self.required(self.owed) else "not_needed"

    def filled(self, base: list[Statement], kept: list[Statement]) -> set[str]:
        """What fills the room that is left: what stands, newest first, nothing of a duty that is withheld."""
        if self.rules.fill not in (("always",) if self.owed else ("always", "nothing_owed")):
            return set()
        taken = list(base)
        for item in sorted(self.evident, key=self.key, reverse=True):
            repeated = any(other.words == item.words for other in taken)
            if not repeated and self.fillable(item, kept) and self.within_budget([*taken, item]):
                taken.append(item)
        return {item.id for item in taken if item not in base}

    def cheapest(self, kept: list[Statement], chosen: set[str]) -> bool:
        """Whether no sufficient set takes fewer characters. Constraints are handed over beside it, not for it."""
        spent = sum(max(1, len(self.items[name].text)) for name in chosen)
        latest = self.latest(kept)
        useful = [item for item in self.evident if item.covers & self.required(kept) and item not in latest]
        return not any(
            sum(max(1, len(item.text)) for item in (*latest, *tried)) < spent
            and self.sufficient(kept, [*latest, *tried])
            and self.within_budget([*self.must(kept), *latest, *tried])
            for size in range(len(useful) + 1)
            for tried in combinations(useful, size)
        )

    def at_odds(self, evident: list[Statement]) -> list[tuple[str, str]]:
        """Different statements about the same thing. Only an overseer can bring that about."""
        overruled = {name for mark in self.team.marks if mark.kind == "overrule" for name in mark.items}
        return [
            (one.id, other.id)
            for one, other in combinations(evident, 2)
            if self.same_thing(one, other)
            and one.said != other.said
            and not {one.id, other.id} & overruled
            # A fact replaces no constraint, nor does a constraint that is for fewer purposes: they stand beside it.
            and self.team.binds(one) == self.team.binds(other)
            and (not self.team.binds(one) or self.outranked(one, other) or self.outranked(other, one))
            and any(
                self.above(newer, older) is not None and self.takes_purposes(newer, older)
                for newer, older in ((one, other), (other, one))
            )
        ]

    def outranked(self, older: Statement, newer: Statement) -> bool:
        """Whether one constraint comes after another in the order and takes its place here."""
        return self.above(newer, older) is not None and self.relieves(newer, older)

    def lost(self, view: Issued) -> set[str]:
        """Why a view cannot be handed over any more."""
        reasons = set()
        if any(name not in self.against or self.against[name] for name in view.items):
            reasons.add("view_outdated")
        shown = [self.items[name] for name in view.items]
        kept = [duty for duty in self.owed if duty.id not in view.withheld]
        evident = [item for item in shown if item.kind in STATEMENTS]
        enough = self.whole(kept, evident) if view.withheld else self.sufficient(kept, evident)
        has = {item.id for item in (*self.must(kept), *kept)} <= set(view.items)
        said = {item.words for item in shown}
        bound = {item.words for item in (*self.constraints, *self.latest(kept))} <= said
        bound = bound and all(self.items[name].words in said for name in self.obstructed)
        absent = [duty for duty in kept if self.absent[duty.id]]
        # A view that leaves duties out holds at least one whole.
        nothing = bool(view.withheld and self.owed and not kept)
        small = all(len(item.text) <= self.rules.max_item_chars for item in shown)
        if absent or nothing or not (has and bound and small and enough and self.within_budget(shown)):
            reasons.add("view_outdated")
        if self.rules.examination == "required":
            reasons.add("not_examined")
        if not self.owed and self.rules.fill == "block":
            reasons.add("nothing_owed")
        return reasons
