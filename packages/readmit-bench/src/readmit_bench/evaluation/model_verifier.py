"""A model as a verifier of labelled pairs: the same requests and checks as in a return, and what they take."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from readmit import Pair
from readmit.lab import PairCase, Verifier, digest
from readmit.models import Failure, Metered, TokenLedger
from readmit_bench.evaluation.pairs import PairJudgment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit import Policy
    from readmit.models import Model
    from readmit_bench.evaluation.pairs import LabelledPair, PairVerifier


def model_verifier(model: Model, *, policy: Policy, pairs_per_call: int = 1, swap: bool = False) -> PairVerifier:
    """Judge as a return would. A score against an item whose quotes are not found is *unsure*, as it is there.

    With ``swap`` every pair is asked about in both orders, and disagreement is *unsure*.
    """

    def judge(cases: Sequence[LabelledPair]) -> list[PairJudgment | None]:
        ledger = TokenLedger()
        verifier = Verifier(
            model=Metered(model, ledger), per_call=pairs_per_call, swap=swap, suspect_at=policy.evidence.suspect_at
        )
        said = verifier.verify([_case(one, critical=swap) for one in cases])
        tokens = round(ledger.total().tokens / max(1, len(cases)))
        return [None if isinstance(one, Failure) else PairJudgment(verdict=one, tokens=tokens) for one in said]

    return judge


def _case(case: LabelledPair, *, critical: bool) -> PairCase:
    return PairCase(
        pair=Pair(item=digest(case.id), evidence=digest(case.new)),
        item_text=case.old,
        evidence_text=case.new,
        item_at=moment_of(case.old_at),
        evidence_at=moment_of(case.new_at),
        critical=critical,
    )


def moment_of(text: str) -> datetime | None:
    """A time, if the text is one; UTC where it names no zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
