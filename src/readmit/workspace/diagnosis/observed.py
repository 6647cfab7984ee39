"""Observations without an item, or not examined for implicit changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.evidence import Evidence
from readmit.records.policy import AUTHOR
from readmit.records.reasons import Reason
from readmit.records.wording import counted
from readmit.workspace.diagnosis.names import printed, quoted
from readmit.workspace.diagnosis.symptoms import Symptom, Trouble
from readmit.workspace.examining import observations
from readmit.workspace.remedies import BLANK, prepare, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.ports.store import Log
    from readmit.records.events import Checkpoint
    from readmit.workspace.trial import Trial

MOST = 3
"""Most observations quoted."""


def unrecorded(log: Log, trial: Trial, departed: Checkpoint) -> Iterator[Symptom]:
    """The newest observations since departure that no visible item is bound to."""
    since = departed.epoch if trial.items else 0
    who, until = trial.request.identity, trial.request.epoch
    bound = {receipt.evidence for item in trial.items.values() for receipt in item.receipts}
    seen = observations(log, departed, who, since=since, until=until, policy=trial.policy)
    # What a look found is said beside the item whose source changed.
    loose = [
        event for _, event in sorted(seen.items(), reverse=True) if event.digest not in bound and event.by != AUTHOR
    ]
    missing = trial.decision.missing
    need = missing[0] if len(missing) == 1 else BLANK
    for number, event in enumerate(loose[:MOST], 1):
        if not isinstance(event.payload, Evidence):
            continue
        more = len(loose) - MOST
        others = (
            (f"{counted(more, 'more observation')} {'has' if more == 1 else 'have'} none either.",)
            if number == MOST and more > 0
            else ()
        )
        slot = need in trial.slots
        yield Symptom(
            Trouble.UNRECORDED,
            f"No item rests on what {printed(event.by)} observed at epoch {event.epoch}: {quoted(event.payload.text)}.",
            (event.digest,),
            ("An observation alone is never handed over; record what it says.", *others),
            (
                write(
                    "record",
                    by=trial.writer(event.by),
                    slot=need if slot else None,
                    supports=[need] if missing and not slot else None,
                    sources=[event.digest],
                    task=event.payload.scope.task,
                ),
            ),
        )


def unexamined(log: Log, trial: Trial, departed: Checkpoint) -> Iterator[Symptom]:
    """Whether an examination for implicit changes is still due."""
    request = trial.request
    done = request.examination
    seen = observations(log, departed, request.identity, since=departed.epoch, until=request.epoch, policy=trial.policy)
    count = len(seen) if done is None else done.unexamined
    required = Reason.NOT_EXAMINED in trial.decision.reasons
    if not count and not required:
        return
    where = "since the agent left" if done is None else f"since {printed(done.verifier)} looked"
    yield Symptom(
        Trouble.NOT_EXAMINED if required else Trouble.UNEXAMINED,
        f"Nobody has looked for implicit changes in {counted(count, 'observation')} {where}"
        + (", and the policy requires it (examination)." if required else "."),
        (),
        (),
        (prepare(request.identity, purpose=request.purpose),),
    )
