"""Every verb over HTTP on both kinds of store: what a caller may, and what each answer says."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from readmit.remote import verbs
from tests.server.hosting import OTHER, TEAM

if TYPE_CHECKING:
    import httpx2 as httpx

    from tests.server.hosting import Hosted

AT = f"/v1/workspaces/{TEAM}"
_numbers = count(1)


def task() -> str:
    """A task of its own for each test: a module's tests share a server."""
    return f"trip{next(_numbers)}"


def planned(client: httpx.Client, on: str, at: str = AT) -> dict[str, str]:
    """A duty with its evidence, and the agent away. Returns who the agent is."""
    seen = client.post(f"{at}/observe", json={"text": f"Sunrise confirms {on}."}).json()
    fields = {"sources": [seen], "task": on, "slot": f"hotel.{on}"}
    assert (
        client.post(f"{at}/record", json={"text": "Sunrise is booked", "id": f"h-{on}", **fields}).json() == f"h-{on}"
    )
    duty = {"text": "Book", "required": [f"hotel.{on}"], "roles": ["planner"], "task": on, "id": f"o-{on}"}
    assert client.post(f"{at}/oblige", json=duty).json() == f"o-{on}"
    agent = {"role": "planner", "task": on}
    assert client.post(f"{at}/depart", json=agent).json()["identity"]["principal"] == "A1"
    return agent


def test_an_agent_leaves_and_returns(client: httpx.Client) -> None:
    on = task()
    agent = planned(client, on)
    came = client.post(f"{AT}/come_back", json=agent).json()
    assert set(came) == {"id", "kind", "admitted", "missing", "items", "partial", "secret"}
    assert came["admitted"]
    assert sorted(came["items"]) == [f"h-{on}", f"o-{on}"]
    proof = {**agent, "secret": came["secret"]}
    bundle = client.post(f"{AT}/returns/{came['id']}/expose", json=proof).json()
    assert sorted(item["text"] for item in bundle["items"]) == ["Book", "Sunrise is booked"]
    assert client.post(f"{AT}/returns/{came['id']}/acknowledge", json=proof).json() is None
    again = client.post(f"{AT}/returns/{came['id']}/expose", json=proof)
    assert (again.status_code, again.json()["title"]) == (409, "ExposureError")


def test_a_blocked_return_says_what_is_missing_and_nothing_else(client: httpx.Client) -> None:
    on = task()
    agent = planned(client, on)
    client.post(f"{AT}/revoke", json={"target": f"h-{on}", "reason": "flooded by the secret river"})
    answer = client.post(f"{AT}/come_back", json=agent)
    assert answer.json()["missing"] == [f"hotel.{on}"]
    assert "river" not in answer.text
    retracted = client.post(
        f"{AT}/returns/{answer.json()['id']}/expose_retractions", json={**agent, "secret": answer.json()["secret"]}
    ).json()
    assert [one["id"] for one in retracted["notice"]["retractions"]["fallen"]] == [f"h-{on}"]
    why = client.get(f"{AT}/returns/{answer.json()['id']}/explain/h-{on}").json()
    assert why["disposition"]["state"] == "revoked"


def test_an_agent_searches_its_view_and_nothing_else(host: Hosted) -> None:
    on = task()
    with host.client() as client, host.client("agent") as own:
        agent = planned(client, on)
        away = own.post(f"{AT}/search", json=agent)
        assert (away.status_code, away.json()["title"]) == (409, "QuarantineError")
        came = own.post(f"{AT}/come_back", json=agent).json()
        own.post(f"{AT}/returns/{came['id']}/expose", json={**agent, "secret": came["secret"]})
        client.post(f"{AT}/record", json={"text": "Sunrise was robbed", "id": f"x-{on}", "task": on})
        found = own.post(f"{AT}/search", json={**agent, "query": "sunrise"}).json()
        assert [one["id"] for one in found["holds"]] == [f"h-{on}"]
        client.post(f"{AT}/revoke", json={"target": f"h-{on}"})
        assert own.post(f"{AT}/search", json={**agent, "query": "sunrise"}).json()["holds"] == []
        assert len(own.post(f"{AT}/search", json={**agent, "limit": 1}).json()["holds"]) == 1


