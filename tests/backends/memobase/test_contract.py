from __future__ import annotations

import inspect
from importlib.util import find_spec

import pytest

from tests.backends.contract import check_call, check_version, resolve

pytestmark = [
    pytest.mark.backends,
    pytest.mark.skipif(
        find_spec("memobase") is None, reason="memobase is not installed; run: pip install 'readmit[memobase]'"
    ),
]

PATHS = {
    "memobase:MemoBaseClient.add_user": '"/users"',
    "memobase.core.entry:User.insert": "/blobs/insert/{self.user_id}?wait_process=",
    "memobase.core.entry:User.flush": "/users/buffer/{self.user_id}/{blob_type}?wait_process=",
    "memobase.core.entry:User.buffer": "/users/buffer/capacity/{self.user_id}/{blob_type}?status=",
    "memobase.core.entry:User.profile": "/users/profile/{self.user_id}",
    "memobase.core.entry:User.event": "/users/event/{self.user_id}",
    "memobase.core.entry:User.search_event": "/users/event/search/{self.user_id}",
    "memobase.core.entry:User.search_event_by_tags": "/users/event_tags/search/{self.user_id}",
    "memobase.core.entry:User.get_all": "/users/blobs/{self.user_id}/{blob_type}?page=",
    "memobase.core.entry:User.get": "/blobs/{self.user_id}/{blob_id}",
    "memobase.core.entry:User.delete": "/blobs/{self.user_id}/{blob_id}",
    "memobase.core.entry:User.update_event": "/users/event/{self.user_id}/{event_id}",
}
FIELDS = {
    "UserProfileData": {"id", "content", "attributes", "created_at", "updated_at"},
    "UserEventData": {"id", "event_data", "created_at", "updated_at", "similarity"},
    "EventData": {"profile_delta", "event_tip", "event_tags"},
}
READS = {
    "get", "get_all", "buffer", "profile", "event", "search_event", "search_event_gist", "search_event_by_tags",
    "context",
}  # fmt: skip
WRITES = {
    "insert", "delete", "flush", "add_profile", "update_profile", "delete_profile", "delete_event", "update_event",
}  # fmt: skip


def test_the_tested_release_is_installed() -> None:
    check_version("memobase", least=(0, 0, 27), below=(0, 1))


def test_the_client_still_opens_with_a_key_and_an_address() -> None:
    check_call("memobase:MemoBaseClient", api_key="", project_url="")
    assert isinstance(inspect.getattr_static(resolve("memobase:MemoBaseClient"), "client"), property)


@pytest.mark.parametrize("path", PATHS)
def test_the_client_still_calls_the_same_address(path: str) -> None:
    source = inspect.getsource(resolve(path))
    assert PATHS[path] in source, f"{path} calls another address than {PATHS[path]!r}: see memobase_server.py"


@pytest.mark.parametrize("name", FIELDS)
def test_the_client_still_reads_the_same_fields(name: str) -> None:
    found = set(resolve(f"memobase.core.user:{name}").model_fields)
    assert found == FIELDS[name], f"{name} had {sorted(FIELDS[name])}, has {sorted(found)}: see event_text"


def test_the_client_has_no_new_way_to_read() -> None:
    methods = {name for name, _ in inspect.getmembers(resolve("memobase.core.entry:User"), inspect.isfunction)}
    new = {name for name in methods if not name.startswith("_")} - READS - WRITES
    assert not new, f"memobase's User has {sorted(new)}: do they return something that the adapter does not bind?"
