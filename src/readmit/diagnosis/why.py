"""Explains the outcome of a return: unmet needs, near misses, later events, and remedies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.diagnosis.empty import nothing_owed
from readmit.diagnosis.faults import ROTATE, faults
from readmit.diagnosis.lacks import for_everybody, lacked, lacks, unrequired
from readmit.diagnosis.like_slots import same_slots
from readmit.diagnosis.missing_needs import past_lacks
from readmit.diagnosis.rejected import unexpected
from readmit.diagnosis.sight import agent_spelling, duties_of_others, elsewhere, out_of_sight
from readmit.diagnosis.symptoms import Diagnosis, Symptom, Trouble
from readmit.diagnosis.trial import Trial, past, rehearse
from readmit.diagnosis.unused_observations import unexamined, unrecorded
from readmit.records.error_types import ReadmitError
from readmit.records.remedies import come_back
from readmit.state.absence import last_absence
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.log.log import Log
    from readmit.records.acts.event import Checkpoint
    from readmit.returning.desk import Desk


def why(desk: Desk, return_id: str) -> Diagnosis:
    """Explain the outcome of a past return. Remedies are as of now, not as of the return."""
    then = past(desk.log, return_id)
    says = f"Return {return_id} of {who(then)} was {outcome(then)}"
    found, left_out = _since_then(desk, then)
    return Diagnosis(says, found, left_out, return_id, then.request.identity, past_lacks(then))


def _since_then(desk: Desk, then: Trial) -> tuple[tuple[Symptom, ...], tuple[str, ...]]:
    """The symptoms that are left of a past return, and the parts that were not checked."""
    log, asked = desk.log, then.request
    if not complete(then) and (since := _since(log, then)) is not None:
        return (since, *lacked(then)), ()
    failed = (*unsigned(desk), *faults(then))
    departed = log.departure(asked.checkpoint)
    now = rehearse(desk, departed, asked.identity, purpose=asked.purpose)
    if not complete(then) and complete(now) and not failed:
        mended = Symptom(
            Trouble.MENDED,
            "What was lacking has been met since: the same return would be admitted now.",
            (),
            (),
            (come_back(asked.identity, purpose=asked.purpose),),
        )
        return (mended, *lacked(then)), ()
    found, left_out = symptoms(log, now, departed)
    # What failed then may fail now as well.
    known = {one.says for one in failed}
    fresh = (one for one in found if one.says not in known)
    return (*failed, *_met_since(then, now), *fresh), left_out


def symptoms(log: Log, trial: Trial, departed: Checkpoint) -> tuple[tuple[Symptom, ...], tuple[str, ...]]:
    """The symptoms of a return, the most useful first, and the parts that were not checked."""
    if trial.decision.faults:
        return tuple(faults(trial)), ()
    others = None
    owes = any(note.state.owed for note in trial.decision.duties)
    examining = tuple(unexamined(log, trial, departed))
    found = [one for one in examining if one.trouble is Trouble.NOT_EXAMINED]
    found += lacks(log, trial)
    if trial.decision.missing or not owes:
        others = elsewhere(log, trial.request.identity, until=trial.request.epoch)
        found += agent_spelling(trial, others)
        found += out_of_sight(log, trial, others)
        found += unrequired(trial) if trial.decision.missing else ()
        found += for_everybody(trial)
        if not owes:
            found += nothing_owed(trial)
            found += duties_of_others(log, trial, others)
        found += unrecorded(log, trial, departed, complete=False)
    else:
        found += unrecorded(log, trial, departed, complete=True)
    if complete(trial) or not owes:
        found += unexpected(log, trial, frozenset(name for one in found for name in one.about))
    found += same_slots(trial)
    found += examining
    return tuple(dict.fromkeys(found)), () if others is None else others.left_out


def complete(trial: Trial) -> bool:
    """Whether a return was, or would be, admitted in full."""
    decision = trial.decision
    return decision.admitted and not decision.missing and not (decision.view is not None and decision.view.partial)


def who(trial: Trial) -> str:
    """The agent in words."""
    one = trial.request.identity
    return f"{one_line(one.principal)} ({one_line(one.role)}, {one_line(one.task)})"


def outcome(trial: Trial) -> str:
    """The outcome of a return, in words."""
    decision = trial.decision
    if not decision.admitted:
        return " ".join((f"{decision.kind}.", *(reason.doc for reason in decision.reasons)))
    if decision.view is not None and decision.view.partial:
        return f"admitted in part: {', '.join(decision.view.withheld)} left out."
    if decision.missing:
        return f"admitted, and the policy lets it lack {', '.join(decision.missing)}."
    if decision.view is not None and not decision.view.items:
        return "admitted with an empty view."
    return "admitted: nothing is missing." if decision.report.obligations else "admitted, and nothing is owed."


def unsigned(desk: Desk) -> Iterator[Symptom]:
    """Whether there is a key to sign views with."""
    try:
        desk.keys.signer()
    except (ReadmitError, OSError) as error:
        said = "The workspace cannot sign, so no view can be handed over."
        yield Symptom(Trouble.NO_KEY, said, (), (one_line(str(error)),), (ROTATE,))


def _since(log: Log, then: Trial) -> Symptom | None:
    """The later return by which the agent came back."""
    absence = last_absence(log, then.request.identity)
    end = None if absence is None else absence.end
    if end is None or end.epoch <= then.request.epoch or end.name == then.request.return_id:
        return None
    said = f"The agent has come back since, by return {end.name}. Nothing is left to fix here."
    return Symptom(Trouble.BACK, said, (end.name,))


def _met_since(then: Trial, now: Trial) -> Iterator[Symptom]:
    met = tuple(name for name in then.decision.missing if name not in now.decision.missing)
    if met:
        yield Symptom(Trouble.MENDED, f"Since the return, {', '.join(met)} has been met; more is lacking.", met)
