"""The paper's implicit invalidation: pairs of observations, looked at before any question is known.

Paper, "From a possible dependency to a confirmed invalidation": in the STALE adapter scanning and verification "precede
the downstream questions and use only the supplied observation pairs". An observation is what was said in one session.
Every session before the departure is a target, scanned against the sessions of the absence, one target beside at most
four of them in a request (settings can widen that). A verifier judges one proposed pair per request. A confirmed
invalidation marks the older observation as superseded, and with it everything that was drawn from it; what was not
confirmed remains a possible dependency and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from readmit.bench.methods.state import session_of, sessions
from readmit.models.fence import MAX_CHARS
from readmit.models.stages import scan
from readmit.models.stages.scan_many import scan_many
from readmit.ports.models import Failure
from readmit.records.quotes import quoted
from readmit.records.verdicts import Pair, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit.bench.episodes import Checkpoint, Finding
    from readmit.bench.methods.proposing import Judged
    from readmit.bench.methods.state import Statement
    from readmit.ports.models import Model


@dataclass(frozen=True)
class Looking:
    """How the scan looks: how many targets and later observations share a request, and its budgets."""

    targets: int = 1
    observations: int = scan.PER_CALL
    max_tokens: int = scan.MAX_TOKENS
    max_chars: int = MAX_CHARS


def earlier_sessions(checkpoint: Checkpoint) -> dict[str, str]:
    """What was said in each session up to the departure."""
    return sessions(row for row in checkpoint.heard if row.departure)


def scanned(
    model: Model, earlier: Mapping[str, str], later: Mapping[str, str], how: Looking
) -> dict[Pair, tuple[str, ...]]:
    """The proposed pairs. A look that failed proposes all its pairs: a scan may cost, never hide."""
    names, targets = list(later), list(earlier)
    parts = [
        tuple(scan.Later(evidence=name, text=later[name]) for name in names[start : start + how.observations])
        for start in range(0, len(names), how.observations)
    ]
    groups = [
        [scan.Look(item=name, text=earlier[name], later=part) for name in targets[start : start + how.targets]]
        for start in range(0, len(targets), how.targets)
        for part in parts
    ]
    pairs: dict[Pair, tuple[str, ...]] = {}
    for group, results in zip(groups, _looked(model, groups, how), strict=True):
        for look, result in zip(group, results, strict=True):
            if isinstance(result, Failure):
                pairs |= {Pair(item=look.item, evidence=one.evidence): ("scan failed",) for one in look.later}
            else:
                pairs |= dict.fromkeys(result, ("scan",))
    return pairs


def _looked(
    model: Model, groups: Sequence[Sequence[scan.Look]], how: Looking
) -> Sequence[Sequence[tuple[Pair, ...] | Failure]]:
    if how.targets == 1 and how.observations <= scan.PER_CALL:
        looks = [look for (look,) in groups]
        return [[one] for one in scan.scan(model, looks, max_tokens=how.max_tokens, max_chars=how.max_chars)]
    return scan_many(model, groups, max_tokens=how.max_tokens, max_chars=how.max_chars)


def superseded(statements: Sequence[Statement], judged: Sequence[Judged]) -> list[Judged]:
    """Each confirmed invalidation of an observation, as one of every statement that was drawn from it."""
    found = []
    for one in judged:
        if isinstance(one.verdict, Verdict) and one.confirmed:
            for statement in statements:
                if session_of(statement.row) == one.pair.item:
                    pair = Pair(item=statement.id, evidence=one.pair.evidence)
                    verdict = msgspec.structs.replace(one.verdict, pair=pair)
                    found.append(replace(one, pair=pair, verdict=verdict))
    return found


def findings(checkpoint: Checkpoint, judged: Sequence[Judged]) -> tuple[Finding, ...]:
    """For the report: an observation is named by its turn that holds the quoted words, or by its first."""
    told = []
    for one in judged:
        finding = one.finding()
        turns = [row for row in checkpoint.heard if session_of(row) == one.pair.item]
        words = finding.row_quote
        turn = next((row for row in turns if words and quoted(words, row.text)), turns[0])
        told.append(msgspec.structs.replace(finding, row=turn.id))
    return tuple(told)
