"""The whole server: keys, tokens, verbs and tools together, asked by real clients."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from readmit import Workspace
from readmit.lab import desk_of
from readmit.policies import EvidenceRules, Policy
from readmit.server import ApiKeys, Serving, whole_app
from tests.server.provider import ISSUER, settings_file, token, write_keys
from tests.server.serving import served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOOLS = ["remember", "recall", "what_changed", "why", "settle", "depart", "come_back"]


class Team:
    """A server over a store with two workspaces, and credentials for it."""

    def __init__(self, url: str, keys: ApiKeys, lines: list[str]) -> None:
        self.url = url
        self.keys = keys
        self.lines = lines

    def key(self, principal: str = "A1", **changed: Any) -> dict[str, str]:
        """The header of a new key."""
        now = datetime.now(UTC)
        given = {"workspaces": ["trip"], "rights": ["agent"], "roles": ["planner"], "now": now}
        _, key = self.keys.add(principal, **{"expires": now + timedelta(days=1), **given, **changed})
        return {"Authorization": f"Bearer {key}"}

    def talk(self, header: dict[str, str], *calls: tuple[str, dict[str, Any]], query: str = "task=trip") -> list[Any]:
        """Call tools by the official client. An error is its text."""

        async def run(connected: Client) -> list[Any]:
            answers = []
            for name, given in calls:
                done = await connected.call_tool(name, given)
                text = done.content[0].text  # type: ignore[union-attr]  # every answer is text
                answers.append(text if done.is_error else json.loads(text))
            return answers

        answers: list[Any] = self.connected(header, run, query)
        return answers

    def connected(self, header: dict[str, str], what: Callable[[Client], Any], query: str = "task=trip") -> Any:
        """Run something with a client that sends a credential."""

        async def run() -> Any:
            async with httpx2.AsyncClient(headers=header, timeout=30) as http:
                transport = streamable_http_client(f"{self.url}/mcp?{query}", http_client=http)
                async with Client(transport, read_timeout_seconds=30, cache=None) as connected:
                    return await what(connected)

        return anyio.run(run)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("team")
    write_keys(folder)
    policies = {"trip": Policy(evidence=EvidenceRules(drafts="confirm")), "rivals": Policy()}
    for name, policy in policies.items():
        with Workspace.open(folder / "team.db", name=name, policy=policy) as workspace:
            seen = workspace.observe("Sunrise confirms two nights.", by="A2")
            workspace.record(f"Sunrise is booked for {name}", id="h0", slot="hotel", sources=[seen], by="A2")
            workspace.oblige("Book a table", id="o0", required=["hotel"], roles=["planner"], task="trip", by="A2")
            keys = desk_of(workspace).keys.folder
    assert keys is not None
    lines: list[str] = []
    serving = Serving(
        store=str(folder / "team.db"), key_folder=keys, url="https://readmit.example.org",
        issuers=settings_file(folder),
    )  # fmt: skip
    with served(whole_app(serving, lines.append)) as url:
        yield Team(url, ApiKeys(keys), lines)


def test_a_key_and_a_token_reach_the_verbs_as_their_principals(team: Team) -> None:
    for header, who in ((team.key(), "A1"), ({"Authorization": f"Bearer {token()}"}, "acme/ann")):
        at = f"{team.url}/v1/workspaces/trip"
        left = httpx.post(f"{at}/depart", headers=header, json={"role": "planner", "task": "trip"})
        assert left.json()["identity"]["principal"] == who
        came = httpx.post(f"{at}/come_back", headers=header, json={"role": "planner", "task": "trip"})
        assert came.json()["admitted"]
        assert who in {json.loads(line)["principal"] for line in team.lines}


def test_an_agent_departs_returns_and_reads_by_tools_alone(team: Team) -> None:
    header = team.key("A5")
    names = team.connected(header, _names)
    assert names == TOOLS
    nothing, left, refused, came, held = team.talk(
        header, ("recall", {}), ("depart", {}), ("recall", {}), ("come_back", {}), ("recall", {"query": "sunrise"})
    )
    assert nothing["notice"] == "Nothing was handed to this agent."
    assert "departed" in left
    assert refused == "agent: it has departed; come_back hands over what still holds"
    assert (came["kind"], came["missing"]) == ("admitted", [])
    assert "Sunrise is booked for trip" in came["view"]
    assert [item["id"] for item in held["holds"]] == ["h0"]


async def _names(connected: Client) -> list[str]:
    return [one.name for one in (await connected.list_tools()).tools]


def test_what_an_agent_remembers_is_a_draft_of_its_own(team: Team) -> None:
    one, other = team.key("A6"), team.key("A7")
    (said,) = team.talk(one, ("remember", {"text": "The tests need Redis."}))
    assert said["state"] == "draft"
    assert "readmit confirm ID" in said["notice"]
    (mine,), (theirs,) = team.talk(one, ("recall", {})), team.talk(other, ("recall", {}))
    assert [draft["text"] for draft in mine["drafts"]] == ["The tests need Redis."]
    assert theirs["drafts"] == []


def test_where_the_policy_counts_drafts_at_once_an_agent_writes_none(team: Team) -> None:
    header = team.key("A6", workspaces=["rivals"])
    (said,) = team.talk(header, ("remember", {"text": "The tests need Redis."}))
    assert said.startswith("draft: the policy counts drafts at once")


def test_a_token_has_the_same_tools(team: Team) -> None:
    header = {"Authorization": f"Bearer {token(sub='bob')}"}
    (said,) = team.talk(header, ("depart", {}))
    assert "departed" in said


SEATS: dict[str, tuple[dict[str, Any], str, int, str]] = {
    "no task": ({}, "", 422, "task: name it in the address"),
    "a role of somebody else": ({}, "task=trip&role=booker", 403, "role: this credential may not act as 'booker'"),
    "another workspace": ({}, "task=trip&workspace=rivals", 404, "no workspace 'rivals'"),
    "a workspace that is not there": ({}, "task=trip&workspace=nope", 404, "no workspace 'nope'"),
    "several workspaces": ({"workspaces": ["trip", "rivals"]}, "task=trip", 422, "workspace: this credential has 2"),
    "several roles": ({"roles": ["planner", "booker"]}, "task=trip", 422, "role: this credential has 2"),
    "no agent": ({"rights": ["write", "inspect", "admin"]}, "task=trip", 403, "rights: this credential has not"),
}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("case", SEATS)
def test_the_address_names_no_more_than_the_credential_allows(team: Team, case: str) -> None:
    changed, query, status, words = SEATS[case]
    answer = httpx.post(f"{team.url}/mcp?{query}", headers={**team.key(**changed), **ACCEPT}, json=LIST)
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True), answer.text


def test_without_a_credential_the_door_says_who_issues_one(team: Team) -> None:
    answer = httpx.post(f"{team.url}/mcp", json=LIST, headers=ACCEPT)
    wanted = "https://readmit.example.org/.well-known/oauth-protected-resource/mcp"
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].endswith(f'resource_metadata="{wanted}"')
    said = httpx.get(f"{team.url}/.well-known/oauth-protected-resource/mcp").json()
    assert (said["resource"], said["authorization_servers"]) == ("https://readmit.example.org/mcp", [ISSUER])


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
def test_no_stream_stays_open_where_nothing_is_sent(team: Team, method: str) -> None:
    answer = httpx.request(method, f"{team.url}/mcp?task=trip", headers={**team.key(), **ACCEPT})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_page_of_a_stranger_that_is_sent_here_by_name_gets_nothing(team: Team) -> None:
    for changed in ({"Host": "evil.example.org"}, {"Origin": "https://evil.example.org"}):
        answer = httpx.post(f"{team.url}/mcp?task=trip", headers={**team.key(), **ACCEPT, **changed}, json=LIST)
        assert answer.status_code in (403, 421)


def cookie_of(answer: httpx.Response) -> dict[str, str]:
    """Its first cookie. It is for TLS alone, which a proxy would end here."""
    cookie = answer.headers.get_list("set-cookie")[0]
    assert cookie.startswith("__Host-")
    assert "secure" in cookie.lower()
    return {"Cookie": cookie.partition(";")[0]}


def test_a_person_logs_in_and_the_log_says_who_looked(team: Team) -> None:
    key = team.key("boss", rights=["inspect"], roles=[])["Authorization"].removeprefix("Bearer ")
    form = httpx.get(f"{team.url}/login")
    (csrf,) = re.findall(r'name="csrf" value="(\w+)"', form.text)
    inside = httpx.post(f"{team.url}/login", data={"csrf": csrf, "key": key}, headers=cookie_of(form))
    assert inside.status_code == 303
    assert httpx.get(team.url, headers=cookie_of(inside)).status_code == 200
    httpx.get(team.url)  # the line of a request is written after its answer
    assert "boss" in {json.loads(line)["principal"] for line in team.lines}
    assert key.rpartition("_")[2] not in "".join(team.lines)


def test_health_needs_no_credential_and_says_nothing(team: Team) -> None:
    assert httpx.get(f"{team.url}/health").json() == {"status": "ok"}
    assert httpx.get(f"{team.url}/v1/openapi.json").status_code == 200
    assert "trip" not in httpx.get(f"{team.url}/metrics").text
