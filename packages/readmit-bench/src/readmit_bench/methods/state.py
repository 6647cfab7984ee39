"""From a checkpoint's rows to a team's log, on which the library's own workspace decides.

Each session is one observation, dated if the history names its day; each statement is an item with a receipt for it,
marked as drafted if an extractor wrote it. An explicit end of a statement is a lifecycle event. The agent departs where
the checkpoint says so, and returns at its end. The library does the rest: inference, gates, lifecycle, premises,
disputes, coverage, seal.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

from readmit import Policy, Reason, State, Workspace
from readmit.errors import UnknownError
from readmit.events import EventKind
from readmit.lab import Link, as_readmit, desk_of, digest, worded
from readmit.types import Drafted
from readmit_bench.evaluation.model_verifier import moment_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from readmit import Agent, Return
    from readmit_bench.episodes import Checkpoint, Row

# Where a history names no days, the episode's clock starts here; its unit is a second.
START = datetime(2000, 1, 1, tzinfo=UTC)
SESSION = 1000
RETURNING = "returning-agent"
OWNER = "bench"
LONGEST_DUTY = 10_000
LONGEST_QUOTE = 2_000
DUTY, OBSERVED = "duty-", "session-"
"""Id prefixes of items that are not statements: duties, and whole sessions."""

_NOT_ID = re.compile(r"[^!-~]+")


@dataclass(frozen=True)
class Statement:
    """What one row, or a part of it, says."""

    id: str
    row: Row
    text: str
    slot: str | None = None
    supports: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ending:
    """A statement that later words ended; ``successor`` is what took its place, if anything did."""

    target: str
    at: int
    reason: str
    successor: str | None = None


@dataclass(frozen=True)
class Contest:
    """Statements that cannot all hold."""

    statements: tuple[str, ...]


@dataclass(frozen=True)
class Duty:
    """An obligation of the returning role."""

    text: str
    required: tuple[str, ...]
    critical: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    planner: str | None = None
    """The model that planned it, if it is to count as planned."""


@dataclass(frozen=True)
class Work:
    """Everything that goes into the log besides the observations themselves."""

    statements: Sequence[Statement]
    endings: Sequence[Ending] = ()
    contests: Sequence[Contest] = ()
    duties: Sequence[Duty] = ()
    experiences: Sequence[str] = ()
    """Statements of which the returning agent also keeps a private memory."""
    links: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By statement, what of the duties' needs it is evidence for."""
    linker: str | None = None
    """What drew the links, if they are to count as drafted. Otherwise the benchmark vouches for them."""
    extractor: str | None = None
    """The model that drew the statements from the conversations, if they are to count as drafted."""
    observed: bool = False
    """Whether each session up to the departure is an item as well, on which everything drawn from it rests."""


@dataclass(frozen=True)
class Returned:
    """What the library decided, in terms of statements."""

    admitted: bool
    standing: frozenset[str]
    chosen: tuple[str, ...]
    readmitted: tuple[str, ...]
    reasons: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...] = ()
    confirmed: frozenset[tuple[str, str]] = frozenset()
    """Items, sessions among them, and the digests of the observations that changed their premises."""
    retracted: Mapping[str, str | None] = field(default_factory=dict)
    """Items that the agent held and whose withdrawn text it is handed, with what the view holds instead."""


def session_of(row: Row) -> str:
    """The observation that a row is part of: what one source said in one session."""
    return f"{row.at // SESSION}/{row.source}/{'before' if row.departure else 'after'}"


def sessions(rows: Iterable[Row]) -> dict[str, str]:
    """The text of every observation, in time order."""
    ordered = sorted(rows, key=lambda row: row.at)
    return {name: "\n\n".join(row.text for row in part) for name, part in groupby(ordered, key=session_of)}


def policy_for(checkpoint: Checkpoint, base: Policy | None = None, *, duties: int = 1) -> Policy:
    """A policy with the budgets of the benchmark, beside which obligations have room of their own."""
    longest = max((len(row.text) for row in checkpoint.rows), default=1)
    longest = max(longest, *map(len, sessions(checkpoint.heard).values()), 1)
    budget = checkpoint.budget
    characters = budget.characters
    return (base or Policy()).changed(
        budgets={
            "items": (budget.at_most or budget.union) + duties,
            "chars": 10_000_000 if characters is None else characters + duties * LONGEST_DUTY,
            # The view's budget bounds rows; an obligation's own words must always fit.
            "item_chars": max(longest, LONGEST_DUTY),
            "retractions": 0,
        },
        # The paper hands over only what covers an obligation.
        paper={"constraints": "as_needed", "newest": "as_needed"},
        returns={"fill": "never"},
        # A history replayed at once must not count as a flood of invalidations or duties.
        limits={"invalidations": 1_000_000, "duties": 1_000_000},
    )


