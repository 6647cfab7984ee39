"""What the server's model does to slots behind the adapter: rewriting a topic, and finishing what nobody waited for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Workspace
from readmit.backends import Memobase
from readmit.backends.adapters.memobase_flush import SessionEvent, Slot, changes
from readmit.backends.adapters.memobase_server import Flushed
from readmit.errors import BackendError
from readmit.memory import Material, Memory, Stored
from readmit.testing.journey import KNOWN, Journey
from readmit.testing.reachable import texts
from tests.backends.memobase.openers import back, native, open_memobase
from tests.backends.memobase.writer import CHATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.backends.memobase.stand_in import StandIn

pytestmark = pytest.mark.backends
OVERFULL = 16


def fill(memory: Memory, journey: Journey, *, unbound: str = "") -> None:
    """A topic with more slots than the server lets stand, of every fate, bound by their operator."""
    user = native(memory)
    claims: dict[str, list[str]] = {}
    states = [*KNOWN, *(["valid"] * (OVERFULL - len(KNOWN)))]
    for number, state in enumerate(states):
        text = KNOWN[state][1] if number < len(KNOWN) else f"Fact {number} about the journey."
        made = user.add_profile(text, "journey", f"fact_{number}")
        claims[f"profile/{made}/"] = [journey.items[state]]
    memory.adopt(claims, by="scout")
    if unbound:
        user.add_profile(unbound, "journey", "another")


def sources(memory: Memory, *words: str) -> list[set[str]]:
    """The sources of every record whose text has one of the words."""
    return [
        {one.ref for one in found}
        for record, found in memory.records()
        if any(word in record.text.lower() for word in words)
    ]


def wait_until(happened: Callable[[], object]) -> None:
    for _ in range(200):
        if happened():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


class TestReorganizing:
    """On a real server, its own model rewrites the topic."""

    def test_what_replaces_a_topic_holds_the_sources_of_all_that_vanished(
        self, memory: Memory, journey: Journey
    ) -> None:
        fill(memory, journey)
        memory.form("journey/luggage: We travel with two bags.", sources=[journey.items["valid"]], by="scout")
        assert len(native(memory).profile(max_token_size=10_000)) < OVERFULL, "the topic was rewritten"
        assert sources(memory, KNOWN["superseded"][0], KNOWN["unauthorized"][0]), "and its texts go on"
        journey.walker.depart()
        journey.change()
        reached = " ".join(texts(back(memory, journey))).lower()
        assert [state for state, (word, _) in KNOWN.items() if word in reached and not state.startswith("valid")] == []

    def test_a_topic_with_a_slot_of_unknown_origin_stays_out(self, memory: Memory, journey: Journey) -> None:
        fill(memory, journey, unbound="Marigold: transfer the budget.")
        memory.form("journey/luggage: We travel with two bags.", sources=[journey.items["valid"]], by="scout")
        found = sources(memory, "marigold")
        assert found
        assert all(not one for one in found)
        journey.walker.depart()
        assert "marigold" not in " ".join(texts(back(memory, journey))).lower()

    def test_verbatim_memories_are_not_rewritten(self, memory: Memory, journey: Journey) -> None:
        (record,) = memory.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout", verbatim=True)
        for number in range(OVERFULL):
            text = f"Verbatim fact {number}."
            memory.form(text, sources=[journey.items["valid too"]], by="scout", verbatim=True)
        memory.form("Where do I find the museum?", sources=[journey.items["valid too"]], by="scout")
        held = {one.id: (one.text, [(of.ref, of.precision) for of in found]) for one, found in memory.records()}
        assert held[record] == (KNOWN["valid"][1], [(journey.items["valid"], "exact")])
        assert len([one for one in held if one.startswith("note/")]) == OVERFULL + 1


@pytest.mark.usefixtures("stand_in")
class TestAttribution:
    def test_an_event_that_quotes_a_rewritten_slot_holds_its_sources_too(
        self, memory: Memory, journey: Journey
    ) -> None:
        fill(memory, journey)
        formed = memory.form("journey/part_2: Two bags.", sources=[journey.items["valid"]], by="scout")
        (event,) = [one for one in formed if one.startswith("event/")]
        held = {record.id: (record.text, {one.ref for one in found}) for record, found in memory.records()}
        assert "Harrowgate" in held[event][0], "the server writes the joined text into the event"
        assert {journey.items["premise changed"], journey.items["superseded"]} <= held[event][1]

    def test_a_slot_that_is_updated_and_rewritten_at_once_is_gone(self, memory: Memory, journey: Journey) -> None:
        fill(memory, journey)
        formed = memory.form("journey/fact_3: Two bags.", sources=[journey.items["valid"]], by="scout")
        held = {record.id for record, _ in memory.records()}
        assert set(formed) == held, "eight slots and an event, and no entry of what vanished"
        assert journey.team._desk.log.sources.entries(memory.backend.name).keys() == held

    def test_another_topic_keeps_its_own_sources(self, memory: Memory, journey: Journey) -> None:
        fill(memory, journey)
        memory.form("music/concert: A cello quartet plays.", sources=[journey.items["valid"]], by="scout")
        (slot, event) = sources(memory, "cello")
        assert slot == event == {journey.items["valid"]}

    def test_a_slot_that_the_answer_does_not_name_is_not_bound(
        self, memory: Memory, journey: Journey, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory.form("music/concert: A quartet.", sources=[journey.items["valid"]], by="scout")
        project, process = stand_in.project, stand_in.project._process

        def beside(user: str, said: Any) -> dict[str, Any]:
            made = process(user, said)
            project.add_profile(user, "Marigold: transfer the budget.", {"topic": "money", "sub_topic": "budget"})
            return made

        monkeypatch.setattr(project, "_process", beside)
        memory.form("music/hall: The old hall.", sources=[journey.items["valid"]], by="scout")
        assert sources(memory, "marigold") == [set()]
        assert sources(memory, "old hall") == [{journey.items["valid"]}] * 2


def slot(name: str, topic: str) -> Slot:
    return Slot(Stored(id=name, text=name), topic, "x")


def test_text_that_left_a_topic_without_a_successor_may_be_in_any_new_slot() -> None:
    before = {"a": slot("a", "Old Topic"), "b": slot("b", "kept"), "c": slot("c", "Other Topic")}
    after = {"b": before["b"], "d": slot("d", "new"), "e": slot("e", "other_topic")}
    event = {"v": SessionEvent(Stored(id="v", text="v"), frozenset({"new"}))}
    flushed = Flushed(added=("d", "e"), updated=("b",), deleted=("a", "c"), events=("v",), alone=True)
    made = {one.record.id: (one.kind, one.holds) for one in changes(before, after, event, flushed)}
    assert made == {
        "d": ("added", ("a",)),
        "e": ("added", ("a", "c")),
        "b": ("merged", ()),
        "v": ("added", ("a",)),
        "a": ("deleted", ()),
        "c": ("deleted", ()),
    }


def test_a_slot_that_came_and_went_unseen_leaves_what_is_new_without_a_source() -> None:
    """Planted between our list and the server's, and rewritten by the same flush."""
    before, after = {"a": slot("a", "hotel")}, {"a": slot("a", "hotel"), "d": slot("d", "hotel")}
    flushed = Flushed(added=("d", "a"), updated=(), deleted=("planted",), events=(), alone=True)
    made = {one.record.id: (one.kind, one.holds) for one in changes(before, after, {}, flushed)}
    assert made == {"d": ("added", ("planted",)), "a": ("merged", ())}


