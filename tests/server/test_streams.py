"""Streams: the stages of a return, and items that fall while an agent works with them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit import Workspace
from tests.server.hosting import TEAM, hosted
from tests.server.test_verbs import AT, planned, task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx2 as httpx

    from tests.server.hosting import Hosted

STREAM = {"Accept": "text/event-stream"}


def events(answer: httpx.Response) -> Iterator[tuple[str, Any]]:
    """The events of a stream as they come, comments included as events without a name."""
    name = ""
    for line in answer.iter_lines():
        if line.startswith(":"):
            yield "", line
        elif line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, msgspec.json.decode(line.removeprefix("data: "))


def exposed(client: httpx.Client, on: str) -> dict[str, str]:
    """An agent that works with the view it was handed."""
    agent = planned(client, on)
    came = client.post(f"{AT}/come_back", json=agent).json()
    client.post(f"{AT}/returns/{came['id']}/expose", json={**agent, "secret": came["secret"]})
    return agent


def test_a_return_says_its_stages_and_then_its_outcome(client: httpx.Client) -> None:
    agent = planned(client, task())
    with client.stream("POST", f"{AT}/come_back", json=agent, headers=STREAM) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        found = list(events(answer))
    assert [value.get("stage") for _, value in found] == ["read", "look", "decide", "commit", None]
    name, outcome = found[-1]
    assert (name, outcome["admitted"]) == ("returned", True)
    assert client.get(f"{AT}/returns/{outcome['id']}").status_code == 200


def test_a_return_that_fails_ends_in_a_problem(client: httpx.Client) -> None:
    agent = {"role": "planner", "task": "where nobody was"}
    with client.stream("POST", f"{AT}/come_back", json=agent, headers=STREAM) as answer:
        (name, said), *rest = events(answer)
    assert (name, said["status"], rest) == ("problem", 404, [])


def test_a_caller_without_the_role_gets_no_stream(client: httpx.Client) -> None:
    answer = client.get(f"{AT}/subscribe", params={"role": "boss", "task": "t"}, headers=STREAM)
    assert (answer.status_code, answer.json()["field"]) == (403, "role")


def test_an_agent_learns_what_fell_and_not_why(client: httpx.Client) -> None:
    on = task()
    agent = exposed(client, on)
    with client.stream("GET", f"{AT}/subscribe", params=agent, headers=STREAM) as answer:
        assert answer.status_code == 200
        client.post(f"{AT}/observe", json={"text": "Something else."})
        client.post(f"{AT}/revoke", json={"target": f"h-{on}", "reason": "the river"})
        began = time.monotonic()
        name, fallen = next(one for one in events(answer) if one[0])
    assert (name, fallen["item"], fallen["state"]) == ("fallen", f"h-{on}", "revoked")
    assert set(fallen) == {"return_id", "item", "state"}
    assert time.monotonic() - began < 10


def test_a_silent_stream_stays_alive_and_ends_with_its_reader(tmp_path: Path) -> None:
    Workspace.open(tmp_path / "team.db", name=TEAM, keys=tmp_path / "keys").close()
    with hosted(tmp_path / "team.db", keys=tmp_path / "keys", heartbeat=0.05) as host, host.client() as client:
        agent = exposed(client, task())
        with client.stream("GET", f"{AT}/subscribe", params=agent, headers=STREAM) as answer:
            found = events(answer)
            assert [next(found) for _ in range(3)] == [("", ": still here")] * 3
            assert "readmit_streams 1" in client.get("/metrics").text
        until = time.monotonic() + 10
        while "readmit_streams 0" not in client.get("/metrics").text:
            assert time.monotonic() < until
            time.sleep(0.02)


def test_many_streams_leave_room_for_calls(host: Hosted) -> None:
    """A subscription holds no thread while it waits."""
    with host.client() as client:
        agent = exposed(client, task())
        streams = [client.stream("GET", f"{AT}/subscribe", params=agent, headers=STREAM) for _ in range(24)]
        try:
            assert {one.__enter__().status_code for one in streams} == {200}
            assert client.post(f"{AT}/observe", json={"text": "Still answered."}).status_code == 200
        finally:
            for one in streams:
                one.__exit__(None, None, None)


@pytest.mark.parametrize("accept", ["*/*", "application/json"])
def test_who_asks_for_no_stream_gets_none(client: httpx.Client, accept: str) -> None:
    agent = planned(client, task())
    answer = client.post(f"{AT}/come_back", json=agent, headers={"Accept": accept})
    assert answer.headers["content-type"] == "application/json"
