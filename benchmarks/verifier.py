"""What does judging a pair take besides the model? Building the request, reading the answer, finding its quotes."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from benchmarks.result import Result, at_most, best
from readmit import Answer, Pair, Verdict
from readmit.lab import PairCase, Verifier, digest
from readmit.models import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from readmit.models import Ask

PAIRS = 200
ITEM_QUOTE = "reviews every release on Thursday afternoon"
EVIDENCE_QUOTE = "from this week the office is closed on Thursdays"
_START = datetime(2025, 3, 1, 9, tzinfo=UTC)


class Instant:
    """Answers at once, so that the time left is ours."""

    name = "instant"

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        usage = Usage(stage="verify", input=900, output=90)
        judgment = {
            "statement": 1,
            "item_quote": ITEM_QUOTE,
            "evidence_quote": EVIDENCE_QUOTE,
            "premise": "The office is open on Thursdays.",
            "stale": 0.93,
        }
        said = {"judgments": [judgment]}
        return [Reply(text=json.dumps(said), usage=usage, model=self.name) for _ in asks]


def overhead(pairs: int = PAIRS, evidence_chars: int = 6_000) -> float:
    """Processor milliseconds per pair, its key in the verdict store included; the observation is a long session."""
    filler = "We spoke about the usual matters and nothing was decided about them. "
    session = (filler * (evidence_chars // len(filler) + 1))[: evidence_chars - 100]
    cases = [
        PairCase(
            pair=Pair(item=f"m{number}", evidence=digest(number)),
            item_text=f"Team {number} {ITEM_QUOTE}, with everyone present.",
            item_at=_START,
            evidence_text=f"{session}\nTeam {number}: {EVIDENCE_QUOTE}.",
            evidence_at=_START + timedelta(days=number),
        )
        for number in range(pairs)
    ]
    verifier = Verifier(model=Instant(), per_call=1, workspace="bench")

    def work() -> None:
        verdicts = verifier.verify(cases)
        assert all(isinstance(one, Verdict) and one.answer is Answer.INVALIDATES for one in verdicts)
        assert len({verifier.key(case) for case in cases}) == pairs

    return best(work, clock=time.process_time) * 1_000 / pairs


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    short, long = overhead(evidence_chars=600), overhead()
    step(1)
    return [
        at_most("verifier besides the model, short observation", short, 1, "ms/pair"),
        at_most("verifier besides the model, observation of 6,000 characters", long, 1, "ms/pair"),
    ]


if __name__ == "__main__":
    for result in run():
        print(result)