def come_back(checkpoint: Checkpoint, work: Work, policy: Policy) -> Returned:
    """Play the history into a workspace in memory and let the agent return."""
    with played(checkpoint, work, policy) as (_, agent, _, ungrounded):
        return returned(return_of(agent, checkpoint.task_version), ungrounded)


def return_of(agent: Agent, version: str | None) -> Return:
    """The agent's return for a version of its task.

    A version that no row is about is refused as a purpose. Without one, the same rows are admitted.
    """
    try:
        return agent.come_back(purpose=version)
    except UnknownError:
        return agent.come_back()


@contextmanager
def played(
    checkpoint: Checkpoint, work: Work, policy: Policy
) -> Iterator[tuple[Workspace, Agent, dict[str, str], list[str]]]:
    """The history in a workspace in memory, up to the moment of the return."""
    clock = Clock(checkpoint)
    moment = [clock.time(0)]
    by_row: dict[str, list[Statement]] = {}
    written, ungrounded = grounded(work.statements)
    for statement in written:
        by_row.setdefault(statement.row.id, []).append(statement)
    with Workspace.open(clock=lambda: moment[0], policy=policy) as workspace:
        agent = workspace.agent(RETURNING, role="agent", task="return")
        writing = _Writing(workspace, work, sessions(checkpoint.heard), clock)
        with workspace.batch():
            # Every session is an observation, even without a row, because a verdict may refer to it.
            # A statement may also come from a turn that is not a row, if a verdict quotes it.
            named = {row.id: row for row in (*checkpoint.heard, *checkpoint.rows, *(one.row for one in written))}
            rows = sorted(named.values(), key=lambda row: row.at)
            before = [row for row in rows if row.departure]
            for row in before:
                moment[0] = clock.time(row.at)
                writing.write(row, by_row.get(row.id, ()))
            _remember(agent, work, [one for one in written if one.row.departure])
            agent.depart()
            for row in rows:
                if not row.departure:
                    moment[0] = clock.time(row.at)
                    writing.write(row, by_row.get(row.id, ()))
            moment[0] = clock.time(checkpoint.now)
            _apply(workspace, work, clock, {one.id: place for place, one in enumerate(written)})
        yield workspace, agent, writing.digests, ungrounded


def grounded(statements: Sequence[Statement]) -> tuple[list[Statement], list[str]]:
    """Statements in log order, and those left out because a premise was never stated before them."""
    written: dict[str, Statement] = {}
    left: list[str] = []
    for statement in sorted(statements, key=lambda one: (not one.row.departure, one.row.at)):
        if all(premise in written for premise in statement.depends_on):
            written[statement.id] = statement
        else:
            left.append(statement.id)
    return list(written.values()), left


class Clock:
    """When something was said: the day of its session, as the history names it, or seconds from a fixed start."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._days: dict[int, datetime] = {}
        last: datetime | None = None
        for session in sorted(checkpoint.history, key=lambda one: one.index):
            day = moment_of(session.at)
            if day is None:
                self._days = {}
                return
            # A session begins after the previous one has ended.
            last = day if last is None else max(day, last + timedelta(seconds=SESSION))
            self._days[session.index] = last

    def time(self, at: int) -> datetime:
        """A position on the episode's clock as a moment."""
        session, turn = divmod(at, SESSION)
        known = [index for index in self._days if index <= session]
        if not self._days:
            return START + timedelta(seconds=at)
        if not known:
            return min(self._days.values()) - timedelta(seconds=SESSION - turn)
        return self._days[max(known)] + timedelta(seconds=(session - max(known)) * SESSION + turn)


class _Writing:
    """The rows on their way into the log, and the digest of each session that is there."""

    def __init__(self, workspace: Workspace, work: Work, texts: Mapping[str, str], clock: Clock) -> None:
        self._workspace, self._work, self._texts, self._clock = workspace, work, texts, clock
        self.digests: dict[str, str] = {}

    def write(self, row: Row, statements: Iterable[Statement]) -> None:
        session, whole = session_of(row), self._work.observed and row.departure
        if session not in self.digests:
            text = observed(self._texts[session])
            self.digests[session] = self._workspace.observe(text, by=row.source, id=_name(session))
            if whole:
                self._workspace.record(text, sources=[self.digests[session]], by=row.source, id=item_of(session))
        for one in statements:
            record(
                self._workspace,
                one,
                self.digests[session],
                drafted=self._drafted(one, session),
                rests_on=(item_of(session),) if whole else (),
                purposes=() if row.task_version is None else (row.task_version,),
                valid_from=None if row.valid_from is None else self._clock.time(row.valid_from),
                valid_until=None if row.valid_until is None else self._clock.time(row.valid_until),
            )

    def _drafted(self, statement: Statement, session: str) -> tuple[str, Drafted] | None:
        """An extractor's statement as the product records it, in whole sentences, and who drafted it."""
        text, extractor = statement.text, self._work.extractor
        if extractor is None or statement.row.turn is None:
            return None
        text, quote = worded(text, text, observed(self._texts[session])) or (text, text[:LONGEST_QUOTE])
        return text, Drafted(model=extractor, quote=quote)


