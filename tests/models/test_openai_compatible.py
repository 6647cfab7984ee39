from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from readmit.errors import ModelError
from readmit.models import Ask, Endpoint, Failure, Fault, OpenAICompatible, Reply
from readmit.models.endpoint import MAX_RESPONSE_BYTES
from tests.models.stand_in import (
    StandIn,
    completion,
    cuts,
    drips,
    echoes,
    fails,
    floods,
    hangs,
    refuses,
    resets,
    says,
    sends,
)

if TYPE_CHECKING:
    from tests.models.stand_in import Handler, Play

SCHEMA = b'{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}'


def ask(number: int = 0, *, schema: bytes = SCHEMA) -> Ask:
    return Ask(stage="verify", prompt="verify@1", system="Judge.", user=f"question {number}", schema=schema)


def opened(server: StandIn, **limits: float) -> OpenAICompatible:
    settings = {"deadline": 120.0, "retries": 1} | limits
    return OpenAICompatible("some-model", Endpoint(server.url, **settings))  # type: ignore[arg-type]


def test_an_answer_with_its_usage() -> None:
    with StandIn(says('{"a": "yes"}')) as server, opened(server) as model:
        (reply,) = model.ask([ask()])
    assert isinstance(reply, Reply)
    assert (reply.text, reply.model, reply.complete, reply.replayed) == ('{"a": "yes"}', "stand-in-2025", True, False)
    assert (reply.usage.stage, reply.usage.input, reply.usage.cached, reply.usage.output) == ("verify", 40, 32, 7)
    (body,) = server.bodies
    assert body["model"] == "some-model"
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["max_completion_tokens"] == 1_024
    assert body["temperature"] == 0


@dataclass
class Case:
    plays: tuple[Play, ...]
    expected: str | Fault
    calls: int