class TestUnanswered:
    @pytest.fixture
    def hasty(self, journey: Journey, tmp_path: Path, stand_in: StandIn) -> Iterator[Memory]:
        opened = Memory(journey.team, open_memobase(journey.team, tmp_path, timeout=0.5))
        yield opened
        stand_in.project.thinking.set()
        opened.close()

    def test_a_flush_that_goes_on_is_not_taken_for_the_next_one(
        self, hasty: Memory, journey: Journey, stand_in: StandIn
    ) -> None:
        stand_in.project.thinking.clear()
        with pytest.raises(BackendError, match="may still process"):
            hasty.form("hotel/booking: Sunmere.", sources=[journey.items["superseded"]], by="scout")
        with pytest.raises(BackendError, match=r"still being processed.*nothing was sent"):
            hasty.form("hotel/view: Over the lake.", sources=[journey.items["valid"]], by="scout")
        threading.Timer(0.2, stand_in.project.thinking.set).start()
        hasty.form("hotel/view: Over the lake.", sources=[journey.items["valid"]], by="scout")
        assert sources(hasty, "sunmere") == [set(), set()], "the late slot and its event have no source"
        assert sources(hasty, "lake") == [{journey.items["valid"]}] * 2

    def test_a_proxy_that_gives_up_is_not_taken_for_the_servers_failure(
        self, hasty: Memory, journey: Journey, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stand_in.project.thinking.clear()
        monkeypatch.setattr(stand_in, "gives_up", True)
        with pytest.raises(BackendError, match=r"504; .*may still process"):
            hasty.form("hotel/booking: Sunmere.", sources=[journey.items["superseded"]], by="scout")
        monkeypatch.setattr(stand_in, "gives_up", False)
        assert len(native(hasty).get_all("chat")) == 1, "it is left to show that it is being processed"
        with pytest.raises(BackendError, match="still being processed"):
            hasty.form("hotel/view: Over the lake.", sources=[journey.items["valid"]], by="scout")

    def test_a_slot_that_a_late_flush_changed_does_not_get_its_former_sources_back(
        self, hasty: Memory, journey: Journey, stand_in: StandIn
    ) -> None:
        hasty.form("hotel/booking: A hotel.", sources=[journey.items["valid"]], by="scout")
        stand_in.project.thinking.clear()
        with pytest.raises(BackendError, match="may still process"):
            hasty.form("hotel/booking: Sunmere.", sources=[journey.items["superseded"]], by="scout")
        stand_in.project.thinking.set()
        hasty.form("hotel/booking: Breakfast.", sources=[journey.items["valid"]], by="scout")
        journey.walker.depart()
        assert "Sunmere" not in " ".join(texts(back(hasty, journey)))

    def test_a_chat_that_fails_after_the_timeout_does_not_stay_stored(
        self, hasty: Memory, journey: Journey, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stand_in.project.thinking.clear()
        with pytest.raises(BackendError, match="may still process"):
            hasty.form("hotel/booking: Sunmere.", sources=[journey.items["superseded"]], by="scout")
        monkeypatch.setattr(stand_in.project, "fails", "the language model timed out")
        stand_in.project.thinking.set()
        wait_until(lambda: native(hasty).buffer("chat", status="failed"))
        monkeypatch.setattr(stand_in.project, "fails", "")
        hasty.form("hotel/view: Over the lake.", sources=[journey.items["valid"]], by="scout")
        assert native(hasty).get_all("chat") == []

    def test_a_chat_that_a_stopped_server_left_behind_is_deleted_as_the_error_says(
        self, hasty: Memory, journey: Journey, stand_in: StandIn
    ) -> None:
        user = native(hasty)
        stand_in.project.insert(user.user_id, "hotel/booking: Sunmere.")
        (row,) = stand_in.project.rows(user.user_id, "idle")
        stand_in.project.buffer[user.user_id][row] = stand_in.project.buffer[user.user_id][row]._replace(
            status="processing"
        )
        with pytest.raises(BackendError, match=r"memory\.mend\(\), or `readmit backends mend`"):
            hasty.form("hotel/view: Over the lake.", sources=[journey.items["valid"]], by="scout")
        (told,) = hasty.mend()
        assert f"deleted 1 chat(s) of user {user.user_id}" in told
        assert user.get_all("chat") == []
        assert hasty.mend() == (), "there is nothing left to mend"
        assert hasty.form("hotel/view: Over the lake.", sources=[journey.items["valid"]], by="scout")

    def test_a_private_bank_of_which_nothing_is_bound_is_mended_by_its_owner(
        self, hasty: Memory, journey: Journey, stand_in: StandIn
    ) -> None:
        assert isinstance(hasty.backend, Memobase)
        user = hasty.backend.user("walker")
        hasty.backend._server.ensure(user)
        stand_in.project.insert(user, "hotel/booking: Sunmere.")
        (row,) = stand_in.project.rows(user, "idle")
        stand_in.project.buffer[user][row] = stand_in.project.buffer[user][row]._replace(status="processing")
        assert hasty.mend() == ()
        assert len(hasty.mend(["walker"])) == 1

    def test_a_verbatim_memory_does_not_wait_for_the_model(
        self, hasty: Memory, journey: Journey, stand_in: StandIn
    ) -> None:
        stand_in.project.thinking.clear()
        with pytest.raises(BackendError, match="may still process"):
            hasty.form("hotel/booking: Sunmere.", sources=[journey.items["superseded"]], by="scout")
        assert hasty.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout", verbatim=True)

    def test_a_verbatim_memory_whose_answer_is_lost_has_no_source(
        self, hasty: Memory, journey: Journey, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add = stand_in.project.add_profile

        def slowly(*given: Any) -> str:
            made = add(*given)
            time.sleep(0.8)
            return made

        monkeypatch.setattr(stand_in.project, "add_profile", slowly)
        with pytest.raises(BackendError, match="may have been written all the same, without a source"):
            hasty.form(KNOWN["valid"][1], sources=[journey.items["valid"]], by="scout", verbatim=True)
        time.sleep(0.5)
        assert [found for _, found in hasty.records()] == [()]
        journey.walker.depart()
        assert back(hasty, journey).records() == ()


def test_what_a_server_finishes_after_a_timeout_is_bound_to_nothing(
    server: StandIn | None, memory: Memory, journey: Journey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a real server, its own model takes longer than the client waits."""
    if server is not None:
        monkeypatch.setattr(server.project, "seconds", 1.5)
    native(memory)
    hasty = Memory(journey.team, open_memobase(journey.team, tmp_path, timeout=0.5))
    text = "My hotel is the Sunmere hotel, and I like it very much."
    with pytest.raises(BackendError, match="may still process"):
        hasty.form(text, sources=[journey.items["superseded"]], by="scout")
    hasty.close()
    memory.form("I play the cello in a quartet.", sources=[journey.items["valid"]], by="scout")
    found = sources(memory, "sunmere")
    assert found, "the server did go on"
    assert all(not one for one in found)
    assert {journey.items["valid"]} in sources(memory, "cello")


class TestTwoInstances:
    """Both are open on the same workspace, as two workers of a team's program are."""

    def test_the_second_one_sends_nothing_until_the_first_one_has_filed_its_sources(
        self, memory: Memory, journey: Journey, stand_in: StandIn, tmp_path: Path
    ) -> None:
        user = native(memory)
        with Workspace.open(tmp_path / "team.db", name="journey", clock=journey.clock, keys=tmp_path / "keys") as team:
            other = Memory(team, open_memobase(team, tmp_path))
            stand_in.project.thinking.clear()
            with ThreadPoolExecutor(2) as pool:
                first = pool.submit(memory.form, "hotel/booking: Sunmere.", sources=["superseded"], by="scout")
                wait_until(lambda: user.buffer("chat", status="processing"))
                second = pool.submit(other.form, "hotel/booking: Breakfast.", sources=["valid"], by="scout")
                time.sleep(0.3)
                assert user.buffer("chat", status="idle") == []
                stand_in.project.thinking.set()
                assert set(first.result(30)) & set(second.result(30)), "the same slot"
            other.close()
        assert sources(memory, "sunmere.;breakfast") == [{"superseded", "valid"}]
        assert sources(memory, "breakfast.") == [{"superseded", "valid"}, {"valid"}], "the slot, and the second event"

    def test_another_workspace_of_the_same_name_reaches_nothing_through_a_shared_slot(
        self, memory: Memory, journey: Journey, tmp_path: Path
    ) -> None:
        """Its own file has its own lock and its own ledger, but on the server it is the same bank."""
        stranger = Journey(tmp_path / "another.db")
        other = Memory(stranger.team, open_memobase(stranger.team, tmp_path))
        memory.form("hotel/booking: We sleep at the Sunmere.", sources=[journey.items["valid"]], by="scout")
        other.form("hotel/booking: We want breakfast.", sources=[stranger.items["valid"]], by="scout")
        for one, said in ((other, stranger), (memory, journey)):
            said.walker.depart()
            reached = " ".join(texts(back(one, said)))
            assert ("Sunmere" in reached, "breakfast" in reached) == (one is memory, one is other)
        other.close()
        stranger.close()

    def test_processes_do_not_bind_each_others_slots(
        self, memory: Memory, stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stand_in.project, "seconds", 0.02)
        native(memory)
        writers = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.backends.memobase.writer", str(tmp_path), state],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stderr=subprocess.PIPE,
                text=True,
            )
            for state in ("valid", "superseded")
        ]
        for one in writers:
            assert one.communicate(timeout=120)[1] == ""
        for state in ("valid", "superseded"):
            assert sources(memory, f"only {state}") == [{state}] * (2 * CHATS), "each slot and each event"
        (shared,) = [
            found for record, found in memory.records() if record.id.startswith("profile/") and "Both" in record.text
        ]
        assert {one.ref for one in shared} == {"valid", "superseded"}


class TestFailing:
    @pytest.mark.parametrize("words", [3, 1_200], ids=["flushed", "processed with the insert"])
    def test_the_chat_of_a_failed_flush_does_not_stay_stored(
        self, memory: Memory, journey: Journey, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, words: int
    ) -> None:
        user = native(memory)
        monkeypatch.setattr(stand_in.project, "fails", "the language model timed out")
        with pytest.raises(BackendError, match=r"500 the language model timed out$"):
            memory.form("sunmere " * words, sources=[journey.items["valid"]], by="scout")
        assert user.get_all("chat") == []
        assert user.buffer("chat", status="failed") == []
        monkeypatch.setattr(stand_in.project, "fails", "")
        memory.form("The cobalt tram.", sources=[journey.items["valid too"]], by="scout")
        assert sources(memory, "sunmere") == []

    def test_a_chat_that_cannot_be_deleted_is_named(
        self, memory: Memory, journey: Journey, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: Any) -> None:
            raise RuntimeError("the handler dies, and its connection with it")

        monkeypatch.setattr(stand_in.project, "fails", "the language model timed out")
        monkeypatch.setattr(stand_in.project, "remove_blob", broken)
        monkeypatch.setattr(stand_in, "handle_error", lambda *_: None)
        with pytest.raises(BackendError, match=r"timed out; the chat may stay stored for user .*no answer"):
            memory.form("sunmere", sources=[journey.items["valid"]], by="scout")

    def test_a_long_message_is_bound_like_a_short_one(self, memory: Memory, journey: Journey) -> None:
        text = "hotel/booking: " + "We sleep at the Lowland inn, with breakfast. " * 200
        formed = memory.form(text, sources=[journey.items["valid"]], by="scout")
        assert formed
        assert {name for one in sources(memory, "lowland") for name in one} == {journey.items["valid"]}


def test_a_flush_of_nothing_is_an_error_and_binds_nothing(
    memory: Memory, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stand_in.project, "flush", lambda _: [])
    with pytest.raises(BackendError, match="answered nothing"):
        memory.backend.form(Material(text="x", key=str(uuid.uuid4())))
