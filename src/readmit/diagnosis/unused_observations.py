"""Observations without an item, or not examined for implicit changes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from readmit.diagnosis.like_names import quoted
from readmit.diagnosis.symptoms import MOST, Symptom, Trouble
from readmit.records.error_types import ModelError
from readmit.records.evidence import Evidence
from readmit.records.policy import AUTHOR
from readmit.records.reasons import Reason
from readmit.records.remedies import BLANK, Remedy, prepare, write
from readmit.state.examination import observations
from readmit.text.english import counted
from readmit.text.escapes import one_line
from readmit.text.nearness import near

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from readmit.diagnosis.trial import Trial
    from readmit.log.log import Log
    from readmit.models.embedders import TextVectors
    from readmit.records.acts.event import Checkpoint
    from readmit.records.items import Item

COMPARED = 200
"""Most observations, and most statements, that are compared with each other: the newest."""
ABOUT = 0.5
"""Least nearness at which an observation may be about a statement."""


class Loose(NamedTuple):
    """An observation that no visible item rests on, and the nearest statement that stands."""

    epoch: int
    digest: str
    payload: Evidence
    nearest: Item | None = None
    nearness: float = 0.0


def unrecorded(log: Log, trial: Trial, departed: Checkpoint, *, complete: bool) -> Iterator[Symptom]:
    """Observations that no visible item rests on, those nearest to a statement that stands first.

    If a return is complete, those of the absence that nobody examined either. Otherwise each may hold what is missing.
    """
    loose = _near_statements(trial, _loose(log, trial, departed, complete=complete))
    for number, one in enumerate(loose[:MOST], 1):
        more = len(loose) - MOST
        grounds = ["An observation alone is never handed over, and changes nothing; record what it says."]
        if one.nearest is not None:
            grounds.insert(0, f"The nearest statement that stands is {one.nearest.id} {quoted(one.nearest.text)}.")
        if number == MOST and more > 0:
            grounds.append(f"{counted(more, 'more observation')} {'has' if more == 1 else 'have'} none either.")
        yield Symptom(
            Trouble.UNRECORDED,
            f"No item rests on what {one_line(one.payload.by)} observed at epoch {one.epoch}: "
            f"{quoted(one.payload.text)}" + (", and nobody examined it." if complete else "."),
            (one.digest,),
            tuple(grounds),
            (_recording(trial, one),),
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
    where = "since the agent left" if done is None else f"since {one_line(done.verifier)} looked"
    yield Symptom(
        Trouble.NOT_EXAMINED if required else Trouble.UNEXAMINED,
        f"Nobody has looked for implicit changes in {counted(count, 'observation')} {where}"
        + (", and the policy requires it (examination)." if required else "."),
        (),
        (),
        (prepare(request.identity, purpose=request.purpose),),
    )


def _loose(log: Log, trial: Trial, departed: Checkpoint, *, complete: bool) -> list[Loose]:
    """The newest first."""
    request = trial.request
    since = departed.epoch if trial.items else 0
    if complete and request.examination is not None:
        since = max(since, request.examination.until)
    bound = {receipt.evidence for item in trial.items.values() for receipt in item.receipts}
    seen = observations(log, departed, request.identity, since=since, until=request.epoch, policy=trial.policy)
    return [
        Loose(epoch, event.digest, event.payload)
        for epoch, event in sorted(seen.items(), reverse=True)
        # What a look found is said beside the item whose source changed.
        if event.digest not in bound and event.by != AUTHOR and isinstance(event.payload, Evidence)
    ]


def _near_statements(trial: Trial, loose: Sequence[Loose]) -> list[Loose]:
    """The observations with the statement nearest to each, the nearest first, then the newest."""
    standing = {item.id: item for item in reversed(tuple(trial.standing()))}
    view = trial.decision.view
    handed = frozenset(() if view is None else (named.id for named in view.items))
    fit = {name: item for name, item in standing.items() if name in handed} or standing
    texts = {name: item.text for name, item in list(fit.items())[-COMPARED:]}
    ranked = _ranked({one.digest: one.payload.text for one in loose[:COMPARED]}, texts)
    found = []
    for one in loose:
        score, nearest = (ranked.get(one.digest) or [(0.0, "")])[0]
        found.append(one._replace(nearest=fit[nearest], nearness=score) if score >= ABOUT else one)
    return sorted(found, key=lambda one: -one.nearness)


def _ranked(observed: Mapping[str, str], statements: Mapping[str, str]) -> dict[str, list[tuple[float, str]]]:
    """For each observation, the statements nearest to it first: by vectors where the embedder is installed."""
    try:
        return near(observed, statements, _vectors())
    except ModelError:
        return near(observed, statements, None)


@cache
def _vectors() -> TextVectors:
    from readmit.models.embedders import TextVectors, open_embedder

    return TextVectors(open_embedder())


def _recording(trial: Trial, one: Loose) -> Remedy:
    """The remedy: record the observation's statement for the unmet need, or in the slot of the nearest statement."""
    missing = trial.decision.missing
    need = missing[0] if len(missing) == 1 else BLANK
    slot = need if trial.slots.issuperset(missing) else None
    if not missing:
        slot = BLANK if one.nearest is None else one.nearest.slot
    return write(
        "record",
        by=trial.writer(one.payload.by),
        slot=slot,
        supports=[need] if missing and slot is None else None,
        sources=[one.digest],
        task=one.payload.scope.task,
    )
