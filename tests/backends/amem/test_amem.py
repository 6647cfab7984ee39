from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from readmit.backends import AMem
from readmit.errors import BackendError, RecordError
from readmit.memory import Material, Memory
from readmit.models import Failure, Fault, FunctionEmbedder, Lexical, Reply, Usage
from readmit.testing.journey import KNOWN, Journey
from readmit.testing.reachable import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from readmit.models import Ask

pytestmark = [
    pytest.mark.backends,
    pytest.mark.skipif(
        find_spec("agentic_memory") is None, reason="a-mem is not installed; run: pip install 'readmit[amem]'"
    ),
]


class Gossip:
    """A model that writes what it has seen of the neighbors into everything it may write."""

    name = "gossip"

    def __init__(self) -> None:
        self.asks: list[Ask] = []

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        self.asks += asks
        return [Reply(text=self._answer(one.user), usage=Usage(stage="memory"), model=self.name) for one in asks]

    def _answer(self, prompt: str) -> str:
        if "nearest neighbors" not in prompt:
            return json.dumps({"keywords": ["journey"], "context": "Everything about a journey.", "tags": ["travel"]})
        seen = [word for word, _ in KNOWN.values() if word in prompt.lower()]
        context = " ".join(["Heard of", *seen])
        return json.dumps(
            {
                "should_evolve": True,
                "actions": ["strengthen", "update_neighbor"],
                "suggested_connections": [],
                "tags_to_update": seen,
                "new_context_neighborhood": [context] * 5,
                "new_tags_neighborhood": [seen] * 5,
            }
        )


class Silent:
    """A model that is down."""

    name = "silent"

    def __init__(self, answer: str | None = None) -> None:
        self._text = answer

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        usage = Usage(stage="memory")
        if self._text is not None:
            return [Reply(text=self._text, usage=usage, model=self.name) for _ in asks]
        return [Failure(fault=Fault.TIMEOUT, message="nobody there", usage=usage) for _ in asks]


@pytest.fixture
def opened(journey: Journey, tmp_path: Path) -> Iterator[Callable[..., Memory]]:
    memories: list[Memory] = []

    def make(**options: Any) -> Memory:
        store = AMem.open(tmp_path / "amem", journey.team.name, **({"embedder": Lexical()} | options))
        memories.append(Memory(journey.team, store))
        return memories[-1]

    yield make
    for memory in memories:
        memory.close()


class TestEvolution:
    def test_what_a_model_wrote_into_a_neighbor_is_not_handed_over(
        self, journey: Journey, opened: Callable[..., Memory]
    ) -> None:
        model = Gossip()
        memory = opened(model=model)
        for state in ("superseded", "valid", "valid too"):
            memory.form(KNOWN[state][1], sources=[journey.items[state]], by="scout")
        stored = memory.backend.native.retriever.collection.get()["metadatas"]  # type: ignore[attr-defined]
        evolved = [one for one in stored if "brindle" in one["content"] and "sunmere" in one["context"].lower()]
        assert evolved, "the neighbor's context must really mention the superseded note"
        journey.walker.depart()
        journey.change()
        handle = memory.returned(journey.walker.come_back().expose())
        assert "sunmere" not in " ".join(texts(handle)).lower()
        assert {hit.text for hit in handle.records()} == {KNOWN["valid"][1], KNOWN["valid too"][1]}
        assert {one.workspace for one in model.asks} == {"journey"}

    def test_one_source_per_note_is_exact_although_it_evolves(
        self, journey: Journey, opened: Callable[..., Memory]
    ) -> None:
        memory = opened(model=Gossip())
        for state in ("valid", "valid too"):
            memory.form(KNOWN[state][1], sources=[journey.items[state]], by="scout")
        assert {one.precision for _, sources in memory.records() for one in sources} == {"exact"}

    @pytest.mark.parametrize("answer", [None, "not json", "[]"])
    def test_a_note_that_the_model_failed_on_is_not_kept(
        self, journey: Journey, opened: Callable[..., Memory], answer: str | None, capsys: pytest.CaptureFixture[str]
    ) -> None:
        memory = opened(model=Silent(answer))
        with pytest.raises(BackendError, match=r"model: .*no memory was formed"):
            memory.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout")
        assert list(memory.backend.records()) == []

    def test_without_a_model_only_verbatim_notes(self, journey: Journey, opened: Callable[..., Memory]) -> None:
        memory = opened()
        with pytest.raises(BackendError, match="open AMem with model="):
            memory.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout")
        assert memory.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout", verbatim=True)


class TestContent:
    @pytest.mark.parametrize("text", ["42", "3.14", '["a", 1]', '{"a": 1}', "  spaces  ", "späte Züge 🚆", "[broken"])
    def test_a_content_comes_back_as_it_went_in(self, opened: Callable[..., Memory], text: str) -> None:
        backend = opened(model=Gossip()).backend
        for verbatim in (True, False):
            (change,) = backend.form(Material(text=text, key="k", verbatim=verbatim))
            assert [one.text for one in backend.records() if one.id == change.record.id] == [text]
        assert {hit.text for hit in backend.search(text, limit=5)} == {text}

    def test_a_changed_note_loses_what_was_made_of_it(self, opened: Callable[..., Memory]) -> None:
        backend = opened(model=Gossip()).backend
        (change,) = backend.form(Material(text=KNOWN["revoked"][1], key="k"))
        backend.update(change.record.id, "Another text.")
        stored = backend.native.retriever.collection.get()  # type: ignore[attr-defined]
        assert "quillon" not in str(stored).lower()

    def test_ranking_is_amems_own(self, opened: Callable[..., Memory]) -> None:
        backend = opened().backend
        for _, text in KNOWN.values():
            backend.form(Material(text=text, key="k", verbatim=True))
        native = backend.native.search("the museum opens", k=5)  # type: ignore[attr-defined]
        ours = backend.search("the museum opens", limit=5)
        assert [hit.id for hit in ours] == [one["id"] for one in native]
        assert [1 - hit.score for hit in ours] == pytest.approx([one["score"] for one in native])


