"""What the adapter relies on or guards against, in server 0.0.42. For the stand-in and for a real server alike.

Without the adapter: the client's own connection. Nothing here depends on the words of a language model.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from readmit.backends import Memobase
from tests.backends.memobase.openers import native

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.memory import Memory

pytestmark = pytest.mark.backends
CHAT = "I play the cello in a quartet, every Tuesday evening."


@pytest.fixture
def call(memory: Memory) -> Callable[..., dict[str, Any]]:
    backend = memory.backend
    assert isinstance(backend, Memobase)

    def made(method: str, path: str, body: Any = None) -> dict[str, Any]:
        response = backend.native.client.request(method, path, json=body)
        assert response.status_code == 200, "refusals and exceptions come with status 200"
        answer: dict[str, Any] = response.json()
        return answer

    return made


@pytest.fixture
def user(memory: Memory) -> str:
    return str(native(memory).user_id)


def chat(text: str) -> dict[str, Any]:
    return {"blob_type": "chat", "fields": None, "blob_data": {"messages": [{"role": "user", "content": text}]}}


def slot(text: str) -> dict[str, Any]:
    return {"content": text, "attributes": {"topic": "music", "sub_topic": "instrument"}}


def test_a_user_that_exists_cannot_be_created(call: Any, user: str) -> None:
    assert call("POST", "/users", {"id": user, "data": {}})["errno"] == 500


def test_a_missing_user_has_empty_lists_and_takes_no_slot(call: Any) -> None:
    missing = str(uuid.uuid4())
    assert call("GET", f"/users/{missing}")["errno"] == 404
    assert call("GET", f"/users/profile/{missing}")["data"]["profiles"] == []
    assert call("GET", f"/users/event/{missing}")["data"]["events"] == []
    assert call("GET", f"/users/event_tags/search/{missing}")["data"]["events"] == []
    assert call("GET", f"/users/buffer/capacity/{missing}/chat?status=idle")["data"]["ids"] == []
    assert call("POST", f"/users/buffer/{missing}/chat?wait_process=true")["data"] == []
    assert call("POST", f"/users/profile/{missing}", slot("The cello."))["errno"] == 500
    assert call("POST", f"/blobs/insert/{missing}", chat(CHAT))["errno"] == 500


def test_a_missing_slot_is_updated_with_success_and_is_not_deleted(call: Any, user: str) -> None:
    missing = str(uuid.uuid4())
    assert call("PUT", f"/users/profile/{user}/{missing}", slot("The cello."))["errno"] == 0
    assert call("PUT", f"/users/profile/{user}/{missing}", {"content": "", "attributes": None})["errno"] == 0
    assert call("GET", f"/users/profile/{user}")["data"]["profiles"] == []
    assert call("DELETE", f"/users/profile/{user}/{missing}")["errno"] == 404
    assert call("DELETE", f"/users/event/{user}/{missing}")["errno"] == 404
    assert call("DELETE", f"/blobs/{user}/{missing}")["errno"] == 0


def test_a_chat_waits_idle_until_it_is_flushed_and_is_forgotten_then(call: Any, user: str) -> None:
    blob = call("POST", f"/blobs/insert/{user}?wait_process=true", chat(CHAT))["data"]
    assert blob["chat_results"] == []
    assert call("GET", f"/users/blobs/{user}/chat")["data"]["ids"] == [blob["id"]]
    assert call("GET", f"/blobs/{user}/{blob['id']}")["data"]["blob_data"]["messages"][0]["content"] == CHAT
    assert len(call("GET", f"/users/buffer/capacity/{user}/chat?status=idle")["data"]["ids"]) == 1
    assert call("GET", f"/users/buffer/capacity/{user}/chat?status=processing")["data"]["ids"] == []
    (made,) = call("POST", f"/users/buffer/{user}/chat?wait_process=true")["data"]
    assert made.keys() == {"event_id", "add_profiles", "update_profiles", "delete_profiles"}
    assert call("GET", f"/users/buffer/capacity/{user}/chat?status=idle")["data"]["ids"] == []
    assert call("GET", f"/users/blobs/{user}/chat")["data"]["ids"] == []
    assert call("POST", f"/users/buffer/{user}/chat?wait_process=true")["data"] == []


def test_events_are_listed_by_a_search_for_no_tag(call: Any, user: str) -> None:
    call("POST", f"/blobs/insert/{user}?wait_process=true", chat(CHAT))
    (made,) = call("POST", f"/users/buffer/{user}/chat?wait_process=true")["data"]
    (event,) = call("GET", f"/users/event_tags/search/{user}?topk=5")["data"]["events"]
    assert event["id"] == made["event_id"]
    assert event["event_data"].keys() >= {"event_tip", "event_tags", "profile_delta"}


def test_an_event_that_is_updated_keeps_its_vector_and_a_deleted_one_takes_its_gists(call: Any, user: str) -> None:
    call("POST", f"/blobs/insert/{user}?wait_process=true", chat(CHAT))
    (made,) = call("POST", f"/users/buffer/{user}/chat?wait_process=true")["data"]
    likeness = "query=cello&topk=5&similarity_threshold=-2&time_range_in_days=36500"
    (before,) = call("GET", f"/users/event/search/{user}?{likeness}")["data"]["events"]
    gists = call("GET", f"/users/event_gist/search/{user}?{likeness}")["data"]["gists"]
    change = {"event_tip": "- Nothing of that.", "event_tags": [], "profile_delta": []}
    assert call("PUT", f"/users/event/{user}/{made['event_id']}", change)["errno"] == 0
    (after,) = call("GET", f"/users/event/search/{user}?{likeness}")["data"]["events"]
    assert after["event_data"]["event_tip"] == "- Nothing of that."
    assert after["similarity"] == pytest.approx(before["similarity"])
    assert call("GET", f"/users/event_gist/search/{user}?{likeness}")["data"]["gists"] == gists
    call("DELETE", f"/users/event/{user}/{made['event_id']}")
    assert call("GET", f"/users/event_gist/search/{user}?{likeness}")["data"]["gists"] == []


def test_a_special_token_fails_after_the_chat_was_stored(call: Any, user: str) -> None:
    assert call("POST", f"/blobs/insert/{user}?wait_process=true", chat("Stop.<|endoftext|>"))["errno"] == 500
    assert len(call("GET", f"/users/blobs/{user}/chat")["data"]["ids"]) == 1
    assert call("GET", f"/users/buffer/capacity/{user}/chat?status=idle")["data"]["ids"] == []


def test_a_special_token_in_a_slot_ends_the_native_context(call: Any, user: str) -> None:
    assert call("POST", f"/users/profile/{user}", slot("Stop.<|endoftext|>"))["errno"] == 0
    assert call("GET", f"/users/profile/{user}?max_token_size=1000")["errno"] == 500
    assert call("GET", f"/users/context/{user}")["errno"] != 0


def test_a_nul_is_not_stored(call: Any, user: str) -> None:
    assert call("POST", f"/users/profile/{user}", slot("The\0cello."))["errno"] == 500
    assert call("POST", f"/blobs/insert/{user}?wait_process=true", chat("The\0cello."))["errno"] == 500
    assert call("GET", f"/users/blobs/{user}/chat")["data"]["ids"] == []
