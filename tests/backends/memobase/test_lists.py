"""Lists that are old, cut or empty, and texts that the server fails on: nothing is lost without a word."""

from __future__ import annotations

import sys
import uuid
from typing import TYPE_CHECKING

import pytest

from readmit.backends import Memobase
from readmit.backends.adapters import memobase_server
from readmit.errors import BackendError, RecordError, UnknownError
from readmit.memory import Adoption, Archived, Material, Stored
from readmit.testing.journey import KNOWN
from readmit.testing.reachable import texts
from tests.backends.memobase.openers import back, native

if TYPE_CHECKING:
    from readmit.backends.adapters.memobase_server import Server
    from readmit.memory import Memory
    from readmit.testing.journey import Journey
    from tests.backends.memobase.stand_in import StandIn

pytestmark = pytest.mark.backends
WORD, TEXT = KNOWN["valid"]


def events(memory: Memory) -> list[Stored]:
    return [one for one in memory.backend.records() if one.id.startswith("event/")]


class TestAge:
    def test_an_event_of_a_month_ago_is_listed_found_and_deleted(
        self, memory: Memory, journey: Journey, stand_in: StandIn
    ) -> None:
        memory.form(TEXT, sources=[journey.items["valid"]], by="scout")
        user = native(memory)
        stand_in.project.age(user.user_id, 30)
        assert user.event() == [], "the server's own list ends at 21 days"
        (event,) = events(memory)
        assert event.id in {hit.id for hit in memory.backend.search(WORD, limit=5)}
        journey.walker.depart()
        assert event.id in {hit.id for hit in back(memory, journey).records()}
        memory.delete(event.id)
        assert events(memory) == []

    def test_every_event_is_listed_beyond_a_page(
        self, memory: Memory, journey: Journey, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(memobase_server, "_FIRST_PAGE", 1)
        for number in range(3):
            memory.form(f"I bought ticket {number} today.", sources=[journey.items["valid"]], by="scout")
        assert len(events(memory)) == 3


class TestEmbeddings:
    @pytest.mark.parametrize("state", ["off", "down"])
    def test_a_search_without_the_servers_embeddings_leaves_nothing_out(
        self, memory: Memory, journey: Journey, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, state: str
    ) -> None:
        memory.form("The cobalt tram.", sources=[journey.items["valid too"]], by="scout")
        monkeypatch.setattr(stand_in.project, "embeddings", state)
        memory.form(TEXT, sources=[journey.items["valid"]], by="scout")
        everything = {one.id for one in memory.backend.records()}
        hits = memory.backend.search(WORD, limit=10)
        assert {hit.id for hit in hits} == everything
        assert WORD in hits[0].text
        monkeypatch.setattr(stand_in.project, "embeddings", "on")
        again = memory.backend.search(WORD, limit=10)
        assert {hit.id for hit in again} == everything, "also the event that was formed without a vector"


class TestStaleLists:
    def test_slots_that_the_cached_list_lacks_are_bound_and_found(
        self, memory: Memory, journey: Journey, stand_in: StandIn
    ) -> None:
        user = native(memory).user_id
        for text, state in ((KNOWN["valid too"][1], "valid too"), (TEXT, "valid")):
            stand_in.project.read_late(user)
            memory.form(text, sources=[journey.items[state]], by="scout")
        journey.walker.depart()
        reached = " ".join(texts(back(memory, journey)))
        assert "cobalt" in reached
        assert WORD in reached

    def test_a_verbatim_memory_that_the_cached_list_lacks_is_found(
        self, memory: Memory, journey: Journey, stand_in: StandIn
    ) -> None:
        stand_in.project.read_late(native(memory, verbatim=True).user_id)
        memory.form(TEXT, sources=[journey.items["valid"]], by="scout", verbatim=True)
        journey.walker.depart()
        assert [hit.text for hit in back(memory, journey).search(WORD)] == [TEXT]

    def test_a_slot_that_stays_out_of_the_list_is_named(
        self, memory: Memory, journey: Journey, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stand_in.project.listed(native(memory).user_id)
        monkeypatch.setattr(stand_in.project, "_changed", lambda _: None)
        with pytest.raises(BackendError, match=r"does not list .*stays without a source"):
            memory.form(TEXT, sources=[journey.items["valid"]], by="scout")
        assert memory.backend.name.startswith("memobase:")
        assert journey.team._desk.log.sources.entries(memory.backend.name) == {}


class TestMissing:
    def test_a_user_that_is_gone_is_reported_and_not_taken_for_an_empty_bank(
        self, memory: Memory, journey: Journey
    ) -> None:
        memory.form(TEXT, sources=[journey.items["valid"]], by="scout", verbatim=True)
        journey.walker.depart()
        handle = back(memory, journey)
        user = native(memory, verbatim=True)
        user.project_client.delete_user(user.user_id)
        for call in (handle.records, lambda: handle.search(WORD), lambda: list(memory.backend.records())):
            with pytest.raises(BackendError, match=r"is gone from the server, with memories"):
                call()

    def test_a_user_deleted_natively_can_be_accepted(self, memory: Memory, journey: Journey) -> None:
        (kept,) = memory.form("It stays.", sources=[journey.items["valid"]], by="scout", owner="walker", verbatim=True)
        made = memory.form(TEXT, sources=[journey.items["valid"]], by="scout", verbatim=True)
        user = native(memory, verbatim=True)
        user.project_client.delete_user(user.user_id)
        with pytest.raises(BackendError, match=r"adopt\(…, gone=True\) or `readmit backends adopt --gone`"):
            memory.adopt({}, by="lead")
        assert memory.adopt({}, by="lead", gone=True).gone == made
        assert [one.id for one in memory.backend.records()] == [kept]
        assert memory.adopt({}, by="lead") == Adoption(bound=(), unproven=())
        assert memory.form(TEXT, sources=[journey.items["valid"]], by="scout", verbatim=True)

    def test_a_user_that_is_gone_is_missed_for_an_event_alone(self, memory: Memory, journey: Journey) -> None:
        for record in memory.form(TEXT, sources=[journey.items["valid"]], by="scout"):
            if not record.startswith("event/"):
                memory.delete(record)
        user = native(memory)
        user.project_client.delete_user(user.user_id)
        with pytest.raises(BackendError, match=r"is gone from the server, with memories"):
            memory.backend.search(WORD, limit=3)

    def test_a_user_that_is_gone_is_created_again_when_nothing_was_bound(
        self, memory: Memory, journey: Journey
    ) -> None:
        memory.backend.form(Material(text="unbound", key="k", verbatim=True))
        user = native(memory, verbatim=True)
        user.project_client.delete_user(user.user_id)
        with pytest.raises(BackendError, match="500"):
            memory.form(TEXT, sources=[journey.items["valid"]], by="scout", verbatim=True)
        assert memory.form(TEXT, sources=[journey.items["valid"]], by="scout", verbatim=True)

    @pytest.fixture
    def calls(self, memory: Memory) -> Server:
        assert isinstance(memory.backend, Memobase)
        return memory.backend._server

    def test_a_slot_that_is_gone_is_not_reported_as_updated(self, memory: Memory, calls: Server) -> None:
        with pytest.raises(UnknownError, match="no slot"):
            calls.update_profile(native(memory).user_id, str(uuid.uuid4()), "x")
        with pytest.raises(UnknownError, match="no profile"):
            calls.delete(native(memory).user_id, "profile", str(uuid.uuid4()))

    def test_a_user_that_another_instance_creates_meanwhile_is_no_error(
        self, calls: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        user = str(uuid.uuid4())
        calls.client.add_user(id=user)
        looked = iter([False, True])
        monkeypatch.setattr(calls, "has", lambda _: next(looked))
        calls.ensure(user)

    def test_an_address_that_the_server_does_not_have_is_no_empty_list(self, calls: Server) -> None:
        with pytest.raises(BackendError, match=r"404; this adapter knows server 0\.0\.42"):
            calls._call("GET", "/users/nothing/of/that/kind")


class TestUnsendable:
    @pytest.mark.parametrize("part", ["\0", "<|endoftext|>", "<|endofprompt|>"])
    @pytest.mark.parametrize("verbatim", [True, False])
    def test_a_text_that_the_server_fails_on_is_refused_before_it_is_sent(
        self, memory: Memory, journey: Journey, part: str, verbatim: bool
    ) -> None:
        with pytest.raises(RecordError, match=r"text: .* cannot be sent to Memobase"):
            memory.form(f"{TEXT}{part}", sources=[journey.items["valid"]], by="scout", verbatim=verbatim)
        assert list(memory.backend.records()) == []
        assert native(memory).get_all("chat") == []

    def test_neither_an_update_nor_an_archive_brings_it_in(self, memory: Memory, journey: Journey) -> None:
        (record,) = memory.form(TEXT, sources=[journey.items["valid"]], by="scout", verbatim=True)
        with pytest.raises(RecordError, match="text: "):
            memory.update(record, "a\0b", sources=[journey.items["valid"]], by="scout")
        good, bad = Stored(id="one", text="good"), Stored(id="two", text="<|endoftext|>")
        with pytest.raises(RecordError, match=r"record 'two': text: "):
            memory.load([Archived(record=good), Archived(record=bad)])
        assert [one.text for one in memory.backend.records()] == [TEXT], "not even the first of them"

    def test_a_text_that_is_not_unicode_is_refused_by_name(self, memory: Memory) -> None:
        with pytest.raises(RecordError, match=r"text: .*UTF-8"):
            memory.backend.form(Material(text="\ud800", key="k", verbatim=True))

    def test_a_question_with_a_special_token_is_answered(self, memory: Memory, journey: Journey) -> None:
        formed = memory.form(TEXT, sources=[journey.items["valid"]], by="scout")
        assert {hit.id for hit in memory.backend.search(f"{WORD}<|endoftext|>", limit=9)} == {*formed}


def test_the_stand_in_serves_on_a_port_of_its_own(stand_in: StandIn) -> None:
    assert stand_in.url.startswith("http://127.0.0.1:")
    assert sys.modules["httpx"].get(f"{stand_in.url}/api/v1/healthcheck").json()["errno"] == 0
