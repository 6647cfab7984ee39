"""What expires: the wrapped stores keep LangGraph's rules, and reading through a view prolongs only what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langgraph.store.sqlite", reason="needs langgraph: pip install 'readmit[langgraph]'")

from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from readmit.backends.langgraph import LangGraphMemory, ReturnedStore, TeamStore, sources
from readmit.memory import Memory
from tests.backends.langgraph.trip import Trip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from langgraph.store.base import BaseStore, TTLConfig

pytestmark = pytest.mark.backends
TTL: TTLConfig = {"default_ttl": 60, "refresh_on_read": True}
SOON = 5.0
"""Minutes that a value has left before it is read."""


class Expiring:
    """A trip with a store whose values expire, and the store's own rows."""

    def __init__(self, store: Any, rows: Callable[[str], Any], soon: str) -> None:
        self.trip = Trip()
        self.inner = store
        self._rows, self._soon = rows, soon
        self.backend = LangGraphMemory(store, self.trip.team.name, history=self.trip.team.admin.log.memories)
        self.memory = Memory(self.trip.team, self.backend)

    def team(self) -> TeamStore:
        return TeamStore(self.backend, log=self.trip.team.admin.log, agent=self.trip.planner)

    def back(self, *, team: bool = False) -> ReturnedStore:
        self.trip.planner.depart()
        return ReturnedStore(self.memory.returned(self.trip.planner.come_back().expose()), team=team)

    def write(self, *keys: str, bound: bool = True, **options: Any) -> None:
        store = self.team()
        for key in keys:
            if bound:
                with sources(self.trip.dates):
                    store.put(("dates",), key, {"about": key}, **options)
            else:
                store.put(("rumors",), key, {"about": key}, **options)

    def ttls(self) -> dict[str, float | None]:
        """Each value's own time to live, in minutes."""
        return dict(self._rows("SELECT key, ttl_minutes FROM store"))

    def almost_expired(self) -> None:
        self._rows(f"UPDATE store SET expires_at = {self._soon}")  # noqa: S608 - the test's own text

    def refreshed(self) -> set[str]:
        """The keys whose end was moved."""
        query = f"SELECT key FROM store WHERE expires_at > {self._soon}"  # noqa: S608 - the test's own text
        return {key for (key,) in self._rows(query)}

    def expire(self, key: str) -> None:
        query = f"UPDATE store SET expires_at = '2001-01-01 00:00:00' WHERE key = '{key}'"  # noqa: S608 - as above
        self._rows(query)
        assert self.inner.sweep_ttl() == 1


@pytest.fixture(params=["sqlite", "postgres"])
def expiring(request: pytest.FixtureRequest) -> Iterator[Expiring]:
    if request.param == "sqlite":
        import sqlite3

        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        store: BaseStore = SqliteStore(connection, ttl=TTL)
        store.setup()  # type: ignore[attr-defined]
        made = Expiring(
            store, lambda query: connection.execute(query).fetchall(), f"datetime('now', '+{SOON} minutes')"
        )
        yield made
        connection.close()
    else:
        pytest.importorskip("langgraph.store.postgres")
        import psycopg
        from langgraph.store.postgres import PostgresStore

        server = request.getfixturevalue("server")
        server.sql("DROP DATABASE IF EXISTS expiring")
        server.sql("CREATE DATABASE expiring OWNER readmit")
        with PostgresStore.from_conn_string(server.url(database="expiring"), ttl=TTL) as store:
            store.setup()

            def rows(query: str) -> Any:
                with psycopg.connect(server.url(database="expiring"), autocommit=True) as client:
                    done = client.execute(query.encode())
                    return done.fetchall() if done.description else None

            made = Expiring(store, rows, f"now() + interval '{SOON} minutes'")
            yield made
    made.trip.team.close()


def test_both_stores_say_what_the_one_behind_says(expiring: Expiring) -> None:
    for store in (expiring.team(), expiring.back()):
        assert store.supports_ttl
        assert store.ttl_config == TTL


