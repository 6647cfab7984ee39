"""How long answers were before: from runs, and from batch directories with answers.

A run says by stage how long answers were on average. A batch directory holds the answers themselves: where a request of
the plan is one that was answered there, its answer is used as it is, with the tokens that were reported.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from readmit.errors import RecordError
from readmit.lab import read_answers, result_of
from readmit.models import Reply
from readmit_bench.results import RESULTS, read_results

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit.lab import Answers
    from readmit.models import Ask


RESPONSES = "responses*.jsonl"
"""Names of the files with answers in a batch directory."""


class _Body(msgspec.Struct):
    model: str = ""


@dataclass(frozen=True)
class _Batch:
    answers: Answers
    models: tuple[str, ...]


class Recorded:
    """Lengths of earlier answers."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.lengths: dict[str, float] = {}
        """Mean answer tokens of a stage, from runs."""
        self._batches: list[_Batch] = []
        totals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for folder in folders:
            if (folder / RESULTS).exists():
                for stage in (stage for result in read_results(folder) for stage in result.usage):
                    totals[stage.stage][0] += stage.calls + stage.replayed
                    totals[stage.stage][1] += stage.output
            elif list(folder.glob(RESPONSES)):
                self._batches.append(_batch(folder))
            else:
                raise RecordError(f"{folder}: holds neither {RESULTS} of a run nor {RESPONSES} of a batch directory")
        self.lengths |= {stage: output / calls for stage, (calls, output) in totals.items() if calls}

    def answer(self, ask: Ask) -> Reply | None:
        """The answer that was given to this very request, if one was."""
        if not self._batches:
            return None
        sent = _as_sent(ask)
        for batch in self._batches:
            for name in (name for model in batch.models for name in (sent.key(model), sent.digest(model))):
                entry = batch.answers.answer(name)
                if entry is not None and isinstance(found := result_of(ask, entry), Reply):
                    return found
        return None


def _batch(folder: Path) -> _Batch:
    answers = read_answers(folder.glob(RESPONSES))
    bodies = (entry.body for entries in answers.entries.values() for entry in entries if entry.body)
    return _Batch(answers, tuple(dict.fromkeys(msgspec.json.decode(body, type=_Body).model for body in bodies)))


def _as_sent(ask: Ask) -> Ask:
    """The request as a run's provider puts it to a batch directory."""
    from readmit_bench.provider import request_of
    from readmit_bench.roles import config_of, messages_of

    return request_of(messages_of(ask), config_of(ask))