CASES = {
    "429 is retried": Case((fails(429), says("yes")), "yes", 2),
    "429 stays": Case((fails(429),), Fault.RATE_LIMITED, 2),
    "500 is retried": Case((fails(500), says("yes")), "yes", 2),
    "503 stays": Case((fails(503),), Fault.UNAVAILABLE, 2),
    "401 is not retried": Case((fails(401),), Fault.DENIED, 1),
    "404 is not retried": Case((fails(404),), Fault.DENIED, 1),
    "400 about the prompt": Case((fails(400, "context length exceeded"),), Fault.REFUSED, 1),
    "a reset is retried": Case((resets, says("yes")), "yes", 2),
    "resets stay": Case((resets,), Fault.UNAVAILABLE, 2),
    "a body cut off is retried": Case((cuts, says("yes")), "yes", 2),
    "JSON cut off": Case((sends(completion("yes")[:60]),), Fault.MALFORMED, 1),
    "not JSON": Case((sends(b"<html>gateway</html>"),), Fault.MALFORMED, 1),
    "not UTF-8": Case((sends(b'{"choices": "\xff"}'),), Fault.MALFORMED, 1),
    "another object": Case((sends(b'{"object": "list", "data": []}'),), Fault.MALFORMED, 1),
    "no choice": Case((sends(b'{"choices": []}'),), Fault.MALFORMED, 1),
    "nothing at all": Case((sends(b""),), Fault.MALFORMED, 1),
    "nested beyond reason": Case((sends(b"[" * 100_000),), Fault.MALFORMED, 1),
    "an empty answer": Case((says(""),), "", 1),
    "no content": Case((says(None),), "", 1),
    "a refusal": Case((says(None, refusal="I cannot"),), Fault.REFUSED, 1),
    "a content filter": Case((says("", finish="content_filter"),), Fault.REFUSED, 1),
    "a huge answer": Case((says("x" * 300_000),), Fault.TOO_LONG, 1),
    "an endless response": Case((floods,), Fault.TOO_LONG, 1),
    "compressed against the request": Case((sends(b"\x1f\x8b", Content_Encoding="gzip"),), Fault.REFUSED, 1),
    "a redirect": Case((lambda h: h.send(307, b"", Location="http://127.0.0.1:9/v1"),), Fault.REFUSED, 1),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_servers_do(case: Case) -> None:
    with StandIn(*case.plays) as server, opened(server) as model:
        (result,) = model.ask([ask()])
        assert len(server.bodies) == case.calls
    if isinstance(case.expected, Fault):
        assert isinstance(result, Failure)
        assert result.fault is case.expected
        assert result.message
    else:
        assert isinstance(result, Reply)
        assert result.text == case.expected


def test_results_come_in_order_and_a_failure_loses_no_other() -> None:
    def play(handler: object) -> None:
        if handler.body["messages"][-1]["content"] == "question 3":  # type: ignore[attr-defined]
            fails(401)(handler)  # type: ignore[arg-type]
        else:
            echoes(handler)  # type: ignore[arg-type]

    with StandIn(play) as server, opened(server) as model:
        results = model.ask([ask(number) for number in range(8)])
    shown = [result.text if isinstance(result, Reply) else result.fault for result in results]
    assert shown == [Fault.DENIED if number == 3 else f"echo question {number}" for number in range(8)]


def test_no_more_calls_at_once_than_allowed() -> None:
    together = threading.Barrier(3)

    def play(handler: Handler) -> None:
        if len(server.bodies) > 1:  # the first is sent alone
            together.wait(60)
            time.sleep(0.05)  # for a fourth that should not be there
        says("yes")(handler)

    with StandIn(play) as server, opened(server, concurrency=3) as model:
        assert all(isinstance(result, Reply) for result in model.ask([ask(number) for number in range(13)]))
    assert server.most_busy == 3


def test_a_timeout_is_retried() -> None:
    with StandIn(hangs, says("yes")) as server, opened(server) as model:
        model._endpoint._started()[1].timeout = 3.0
        (result,) = model.ask([ask()])
        assert len(server.bodies) == 2
    assert isinstance(result, Reply)


def test_retry_after_is_honored() -> None:
    with StandIn(fails(429, Retry_After="2"), says("yes")) as server, opened(server) as model:
        (result,) = model.ask([ask()])
    assert isinstance(result, Reply)
    assert server.times[1] - server.times[0] > 1.9


def test_the_deadline_is_on_the_wall_clock() -> None:
    """A server that sends a byte now and then never trips a read timeout."""
    with StandIn(drips) as server, opened(server, deadline=0.5) as model:
        (result,) = model.ask([ask()])
    assert isinstance(result, Failure)
    assert result.fault is Fault.TIMEOUT
    assert result.usage.milliseconds >= 400


def test_the_deadline_holds_while_waiting_to_retry() -> None:
    with StandIn(fails(429, Retry_After="60")) as server, opened(server, deadline=3.0) as model:
        (result,) = model.ask([ask()])
        assert len(server.bodies) == 1
    assert isinstance(result, Failure)
    assert result.fault is Fault.TIMEOUT
    assert result.usage.milliseconds < 60_000


def test_all_calls_together_have_a_deadline() -> None:
    with StandIn(says("first"), hangs) as server, opened(server, overall=3.0, concurrency=1) as model:
        results = model.ask([ask(number) for number in range(20)])
    assert isinstance(results[0], Reply)
    assert [type(result) for result in results[1:]] == [Failure] * 19
    assert "all calls" in results[-1].message  # type: ignore[union-attr]


@dataclass
class Refusal:
    field: str
    message: str
    settled: dict[str, object]


REFUSALS = {
    "no JSON Schema": Refusal(
        "json_schema",
        "'response_format.type' must be 'json_object' or 'text'",
        {"response_format": {"type": "json_object"}},
    ),
    "no response_format at all": Refusal("response_format", "response_format is not supported", {}),
    "only the old token limit": Refusal(
        "max_completion_tokens", "Unrecognized request argument: max_completion_tokens", {"max_tokens": 1_024}
    ),
    "no temperature": Refusal("temperature", "Unsupported value: 'temperature' does not support 0", {}),
}


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS)
def test_what_a_server_refuses_is_written_more_simply_and_remembered(case: Refusal) -> None:
    with StandIn(refuses(case.field, case.message)(says("{}"))) as server, opened(server) as model:
        results = [*model.ask([ask(number) for number in range(4)]), *model.ask([ask(9)])]
        refused = sum(case.field in (*body, body.get("response_format", {}).get("type")) for body in server.bodies)
    assert all(isinstance(result, Reply) for result in results)
    assert len(server.bodies) == 5 + refused
    assert refused <= 2
    last = server.bodies[-1]
    assert case.field not in last
    assert case.settled.items() <= last.items()
    if "json_schema" not in last.get("response_format", {}).get("type", ""):
        assert SCHEMA.decode() in last["messages"][0]["content"]


def test_a_server_that_refuses_everything_is_given_up() -> None:
    with StandIn(fails(400, "response_format max_tokens temperature")) as server, opened(server) as model:
        results = model.ask([ask(number) for number in range(3)])
    assert [result.fault for result in results if isinstance(result, Failure)] == [Fault.REFUSED] * 3
    assert len(server.bodies) < 10


