"""Two teams with equal names, ids and keys in one store: whatever is asked, no answer holds anything of the other."""

from __future__ import annotations

import threading
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.hosting import OTHER, TEAM

if TYPE_CHECKING:
    import httpx2 as httpx

    from tests.server.hosting import Hosted

MARKS = {TEAM: "Sunrise", OTHER: "Midnight"}
WORDS = {TEAM: "all", OTHER: "rival"}
AGENT = {"role": "planner", "task": "trip"}
READ = ("items", "log", "returns", "audit", "agents", "doctor", "head", "keys", "admin/policy", "items/h0", "proof/4")


def at(team: str) -> str:
    return f"/v1/workspaces/{team}"


def told(client: httpx.Client, team: str, number: int) -> list[httpx.Response]:
    """What a team is answered while it does everything under the ids and keys that the other uses too."""
    mark, under = MARKS[team], {"Idempotency-Key": f"same-{number}"}
    seen = client.post(f"{at(team)}/observe", json={"text": f"{mark} confirms.", "id": f"e{number}"}, headers=under)
    fields = {"slot": "hotel", "task": "trip", "sources": [seen.json()]}
    held = client.post(
        f"{at(team)}/record", json={"text": f"{mark} is booked", "id": f"h{number}", **fields}, headers=under
    )
    duty = {"text": f"Write to {mark}", "required": ["hotel"], "id": "o0", "roles": ["planner"], "task": "trip"}
    answers = [seen, held, client.post(f"{at(team)}/oblige", json=duty)]
    answers.append(client.post(f"{at(team)}/depart", json=AGENT, headers=under))
    came = client.post(f"{at(team)}/come_back", json={**AGENT, "id": f"r{number}"}, headers=under)
    proof = {**AGENT, "secret": came.json()["secret"]}
    answers += [came, client.post(f"{at(team)}/returns/r{number}/expose", json=proof)]
    answers += [client.get(f"{at(team)}/{place}") for place in READ]
    return [*answers, client.get(f"{at(team)}/returns/r{number}"), client.get(f"{at(team)}/returns/r{number}/why")]


@pytest.fixture(scope="module")
def answers(host: Hosted) -> dict[str, list[httpx.Response]]:
    """Both teams do the same at the same time."""
    found: dict[str, list[httpx.Response]] = {TEAM: [], OTHER: []}

    def work(team: str) -> None:
        with host.client(WORDS[team]) as client:
            for number in range(4):
                found[team] += told(client, team, number)

    threads = [threading.Thread(target=work, args=(team,)) for team in found]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return found


@pytest.mark.parametrize(("team", "other"), [(TEAM, OTHER), (OTHER, TEAM)])
def test_equal_ids_lead_each_team_to_its_own(answers: dict[str, list[httpx.Response]], team: str, other: str) -> None:
    assert len(answers[team]) == 4 * (8 + len(READ))
    assert {one.status_code for one in answers[team]} == {200}
    assert any(MARKS[team] in one.text for one in answers[team])
    assert not [one.text for one in answers[team] if MARKS[other] in one.text or f'"{other}"' in one.text]


def test_what_one_team_was_given_opens_nothing_of_the_other(
    host: Hosted, answers: dict[str, list[httpx.Response]]
) -> None:
    secrets: dict[str, Any] = {
        team: next(one.json()["secret"] for one in found if '"secret"' in one.text) for team, found in answers.items()
    }
    for team, other in product(MARKS, MARKS):
        with host.client(WORDS[team]) as client:
            crossed = client.post(f"{at(other)}/returns/r0/expose", json={**AGENT, "secret": secrets[other]})
            own = client.post(f"{at(team)}/returns/r0/expose", json={**AGENT, "secret": secrets[other]})
        if team != other:
            assert crossed.status_code == 404
            assert own.json()["reasons"] == ["binding_mismatch"]
            assert MARKS[other] not in crossed.text + own.text


def test_counts_and_the_list_of_workspaces_name_no_other_team(
    host: Hosted, answers: dict[str, list[httpx.Response]]
) -> None:
    assert answers
    with host.client("rival") as rival:
        assert TEAM not in rival.get("/v1/workspaces").text
        counts = rival.get("/metrics").text
    assert not [word for word in (TEAM, OTHER, "Sunrise", "planner", "trip", "A1") if f'"{word}"' in counts]
