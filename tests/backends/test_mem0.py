from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from readmit import Workspace
from readmit.backends import Mem0
from readmit.errors import BackendError, ModelError, RecordError
from readmit.memory import Material, Memory, Precision
from readmit.models import Endpoint, Failure, Fault, FunctionEmbedder, Lexical, OpenAICompatible, Usage
from readmit.testing import BackendConformance
from tests.backends.openers import open_mem0
from tests.models.scripted import Scripted
from tests.models.stand_in import StandIn, completion, fails

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from readmit.models import Embedder, Model
    from readmit.testing.journey import Journey
    from tests.models.stand_in import Handler

installed = pytest.mark.skipif(
    find_spec("mem0") is None, reason="mem0ai is not installed; run: pip install 'readmit[mem0]'"
)


@installed
@pytest.mark.backends
class TestMem0(BackendConformance):
    opener = staticmethod(open_mem0)

    def plant(self, backend: Any, text: str, key: str) -> None:
        """Through mem0's own interface, with our metadata copied."""
        backend.native.add(
            text,
            user_id=backend.workspace,
            metadata={"readmit_source": key, "readmit_owner": ""},
            infer=False,
        )

    def tamper(self, backend: Any, record: str, text: str) -> None:
        backend.native.update(record, text=text)


def extracted(*texts: str) -> str:
    return json.dumps({"memory": [{"id": str(at), "text": text} for at, text in enumerate(texts)]})


@pytest.fixture
def opened(journey: Journey, tmp_path: Path) -> Iterator[Callable[..., Memory]]:
    memories: list[Memory] = []

    def make(model: Model | None = None, embedder: Embedder | None = None) -> Memory:
        store = Mem0.open(tmp_path / "mem0", journey.team.name, embedder=embedder or Lexical(), model=model)
        memories.append(Memory(journey.team, store))
        return memories[-1]

    yield make
    for memory in memories:
        memory.close()


@installed
@pytest.mark.backends
class TestInferred:
    def test_each_fact_is_bound_exactly_to_its_one_source(
        self, journey: Journey, opened: Callable[..., Memory]
    ) -> None:
        memory = opened(Scripted(extracted("The brindle museum opens early.", "Mornings are quiet there.")))
        formed = memory.observe(journey.evidence["valid"], by="scout")
        assert len(formed) == 2
        bound = {record.text: sources for record, sources in memory.records()}
        assert set(bound) == {"The brindle museum opens early.", "Mornings are quiet there."}
        for sources in bound.values():
            assert [(one.ref, one.precision) for one in sources] == [(journey.evidence["valid"], Precision.EXACT)]

    def test_the_model_sees_nothing_of_another_source(self, journey: Journey, opened: Callable[..., Memory]) -> None:
        """mem0 shows its model the session's last messages and nearest memories: here there must be none."""
        model = Scripted(extracted("A fact about zephrine money."), extracted("A fact about the brindle museum."))
        memory = opened(model)
        memory.observe(journey.evidence["unauthorized"], by="scout")
        memory.observe(journey.evidence["valid"], by="scout")
        assert "Zephrine" in model.asked[0].user
        assert "brindle" in model.asked[1].user
        assert "zephrine" not in model.asked[1].user.lower()
        assert {hit.text for hit in memory.backend.search("fact", limit=5)} == {
            "A fact about zephrine money.",
            "A fact about the brindle museum.",
        }, "and search still finds both"

    def test_a_model_behind_http_forms_memories(self, journey: Journey, opened: Callable[..., Memory]) -> None:
        def extracts(handler: Handler) -> None:
            said = handler.body["messages"][-1]["content"]
            fact = "Museum brindle: opens at nine" if "brindle" in said else "nothing"
            handler.send(200, completion(extracted(fact)))

        with StandIn(extracts) as server:
            model = OpenAICompatible("m", Endpoint(server.url, retries=0, deadline=10))
            try:
                memory = opened(model)
                memory.observe(journey.evidence["valid"], by="scout")
            finally:
                model.close()
        assert [record.text for record, _ in memory.records()] == ["Museum brindle: opens at nine"]
        assert server.bodies[0]["response_format"]["type"] == "json_schema"

    def test_nothing_to_extract_is_not_an_error(self, journey: Journey, opened: Callable[..., Memory]) -> None:
        assert opened(Scripted(extracted())).observe(journey.evidence["valid"], by="scout") == ()

    def test_a_merge_of_sources_needs_all_of_them(self, journey: Journey, opened: Callable[..., Memory]) -> None:
        memory = opened(Scripted(extracted("Museum and tram go together.")))
        memory.form("both", sources=[journey.items["valid"], journey.items["valid too"]], by="scout")
        journey.walker.depart()
        handle = memory.returned(journey.walker.come_back().expose())
        assert [hit.text for hit in handle.search("museum tram")] == ["Museum and tram go together."]
        journey.team.revoke(journey.items["valid too"], by="lead")
        assert handle.search("museum tram") == ()

    def test_a_move_asks_no_model(self, journey: Journey, opened: Callable[..., Memory], tmp_path: Path) -> None:
        model = Scripted(extracted("One fact about brindle."))
        first = opened(model)
        first.observe(journey.evidence["valid"], by="scout")
        archive = list(first.export())
        first.close()
        embedder = Counting()
        other = Memory(journey.team, Mem0.open(tmp_path / "other", journey.team.name, embedder=embedder, model=model))
        try:
            other.load(archive)
            assert len(model.asked) == 1
            assert embedder.texts == [], "vectors of the same embedder are taken over"
            assert [hit.text for hit in other.backend.search("brindle", limit=3)] == ["One fact about brindle."]
        finally:
            other.close()


