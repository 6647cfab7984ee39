"""From a checkpoint's rows to a team's log: what the library's own workspace is given to decide on.

Each session is one observation; each statement is an item with a receipt for it. What explicitly ended a
statement is a lifecycle event. The agent departs where the checkpoint says so, and comes back at its end.
Everything after that is the library: gates, lifecycle, premises, disputes, coverage, seal.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec.structs import replace

from readmit.records.policy import Policy
from readmit.records.reasons import Reason, State
from readmit.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
    from decimal import Decimal

    from readmit.bench.episodes import Checkpoint, Row
    from readmit.records.verdicts import Verdict
    from readmit.workspace.agent import Agent
    from readmit.workspace.returns import Return

# The episode's clock starts here; its unit is a second.
START = datetime(2000, 1, 1, tzinfo=UTC)
SESSION = 1000
RETURNING = "returning-agent"
OWNER = "bench"
LONGEST_DUTY = 10_000

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
    """Statements that cannot all stand, and the one that an independent judgment kept."""

    statements: tuple[str, ...]
    keep: str | None = None


@dataclass(frozen=True)
class Duty:
    """An obligation of the returning role."""

    text: str
    required: tuple[str, ...]
    critical: tuple[str, ...] = ()


@dataclass(frozen=True)
class Work:
    """Everything that goes into the log besides the observations themselves."""

    statements: Sequence[Statement]
    endings: Sequence[Ending] = ()
    contests: Sequence[Contest] = ()
    duties: Sequence[Duty] = ()
    verdicts: Sequence[tuple[str, Verdict]] = ()
    """Each with the session it speaks about; the pair is filled in with the observation's digest."""
    experiences: Sequence[str] = ()
    """Statements of which the returning agent also keeps a private memory."""
    suspicions: Sequence[tuple[str, str]] = ()
    """Sessions and the statements they may affect, where no verdict could be had."""


@dataclass(frozen=True)
class Returned:
    """What the library decided, in terms of statements."""

    admitted: bool
    standing: frozenset[str]
    chosen: tuple[str, ...]
    readmitted: tuple[str, ...]
    reasons: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)


def session_of(row: Row) -> str:
    """The observation that a row is part of: what one source said in one session."""
    return f"{row.at // SESSION}/{row.source}/{'before' if row.departure else 'after'}"


def sessions(rows: Iterable[Row]) -> dict[str, str]:
    """The text of every observation, in time order."""
    ordered = sorted(rows, key=lambda row: row.at)
    return {name: "\n".join(row.text for row in part) for name, part in groupby(ordered, key=session_of)}


def policy_for(
    checkpoint: Checkpoint,
    *,
    duties: int = 1,
    selection: str = "greedy_then_exact",
    invalid_at: Decimal | None = None,
) -> Policy:
    """The budgets of the benchmark, beside which obligations have room of their own; the rest as workspaces have it."""
    longest = max((len(row.text) for row in (*checkpoint.heard, *checkpoint.rows)), default=1)
    budget = checkpoint.budget
    characters = budget.characters
    return Policy(
        selection=selection,  # type: ignore[arg-type]  # one of the policy's own names
        invalid_at=Policy().invalid_at if invalid_at is None else invalid_at,
        max_items=(budget.at_most or budget.union) + duties,
        max_chars=10_000_000 if characters is None else characters + duties * LONGEST_DUTY,
        # What bounds a row is the view's budget; an obligation's own words must never be what does not fit.
        max_item_chars=max(longest, LONGEST_DUTY),
        # As the paper hands over what covers an obligation, and nothing else.
        constraints="as_needed",
        nothing_owed="empty",
        # A history replayed at once is neither a flood of invalidations nor one of duties.
        invalidations_per_writer=1_000_000,
        duties_per_writer=1_000_000,
    )


def come_back(checkpoint: Checkpoint, work: Work, policy: Policy) -> Returned:
    """Play the history into a workspace in memory and let the agent return."""
    with played(checkpoint, work, policy) as (_, agent, digests, ungrounded):
        return _told(agent.come_back(purpose=checkpoint.task_version), digests, ungrounded)


