"""Requests of every shape, made from the OpenAPI document: none of them makes the server fail.

A part of them names items, returns and roles that are there, so that they reach what a malformed one does not.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readmit.remote import verbs
from tests.server.hosting import RIGHTS, caller, hosted
from tests.server.test_openapi import PLACE
from tests.server.test_verbs import planned, task

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2 as httpx
    from schemathesis import Case

    from tests.server.hosting import Hosted

SCHEMA = schemathesis.openapi.from_dict(msgspec.json.decode(PLACE.read_bytes()))
OPERATIONS: dict[str, Any] = {
    found.ok().definition.raw["operationId"]: found.ok()  # type: ignore[union-attr]  # an error fails here
    for found in SCHEMA.get_all_operations()
}
# An endless answer is read by the tests of streams.
MEDIA = {verb.name: verb.media for verb in verbs()}
NAMES = [verb.name for verb in verbs() if verb.name != "subscribe"]


class Known:
    """Names that are there, for any field that may hold one."""

    def __init__(self, client: httpx.Client, at: str) -> None:
        on = task()
        agent = planned(client, on, at)
        came = client.post(f"{at}/come_back", json=agent).json()
        items = [f"h-{on}", f"o-{on}"]
        self.fields: dict[str, list[Any]] = {
            "task": [on], "role": ["planner"], "secret": [came["secret"]], "id": [*items, came["id"]],
            "target": items, "successor": items, "item": items, "obligation": [items[1]], "supersedes": items,
            "bound_to": items, "depends_on": [items], "epoch": ["1", 1, 5], "drafted": [{"model": "m"}],
        }  # fmt: skip

    def put_into(self, values: dict[str, Any], chance: random.Random) -> None:
        """Replace some values of fields."""
        for name in values.keys() & self.fields.keys():
            if chance.random() < 0.7:
                values[name] = chance.choice(self.fields[name])


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    folder = tmp_path_factory.mktemp("any")
    place = folder / "team.db"
    if request.param == "postgres":
        place = request.getfixturevalue("server").url("any_request")
    callers = {"all": caller("A1", *RIGHTS, roles=("planner", "0"), workspaces=tuple(NAMES))}
    with hosted(place, callers, keys=folder / "keys") as running:
        yield running


def answered(client: httpx.Client, case: Case[Any], workspace: str, known: Known, seed: int) -> httpx.Response:
    """The answer to a case, most of whose names are there."""
    chance = random.Random(seed)
    case.path_parameters = {**(case.path_parameters or {}), "workspace": workspace}
    known.put_into(case.path_parameters, chance)
    if isinstance(case.body, dict):
        known.put_into(case.body, chance)
    sent = case.as_transport_kwargs()
    path = case.formatted_path
    headers = {
        name: value for name, value in sent["headers"].items() if name.lower() not in ("user-agent", "authorization")
    }
    named = {"json": sent["json"]} if "json" in sent else {"content": sent.get("data")}
    return client.request(case.method, path, params=sent.get("params"), headers=headers, **named)


def examine(host: Hosted, name: str, examples: int) -> None:
    """Send requests of one verb in a workspace of its own. Each answer has to be one that the document knows."""
    with host.client() as client:
        at = f"/v1/workspaces/{name}"
        client.put(at, json={})
        known = Known(client, at)

        @given(case=OPERATIONS[name].as_strategy(), seed=st.integers(0, 2**32))
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
        )  # fmt: skip
        def check(case: Case[Any], seed: int) -> None:
            answer = answered(client, case, name, known, seed)
            assert answer.status_code < 500, answer.text
            kind = MEDIA[name] if answer.status_code == 200 else "application/problem+json"
            assert answer.headers["content-type"] == kind, answer.text
            lines = answer.text.split("\n") if kind == "application/x-ndjson" else [answer.text]
            for text in filter(None, lines):
                msgspec.json.decode(text)

        check()


@pytest.mark.parametrize("verb", ["record", "come_back", "explain", "overrule", "batch"])
def test_no_request_makes_the_server_fail(host: Hosted, verb: str) -> None:
    examine(host, verb, 8)


@pytest.mark.slow
@pytest.mark.parametrize("verb", NAMES)
def test_no_request_of_any_verb_makes_the_server_fail(host: Hosted, verb: str) -> None:
    examine(host, verb, 150)
