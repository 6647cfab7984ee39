"""What A-MEM loses while it writes, on the real package: neighbors, former texts, half-written notes, other processes.

The language model is a stand-in (``Gossip``), and everything else is A-MEM's and Chroma's own code.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from readmit.backends import AMem
from readmit.errors import BackendError
from readmit.memory import Memory
from readmit.models import FunctionEmbedder, Lexical
from readmit.testing.journey import KNOWN, Journey
from readmit.testing.reachable import texts
from tests.backends.amem.test_amem import Gossip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

pytestmark = [
    pytest.mark.backends,
    pytest.mark.skipif(
        find_spec("agentic_memory") is None, reason="a-mem is not installed; run: pip install 'readmit[amem]'"
    ),
]
LISTED = '["brindle museum", 9]'
"""A-MEM reads a content of this form as a list, deletes the note, and cannot add it again."""


@pytest.fixture
def opened(journey: Journey, tmp_path: Path) -> Iterator[Callable[..., Memory]]:
    memories: list[Memory] = []

    def make(**options: Any) -> Memory:
        parts: dict[str, Any] = {"embedder": Lexical(), "model": Gossip()}
        store = AMem.open(tmp_path / "amem", journey.team.name, **(parts | options))
        memories.append(Memory(journey.team, store))
        return memories[-1]

    yield make
    for memory in memories:
        memory.close()


class Flaky:
    """An embedder that goes down for certain texts."""

    def __init__(self) -> None:
        self.refuses = "\0"
        self._inner = Lexical()
        self.embedder = FunctionEmbedder(self._inner.name, self._inner.dimensions, self.embed)

    def embed(self, given: Sequence[str]) -> Any:
        if any(self.refuses in text for text in given):
            raise OSError("the embedder is down")
        return self._inner.embed(given)


def read_after_return(memory: Memory, journey: Journey) -> set[str]:
    journey.walker.depart()
    return texts(memory.returned(journey.walker.come_back().expose()))


def test_forming_a_note_deletes_no_neighbor(journey: Journey, opened: Callable[..., Memory]) -> None:
    memory = opened()
    memory.form(LISTED, sources=[journey.items["valid"]], by="scout")
    memory.form(KNOWN["valid too"][1], sources=[journey.items["valid too"]], by="scout")
    assert read_after_return(memory, journey) == {LISTED, KNOWN["valid too"][1]}


def test_an_embedder_that_fails_while_neighbors_evolve_loses_none(
    journey: Journey, opened: Callable[..., Memory]
) -> None:
    flaky = Flaky()
    memory = opened(embedder=flaky.embedder)
    memory.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout")
    flaky.refuses = "Heard of"
    memory.form(KNOWN["valid too"][1], sources=[journey.items["valid too"]], by="scout")
    assert read_after_return(memory, journey) == {KNOWN["valid"][1], KNOWN["valid too"][1]}


def test_an_update_that_fails_leaves_the_former_text_with_its_sources(
    journey: Journey, opened: Callable[..., Memory]
) -> None:
    flaky = Flaky()
    memory = opened(embedder=flaky.embedder)
    (record,) = memory.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout", verbatim=True)
    flaky.refuses = "Another text"
    with pytest.raises(BackendError, match="did not keep"):
        memory.update(record, "Another text.", sources=[journey.items["valid"]], by="scout")
    assert read_after_return(memory, journey) == {KNOWN["valid"][1]}


def test_a_note_that_was_written_before_a_timeout_is_removed(
    journey: Journey, opened: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened()
    retriever = memory.backend.native.retriever  # type: ignore[attr-defined]
    add = retriever.add_document

    def late(*given: Any) -> None:
        add(*given)
        raise TimeoutError("no answer within a minute")

    monkeypatch.setattr(retriever, "add_document", late)
    with pytest.raises(BackendError, match="no answer within a minute"):
        memory.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout")
    assert list(memory.records()) == []


def test_a_note_that_cannot_be_removed_either_is_named_and_stays_out(
    journey: Journey, opened: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened()
    retriever = memory.backend.native.retriever  # type: ignore[attr-defined]
    add = retriever.add_document

    def down(*_: Any, **__: Any) -> None:
        raise TimeoutError("no answer")

    def late(*given: Any) -> None:
        add(*given)
        monkeypatch.setattr(type(retriever.collection), "delete", down)
        down()

    monkeypatch.setattr(retriever, "add_document", late)
    with pytest.raises(BackendError, match=r"note 'readmit//\w+/\w+', which may have been written.*stays out"):
        memory.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout")
    assert len(memory.adopt({}, by="lead").unproven) == 1
    assert read_after_return(memory, journey) == set()


def test_two_instances_write_in_turns_and_lose_nothing(journey: Journey, opened: Callable[..., Memory]) -> None:
    first, second = opened(), opened()
    wanted = {f"{KNOWN['valid'][1]} Note {number}." for number in range(8)}

    def form(given: tuple[int, str]) -> None:
        number, text = given
        (first, second)[number % 2].form(text, sources=[journey.items["valid"]], by="scout")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(form, enumerate(sorted(wanted))))
    assert {record.text for record, sources in first.records() if sources} == wanted
    assert read_after_return(second, journey) == wanted


def test_a_second_process_is_refused_because_it_would_not_see_what_the_first_writes(
    tmp_path: Path, opened: Callable[..., Memory]
) -> None:
    memory = opened()
    script = (
        "import sys; from readmit.backends.adapters.amem import AMem; from readmit.models.embedders import Lexical\n"
        "AMem.open(sys.argv[1], 'journey', embedder=Lexical())"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "amem")]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "is open in another process" in refused.stderr
    memory.close()
    subprocess.run(command, check=True)