def test_a_wrong_secret_opens_nothing(client: httpx.Client) -> None:
    agent = planned(client, task())
    came = client.post(f"{AT}/come_back", json=agent).json()
    answer = client.post(f"{AT}/returns/{came['id']}/expose", json={**agent, "secret": "0" * 32})
    assert answer.status_code == 409
    assert "Sunrise" not in answer.text
    assert came["secret"] not in answer.text


@pytest.mark.parametrize(
    "place",
    [
        "", "/agents", "/returns", "/items", "/log", "/audit", "/head", "/keys", "/doctor", "/proof/1",
        "/admin/policy", "/admin/waiting", "/admin/notices",
    ],
)  # fmt: skip
def test_a_reading_answers_those_who_may_inspect(host: Hosted, place: str) -> None:
    with host.client() as client, host.client("agent") as agent:
        assert client.get(f"{AT}{place}").status_code == 200
        assert agent.get(f"{AT}{place}").status_code == (200 if place in ("", "/keys") else 403)


def test_a_past_return_is_explained_and_replayed(client: httpx.Client) -> None:
    on = task()
    agent = planned(client, on)
    came = client.post(f"{AT}/come_back", json=agent).json()
    past = client.get(f"{AT}/returns/{came['id']}").json()
    assert {one["item"] for one in past["dispositions"]} >= {f"h-{on}", f"o-{on}"}
    assert came["secret"] not in str(past)
    assert client.get(f"{AT}/returns/{came['id']}/replay").json()["differences"] == []
    assert "admitted" in client.get(f"{AT}/returns/{came['id']}/why").json()["says"]
    assert client.get(f"{AT}/returns/{came['id']}/drafts").json() == {}
    assert client.get(f"{AT}/items/h-{on}").json()["events"][0]["id"] == f"h-{on}"


@pytest.mark.parametrize("listing", ["log", "returns", "items", "audit"])
def test_the_pages_of_a_listing_make_up_the_whole(client: httpx.Client, listing: str) -> None:
    for _ in range(2):
        client.post(f"{AT}/come_back", json=planned(client, task()))
    whole = client.get(f"{AT}/{listing}", params={"limit": 500}).json()
    assert whole["next"] is None
    found: list[Any] = []
    after: str | None = "0"
    while after is not None:
        page = client.get(f"{AT}/{listing}", params={"limit": 3, "after": after}).json()
        assert len(page["entries"]) <= 3
        found, after = [*found, *page["entries"]], page["next"]
    assert found == whole["entries"]


def test_the_whole_audit_is_exported(client: httpx.Client) -> None:
    came = client.post(f"{AT}/come_back", json=planned(client, task())).json()
    answer = client.get(f"{AT}/audit/export")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert lines[-1]["kind"] == "head"
    assert came["id"] in {line.get("return") for line in lines}
    assert came["secret"] not in answer.text


def test_verbs_of_a_batch_are_one_commit(client: httpx.Client) -> None:
    before = client.get(AT).json()["epoch"]
    name = f"b{next(_numbers)}"
    calls: list[Any] = [
        {"verb": "observe", "given": {"text": f"seen by {name}"}},
        {"verb": "record", "given": {"text": "one", "id": name}},
    ]
    assert client.post(f"{AT}/batch", json={"calls": calls}).json()[1] == name
    calls[1]["given"]["text"] = "two"
    refused = client.post(f"{AT}/batch", json={"calls": [{"verb": "observe", "given": {"text": "unseen"}}, calls[1]]})
    assert refused.status_code == 409
    assert client.get(AT).json()["epoch"] == before + 2
    smuggled = client.post(f"{AT}/batch", json={"calls": [{"verb": "govern", "given": {}}]})
    assert (smuggled.status_code, smuggled.json()["field"]) == (422, "calls[0].verb")


