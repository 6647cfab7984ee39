"""Checks a workspace without a return: its keys, its policy, and every agent that departed."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from readmit.diagnosis.lacks import unrequired
from readmit.diagnosis.missing_needs import EVIDENCE
from readmit.diagnosis.symptoms import Diagnosis, Symptom, Trouble
from readmit.diagnosis.trial import rehearse
from readmit.diagnosis.why import outcome, symptoms, unsigned, who
from readmit.records.acts.operation import Wait
from readmit.records.identity import Identity
from readmit.records.items import Kind
from readmit.records.policy import OWNER, Policy
from readmit.records.remedies import BLANK, act, come_back, depart, govern, sweep
from readmit.rules.capture.checkpoint import checkpoint
from readmit.state.absence import last_absence, role_of, tenure_in
from readmit.text.escapes import one_line
from readmit.writing.limits import waiting
from readmit.writing.passed_plans import notices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.records.acts.event import Checkpoint
    from readmit.returning.desk import Desk

AGENTS = 20
"""Most agents that are checked."""
LONG = timedelta(days=7)
"""An absence that is worth mentioning."""
# Worth knowing, but no problem by itself: what is missing because of it is its own finding.
NOTES = frozenset(
    {
        Trouble.MENDED,
        Trouble.BACK,
        Trouble.NOTHING_OWED,
        Trouble.OUT_OF_SIGHT,
        Trouble.WRITER,
        Trouble.OTHER_PURPOSE,
        Trouble.TAKEN_OUT,
        Trouble.TIME,
        Trouble.UNREQUIRED,
        Trouble.FOR_EVERYBODY,
        Trouble.UNRECORDED,
        Trouble.UNEXAMINED,
    }
)


class Checkup(msgspec.Struct, frozen=True):
    """The problems of a workspace, and of each of its agents if they returned now."""

    workspace: Diagnosis
    agents: tuple[Diagnosis, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether there is no problem. Findings that are only worth knowing do not count."""
        return all(one.trouble in NOTES for part in (self.workspace, *self.agents) for one in part.symptoms)

    def __str__(self) -> str:
        return "\n".join(line for part in (self.workspace, *self.agents) for line in part.lines())


def checkup(desk: Desk, agent: Identity | None = None) -> Checkup:
    """Check one agent, or every agent that departed, as if they returned now. Nothing is written."""
    log, policy = desk.log, desk.policy
    found = [*unsigned(desk), *settings(policy)]
    in_order = not found
    found += [*_waiting(desk), *_unswept(desk), *_passed_over(desk)]
    left_out: tuple[str, ...] = ()
    if agent is not None:
        agents = [agent]
    else:
        departures = list(islice(log.agents(), AGENTS + 1))
        agents = [one.identity for one in departures[:AGENTS]]
        left_out = (f"agents beyond the first {AGENTS}; name one",) if len(departures) > AGENTS else ()
        if not agents:
            said = "No agent has departed from this workspace yet, so none can return to it."
            blank = Identity(workspace=log.workspace, principal=BLANK, role=BLANK, task=BLANK)
            hint = "To look at an agent before it departs, name it: --principal, --role and --task."
            found.append(Symptom(Trouble.NOT_DEPARTED, said, (), (hint,), (depart(blank),)))
            in_order = False
    says = f"Workspace {one_line(log.workspace)} at epoch {log.head}: " + (
        "its key and its policy are in order." if in_order else "something is wrong."
    )
    return Checkup(Diagnosis(says, tuple(found), left_out), tuple(_agent(desk, one) for one in agents))


def settings(policy: Policy) -> Iterator[Symptom]:
    """Settings under which nothing, or almost nothing, could ever be handed over."""
    if not set(EVIDENCE).intersection(policy.paper.kinds):
        said = "The policy admits no kind of item that can be evidence (paper.kinds), so no duty can ever be covered."
        yield Symptom(
            Trouble.POLICY, said, (), (), (govern(policy, paper={"kinds": (*policy.paper.kinds, Kind.FACT)}),)
        )
    for name, least in (("items", 2), ("chars", 1), ("item_chars", 1)):
        if getattr(policy.budgets, name) < least:
            said = f"The policy's budgets.{name} is {getattr(policy.budgets, name)}: no duty with its evidence fits."
            yield Symptom(
                Trouble.POLICY, said, (), (), (govern(policy, budgets={name: getattr(Policy().budgets, name)}),)
            )


