"""What must hold of every store in the paired study, on the smoke history. Subclassed per store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from readmit.errors import BackendError, PendingAnswers
from readmit.models import Failure, Fault, Lexical, Reply, Usage
from readmit_bench.checkpoints import checkpoint as checkpoint_of
from readmit_bench.datasets.memora_cases import read_memora
from readmit_bench.methods import admitted
from readmit_bench.methods.memory_stores import MemoryStoreMethod
from readmit_bench.methods.store_histories import Stores, turns_of
from readmit_bench.results import read_results
from readmit_bench.study_runs import RunOrder, run
from tests.bench.data import SMOKE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit.models import Ask
    from readmit_bench.episodes import Checkpoint
    from readmit_bench.methods.stores import Store

ENDED = "I also like to bake seed crackers for the crossing."
STANDING = "Please put this on my task list: Oil the lamp hinges."


class Noting:
    """A model that notes each turn in its own words, as Mem0 and A-MEM ask for it."""

    name = "noting"

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = sorted(texts, key=len)
        self.asked = 0
        self.fails = self.waits = False

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        self.asked += len(asks)
        if self.waits:
            raise PendingAnswers(1, "batch")
        if self.fails:
            return [Failure(fault=Fault.REFUSED, message="no", usage=Usage(stage=ask.stage)) for ask in asks]
        return [Reply(text=self._said(ask), usage=Usage(stage=ask.stage), model=self.name) for ask in asks]

    def _said(self, ask: Ask) -> str:
        if ask.prompt.startswith("mem0"):
            said = [text for text in self.texts if text in ask.user]
            return json.dumps({"memory": [{"id": "0", "text": f"Noted: {said[-1]}"}]})
        if "nearest neighbors" in ask.user:
            lists = ("actions", "suggested_connections", "tags_to_update", "new_context_neighborhood")
            return json.dumps({"should_evolve": False, **{key: [] for key in (*lists, "new_tags_neighborhood")}})
        return json.dumps({"keywords": ["keeper"], "context": "A lighthouse.", "tags": ["daily"]})


@pytest.fixture
def half_way() -> list[Checkpoint]:
    cases = read_memora(SMOKE / "memora").cases
    return [checkpoint_of(case.episode) for case in cases if case.labels.fraction == 0.5]


class StudyOfAStore:
    """Set ``store``."""

    store: ClassVar[Store]

    def pair(self, stores: Stores, model: Any = None) -> tuple[MemoryStoreMethod, MemoryStoreMethod]:
        return (
            MemoryStoreMethod(self.store, stores, admits=False, model=model),
            MemoryStoreMethod(self.store, stores, admits=True, model=model),
        )

    def test_a_run_compares_the_two_halves(self, tmp_path: Path) -> None:
        methods = (f"{self.store}/Static", f"{self.store}/readmit")
        outcome = run(RunOrder(study="backends", data=SMOKE / "memora", methods=methods, embedder="lexical"), tmp_path)
        assert (outcome.planned, outcome.done, outcome.failed) == (4, 4, 0)
        views = {(r.method, r.case): r.view for r in read_results(tmp_path) if r.view is not None}
        baking = "weekly/lighthouse_keeper/keeper_baking@0.5"
        assert ENDED in views[methods[0], baking].memories
        assert views[methods[1], baking].left_out["s5.t4"] == ("source_not_in_view", "superseded")
        assert all(ENDED not in view.memories for (method, _), view in views.items() if method == methods[1])
        assert any(STANDING in view.memories for (method, _), view in views.items() if method == methods[1])

    def test_a_history_is_in_the_store_once_for_all_questions_and_both_halves(self, half_way: list[Checkpoint]) -> None:
        with Stores(Lexical()) as stores:
            seen = []
            for checkpoint in half_way:
                for method in self.pair(stores):
                    admitted(method, checkpoint)
                with stores.absence(checkpoint) as absence:
                    kept, handle = absence.opened(self.store, None)
                    seen.append({record.id for record in kept.memory.backend.records()})
                    through = {hit.id for hit in handle.records()}
                    assert through | set(kept.reasons) == seen[-1]
                    assert not through & set(kept.reasons)
        assert len(seen[0]) == len(turns_of(half_way[0]))
        assert seen[0] == seen[1]

    def test_forming_by_inference_happens_once(self, half_way: list[Checkpoint]) -> None:
        model = Noting([row.text for row in turns_of(half_way[0])])
        with Stores(Lexical()) as stores:
            static, readmit = self.pair(stores, model)
            handed = [admitted(static, checkpoint, rewords=True) for checkpoint in half_way]
            asked = model.asked
            through = [admitted(readmit, checkpoint, rewords=True) for checkpoint in half_way]
            with stores.absence(half_way[0]) as absence:
                opened = [hit.text for hit in absence.opened(self.store, model)[1].records()]
        assert model.asked == asked
        assert any("seed crackers for the crossing" in text for view in handed for text in view.memories)
        assert any(view.memories for view in through)
        assert opened
        assert not any("seed crackers for the crossing" in text for text in opened)


class AskingOurModel(StudyOfAStore):
    """A store whose inference goes through the run's extractor."""

    @pytest.mark.parametrize("swallowed", ["fails", "waits"])
    def test_a_model_that_does_not_answer_stops_the_pair(self, swallowed: str, half_way: list[Checkpoint]) -> None:
        model = Noting([row.text for row in turns_of(half_way[0])])
        setattr(model, swallowed, True)
        expected = PendingAnswers if swallowed == "waits" else BackendError
        with Stores(Lexical()) as stores:
            for method in self.pair(stores, model):
                with pytest.raises(expected):
                    admitted(method, half_way[0])
            # A failure is the pair's; an answer that is still to come is asked for again.
            assert model.asked == (2 if swallowed == "waits" else 1)