@installed
@pytest.mark.backends
@pytest.mark.parametrize("few", [0, 500], ids=["sifted", "by id"])
def test_a_set_is_ranked_alone_as_mem0_ranks_it(
    journey: Journey, opened: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr("readmit.backends.adapters.mem0_parts._FEW", few)
    memory = opened()
    for number in range(30):
        memory.form(f"heron number {number}", sources=[journey.items["valid"]], by="scout", verbatim=True)
    ranked = memory.backend.search("heron number 7", limit=30)
    among = {hit.id for hit in ranked[1::3]}
    alone = memory.backend.search("heron number 7", limit=5, among=among)
    assert [(hit.id, hit.score) for hit in alone] == [(hit.id, hit.score) for hit in ranked if hit.id in among][:5]
    assert memory.backend.search("heron", limit=5, among={"00000000-0000-4000-8000-000000000000"}) == []
    assert len(memory.backend.search("heron", limit=30)) == 30, "and the next search is as before"


class Counting(Lexical):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.texts += texts
        return super().embed(texts)


def failing(fault: Fault) -> Failure:
    return Failure(fault=fault, message="it did not work", usage=Usage(stage="memory"))


@installed
@pytest.mark.backends
class TestFaults:
    @pytest.mark.parametrize(
        ("line", "message"),
        [
            (failing(Fault.TIMEOUT), "model: timeout: it did not work"),
            (failing(Fault.REFUSED), "model: refused"),
            ("I would rather not.", "not a list of memories"),
            ('{"memory": "all of it"}', "not a list of memories"),
        ],
    )
    def test_a_model_that_fails_forms_nothing_and_says_so(
        self, journey: Journey, opened: Callable[..., Memory], line: Any, message: str
    ) -> None:
        memory = opened(Scripted(line))
        with pytest.raises(BackendError, match=message):
            memory.observe(journey.evidence["valid"], by="scout")
        assert list(memory.records()) == []

    def test_a_server_that_is_down_is_named(self, journey: Journey, opened: Callable[..., Memory]) -> None:
        with StandIn(fails(500)) as server:
            gone = server.url
        model = OpenAICompatible("m", Endpoint(gone, retries=0, deadline=5))
        try:
            with pytest.raises(BackendError, match="model: unavailable"):
                opened(model).observe(journey.evidence["valid"], by="scout")
        finally:
            model.close()

    def test_without_a_model_only_verbatim_memories_are_formed(
        self, journey: Journey, opened: Callable[..., Memory]
    ) -> None:
        memory = opened()
        with pytest.raises(BackendError, match="model: inferred memories need one"):
            memory.observe(journey.evidence["valid"], by="scout")
        assert memory.observe(journey.evidence["valid"], by="scout", verbatim=True)

    def test_a_vector_that_mem0_would_do_without_is_reported(
        self, journey: Journey, opened: Callable[..., Memory]
    ) -> None:
        """mem0 logs a failed embedding and drops the memory."""

        def embed(texts: Sequence[str]) -> Any:
            if any("fact" in text for text in texts):
                raise ModelError("embedder: out of order")
            return np.ones((len(texts), 4))

        memory = opened(Scripted(extracted("a fact")), FunctionEmbedder("broken@1", 4, embed))
        with pytest.raises((BackendError, ModelError), match="out of order"):
            memory.observe(journey.evidence["valid"], by="scout")

    def test_an_embedder_of_another_size_is_refused(self, tmp_path: Path) -> None:
        Mem0.open(tmp_path / "m", "w", embedder=Lexical()).close()
        small = FunctionEmbedder("small@1", 8, lambda texts: np.ones((len(texts), 8)))
        with pytest.raises(BackendError, match=r"vectors of 8, collection 'memories' holds vectors of 2048"):
            Mem0.open(tmp_path / "m", "w", embedder=small)
        Mem0.open(tmp_path / "m", "w", embedder=Lexical()).close()

    def test_a_path_that_cannot_be_a_folder_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(BackendError, match=r"path: .*file cannot be used as a folder"):
            Mem0.open(tmp_path / "file", "w", embedder=Lexical())
        with pytest.raises(BackendError, match="path: name a folder"):
            Mem0.open("", "w", embedder=Lexical())

    # qdrant leaves its lock file open when it finds it locked.
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_a_folder_that_another_process_has_open_is_named(self, tmp_path: Path) -> None:
        script = (
            "import sys; from readmit.backends.adapters.mem0 import Mem0\n"
            "from readmit.models.embedders import Lexical\n"
            "store = Mem0.open(sys.argv[1], 'w', embedder=Lexical()); print('open', flush=True); sys.stdin.read()"
        )
        command = [sys.executable, "-c", script, str(tmp_path / "m")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "open\n"
            with pytest.raises(BackendError, match="open in another process"):
                Mem0.open(tmp_path / "m", "w", embedder=Lexical())
            other.communicate("")

    def test_a_closed_store_says_so(self, tmp_path: Path) -> None:
        store = Mem0.open(tmp_path / "m", "w", embedder=Lexical())
        store.close()
        with pytest.raises(BackendError, match="closed; open it again"):
            store.search("x", limit=1)

    def test_an_empty_query_is_named(self, opened: Callable[..., Memory]) -> None:
        with pytest.raises(RecordError, match="query"):
            opened().backend.search("  ", limit=1)

    def test_a_scope_without_ids_is_refused(self) -> None:
        with pytest.raises(BackendError, match="scope"):
            Mem0.over(object(), "w", scope={})

    def test_a_backend_of_another_workspace_is_refused(self, journey: Journey, tmp_path: Path) -> None:
        store = Mem0.open(tmp_path / "m", "someone-else", embedder=Lexical())
        try:
            with pytest.raises(BackendError, match="serves workspace 'someone-else'"):
                Memory(journey.team, store)
        finally:
            store.close()


@installed
@pytest.mark.backends
def test_nothing_is_written_to_the_home_directory_and_no_telemetry_is_on(tmp_path: Path) -> None:
    script = (
        "import sys; from readmit.backends.adapters.mem0 import Mem0\n"
        "from readmit.models.embedders import Lexical\n"
        "store = Mem0.open(sys.argv[1], 'w', embedder=Lexical()); store.close()\n"
        "from mem0.memory import telemetry; assert telemetry.MEM0_TELEMETRY is False"
    )
    home = tmp_path / "home"
    home.mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MEM0_")}
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "m")], check=True, env={**clean, "HOME": str(home)})
    assert list(home.iterdir()) == []


