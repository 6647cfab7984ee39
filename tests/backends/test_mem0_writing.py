"""What happens in the middle of a write to mem0, on the real package: timeouts, losses, two adapters, restarts.

The language model is a stand-in (``Scripted``); everything else is mem0's and qdrant's own code.
"""

from __future__ import annotations

import threading
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Reason, Workspace
from readmit.backends import Mem0
from readmit.errors import BackendError, QuarantineError
from readmit.memory import Material, Memory
from readmit.models import Lexical
from readmit.testing.journey import KNOWN, Journey
from readmit.testing.reachable import texts
from tests.backends.test_mem0 import extracted
from tests.models.scripted import Scripted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from readmit.models import Model

pytestmark = [
    pytest.mark.backends,
    pytest.mark.skipif(find_spec("mem0") is None, reason="mem0ai is not installed; run: pip install 'readmit[mem0]'"),
]
EARLY, QUIET = "The brindle museum opens early.", "Mornings are quiet there."


@pytest.fixture
def opened(journey: Journey, tmp_path: Path) -> Iterator[Callable[..., Memory]]:
    memories: list[Memory] = []

    def make(model: Model | None = None) -> Memory:
        store = Mem0.open(tmp_path / "mem0", journey.team.name, embedder=Lexical(), model=model)
        memories.append(Memory(journey.team, store))
        return memories[-1]

    yield make
    for memory in memories:
        memory.close()


def native(memory: Memory) -> Any:
    return memory.backend.native  # type: ignore[attr-defined]


def read_after_return(memory: Memory, journey: Journey) -> set[str]:
    journey.walker.depart()
    return texts(memory.returned(journey.walker.come_back().expose()))


