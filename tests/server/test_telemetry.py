"""Requests in OpenTelemetry's SDK and in Prometheus, from the same measurements; the board of ``deploy`` reads them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import anyio
import httpx2 as httpx
import pytest
from starlette.responses import Response
from starlette.routing import Route

from readmit import Workspace
from readmit.models import Ask, Metered, TokenLedger
from readmit.server import ServerSettings, make_app
from tests.conftest import ROOT
from tests.models.scripted import Scripted, reply
from tests.server.hosting import TEAM, Words, hosted
from tests.telemetry.recorder import recording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.requests import Request

    from tests.server.hosting import Hosted
    from tests.telemetry.recorder import Recorder

AT, AGENT = f"/v1/workspaces/{TEAM}", {"role": "planner", "task": "trip"}
CALLER_TRACE = "0af7651916cd43dd8448eb211c80319c"
BOARD = json.loads((ROOT / "deploy" / "grafana.json").read_text())
MEASURES = {
    name: [one.replace(".", "_") for one in re.findall(r"`([^`]+)`", labels)]
    for name, labels in re.findall(
        r"^\| `[\w.]+` \| `(\w+)` \| \w+ \| [^|]* \|([^|]*)\|$",
        (ROOT / "docs" / "guide" / "telemetry.md").read_text(),
        re.MULTILINE,
    )
}
"""By their names in Prometheus, with their labels there, from the page that is made from the code."""
QUERIES = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hosted, Recorder]]:
    folder = tmp_path_factory.mktemp("observed")
    Workspace.open(folder / "team.db", name=TEAM, keys=folder / "keys").close()
    with recording() as recorder, hosted(folder / "team.db", keys=folder / "keys") as host:
        yield host, recorder


@pytest.fixture(scope="module")
def counts(observed: tuple[Hosted, Recorder]) -> str:
    """What Prometheus reads after a return whose caller has a trace of its own."""
    host, _ = observed
    with host.client() as client:
        client.post(f"{AT}/depart", json=AGENT).raise_for_status()
        headers = {"traceparent": f"00-{CALLER_TRACE}-b7ad6b7169203331-01"}
        client.post(f"{AT}/come_back", json=AGENT, headers=headers).raise_for_status()
        return client.get("/metrics").text


def test_a_return_continues_the_trace_of_its_caller(observed: tuple[Hosted, Recorder], counts: str) -> None:
    _, recorder = observed
    recorder.await_spans("readmit.request", 2)
    traced = [one for one in recorder.spans() if f"{one.context.trace_id:032x}" == CALLER_TRACE]
    (request,) = [one for one in traced if one.name == "readmit.request"]
    (top,) = [one for one in traced if one.name == "readmit.return"]
    assert request.parent is not None
    assert request.parent.is_remote
    assert top.parent is not None
    assert top.parent.span_id == request.context.span_id
    assert dict(request.attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/v1/workspaces/{workspace}/come_back",
        "http.response.status_code": 200,
    }
    held = recorder.everything()
    assert [word for word in (TEAM, "planner", "trip", "A1", "Bearer", "key of") if f'"{word}' in held] == []


@pytest.mark.parametrize("given", ["", "00", f"00-{'0' * 32}-{'0' * 16}-01", "ff-\xff-1-1", "a" * 9_000])
def test_a_trace_that_cannot_be_read_is_none(observed: tuple[Hosted, Recorder], given: str) -> None:
    host, recorder = observed
    before = len(recorder.spans("readmit.request"))
    with host.client() as client:
        assert client.get(AT, headers={b"traceparent": given.encode("latin-1")}).status_code == 200
    assert recorder.await_spans("readmit.request", before + 1)[-1].parent is None


def test_principals_are_named_where_the_operator_asks(
    observed: tuple[Hosted, Recorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    host, recorder = observed
    monkeypatch.setenv("READMIT_TELEMETRY_PRINCIPALS", "1")
    before = len(recorder.spans("readmit.request"))
    with host.client() as client:
        client.get(AT).raise_for_status()
    assert (recorder.await_spans("readmit.request", before + 1)[-1].attributes or {})["readmit.principal"] == "A1"


def test_both_ways_out_have_the_same_measurements(observed: tuple[Hosted, Recorder], counts: str) -> None:
    _, recorder = observed
    ((labels, returns),) = recorder.points("readmit.returns")
    said = f'{{outcome="{labels["outcome"]}",reason="{labels.get("reason", "")}"}}'
    assert f"readmit_returns_total{said} {returns}\n" in counts
    assert 'readmit_request_duration_seconds_count{verb="come_back",status="200"} 1\n' in counts
    ((_, seconds),) = recorder.points("readmit.return.duration")
    (total,) = re.findall(r"^readmit_return_duration_seconds_sum\{.*\} (\S+)$", counts, re.MULTILINE)
    assert float(total) == pytest.approx(seconds, abs=1e-6)
    assert 'readmit_calls{state="running"} 0\nreadmit_calls{state="waiting"} 0\n' in counts
    assert {labels["state"]: value for labels, value in recorder.points("readmit.calls")} == {
        "running": 0,
        "waiting": 0,
    }


def names_in(counts: str) -> set[str]:
    found = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", counts, re.MULTILINE):
        found |= {f"{name}_{one}" for one in ("bucket", "sum", "count")} if kind == "histogram" else {name}
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_the_board_asks_for_what_is_there(counts: str, query: str) -> None:
    used = set(re.findall(r"\b(?:readmit|gen_ai_client|process)_\w+", query))
    assert used
    assert used <= names_in(counts)
    labels = {
        label for name, labels in MEASURES.items() if any(one.startswith(name) for one in used) for label in labels
    }
    asked = {one for group in re.findall(r"by \(([^)]*)\)", query) for one in group.split(", ")} - {"le"}
    assert asked | set(re.findall(r"(\w+)!?=\"", query)) <= labels


def test_the_board_shows_every_measure_and_its_panels_do_not_overlap(counts: str) -> None:
    shown = "\n".join(QUERIES)
    assert len(MEASURES) > 5
    assert [name for name in MEASURES if name not in shown] == []
    assert [name for name in MEASURES if f"# TYPE {name} " not in counts] == []
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in BOARD["panels"]}
    assert len(places) == len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


def test_what_a_model_is_asked_in_a_server_is_counted_there_alone(tmp_path: Path) -> None:
    """The name of a model may hold anything, and a value at the end of a class is in it."""

    async def ask(_: Request) -> Response:
        model = Scripted(reply("Sunrise", tokens=(4, 5)))
        model.name = 'a"\n\\'
        Metered(model, TokenLedger()).ask([Ask(stage="s", prompt="p@1", system="", user="Riverside")])
        return Response("")

    settings = ServerSettings(store=tmp_path / "team.db")
    asked, other = (make_app(settings, Words({}), more=lambda _: [Route("/ask", ask)]) for _ in range(2))

    async def last(app: Any, *places: str) -> str:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://it") as client:
            return [(await client.get(place)).text for place in places][-1]

    texts = anyio.run(last, asked, "/ask", "/metrics"), anyio.run(last, other, "/metrics")
    name = 'gen_ai_request_model="a\\"\\n\\\\"'
    found = re.findall(r'^gen_ai_client_token_usage_bucket\{(.*),le="(\d+)"\} (\d+)$', texts[0], re.MULTILINE)
    counted = {(labels.rpartition('="')[2], end): count for labels, end, count in found if name in labels}
    assert [counted['input"', "1"], counted['input"', "4"], counted['output"', "4"], counted['output"', "16"]] == [
        "0",
        "1",
        "0",
        "1",
    ]
    assert "gen_ai_client_token_usage_bucket" not in texts[1]