def observed(session: str) -> str:
    """A session's text as it is observed: an observation is never empty."""
    return session or " "


def record(
    workspace: Workspace,
    statement: Statement,
    evidence: str,
    *,
    drafted: tuple[str, Drafted] | None = None,
    rests_on: tuple[str, ...] = (),
    **fields: Any,
) -> None:
    """One statement as an item, in its own words or as an extractor drafted it."""
    text, by_model = drafted or (statement.text, None)
    workspace.record(
        text,
        sources=[evidence],
        # The author of a statement is the observer of its session.
        by=desk_of(workspace).log.evidence(evidence).by,
        id=statement.id,
        slot=None if statement.slot is None else _name(statement.slot),
        supports=statement.supports,
        depends_on=(*statement.depends_on, *rests_on),
        **{"drafted": by_model, **fields},
    )


def item_of(session: str) -> str:
    """The item that a whole session is."""
    return f"{OBSERVED}{_name(session)}"


def _remember(agent: Agent, work: Work, before: Sequence[Statement]) -> None:
    held = {statement.id: statement for statement in before}
    for name in work.experiences:
        if name in held:
            agent.remember(held[name].text, bound_to=name, id=f"x-{name}"[:128])


def _apply(workspace: Workspace, work: Work, clock: Clock, place: Mapping[str, int]) -> None:
    for ending in work.endings:
        at = clock.time(ending.at)
        if ending.target not in place or ending.target == ending.successor:
            continue
        # Only a later statement can be a successor; otherwise the statement just ends.
        if ending.successor is None or place.get(ending.successor, -1) < place[ending.target]:
            workspace.revoke(ending.target, by=OWNER, reason=ending.reason[:2000], at=at)
        else:
            workspace.supersede(ending.target, ending.successor, by=OWNER, reason=ending.reason[:2000], at=at)
    for number, contest in enumerate(one for one in work.contests if place.keys() >= set(one.statements)):
        workspace.dispute(contest.statements, by=OWNER, id=contest_name(number))
    oblige(workspace, work.duties)
    link(workspace, {name: needs for name, needs in work.links.items() if name in place}, work.linker)


def link(workspace: Workspace, links: Mapping[str, Iterable[str]], linker: str | None) -> None:
    """Record which needs items are evidence for."""
    writer = workspace.principal(OWNER) if linker is None else as_readmit(workspace)
    for item, needs in links.items():
        for need in needs:
            desk_of(writer).writer.write(
                EventKind.LINK, Link(item=item, need=need, drafted=linker), id=digest((item, need))
            )


def contest_name(number: int) -> str:
    """The name of a dispute."""
    return f"contest-{number}"


def oblige(workspace: Workspace, duties: Sequence[Duty], prefix: str = DUTY) -> None:
    """Open the duties. A task is not an observation: what it presupposes has not been observed."""
    for number, duty in enumerate(duties):
        workspace.oblige(
            duty.text[:LONGEST_DUTY],
            required=duty.required,
            critical=duty.critical,
            lists=duty.lists,
            by=OWNER,
            id=f"{prefix}{number}",
            drafted=None if duty.planner is None else Drafted(model=duty.planner),
        )


def returned(outcome: Return, ungrounded: Iterable[str] = ()) -> Returned:
    """A decision in terms of statements."""
    standing = {State.ADMITTED, State.NOT_NEEDED, State.WITHHELD}
    items = [one for one in outcome.dispositions if not one.item.startswith((DUTY, OBSERVED))]
    view = outcome.view
    chosen = () if view is None else tuple(one.id for one in view.items if not one.id.startswith((DUTY, OBSERVED)))
    return Returned(
        admitted=outcome.admitted,
        standing=frozenset(one.item for one in items if one.state in standing),
        chosen=chosen,
        readmitted=() if view is None else tuple(one.bound_to for one in view.experiences),
        reasons=dict.fromkeys(ungrounded, (str(Reason.PREMISE_CHANGED),))
        | {one.item: tuple(map(str, one.reasons)) for one in items if one.state not in standing},
        missing=outcome.missing,
        confirmed=frozenset(
            (one.item, cause.ref)
            for one in outcome.dispositions
            for cause in one.causes
            if cause.reason is Reason.PREMISE_CHANGED and not cause.root
        ),
        retracted={one.id: one.instead for one in outcome.retractions.fallen if one.with_text},
    )


def _name(text: str) -> str:
    return _NOT_ID.sub("_", text)[:128] or "_"