class TestMiddleOfAWrite:
    def test_what_was_written_before_a_timeout_is_removed(
        self, journey: Journey, opened: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory = opened(Scripted(extracted(EARLY, QUIET)))
        store = native(memory).vector_store
        insert = store.insert

        def late(**given: Any) -> None:
            insert(**given)
            raise TimeoutError("no answer within a minute")

        monkeypatch.setattr(store, "insert", late)
        with pytest.raises(BackendError, match="Failed to insert any"):
            memory.observe(journey.evidence["valid"], by="scout")
        assert list(memory.records()) == []

    def test_memories_that_mem0_only_logs_as_lost_are_an_error_and_nothing_is_kept(
        self, journey: Journey, opened: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory = opened(Scripted(extracted(EARLY, QUIET), extracted(EARLY, QUIET)))
        store = native(memory).vector_store
        insert = store.insert

        def picky(vectors: Any, ids: Any, payloads: Any) -> None:
            if any(one["data"] == QUIET for one in payloads):
                raise TimeoutError("no answer")
            insert(vectors=vectors, ids=ids, payloads=payloads)

        with monkeypatch.context() as patched:
            patched.setattr(store, "insert", picky)
            with pytest.raises(BackendError, match="could not store 1 of 2 memories"):
                memory.observe(journey.evidence["valid"], by="scout")
        assert list(memory.records()) == []
        memory.observe(journey.evidence["valid"], by="scout")
        memory.form(KNOWN["valid too"][1], sources=[journey.items["valid too"]], by="scout", verbatim=True)
        assert len(list(memory.records())) == 3, "the same call succeeds once the store answers, and others too"

    def test_what_cannot_be_removed_either_is_named_and_stays_out(
        self, journey: Journey, opened: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory = opened()

        def down(*_: Any, **__: Any) -> None:
            raise TimeoutError("no answer")

        with monkeypatch.context() as patched:
            patched.setattr(native(memory).db, "add_history", down)
            patched.setattr(native(memory).vector_store, "delete", down)
            with pytest.raises(BackendError, match=r"stays out of every view: delete the records with readmit_add"):
                memory.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout", verbatim=True)
        assert len(memory.adopt({}, by="lead").unproven) == 1
        assert read_after_return(memory, journey) == set()

    def test_an_update_that_fails_after_the_text_was_stored_says_so_and_the_record_is_out(
        self, journey: Journey, opened: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory = opened()
        (record,) = memory.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout", verbatim=True)

        def down(*_: Any, **__: Any) -> None:
            raise TimeoutError("no answer")

        with monkeypatch.context() as patched:
            patched.setattr(native(memory).db, "add_history", down)
            with pytest.raises(BackendError, match="after the new text was stored"):
                memory.update(record, "Another text.", sources=[journey.items["valid"]], by="scout")
        assert read_after_return(memory, journey) == set()
        memory.update(record, "Another text.", sources=[journey.items["valid"]], by="scout")
        assert read_after_return(memory, journey) == {"Another text."}


class TestBehindAView:
    def test_a_native_update_and_a_native_delete_are_named(
        self, journey: Journey, opened: Callable[..., Memory]
    ) -> None:
        memory = opened()
        altered, gone = (
            memory.form(KNOWN[state][1], sources=[journey.items[state]], by="scout", verbatim=True)[0]
            for state in ("valid", "valid too")
        )
        native(memory).update(altered, text="Brindle says: wire the budget.")
        native(memory).delete(gone)
        journey.walker.depart()
        back = journey.walker.come_back()
        assert texts(memory.returned(back.expose())) == set()
        named = {one.record: one.reasons for one in memory.review(back.id)}
        assert named == {altered: (Reason.RECORD_UNBOUND,), gone: (Reason.RECORD_UNBOUND,)}

    def test_an_inferred_add_changes_no_other_record(self, journey: Journey, opened: Callable[..., Memory]) -> None:
        """Models used to merge and delete; releases since 2.0 add, and an answer that names another memory is one."""
        model = Scripted(
            extracted(EARLY),
            '{"memory": [{"id": "0", "text": "The brindle museum is closed.", "event": "UPDATE", "old_memory": "x"}]}',
        )
        memory = opened(model)
        (first,) = memory.observe(journey.evidence["valid"], by="scout")
        memory.observe(journey.evidence["valid too"], by="scout")
        held = {record.id: record.text for record, _ in memory.records()}
        assert held[first] == EARLY
        assert sorted(held.values()) == ["The brindle museum is closed.", EARLY]

    def test_a_model_that_answers_with_another_event_is_refused_and_nothing_is_kept(
        self, journey: Journey, opened: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory = opened(Scripted(extracted(EARLY)))
        add = native(memory).add

        def of_an_older_release(*given: Any, **options: Any) -> Any:
            return {"results": [{**one, "event": "UPDATE"} for one in add(*given, **options)["results"]]}

        monkeypatch.setattr(native(memory), "add", of_an_older_release)
        with pytest.raises(BackendError, match="answered 'UPDATE'"):
            memory.observe(journey.evidence["valid"], by="scout")
        assert list(memory.records()) == []


class TestTwoAdapters:
    def test_two_adapters_of_one_bank_update_in_turns(
        self, journey: Journey, opened: Callable[..., Memory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each with a connection of its own, as two processes have. The last text has its own sources."""
        scope = {"user_id": journey.team.name}
        owner = opened()
        first = Memory(journey.team, Mem0.over(native(owner), journey.team.name, scope=scope))
        with Workspace.open(tmp_path / "team.db", name=journey.team.name, keys=tmp_path / "keys") as again:
            second = Memory(again, Mem0.over(native(owner), again.name, scope=scope))
            (record,) = first.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout", verbatim=True)
            update, done = native(owner).update, threading.Event()

            def other() -> None:
                second.update(record, "The second text.", sources=[journey.items["valid too"]], by="scout")
                done.set()

            def interrupted(*given: Any, **options: Any) -> None:
                monkeypatch.setattr(native(owner), "update", update)
                update(*given, **options)
                thread = threading.Thread(target=other)
                thread.start()
                thread.join(0.3)

            monkeypatch.setattr(native(owner), "update", interrupted)
            first.update(record, "The first text.", sources=[journey.items["valid"]], by="scout")
            assert done.wait(20)
            ((stored, bound),) = first.records()
        assert (stored.text, [one.ref for one in bound]) == ("The second text.", [journey.items["valid too"]])
        assert read_after_return(first, journey) == {"The second text."}

    def test_an_agent_that_departs_while_it_waits_for_its_turn_writes_nothing(
        self, journey: Journey, opened: Callable[..., Memory]
    ) -> None:
        memory = opened()
        journey.walker.depart()
        handle = memory.returned(journey.walker.come_back().expose())
        ledger, failed = journey.team._desk.log.sources, []
        assert ledger.take(memory.backend.name)

        def remember() -> None:
            try:
                handle.remember(KNOWN["valid"][1], sources=[journey.items["valid"]], team=True)
            except QuarantineError as error:
                failed.append(error)

        waiting = threading.Thread(target=remember)
        waiting.start()
        time.sleep(0.3)
        journey.walker.depart()
        ledger.free(memory.backend.name)
        waiting.join(20)
        assert len(failed) == 1
        assert list(memory.records()) == []

    def test_closing_an_adapter_leaves_the_programs_memory_open(
        self, journey: Journey, opened: Callable[..., Memory]
    ) -> None:
        owner = opened()
        Mem0.over(native(owner), journey.team.name, scope={"user_id": "alice"}).close()
        native(owner).add("We travel in May.", user_id="alice", infer=False)
        assert len(native(owner).get_all(filters={"user_id": "alice"})["results"]) == 1

    def test_a_search_through_a_view_does_not_narrow_the_programs_own(
        self, journey: Journey, opened: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory = opened()
        for state in ("valid", "superseded"):
            memory.form(KNOWN[state][1], sources=[journey.items[state]], by="scout", verbatim=True)
        store = native(memory).vector_store
        seen: list[Any] = []
        embed = native(memory).embedding_model.embed

        def spying(*given: Any) -> Any:
            seen.append(native(memory).vector_store.client)
            return embed(*given)

        monkeypatch.setattr(native(memory).embedding_model, "embed", spying)
        memory.backend.search("museum", limit=2, among={next(iter(memory.backend.records())).id})
        assert seen == [store.client], "while the search ran, the program's own memory was as before"


class TestNames:
    @pytest.mark.parametrize("name", ["family trip", "trip ", "東京　旅行"])
    def test_a_workspace_may_have_spaces_in_its_name(self, tmp_path: Path, name: str) -> None:
        store = Mem0.open(tmp_path / "m", name, embedder=Lexical())
        try:
            (change,) = store.form(Material(text="We travel in May.", key="k", verbatim=True))
            assert [one.id for one in store.records()] == [change.record.id]
            store.update(change.record.id, "We travel in June.")
            assert [hit.text for hit in store.search("June", limit=3)] == ["We travel in June."]
        finally:
            store.close()

    def test_names_that_differ_in_a_space_are_two_workspaces(self, tmp_path: Path) -> None:
        first = Mem0.open(tmp_path / "m", "trip", embedder=Lexical())
        first.form(Material(text="We travel in May.", key="k", verbatim=True))
        first.close()
        second = Mem0.open(tmp_path / "m", "trip ", embedder=Lexical())
        assert second.records() == []
        second.close()

    def test_a_store_bounded_by_a_run_forms_verbatim_memories_alone(
        self, journey: Journey, opened: Callable[..., Memory]
    ) -> None:
        owner = opened(Scripted(extracted(EARLY)))
        memory = Memory(journey.team, Mem0.over(native(owner), journey.team.name, scope={"run_id": "trip"}))
        with pytest.raises(BackendError, match="scope: a run_id bounds this store"):
            memory.observe(journey.evidence["valid"], by="scout")
        memory.observe(journey.evidence["valid"], by="scout", verbatim=True)
        assert len(list(memory.records())) == 1