def _waiting(desk: Desk) -> Iterator[Symptom]:
    """Events that wait for an overseer. Their texts are not shown: some may be private."""
    overseer = next(iter(desk.policy.evidence.overseers), OWNER)
    for event in waiting(desk.log):
        if isinstance(event.payload, Wait):
            said = f"An act of {one_line(event.by)} of {event.at:%Y-%m-%d %H:%M} UTC waits for an overseer."
            answers = (act("approve", event.name, by=overseer), act("decline", event.name, by=overseer))
            yield Symptom(Trouble.WAITING, said, (event.name,), (one_line(event.payload.limit),), answers)


def _passed_over(desk: Desk) -> Iterator[Symptom]:
    """Plans that later news passed over. Items for particular principals are not named."""
    for notice in notices(desk.log, desk.writer.author.name, desk.policy, desk.writer.now()):
        said = one_line(str(notice))
        yield Symptom(Trouble.DISPUTED, said, (notice.plan, notice.news), (), notice.remedies)


def _unswept(desk: Desk) -> Iterator[Symptom]:
    """Leases that ran out and no sweeper ended. Writes of such an agent are already refused."""
    log, moment = desk.log, desk.writer.now()
    over = [held.lease for event in log.leases() if (held := tenure_in(log, event)) and held.lease.until <= moment]
    for lease in over[:AGENTS]:
        who, when = lease.identity, f"{lease.until:%Y-%m-%d %H:%M} UTC"
        said = f"The lease of {one_line(who.principal)} on {one_line(who.task)} ran out at {when}, and no sweeper runs."
        yield Symptom(Trouble.UNSWEPT, said, (), (), (sweep(),))


def _agent(desk: Desk, identity: Identity) -> Diagnosis:
    log, now = desk.log, desk.writer.clock()
    absence = last_absence(log, identity)
    away = absence is not None and absence.end is None
    found: list[Symptom] = []
    departed = trial_departure(desk, identity)
    if away:
        # It comes back in no other role.
        identity = msgspec.structs.replace(identity, role=role_of(log, departed, identity))
        found += _long_away(departed, identity, now)
    elif absence is None:
        agent, task = one_line(identity.principal), one_line(identity.task)
        said = f"{agent} has never departed from {task}, so it cannot return to it."
        found.append(Symptom(Trouble.NOT_DEPARTED, said, (), (), (depart(identity),)))
    trial = rehearse(desk, departed, identity, purpose=None)
    more, left_out = symptoms(log, trial, departed)
    if not trial.decision.missing and any(note.state.owed for note in trial.decision.duties):
        more += tuple(unrequired(trial))
    says = f"{who(trial)}, {'away' if away else 'at work'}: if it returned now, it would be {outcome(trial)}"
    return Diagnosis(says, (*found, *more), left_out, None, identity)


def trial_departure(desk: Desk, identity: Identity) -> Checkpoint:
    """The departure that a return now would be from. Of an agent at work, one that is not written: it leaves now."""
    log = desk.log
    absence = last_absence(log, identity)
    if absence is not None and absence.end is None:
        return absence.departure.payload  # type: ignore[return-value]  # the kind of the event says which
    head, name = log.head, secrets.token_hex(8)
    return checkpoint(identity, log.seen(identity, until=head), id=name, epoch=head, at=desk.writer.clock())


def _long_away(departed: Checkpoint, identity: Identity, now: datetime) -> Iterator[Symptom]:
    if now - departed.at > LONG:
        days = (now - departed.at).days
        said = f"{one_line(identity.principal)} has been away from {one_line(identity.task)} for {days} days."
        yield Symptom(Trouble.LONG_AWAY, said, (departed.id,), (), (come_back(identity),))
