"""Symptoms of unexpectedly rejected items: reasons and remedies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.diagnosis.fixes import mended
from readmit.diagnosis.like_names import quoted, state_word
from readmit.diagnosis.symptoms import MOST, Symptom, Trouble
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.reasons import Reason
from readmit.records.verdicts import Verdict
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.diagnosis.trial import Trial
    from readmit.log.log import Log
    from readmit.records.decisions import Disposition

# The first match names the problem: fixes by a single act come before those that need evidence.
_TROUBLES = {
    Reason.DRAFT_UNCONFIRMED: Trouble.DRAFTED,
    Reason.DRAFT_REFUSED: Trouble.DRAFTED,
    Reason.WRITER_NOT_ALLOWED: Trouble.WRITER,
    Reason.WRITER_NOT_SIGNED: Trouble.WRITER,
    Reason.UNPROVEN: Trouble.UNSOURCED,
    Reason.EVIDENCE_MISSING: Trouble.UNSOURCED,
    Reason.DISPUTED: Trouble.DISPUTED,
    Reason.CONCURRENT_UPDATE: Trouble.DISPUTED,
    Reason.SLOT_CONTESTED: Trouble.DISPUTED,
    Reason.SUSPECTED: Trouble.SUSPECTED,
    Reason.SOURCE_CHANGED: Trouble.SOURCE,
    Reason.SOURCE_UNCONFIRMED: Trouble.SOURCE,
    Reason.SOURCE_UNSEEN: Trouble.SOURCE,
    Reason.OTHER_PURPOSE: Trouble.OTHER_PURPOSE,
    Reason.KIND_NOT_ADMITTED: Trouble.POLICY,
    Reason.TOO_LARGE: Trouble.POLICY,
    Reason.OTHER_TASK: Trouble.OUT_OF_SIGHT,
    Reason.PRINCIPAL_OUT_OF_SCOPE: Trouble.OUT_OF_SIGHT,
    Reason.OUT_OF_SCOPE: Trouble.OUT_OF_SIGHT,
    Reason.NOT_YET_VALID: Trouble.TIME,
    Reason.EXPIRED: Trouble.TIME,
}
# Normal ends of items; reported only if something is missing because of them.
_USUAL = frozenset({Trouble.TAKEN_OUT, Trouble.TIME, Trouble.OUT_OF_SIGHT})
# Deliberate decisions; reported only if nothing is handed over.
_MEANT = frozenset({Reason.OTHER_PURPOSE, Reason.KIND_NOT_ADMITTED})
_ORDER = tuple(Trouble)


def trouble_of(one: Disposition) -> Trouble:
    """The kind of problem that keeps an item out."""
    return next((trouble for reason, trouble in _TROUBLES.items() if reason in one.reasons), Trouble.TAKEN_OUT)


def supplier(log: Log, trial: Trial, item: Item, need: str) -> Symptom:
    """The symptom of a rejected item that would meet an unmet need."""
    one = trial.judged[item.id]
    trouble = trouble_of(one)
    remedies = mended(trial, item, need=need)
    if trouble in {Trouble.TAKEN_OUT, Trouble.TIME} and trial.overseer is None:
        remedies = ()
    return Symptom(
        trouble,
        f"{item.id} {quoted(item.text)} supplies {need}, but it is {state_word(one.state)}.",
        (item.id, need),
        (*trial.why(item.id), *_quotes(log, one), *_waiting(trial, item, one)),
        remedies,
    )


def unexpected(log: Log, trial: Trial, known: frozenset[str]) -> Iterator[Symptom]:
    """Items that are out for a fixable reason, the newest of each kind first."""
    found: dict[Trouble, list[Item]] = {}
    view = trial.decision.view
    meant = _MEANT if view is not None and view.items else frozenset()
    for item in reversed(tuple(trial.items.values())):
        if isinstance(item, Obligation | Frontier) or item.id in known or trial.fit(item.id):
            continue
        trouble = trouble_of(trial.judged[item.id])
        if trouble not in _USUAL and not meant.issuperset(trial.judged[item.id].reasons):
            found.setdefault(trouble, []).append(item)
    for trouble in sorted(found, key=_ORDER.index):
        for item in found[trouble][:MOST]:
            one = trial.judged[item.id]
            more = len(found[trouble]) - MOST
            others = (f"{more} more like it.",) if item is found[trouble][:MOST][-1] and more > 0 else ()
            yield Symptom(
                trouble,
                f"{item.id} {quoted(item.text)} is left out: {state_word(one.state)}.",
                (item.id,),
                (*trial.why(item.id), *_quotes(log, one), *others),
                mended(trial, item),
            )


def _quotes(log: Log, one: Disposition) -> Iterator[str]:
    """Both quotes of the verdicts that took an item out."""
    for cause in one.causes:
        if cause.reason in {Reason.PREMISE_CHANGED, Reason.SUSPECTED} and cause.epoch is not None:
            said = log.event(cause.epoch).payload
            if isinstance(said, Verdict) and said.item_quote:
                yield f"{quoted(said.item_quote)} against {quoted(said.evidence_quote)}."


def _waiting(trial: Trial, item: Item, one: Disposition) -> Iterator[str]:
    if Reason.NOT_YET_VALID in one.reasons and item.valid.start is not None:
        yield f"It begins at {item.valid.start.isoformat()}; return after that."
    if trouble_of(one) is Trouble.TAKEN_OUT and trial.overseer is None:
        yield f"The policy names no overseer besides {one_line(trial.reader)} who could restore it."
