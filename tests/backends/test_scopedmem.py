from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.backends import ScopedMem
from readmit.errors import RecordError, UnknownError
from readmit.memory import Material, Stored
from readmit.models import FunctionEmbedder
from readmit.testing import BackendConformance
from tests.backends.openers import open_scopedmem, open_scopedmem_with_embedder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class TestScopedMem(BackendConformance):
    opener = staticmethod(open_scopedmem)


class TestScopedMemWithEmbedder(BackendConformance):
    opener = staticmethod(open_scopedmem_with_embedder)


@pytest.fixture
def team(place: Path | str) -> Iterator[Workspace]:
    with Workspace.open(place) as opened:
        yield opened


@pytest.fixture
def store(team: Workspace) -> ScopedMem:
    return ScopedMem(team._desk.log.memories, team.name)


def keep(store: ScopedMem, text: str, owner: str = "") -> str:
    (change,) = store.form(Material(text=text, key="k", owner=owner))
    return change.record.id


def test_every_version_is_kept_and_a_deletion_is_one(store: ScopedMem) -> None:
    record = keep(store, "The ferry leaves at eight.")
    store.update(record, "The ferry leaves at nine.")
    store.delete(record)
    assert [(one.version, one.text) for one in store.history(record)] == [
        (1, "The ferry leaves at eight."),
        (2, "The ferry leaves at nine."),
        (3, None),
    ]
    assert store.search("ferry", limit=5) == []
    with pytest.raises(UnknownError, match=record):
        store.get(record)


def test_a_purged_record_leaves_no_text_behind(store: ScopedMem, place: Path | str) -> None:
    kept, gone = keep(store, "The lighthouse stands."), keep(store, "A secretword to forget.")
    store.purge(gone)
    with pytest.raises(UnknownError):
        store.history(gone)
    with pytest.raises(UnknownError):
        store.purge(gone)
    assert store.get(kept).text == "The lighthouse stands."


def test_a_record_that_comes_back_goes_on_counting(store: ScopedMem) -> None:
    record = keep(store, "one")
    store.delete(record)
    store.load([Stored(id=record, text="two")])
    assert [one.version for one in store.history(record)] == [1, 2, 3]


def test_rare_words_count_more_than_common_ones(store: ScopedMem) -> None:
    for number in range(20):
        keep(store, f"The harbor has a pier numbered {number}.")
    wanted = keep(store, "The harbor master keeps a heron.")
    assert store.search("harbor heron", limit=1)[0].id == wanted


def test_a_word_that_all_records_share_still_finds_them(store: ScopedMem) -> None:
    records = {keep(store, f"harbor {number}") for number in range(3)}
    assert {hit.id for hit in store.search("harbor", limit=5)} == records


def test_in_a_large_store_a_word_of_every_record_is_read_only_if_nothing_else_is_asked(store: ScopedMem) -> None:
    store.load([Stored(id=f"r{number}", text=f"harbor {number}") for number in range(1_000)])
    assert [hit.id for hit in store.search("harbor 7", limit=5)] == ["r7"]
    assert len(store.search("harbor", limit=5)) == 5


def test_an_update_moves_a_record_in_the_index(store: ScopedMem) -> None:
    record = keep(store, "alpha beta")
    store.update(record, "gamma")
    assert store.search("alpha", limit=5) == []
    assert [hit.id for hit in store.search("gamma", limit=5)] == [record]
    totals = store._memories.totals("main")
    assert (totals.records, totals.length) == (1, 1)


def test_scores_do_not_depend_on_another_workspace(team: Workspace, store: ScopedMem, place: Path | str) -> None:
    keep(store, "The rare heron.")
    keep(store, "A common gull.")
    before = [(hit.id, hit.score) for hit in store.search("heron gull", limit=5)]
    with Workspace.open(place, name="neighbor") as neighbor:
        other = ScopedMem(neighbor._desk.log.memories, neighbor.name)
        for number in range(30):
            keep(other, f"heron {number}")
    assert [(hit.id, hit.score) for hit in store.search("heron gull", limit=5)] == before


def test_stores_of_one_workspace_are_apart(team: Workspace, store: ScopedMem) -> None:
    other = ScopedMem(team._desk.log.memories, team.name, store="second")
    record = keep(store, "only here")
    assert list(other.records()) == []
    with pytest.raises(UnknownError):
        other.delete(record)


def test_private_records_are_ranked_for_their_owner_only(store: ScopedMem) -> None:
    mine, theirs, ours = keep(store, "heron", "me"), keep(store, "heron", "you"), keep(store, "heron")
    assert {hit.id for hit in store.search("heron", limit=5, reader="me")} == {mine, ours}
    assert {hit.id for hit in store.search("heron", limit=5)} == {mine, theirs, ours}


@pytest.mark.parametrize("few", [1, 1_200])
def test_records_can_be_ranked_among_some_alone(store: ScopedMem, few: int) -> None:
    store.load([Stored(id=f"r{number}", text=f"heron {number}") for number in range(few + 100)])
    among = {f"r{number}" for number in range(100, few + 100)}
    hits = store.search("heron", limit=few + 100, among=among)
    assert {hit.id for hit in hits} == among


class Meanings:
    """Texts about water, or about anything else."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        water = ("sea", "boat", "wave")
        return [[1.0, 0.0] if any(word in text for word in water) else [0.0, 1.0] for text in texts]


def test_an_embedder_finds_what_shares_no_word(team: Workspace) -> None:
    meanings = Meanings()
    store = ScopedMem(team._desk.log.memories, team.name, embedder=FunctionEmbedder("water@1", 2, meanings))
    wanted = keep(store, "The boat is ready.")
    keep(store, "The bread is ready.")
    assert [hit.id for hit in store.search("sea", limit=5)] == [wanted]
    keep(store, "A wave came.")
    assert len(store.search("sea", limit=5)) == 2
    assert sorted(meanings.asked) == sorted(["The boat is ready.", "The bread is ready.", "A wave came.", "sea", "sea"])


def test_bad_arguments_are_named(team: Workspace, store: ScopedMem) -> None:
    with pytest.raises(RecordError, match="limit"):
        store.search("x", limit=0)
    with pytest.raises(RecordError, match="store"):
        ScopedMem(team._desk.log.memories, team.name, store="")
    with pytest.raises(RecordError, match="record 'r'"):
        store.load([Stored(id="r", text="t", native=b"{}")])
