"""Repeated requests: under one key a verb is done once, whatever was lost on the way."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from readmit import Workspace
from tests.server.hosting import TEAM, hosted
from tests.server.test_verbs import AT, planned, task

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2 as httpx

    from tests.server.hosting import Hosted


def key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid4())}


@pytest.mark.parametrize(
    ("verb", "body"),
    [("observe", {"text": "Seen once."}), ("observe_many", {"observations": ["Seen", "and heard."]})],
)
def test_under_a_key_a_verb_is_done_once(client: httpx.Client, verb: str, body: dict[str, object]) -> None:
    under = key()
    first = client.post(f"{AT}/{verb}", json=body, headers=under)
    after = client.get(AT).json()["epoch"]
    again = client.post(f"{AT}/{verb}", json=body, headers=under)
    assert (again.status_code, again.text) == (first.status_code, first.text)
    assert client.get(AT).json()["epoch"] == after


def test_without_a_key_it_is_done_again(client: httpx.Client) -> None:
    before = client.get(AT).json()["epoch"]
    for _ in range(2):
        client.post(f"{AT}/observe", json={"text": "Seen twice."})
    assert client.get(AT).json()["epoch"] == before + 2


def test_a_key_stands_for_one_body(client: httpx.Client) -> None:
    under = key()
    assert client.post(f"{AT}/observe", json={"text": "one"}, headers=under).status_code == 200
    other = client.post(f"{AT}/observe", json={"text": "two"}, headers=under)
    assert (other.status_code, other.json()["field"]) == (422, "Idempotency-Key")


def test_a_return_under_a_key_keeps_its_secret(client: httpx.Client) -> None:
    """The answer that was lost is the one that is given again: only it opens the view."""
    agent, under = planned(client, task()), key()
    first, again = (client.post(f"{AT}/come_back", json=agent, headers=under).json() for _ in range(2))
    assert first == again
    exposed = client.post(f"{AT}/returns/{again['id']}/expose", json={**agent, "secret": again["secret"]})
    assert exposed.status_code == 200


def test_the_key_of_another_caller_is_another_key(host: Hosted) -> None:
    under = key()
    with host.client("all") as one, host.client("writer") as other:
        said = [it.post(f"{AT}/dispute", json={"items": [_item(it)]}, headers=under).json() for it in (one, other)]
    assert said[0] != said[1]


def _item(client: httpx.Client) -> str:
    return str(client.post(f"{AT}/record", json={"text": f"Booked by {uuid4()}"}).json())


def test_a_refusal_is_not_kept(client: httpx.Client) -> None:
    under, name = key(), f"late-{uuid4().hex}"
    body = {"target": name}
    assert client.post(f"{AT}/revoke", json=body, headers=under).status_code == 404
    client.post(f"{AT}/record", json={"text": "Now it is there", "id": name})
    assert client.post(f"{AT}/revoke", json=body, headers=under).status_code == 200


def test_requests_at_once_under_one_key_are_done_once(host: Hosted) -> None:
    under, found = key(), []
    with host.client() as client:
        before = client.get(AT).json()["epoch"]

        def send() -> None:
            with host.client() as own:
                found.append(own.post(f"{AT}/observe", json={"text": "At once."}, headers=under).text)

        threads = [threading.Thread(target=send) for _ in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert len(found) == 8
        assert len(set(found)) == 1
        assert client.get(AT).json()["epoch"] == before + 1


def test_the_log_knows_a_key_after_a_restart(tmp_path: Path) -> None:
    """Nothing is kept on disk for this: the key is the event's id."""
    place, keys, under = tmp_path / "team.db", tmp_path / "keys", key()
    Workspace.open(place, name=TEAM, keys=keys).close()
    said = []
    for _ in range(2):
        with hosted(place, keys=keys) as host, host.client() as client:
            said.append((client.post(f"{AT}/observe", json={"text": "Once."}, headers=under).text, client.get(AT).text))
    assert said[0] == said[1]
    with hosted(place, keys=keys) as host, host.client() as client:
        other = client.post(f"{AT}/observe", json={"text": "Twice."}, headers=under)
    assert (other.status_code, other.json()["title"]) == (409, "ConflictError")


@pytest.mark.parametrize("word", ["", "a" * 201, "a\x7fb"])
def test_a_key_that_is_none_is_refused(client: httpx.Client, word: str) -> None:
    answer = client.post(f"{AT}/observe", json={"text": "a"}, headers={"Idempotency-Key": word})
    assert answer.status_code in (400, 422)