def test_a_value_lives_as_long_as_the_store_or_the_put_says(expiring: Expiring) -> None:
    expiring.write("by default")
    expiring.write("short", ttl=7)
    expiring.write("for good", ttl=None)
    assert expiring.ttls() == {"by default": 60, "short": 7, "for good": None}


def test_a_returned_agents_put_expires_too(expiring: Expiring) -> None:
    store = expiring.back()
    store.put(("mine",), "note", {"about": "me"})
    store.put(("mine",), "short", {"about": "me"}, ttl=9)
    assert expiring.ttls() == {"note": 60, "short": 9}


def test_a_memory_that_is_formed_expires_as_a_put_does(expiring: Expiring) -> None:
    (record,) = expiring.memory.form("We travel in May.", sources=[expiring.trip.dates], by="scout")
    assert set(expiring.ttls().values()) == {60}
    expiring.memory.update(record, "We travel in May, surely.", sources=[expiring.trip.dates], by="scout")
    assert set(expiring.ttls().values()) == {60}


def test_an_agent_at_work_prolongs_what_it_gets_and_finds(expiring: Expiring) -> None:
    expiring.write("one", "two", "three")
    expiring.almost_expired()
    store = expiring.team()
    store.get(("dates",), "one")
    assert expiring.refreshed() == {"one"}
    found = store.search(("dates",), filter={"about": "two"})
    assert [one.key for one in found] == ["two"]
    assert expiring.refreshed() == {"one", "two"}


def test_a_returned_agent_prolongs_what_it_gets_and_nothing_that_is_withheld(expiring: Expiring) -> None:
    expiring.write("when", "until")
    expiring.write("rumor", bound=False)
    store = expiring.back()
    expiring.almost_expired()
    assert store.get(("rumors",), "rumor") is None
    assert expiring.refreshed() == set()
    assert store.get(("dates",), "when") is not None
    assert expiring.refreshed() == {"when"}


def test_a_returned_agents_search_prolongs_the_results_and_nothing_that_is_withheld(expiring: Expiring) -> None:
    expiring.write("when", "until")
    expiring.write("rumor", bound=False)
    store = expiring.back()
    expiring.almost_expired()
    (first,) = store.search((), limit=1)
    assert expiring.refreshed() == {first.key}, "the store was asked for more than was handed over"
    assert {one.key for one in store.search(())} == {"when", "until"}
    assert expiring.refreshed() == {"when", "until"}


def test_a_read_that_is_not_to_refresh_does_not(expiring: Expiring) -> None:
    expiring.write("when")
    store = expiring.back()
    expiring.almost_expired()
    assert store.get(("dates",), "when", refresh_ttl=False) is not None
    assert len(store.search((), refresh_ttl=False)) == 1
    assert expiring.refreshed() == set()


def test_a_namespace_whose_values_have_expired_is_not_listed(expiring: Expiring) -> None:
    expiring.write("when")
    with sources(expiring.trip.dates):
        expiring.team().put(("weather",), "may", {"about": "rain"})
    store = expiring.back()
    assert store.list_namespaces() == [("dates",), ("weather",)]
    expiring.expire("when")
    assert store.list_namespaces() == [("weather",)]
    assert store.get(("dates",), "when") is None


def test_a_key_whose_value_has_expired_may_be_used_by_another(expiring: Expiring) -> None:
    expiring.write("when")
    scout = expiring.trip.team.agent("scout", role="planner", task="trip")
    scout.depart()
    store = ReturnedStore(expiring.memory.returned(scout.come_back().expose()), team=True)
    expiring.expire("when")
    store.put(("dates",), "when", {"about": "June"})
    assert store.get(("dates",), "when").value == {"about": "June"}  # type: ignore[union-attr]


def test_a_store_without_ttl_stays_one() -> None:
    trip = Trip()
    backend = LangGraphMemory(InMemoryStore(), trip.team.name, history=trip.team.admin.log.memories)
    store = TeamStore(backend, log=trip.team.admin.log, agent=trip.planner)
    assert not store.supports_ttl
    assert store.ttl_config is None
    with pytest.raises(NotImplementedError):
        store.put(("dates",), "when", {"about": "May"}, ttl=5)
    trip.team.close()
