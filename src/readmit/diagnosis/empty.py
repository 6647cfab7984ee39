"""A return without any owed duty: none is visible, or none is the agent's now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.diagnosis.fixes import reopened
from readmit.diagnosis.like_names import quoted, state_word
from readmit.diagnosis.symptoms import MOST, Symptom, Trouble
from readmit.records.items import Obligation
from readmit.records.reasons import DutyState, Reason
from readmit.records.remedies import BLANK, Remedy, come_back, confirm, govern, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.diagnosis.trial import Trial
    from readmit.records.decisions import DutyNote

_TROUBLES = {
    DutyState.OTHER_PURPOSE: Trouble.OTHER_PURPOSE,
    DutyState.NOT_IMPOSED: Trouble.WRITER,
    DutyState.NOT_BEGUN: Trouble.TIME,
    DutyState.OTHER_TASK: Trouble.OUT_OF_SIGHT,
    DutyState.OTHERS: Trouble.OUT_OF_SIGHT,
}


def nothing_owed(trial: Trial) -> Iterator[Symptom]:
    """The symptom of a return without duties, with its cause and consequence."""
    if any(note.state.owed for note in trial.decision.duties):
        return
    who = trial.request.identity
    if not trial.items:
        yield Symptom(
            Trouble.NOTHING_IN_SIGHT,
            f"{quoted(who.principal)} can see no item as {quoted(who.role)} on {quoted(who.task)}.",
            (),
            ("Nothing has been recorded for it yet, or what was recorded is for others.",),
            (write("record", by=trial.writer(), slot=BLANK, sources=[BLANK], task=who.task),),
        )
    duties = trial.decision.duties
    near = [symptom for note in duties for symptom in _not_owed(trial, note)]
    over = [f"{one.obligation} is {state_word(one.state)}." for one in duties if one.state not in _TROUBLES]
    yield Symptom(
        Trouble.NOTHING_OWED,
        "No visible duty is the agent's, so no item is needed.",
        tuple(one.obligation for one in duties),
        tuple(over) or ("Without a duty, what stands is handed over within the budget, and nothing can be missing.",),
        () if near else (_duty(trial),),
    )
    yield from near
    fill = trial.policy.returns.fill
    if fill in ("never", "block") and trial.items:
        handed = "an empty view" if fill == "never" else "nothing at all"
        yield Symptom(
            Trouble.POLICY,
            f"Where nothing is owed, the policy hands over {handed} (returns.fill = {fill}).",
            (),
            ("With nothing_owed, it hands over what stands, the newest first.",),
            (govern(trial.policy, returns={"fill": "nothing_owed"}),),
        )


def _not_owed(trial: Trial, note: DutyNote) -> Iterator[Symptom]:
    name = note.obligation
    duty = trial.items[name]
    if note.state in _TROUBLES and isinstance(duty, Obligation):
        drafted = note.state is DutyState.NOT_IMPOSED and duty.drafted is not None
        yield Symptom(
            Trouble.DRAFTED if drafted else _TROUBLES[note.state],
            f"The duty {name} {quoted(duty.text)} is not owed: {note.state.doc}",
            (name,),
            (*trial.why(name), *_begins(duty, note.state)),
            tuple(_owing(trial, duty, note.state)),
        )


def _owing(trial: Trial, duty: Obligation, state: DutyState) -> Iterator[Remedy]:
    who = trial.request.identity
    match state:
        case DutyState.NOT_IMPOSED if Reason.DRAFT_UNCONFIRMED in trial.judged[duty.id].reasons:
            yield confirm(duty.id, trial.other_writer(duty.by))
        case DutyState.NOT_IMPOSED | DutyState.OTHER_TASK:
            yield next(reopened(trial, duty))
        case DutyState.OTHER_PURPOSE:
            yield come_back(who, purpose=duty.purposes[0])


def _begins(duty: Obligation, state: DutyState) -> Iterator[str]:
    if state is DutyState.NOT_BEGUN and duty.valid.start is not None:
        yield f"It begins at {duty.valid.start.isoformat()}."


def _duty(trial: Trial) -> Remedy:
    """The remedy: a duty that requires the standing items."""
    names: dict[str, None] = {}
    for item in trial.standing():
        names |= dict.fromkeys(item.supports or ((item.slot,) if item.slot else ()))
    required = list(names)[:MOST] or [BLANK]
    return write("oblige", required=required, by=trial.writer(), task=trial.request.identity.task)