def test_the_owner_governs(host: Hosted) -> None:
    with host.client("admin") as admin, host.client() as client:
        assert admin.put("/v1/workspaces/new", json={"policy": {"budgets": {"items": 7}}}).json()["name"] == "new"
        assert admin.put("/v1/workspaces/new", json={"policy": {"budgets": {"items": 9}}}).json()["epoch"] == 2
        assert admin.get("/v1/workspaces/new/admin/policy").json()["budgets"]["items"] == 7
        policy = client.get(f"{AT}/admin/policy").json()
        name = f"p{next(_numbers)}"
        client.post(f"{AT}/record", json={"text": "Old news", "id": name})
        client.post(f"{AT}/revoke", json={"target": name})
        given = {"target": name, "reason": "It holds after all.", "expires": 3_600.0}
        assert "overseers" in admin.post(f"{AT}/admin/overrule", json=given).json()["detail"]
        overseen = {**policy, "evidence": {**policy["evidence"], "overseers": ["owner"]}}
        assert admin.post(f"{AT}/admin/govern", json={"policy": overseen}).status_code == 200
        assert admin.post(f"{AT}/admin/overrule", json=given).status_code == 200
        assert client.get(f"{AT}/items/{name}").json()["item"]["state"] == "unproven"
        assert admin.post(f"{AT}/admin/govern", json={"policy": policy}).status_code == 200
        assert admin.post(f"{AT}/admin/sweep", json={}).json()["departed"] == []
        assert client.get(f"{AT}/log", params={"limit": 500}).json()["entries"][-1]["by"] == "owner"
        gone = admin.post(f"{AT}/admin/forget", json={"targets": [name], "reason": "asked to"}).json()
        assert gone["erased"] == [f"item:{name}"]


def test_an_agent_is_present_under_a_lease(client: httpx.Client) -> None:
    agent = {"role": "planner", "task": task()}
    present = client.post(f"{AT}/present", json={**agent, "lease": 60}).json()
    renewed = client.post(f"{AT}/renew", json={**agent, "token": present["token"]}).json()
    assert renewed["until"] >= present["until"]
    stale = client.post(f"{AT}/renew", json={**agent, "token": present["token"] + 1})
    assert (stale.status_code, stale.json()["title"]) == (409, "LeaseError")


def test_a_draft_waits_for_a_person(host: Hosted) -> None:
    """Under a policy that counts drafts at once, an agent may write none."""
    draft = {"role": "planner", "task": task(), "text": "The pool is closed", "drafted": {"model": "m"}}
    with host.client("agent") as agent, host.client("admin") as admin:
        refused = agent.post(f"{AT}/draft", json=draft)
        assert (refused.status_code, "confirm" in refused.json()["detail"]) == (403, True)
        policy = admin.get(f"{AT}/admin/policy").json()
        strict = {**policy, "evidence": {**policy["evidence"], "drafts": "confirm"}}
        assert admin.post(f"{AT}/admin/govern", json={"policy": strict}).status_code == 200
        try:
            assert agent.post(f"{AT}/draft", json=draft).status_code == 200
        finally:
            assert admin.post(f"{AT}/admin/govern", json={"policy": policy}).status_code == 200


@dataclass(frozen=True)
class Refusal:
    """A request, and what its answer says."""

    path: str
    body: Any
    status: int
    said: str
    field: str | None = None
    word: str = "all"


