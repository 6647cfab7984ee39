"""More calls than fit, and more workspaces than stay open: refused with a time to come again, and then answered."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from readmit import Workspace
from tests.server.hosting import OTHER, RIGHTS, TEAM, caller, hosted
from tests.server.test_verbs import AT

if TYPE_CHECKING:
    from pathlib import Path


def test_too_many_calls_are_refused_and_the_next_are_answered(tmp_path: Path) -> None:
    place, keys = tmp_path / "team.db", tmp_path / "keys"
    Workspace.open(place, name=TEAM, keys=keys).close()
    with hosted(place, keys=keys, threads=1, at_once=1, waiting=1) as host, host.client() as client:
        many = [f"Seen {number}. " * 500 for number in range(200)]
        client.post(f"{AT}/observe_many", json={"observations": many})
        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(lambda _: client.get(f"{AT}/log", params={"limit": 500}), range(64)))
        statuses = {one.status_code for one in found}
        assert statuses == {200, 503}
        refused = next(one for one in found if one.status_code == 503)
        assert int(refused.headers["retry-after"]) > 0
        assert refused.json()["title"] == "StoreError"
        assert client.get(AT).status_code == 200
        assert 'readmit_calls{state="running"} 0\nreadmit_calls{state="waiting"} 0\n' in client.get("/metrics").text


def test_workspaces_beyond_the_limit_are_closed_and_opened_again(tmp_path: Path) -> None:
    place, keys = tmp_path / "team.db", tmp_path / "keys"
    names = (TEAM, OTHER, "third")
    for name in names:
        Workspace.open(place, name=name, keys=keys).close()
    callers = {"all": caller("A1", *RIGHTS, workspaces=names)}
    with hosted(place, callers, keys=keys, most_open=1) as host, ThreadPoolExecutor(6) as pool, host.client() as client:
        sent = [names[number % 3] for number in range(60)]
        found = list(
            pool.map(lambda name: client.post(f"/v1/workspaces/{name}/observe", json={"text": f"Seen by {name}"}), sent)
        )
        assert {one.status_code for one in found} == {200}
        entries = client.get("/v1/workspaces").json()["entries"]
    assert entries == [{"name": name, "epoch": 21, "principal": "A1"} for name in names]
