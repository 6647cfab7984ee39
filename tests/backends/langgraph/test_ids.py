"""Record ids of LangGraph items: any namespace and key has one, however long and in whichever script."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")

from langgraph.store.memory import InMemoryStore

from readmit.backends.id_escape import escape_id, unescaped
from readmit.backends.langgraph import LangGraphMemory, ReturnedStore, TeamStore, sources
from readmit.backends.langgraph.graph_places import LONGEST_ID, GraphPlace, record_id
from readmit.errors import UnknownError
from readmit.memory import Memory
from tests.backends.langgraph.trip import Trip

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.backends
JAPANESE = "東京の宿と予約の記録" * 6
NAMES = st.text(max_size=8)


class Named:
    def __init__(self) -> None:
        self.trip = Trip()
        self.inner = InMemoryStore()
        self.backend = LangGraphMemory(self.inner, self.trip.team.name, history=self.trip.team.admin.log.memories)
        self.memory = Memory(self.trip.team, self.backend)

    def put(self, namespace: tuple[str, ...], key: str) -> None:
        store = TeamStore(self.backend, log=self.trip.team.admin.log, agent=self.trip.planner)
        with sources(self.trip.dates):
            store.put(namespace, key, {"month": "May"})

    def back(self) -> ReturnedStore:
        self.trip.planner.depart()
        return ReturnedStore(self.memory.returned(self.trip.planner.come_back().expose()))


@pytest.fixture
def named() -> Iterator[Named]:
    made = Named()
    yield made
    made.trip.team.close()


@pytest.mark.parametrize(
    ("namespace", "key"),
    [
        ((JAPANESE,), JAPANESE),
        (("log",), "k" * 3_000),
        (("log", "n" * 3_000), "k"),
        (("log",), "🧳" * 200),
        (("a/b", "c%2Fd"), "e f\n"),
        (("log",), unicodedata.normalize("NFD", "späte Züge")),
        (("log",), "\u202eright to left"),
    ],
    ids=["japanese", "long key", "long namespace", "emoji", "slashes", "decomposed", "bidirectional"],
)
def test_a_value_is_put_found_listed_and_bound_under_any_name(
    named: Named, namespace: tuple[str, ...], key: str
) -> None:
    named.put(namespace, key)
    store = named.back()
    assert store.get(namespace, key).value == {"month": "May"}  # type: ignore[union-attr]
    assert [(one.namespace, one.key) for one in store.search(())] == [(namespace, key)]
    assert store.list_namespaces() == [namespace]
    store.put(namespace, key, {"month": "mine"})
    assert store.get(namespace, key).value == {"month": "mine"}  # type: ignore[union-attr]
    store.delete(namespace, key)
    assert store.get(namespace, key).value == {"month": "May"}  # type: ignore[union-attr]


@pytest.mark.parametrize("key", ["when", JAPANESE, "k" * 3_000])
def test_an_operator_updates_deletes_and_moves_it_by_its_id(named: Named, key: str) -> None:
    named.put(("log",), key)
    ((record, _),) = named.memory.records()
    archive = list(named.memory.export())
    named.memory.update(record.id, "June", sources=[named.trip.dates], by="scout")
    assert [one.text for one, _ in named.memory.records()] == ["June"]
    named.memory.delete(record.id)
    assert list(named.memory.records()) == []
    assert named.memory.load(archive) == (record.id,)
    assert named.back().get(("log",), key).value == {"month": "May"}  # type: ignore[union-attr]


def test_a_long_key_that_was_put_natively_does_not_stop_the_others(named: Named) -> None:
    named.put(("log",), "when")
    named.inner.put((*(named.backend.below("", ()) or ()), "log"), "k" * 5_000, {"text": "planted"})
    assert [one.key for one in named.back().search(())] == ["when"]
    assert len(list(named.memory.records())) == 2


@pytest.mark.parametrize("record", ["/log/%FF", "/log/%77hen", "~", "when", "", "/other/when"])
def test_an_id_that_is_no_records_is_unknown(named: Named, record: str) -> None:
    named.put(("log",), "when")
    with pytest.raises(UnknownError):
        named.memory.delete(record)


def test_sixty_japanese_characters_stay_readable() -> None:
    assert record_id(GraphPlace("", ("旅",), JAPANESE)) == f"/旅/{JAPANESE}"


@given(owner=NAMES, namespace=st.lists(NAMES, max_size=3).map(tuple), key=NAMES)
def test_an_id_says_where_its_record_is(owner: str, namespace: tuple[str, ...], key: str) -> None:
    made = record_id(GraphPlace(owner, namespace, key))
    if not made.startswith("~"):
        assert tuple(map(unescaped, made.split("/"))) == (owner, *namespace, key)
    assert len(made.encode()) <= LONGEST_ID
    assert unicodedata.is_normalized("NFC", made)
    assert made.isprintable()


@given(text=st.text(st.characters(), max_size=20))
def test_what_is_escaped_comes_back(text: str) -> None:
    assert unescaped(escape_id(text)) == text