def test_nothing_is_logged_of_keys_and_texts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint_key = "sk-secret-of-this-test"
    with StandIn(says("the private answer"), fails(401, f"bad key {endpoint_key}")) as server:
        model = OpenAICompatible("m", Endpoint(server.url, api_key=endpoint_key))
        first, second = model.ask([ask(), ask(1)])
        model.close()
    assert server.headers[0]["authorization"] == f"Bearer {endpoint_key}"
    assert isinstance(first, Reply)
    assert isinstance(second, Failure)
    for secret in (endpoint_key, "question", "private answer", "Judge."):
        assert secret not in caplog.text
    assert endpoint_key not in second.message


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        Endpoint()
    with pytest.raises(ModelError, match="HOUSE_KEY"):
        Endpoint("https://models.example/v1", key_env="HOUSE_KEY")


def test_a_server_on_this_machine_is_not_sent_a_key_it_was_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    with StandIn(says("yes")) as server, opened(server) as model:
        model.ask([ask()])
        monkeypatch.setenv("LOCAL_KEY", "sk-local")
        with OpenAICompatible("m", Endpoint(server.url, key_env="LOCAL_KEY")) as keyed:
            keyed.ask([ask()])
    assert [headers["authorization"] for headers in server.headers] == ["Bearer none", "Bearer sk-local"]


@pytest.mark.parametrize(
    "url", ["http://models.example/v1", "HTTP://127.0.0.1@models.example", "http://10.0.0.7:8000/v1"]
)
def test_a_key_is_not_sent_to_another_machine_over_plain_http(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSE_KEY", "sk-house")
    keys: list[dict[str, Any]] = [{"key_env": "HOUSE_KEY"}, {"api_key": "sk-house"}]
    for key in keys:
        with pytest.raises(ModelError, match=rf"^{next(iter(key))}: a key is not sent to .* use https://") as refused:
            Endpoint(url, **key)
        assert "sk-house" not in str(refused.value)


def test_a_server_behind_plain_http_is_not_sent_the_usual_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    with StandIn(says("yes")) as server:
        # The proxy sees what anybody on the way would see.
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
        with OpenAICompatible("m", Endpoint("http://models.example/v1", retries=0)) as model:
            (result,) = model.ask([ask()])
    assert isinstance(result, Reply)
    assert [headers["authorization"] for headers in server.headers] == ["Bearer none"]


def test_nobody_listens() -> None:
    with StandIn(says("yes")) as server:
        url = server.url
    with OpenAICompatible("m", Endpoint(url, retries=0)) as model:
        (result,) = model.ask([ask()])
    assert isinstance(result, Failure)
    assert result.fault is Fault.UNAVAILABLE
    assert url in result.message


def test_it_can_be_asked_inside_a_running_event_loop() -> None:
    async def main() -> object:
        with StandIn(says("yes")) as server, opened(server) as model:
            return model.ask([ask()])[0]

    result = asyncio.run(main())
    assert isinstance(result, Reply)


def test_it_can_be_asked_from_several_threads_and_again_after_closing() -> None:
    seen: list[str] = []
    with StandIn(echoes) as server, opened(server) as model:

        def work(number: int) -> None:
            (result,) = model.ask([ask(number)])
            assert isinstance(result, Reply)
            seen.append(result.text)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        model.close()
        work(6)
    assert sorted(seen) == [f"echo question {number}" for number in range(7)]


@pytest.mark.parametrize(
    ("field", "value"),
    [("deadline", 0), ("overall", -1), ("retries", -1), ("concurrency", 0), ("deadline", float("nan"))],
)
def test_impossible_limits_are_refused(field: str, value: float) -> None:
    with pytest.raises(ModelError, match=field):
        Endpoint("http://127.0.0.1:1/v1", **{field: value})  # type: ignore[arg-type]


def test_a_base_url_needs_a_scheme() -> None:
    with pytest.raises(ModelError, match="http://"):
        Endpoint("localhost:8080/v1")


def test_the_cap_leaves_room_for_every_allowed_answer() -> None:
    assert len(completion("\u2603" * 200_000)) < MAX_RESPONSE_BYTES


def test_closing_ends_what_is_under_way() -> None:
    """A thread that waits for a server that never answers must not keep the program from ending."""
    with StandIn(hangs) as server:
        model = OpenAICompatible("m", Endpoint(server.url, retries=0))
        ended = threading.Event()

        def wait() -> None:
            with pytest.raises(CancelledError):
                model.ask([ask()])
            ended.set()

        threading.Thread(target=wait, daemon=True).start()
        while not server.bodies:
            time.sleep(0.01)
        model.close()
        assert ended.wait(60)