class TestDeletedNatively:
    def test_missing_ids_are_dropped_and_reported(
        self, journey: Journey, opened: Callable[..., Memory], caplog: pytest.LogCaptureFixture
    ) -> None:
        memory = opened()
        made = {
            state: memory.form(KNOWN[state][1], sources=[journey.items[state]], by="scout", verbatim=True)[0]
            for state in ("valid", "valid too")
        }
        journey.walker.depart()
        handle = memory.returned(journey.walker.come_back().expose())
        memory.backend.native.delete(made["valid"])  # type: ignore[attr-defined]
        for _ in range(2):
            for query in (KNOWN["valid"][1], KNOWN["valid too"][1]):
                assert [hit.id for hit in handle.search(query)] == [made["valid too"]]
        (told,) = [one.getMessage() for one in caplog.records if "gone from A-MEM" in one.getMessage()]
        assert made["valid"] in told
        assert memory.adopt({}, by="lead").gone == (made["valid"],)
        assert memory.adopt({}, by="lead", gone=True).gone == (made["valid"],)
        assert memory.adopt({}, by="lead").gone == ()
        assert [hit.id for hit in handle.search(KNOWN["valid too"][1])] == [made["valid too"]]

    def test_a_store_from_which_all_that_a_view_admits_was_deleted_finds_nothing(
        self, journey: Journey, opened: Callable[..., Memory]
    ) -> None:
        memory = opened()
        (made,) = memory.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout", verbatim=True)
        memory.backend.form(Material(text="Nobody knows where this is from.", key="k", verbatim=True))
        journey.walker.depart()
        handle = memory.returned(journey.walker.come_back().expose())
        memory.backend.native.delete(made)  # type: ignore[attr-defined]
        assert handle.search(KNOWN["valid"][1]) == ()


class TestOver:
    def test_a_system_that_was_there_is_adopted(self, journey: Journey, opened: Callable[..., Memory]) -> None:
        system = opened(model=Gossip()).backend.native  # type: ignore[attr-defined]
        old = system.add_note(KNOWN["valid"][1])
        system.add_note(KNOWN["valid too"][1])
        memory = Memory(journey.team, AMem.over(system, journey.team.name))
        adoption = memory.adopt({old: [journey.items["valid"]]}, by="lead")
        assert len(adoption.unproven) == 1
        journey.walker.depart()
        handle = memory.returned(journey.walker.come_back().expose())
        assert texts(handle) == {KNOWN["valid"][1]}
        memory.close()
        assert system.retriever.count() == 2, "the caller that made the system closes it"

    def test_something_else_is_refused(self) -> None:
        with pytest.raises(BackendError, match="system"):
            AMem.over(object(), "journey")


class TestConfiguration:
    def test_a_missing_package_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "agentic_memory", None)
        with pytest.raises(BackendError, match=r"pip install 'readmit\[amem\]'"):
            AMem.open(tmp_path, "journey", embedder=Lexical())

    def test_another_embedder_is_refused(self, opened: Callable[..., Memory]) -> None:
        import numpy as np

        opened().close()
        other = FunctionEmbedder("other@1", 8, lambda given: np.ones((len(given), 8)))
        with pytest.raises(BackendError, match=r"embedder: .*lexical-hash@1"):
            opened(embedder=other)

    def test_a_folder_that_cannot_be_made_is_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.touch()
        for path in ("", file / "below"):
            with pytest.raises(BackendError, match="path"):
                AMem.open(path, "journey", embedder=Lexical())

    def test_an_embedder_that_fails_is_reported(self, journey: Journey, opened: Callable[..., Memory]) -> None:
        def broken(_: Any) -> Any:
            raise OSError("no such model")

        memory = opened(embedder=FunctionEmbedder("broken@1", 8, broken))
        with pytest.raises(BackendError, match="no such model"):
            memory.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout", verbatim=True)

    def test_a_closed_store_says_so(self, opened: Callable[..., Memory]) -> None:
        backend = opened().backend
        backend.close()
        with pytest.raises(BackendError, match="closed"):
            backend.search("x", limit=1)
        with pytest.raises(RecordError, match="limit"):
            backend.search("x", limit=0)


def test_nothing_outside_the_store_is_changed(opened: Callable[..., Memory]) -> None:
    import os

    before = dict(os.environ)
    opened()
    from agentic_memory import memory_system, retrievers

    assert memory_system.ChromaRetriever is retrievers.ChromaRetriever
    assert memory_system.LLMController.__module__ == "agentic_memory.llm_controller"
    assert {key: value for key, value in os.environ.items() if "LITELLM" in key} == {
        key: value for key, value in before.items() if "LITELLM" in key
    }