@installed
@pytest.mark.backends
def test_mem0_imported_with_telemetry_on_is_refused(tmp_path: Path) -> None:
    script = (
        "import sys, mem0; from readmit.backends.adapters.mem0 import Mem0\n"
        "from readmit.models.embedders import Lexical\n"
        "Mem0.open(sys.argv[1], 'w', embedder=Lexical())"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MEM0_")}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "m")],
        env={**clean, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "set MEM0_TELEMETRY=False" in done.stderr


def test_a_missing_package_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readmit.plugins.find_spec", lambda _: None)
    with pytest.raises(BackendError, match=r"mem0 is not installed; run: pip install 'readmit\[mem0\]'"):
        Mem0.open(tmp_path, "w", embedder=Lexical())


@installed
@pytest.mark.backends
def test_readmit_in_front_of_a_store_that_exists(tmp_path: Path) -> None:
    """Records from before have no source: adopting binds what is claimed, and shows what cannot be proved."""
    with Workspace.open(tmp_path / "team.db") as team:
        old = Mem0.open(tmp_path / "m", "alice", embedder=Lexical())
        kept, lost = (old.form(Material(text=text, key="-", verbatim=True))[0].record.id for text in ("kept", "lost"))
        seen = team.observe("We agreed on the kept plan.", by="lead")
        plan = team.record("The kept plan holds.", by="lead", sources=[seen])
        memory = Memory(team, Mem0.over(old.native, team.name, scope={"user_id": "alice"}))
        adoption = memory.adopt({kept: [plan]}, by="lead")
        assert (adoption.bound, adoption.unproven) == ((kept,), (lost,))
        assert memory.adopt({}, by="lead").altered == ()
        old.native.update(kept, text="kept, and changed natively")
        told = memory.adopt({}, by="lead")
        assert (told.altered, told.bound, told.gone) == ((kept,), (), ()), "it has a source, for another text"
        assert memory.adopt({kept: [plan]}, by="lead").altered == ()
        (binding,) = next(sources for record, sources in memory.records() if record.id == kept)
        assert binding.precision is Precision.CONSERVATIVE
        old.close()