@contextmanager
def played(
    checkpoint: Checkpoint, work: Work, policy: Policy
) -> Iterator[tuple[Workspace, Agent, dict[str, str], list[str]]]:
    """The history in a workspace in memory, up to the moment of the return."""
    moment = [START]
    by_row: dict[str, list[Statement]] = {}
    written, ungrounded = grounded(work.statements)
    for statement in written:
        by_row.setdefault(statement.row.id, []).append(statement)
    with Workspace.open(clock=lambda: moment[0], policy=policy) as workspace:
        agent = workspace.agent(RETURNING, role="agent", task="return")
        digests: dict[str, str] = {}
        texts = sessions(checkpoint.heard)
        with workspace.batch():
            # Every session that was heard is an observation, also one that left no row: a verdict may speak of it.
            # And a statement may stand in a turn that is no row: words that only a verdict brought up.
            named = {row.id: row for row in (*checkpoint.heard, *checkpoint.rows, *(one.row for one in written))}
            rows = sorted(named.values(), key=lambda row: row.at)
            before = [row for row in rows if row.departure]
            for row in before:
                moment[0] = _time(row.at)
                _write(workspace, row, texts, digests, by_row.get(row.id, ()))
            _remember(agent, work, [one for one in written if one.row.departure])
            agent.depart()
            for row in rows:
                if not row.departure:
                    moment[0] = _time(row.at)
                    _write(workspace, row, texts, digests, by_row.get(row.id, ()))
            moment[0] = _time(checkpoint.now)
            _befall(workspace, work, digests, {one.id: place for place, one in enumerate(written)})
        yield workspace, agent, digests, ungrounded


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


def _write(
    workspace: Workspace, row: Row, texts: Mapping[str, str], digests: dict[str, str], statements: Iterable[Statement]
) -> None:
    session = session_of(row)
    if session not in digests:
        digests[session] = workspace.observe(texts[session] or " ", by=row.source, id=_name(session))
    for statement in statements:
        workspace.record(
            statement.text,
            sources=[digests[session]],
            id=statement.id,
            slot=None if statement.slot is None else _name(statement.slot),
            supports=statement.supports,
            depends_on=statement.depends_on,
            purposes=() if row.task_version is None else (row.task_version,),
            valid_from=None if row.valid_from is None else _time(row.valid_from),
            valid_until=None if row.valid_until is None else _time(row.valid_until),
        )


def _remember(agent: Agent, work: Work, before: Sequence[Statement]) -> None:
    held = {statement.id: statement for statement in before}
    for name in work.experiences:
        if name in held:
            agent.remember(held[name].text, bound_to=name, id=f"x-{name}"[:128])


def _befall(workspace: Workspace, work: Work, digests: Mapping[str, str], place: Mapping[str, int]) -> None:
    for ending in work.endings:
        at = _time(ending.at)
        if ending.target not in place or ending.target == ending.successor:
            continue
        # Only what was stated later can take a statement's place; otherwise it is merely gone.
        if ending.successor is None or place.get(ending.successor, -1) < place[ending.target]:
            workspace.revoke(ending.target, by=OWNER, reason=ending.reason[:2000], at=at)
        else:
            workspace.supersede(ending.target, ending.successor, by=OWNER, reason=ending.reason[:2000], at=at)
    for number, contest in enumerate(one for one in work.contests if place.keys() >= set(one.statements)):
        name = workspace.dispute(contest.statements, by=OWNER, id=f"contest-{number}")
        if contest.keep is not None:
            workspace.resolve(name, keep=[contest.keep], by=OWNER)
    _judge(workspace, work, digests, place)
    for number, duty in enumerate(work.duties):
        text = duty.text[:LONGEST_DUTY]
        asked = workspace.observe(text, by=OWNER, id=f"asked-{number}")
        workspace.oblige(text, required=duty.required, critical=duty.critical, sources=[asked], id=f"duty-{number}")


def _judge(workspace: Workspace, work: Work, digests: Mapping[str, str], written: Container[str]) -> None:
    for session, verdict in work.verdicts:
        if verdict.pair.item in written:
            pair = replace(verdict.pair, evidence=digests[session])
            workspace.judge(replace(verdict, pair=pair), by=OWNER)
    for session, target in work.suspicions:
        if target in written:
            workspace.suspect(target, digests[session], by=OWNER, signal="unverified")


def _told(outcome: Return, digests: Mapping[str, str], ungrounded: Iterable[str]) -> Returned:
    standing = {State.ADMITTED, State.NOT_NEEDED, State.WITHHELD}
    items = [one for one in outcome.dispositions if not one.item.startswith("duty-")]
    view = outcome.view
    chosen = () if view is None else tuple(one.id for one in view.items if not one.id.startswith("duty-"))
    return Returned(
        admitted=outcome.admitted,
        standing=frozenset(one.item for one in items if one.state in standing),
        chosen=chosen,
        readmitted=() if view is None else tuple(one.bound_to for one in view.experiences),
        reasons=dict.fromkeys(ungrounded, (str(Reason.PREMISE_CHANGED),))
        | {one.item: tuple(map(str, one.reasons)) for one in items if one.state not in standing},
        missing=outcome.missing,
        causes=tuple(map(str, outcome.reasons)),
        digests=digests,
    )


def _time(at: int) -> datetime:
    return START + timedelta(seconds=at)


def _name(text: str) -> str:
    return _NOT_ID.sub("_", text)[:128] or "_"
