"""A return that failed before anything was judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.diagnosis.symptoms import Symptom, Trouble
from readmit.records.policy import OWNER
from readmit.records.reasons import Reason
from readmit.records.remedies import Remedy, come_back, depart, void
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.diagnosis.trial import Trial

ROTATE = Remedy("workspace.as_owner().admin.keys.rotate(lost=True)", "readmit keys rotate --lost")
_VERIFY = Remedy("audit(workspace.log)", "readmit audit verify")


def faults(trial: Trial) -> Iterator[Symptom]:
    """Symptoms of a failed return, each with its remedy before the next try."""
    for reason in trial.decision.faults:
        note = (one_line(trial.decision.note),) if trial.decision.note else ()
        yield Symptom(Trouble.FAULT, reason.doc, (reason,), note, tuple(_remedies(trial, reason)))


def _remedies(trial: Trial, reason: Reason) -> Iterator[Remedy]:
    who = trial.request.identity
    match reason:
        case Reason.LOG_ALTERED:
            yield _VERIFY
        case Reason.CHECKPOINT_ALTERED:
            # The store was changed: investigate first, then seal what the agent may build on again.
            yield _VERIFY
            yield depart(who)
        case Reason.CLOCK_SKEW if trial.request.jump is not None:
            yield void(trial.request.jump.epoch, by=next(iter(trial.request.policy.evidence.overseers), OWNER))
            yield come_back(who, purpose=trial.request.purpose)
        case Reason.SIGNER_FAILED:
            yield ROTATE
            yield come_back(who, purpose=trial.request.purpose)
        case Reason.INTERNAL_ERROR:
            again = come_back(who, purpose=trial.request.purpose)
            yield Remedy(again.call, f"{again.command} --debug")
        case _:
            yield come_back(who, purpose=trial.request.purpose)
