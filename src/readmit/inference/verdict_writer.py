"""Puts pairs to the verifier and writes the results to the log: verdicts as ``judge`` events, the rest as ``suspect``.

A verdict's id is made of model, prompt version, pair and texts within its workspace, so a repeated verdict is one
event, and every later return reads it instead of asking, for every agent and purpose.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from readmit.models.protocols import Failure
from readmit.models.stages.verify import PairCase, Verifier
from readmit.records.acts.event import EventKind, Suspect
from readmit.records.canonical import digest
from readmit.records.error_types import ConflictError
from readmit.records.identity import own_id
from readmit.records.policy import AUTHOR
from readmit.records.verdicts import Pair, Verdict
from readmit.workspace.workspace import as_readmit, desk_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from readmit.inference.baseline import Baseline
    from readmit.log.log import Log
    from readmit.workspace.workspace import Workspace


class JudgedPairs(msgspec.Struct, frozen=True):
    """The results for the pairs that were put to the verifier."""

    verdicts: tuple[Verdict, ...] = ()
    failed: tuple[tuple[Pair, Failure], ...] = ()


def case_of(baseline: Baseline, pair: Pair) -> PairCase:
    """A pair with its original texts and their times."""
    item = baseline.held[pair.item].item
    seen = baseline.observed[pair.evidence]
    own = baseline.own(pair.item)
    return PairCase(
        pair=pair,
        item_text=item.text,
        item_source=baseline.words(pair.item),
        item_at=max((one.at for one in own), default=None),
        evidence_text=baseline.shown(pair.evidence),
        evidence_at=seen.at,
        critical=baseline.is_critical(pair.item),
    )


def verdict_id(log: Log, verifier: Verifier, case: PairCase) -> str:
    """The id of a verifier's verdict on a pair."""
    return own_id(AUTHOR, log.keyed(verifier.key(case)))


def answered_pairs(log: Log, baseline: Baseline, verifier: Verifier) -> Mapping[str, frozenset[str]]:
    """Pairs that need no request: settled, or already answered by this verifier, also for a repetition of the item."""
    found = {
        item: frozenset(
            mark.payload.pair.evidence
            for mark in marks
            if isinstance(mark.payload, Verdict)
            and mark.payload.pair.evidence in baseline.observed
            and (
                baseline.settles(mark.payload)
                or mark.name == verdict_id(log, verifier, case_of(baseline, mark.payload.pair))
            )
        )
        for item, marks in baseline.marks.items()
    }
    repeated = baseline.repeated()
    return {
        item: own.union(*(found[one] for one in repeated.get(item, ()) if one in found)) for item, own in found.items()
    }


def judge_pairs(workspace: Workspace, baseline: Baseline, verifier: Verifier, pairs: Sequence[Pair]) -> JudgedPairs:
    """Ask about each pair once and write the answers in one commit.

    A missing answer leaves a suspicion: the item is out until it is settled.
    """
    cases = [case_of(baseline, pair) for pair in pairs]
    answers = verifier.verify(cases) if cases else []
    verdicts: list[Verdict] = []
    failed: list[tuple[Pair, Failure]] = []
    with workspace.batch():
        for case, said in zip(cases, answers, strict=True):
            if isinstance(said, Failure):
                failed.append((case.pair, said))
                suspect(workspace, [case.pair], f"unanswered:{said.fault}")
                continue
            verdicts.append(said)
            write_verdict(workspace, said, verdict_id(desk_of(workspace).log, verifier, case))
    return JudgedPairs(tuple(verdicts), tuple(failed))


def write_verdict(workspace: Workspace, verdict: Verdict, name: str) -> None:
    """Write a verdict, unless another process asked the same at the same time: its answer was first and counts."""
    with suppress(ConflictError):
        as_readmit(workspace).judge(verdict, id=name)


def suspect(workspace: Workspace, pairs: Iterable[Pair], signal: str) -> None:
    """Write suspicions. The same suspicion is one event, however often it is raised."""
    with workspace.batch():
        for pair in pairs:
            payload = Suspect(pair=pair, signal=signal)
            desk_of(as_readmit(workspace)).writer.write(EventKind.SUSPECT, payload, id=own_id(AUTHOR, digest(payload)))