REFUSALS = {
    "no credential": Refusal("/observe", {"text": "a"}, 401, "Bearer", word=""),
    "a role that the credential does not name": Refusal(
        "/depart", {"role": "boss", "task": "t"}, 403, "'boss'", "role"
    ),
    "a writer that a body names": Refusal("/record", {"text": "a", "by": "A2"}, 422, "credential says", "by"),
    "an unknown field": Refusal("/record", {"text": "a", "slt": "b"}, 422, "did you mean slot", "slt"),
    "a field of another type": Refusal("/record", {"text": 5}, 422, "Expected `str`", "text"),
    "a field that is missing": Refusal("/supersede", {"target": "a"}, 422, "required", "successor"),
    "a moment without a zone": Refusal(
        "/observe", {"text": "a", "at": "2026-05-04T09:00:00"}, 422, "2026-05-04T09:00:00Z", "at"
    ),
    "an id that is none": Refusal("/revoke", {"target": "a b"}, 422, "not an id", "target"),
    "an item that is not there": Refusal("/revoke", {"target": "nothing"}, 404, "nothing"),
    "a verb without the right": Refusal("/record", {"text": "a"}, 403, "write", "record", word="agent"),
    "an agent that governs": Refusal("/admin/sweep", {}, 403, "admin", "sweep", word="agent"),
    "a writer that returns": Refusal("/come_back", {"role": "planner", "task": "t"}, 403, "agent", word="writer"),
    "an agent that never left": Refusal("/come_back", {"role": "planner", "task": "never"}, 404, ""),
    "no object": Refusal("/record", [1], 422, "Expected `object`"),
    "a place that is none": Refusal("/fly", {}, 404, "openapi"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_names_the_field_and_the_fix(host: Hosted, name: str) -> None:
    case = REFUSALS[name]
    with host.client(case.word) as client:
        answer = client.post(f"{AT}{case.path}", json=case.body)
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["status"]) == (case.status, case.status)
    assert case.said in answer.json()["detail"]
    if case.field is not None:
        assert answer.json()["field"] == case.field


@pytest.mark.parametrize("verb", [verb for verb in verbs() if "{workspace}" in verb.path], ids=lambda verb: verb.name)
def test_another_teams_workspace_is_not_there(host: Hosted, verb: Any) -> None:
    """The answer is that of a workspace that never was, whatever the verb."""
    path = verb.path.replace("{id}", "x").replace("{item}", "x").replace("{epoch}", "1")
    with host.client("rival") as client:
        there, nowhere = (
            client.request(verb.method, path.replace("{workspace}", name), json={}) for name in (TEAM, "nowhere")
        )
    assert there.status_code == nowhere.status_code == 404
    assert there.text == nowhere.text.replace("nowhere", TEAM)


def test_a_caller_sees_only_its_own_workspaces(host: Hosted) -> None:
    with host.client("rival") as rival:
        assert [one["name"] for one in rival.get("/v1/workspaces").json()["entries"]] == [OTHER]


@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"text": "\\ud800"}', b"null", b"[[[[", b'{"text":"a","text":"b"'])
def test_a_malformed_body_is_refused(client: httpx.Client, body: bytes) -> None:
    answer = client.post(f"{AT}/observe", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["title"]) == (422, "RecordError")


def test_a_body_of_another_type_or_too_large_is_refused(client: httpx.Client) -> None:
    assert client.post(f"{AT}/observe", content=b"text=a", headers={"Content-Type": "text/plain"}).status_code == 415
    assert client.post(f"{AT}/observe", content=b'{"text": "' + b"a" * (9 << 20)).status_code == 413


@pytest.mark.parametrize("name", ["a%0Ab", "%2F", "%00", "..%2F..", "%E2%80%AE", "%ff", "x%3Fy", "a" * 3_000])
def test_an_odd_name_is_only_unknown(client: httpx.Client, name: str) -> None:
    answer = client.get(f"{AT}/items/{name}")
    assert answer.status_code in (404, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_caller_that_leaves_in_the_middle_of_a_body_is_no_failure(
    host: Hosted, client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    address = urlsplit(host.url)
    before = client.get(AT).json()["epoch"]
    with socket.create_connection((address.hostname or "", address.port or 0)) as left:
        head = f"POST {AT}/observe HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nContent-Length: 900\r\n\r\n"
        left.sendall(head.encode() + b'{"text": "half')
        time.sleep(0.05)
    until = time.monotonic() + 10
    while 'readmit_request_duration_seconds_count{verb="observe",status="400"}' not in client.get("/metrics").text:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert client.get(AT).json()["epoch"] == before
    assert not [one for one in caplog.records if one.name == "readmit.server"]


def test_a_wrong_method_is_refused(client: httpx.Client) -> None:
    answer = client.delete(AT)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, PUT")


def test_the_service_says_how_it_is(host: Hosted) -> None:
    with host.client() as client:
        client.post(f"{AT}/come_back", json=planned(client, task()))
    with host.client("") as nobody:
        assert nobody.get("/health").json() == {"status": "ok"}
        assert nobody.get("/ready").json() == {"status": "ok"}
        assert nobody.get("/v1/openapi.json").json()["openapi"] == "3.1.0"
        counts = nobody.get("/metrics").text
    assert 'readmit_request_duration_seconds_count{verb="observe",status="200"}' in counts
    assert 'readmit_returns_total{outcome="admitted",reason=""}' in counts
    assert TEAM not in counts
