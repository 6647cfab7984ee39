"""What a network, a proxy and a busy server do to a client: what is sent again, what is not, and what it says."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Policy, ReadmitError, Reason
from readmit.errors import (
    ConflictError,
    ExposureError,
    NotAllowedError,
    RateError,
    RecordError,
    StoreError,
    UnknownError,
)
from readmit.remote import RemoteWorkspace, connect, connect_async
from tests.remote.scripted import LOST, STATUS, Answer, Received, Scripted, events, problem

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "rk_test-key-of-bob"
HELLO = Answer(200, STATUS)


def connected(server: Scripted, **how: Any) -> RemoteWorkspace:
    return connect(server.url, key=KEY, **how)


def posted(server: Scripted) -> list[Received]:
    return [one for one in server.received if one.method == "POST"]


def test_a_server_that_is_busy_is_asked_again_when_it_says() -> None:
    busy = problem("StoreError", 503, "busy", retry_after="1")
    with Scripted(HELLO, busy, problem("RateError", 429, "slow", retry_after="0"), Answer(200, "d1")) as server:
        team = connected(server)
        begun = time.monotonic()
        assert team.observe("It rains.") == "d1"
        assert 1 <= time.monotonic() - begun < 3
        assert len({one.headers["idempotency-key"] for one in posted(server)}) == 1


def test_a_date_is_a_time_to_come_back_too() -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    with Scripted(HELLO, problem("StoreError", 503, "busy", retry_after=when), Answer(200, "d1")) as server:
        begun = time.monotonic()
        assert connected(server).observe("It rains.") == "d1"
        assert time.monotonic() - begun >= 0.5


@pytest.mark.parametrize("asked", ["3600", "inf", "nan", "soon", "-4"])
def test_patience_ends(asked: str) -> None:
    with Scripted(HELLO, problem("RateError", 429, "at most 5 a minute", retry_after=asked)) as server:
        begun = time.monotonic()
        with pytest.raises(RateError, match="at most 5 a minute"):
            connected(server, patience=0.5).observe("It rains.")
        assert time.monotonic() - begun < 5


def test_a_limit_of_the_policy_is_an_error_at_once() -> None:
    with Scripted(HELLO, problem("RateError", 429, "it waits for an overseer")) as server:
        with pytest.raises(RateError, match="it waits for an overseer"):
            connected(server).revoke("h")
        assert len(posted(server)) == 1


def test_an_answer_that_was_lost_is_asked_for_again_under_the_same_key() -> None:
    with Scripted(
        HELLO, LOST, Answer(502, "<h1>Bad gateway</h1>", media_type="text/html"), Answer(200, "d1")
    ) as server:
        assert connected(server).observe("It rains.") == "d1"
        first, *others = posted(server)
        assert len(others) == 2
        assert all(
            (one.headers["idempotency-key"], one.body) == (first.headers["idempotency-key"], first.body)
            for one in others
        )


def test_each_call_has_a_key_of_its_own() -> None:
    with Scripted(HELLO, Answer(200, "d1")) as server:
        team = connected(server)
        team.observe("It rains.")
        team.observe("It rains.")
        assert len({one.headers["idempotency-key"] for one in posted(server)}) == 2


@pytest.mark.parametrize("lost", [LOST, Answer(504, "", media_type="text/html")], ids=["lost", "gateway"])
def test_what_a_server_may_have_done_and_would_do_twice_is_not_sent_again(lost: Answer) -> None:
    with Scripted(HELLO, lost, Answer(200, ["d1"])) as server:
        team = connected(server)
        with pytest.raises(StoreError):
            team.observe_many(["It rains.", "It pours."])
        assert len(posted(server)) == 1


def test_a_server_that_was_never_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with pytest.raises(StoreError, match=rf"^http://127.0.0.1:{port} does not answer: "):
        connect(f"http://127.0.0.1:{port}", key=KEY, patience=0.3)


def test_without_its_package_the_command_that_installs_it_is_named() -> None:
    program = "import sys; sys.modules['httpx2'] = None; import readmit.remote; readmit.remote.connect"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "StoreError: httpx2 is not installed; run: pip install 'readmit[remote]'" in done.stderr


def test_a_redirect_is_not_followed() -> None:
    with Scripted(HELLO) as elsewhere, Scripted(Answer(307, "", {"location": elsewhere.url})) as server:
        with pytest.raises(StoreError, match="answered 307 without saying why: is a readmit server at this address"):
            connected(server)
        assert elsewhere.received == []


ERRORS: dict[str, tuple[Answer, type[Exception], str]] = {
    "record": (problem("RecordError", 400, "id: 7 is not an id"), RecordError, "id: 7 is not an id"),
    "conflict": (problem("ConflictError", 409, "choose another id"), ConflictError, "choose another id"),
    "unknown": (problem("UnknownError", 404, "no such item"), UnknownError, "no such item"),
    "of another version": (problem("NewError", 400, "new"), ReadmitError, "new"),
    "not an error": (problem("Workspace", 400, "odd"), ReadmitError, "odd"),
    "with arguments of its own": (problem("PendingAnswers", 503, "pending", retry_after="99"), ReadmitError, "pending"),
    "without a detail": (problem("NotAllowedError", 403), NotAllowedError, "A title."),
    "no problem": (Answer(400, {"error": "?"}), StoreError, "answered 400 without saying why"),
    "no JSON": (Answer(200, "<h1>Log in</h1>", media_type="text/html"), StoreError, "answered with something else"),
    "half a problem": (Answer(400, {"type": 7}, media_type="application/problem+json"), StoreError, "cannot read"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_is_the_one_of_the_server(case: str) -> None:
    answer, kind, said = ERRORS[case]
    with Scripted(HELLO, answer) as server, pytest.raises(kind, match=re.escape(said)) as raised:
        connected(server).revoke("h")
    assert type(raised.value) is kind


def test_a_refused_view_says_which_checks_failed() -> None:
    said = problem("ExposureError", 409, "no")
    body = {**said.body, "reasons": ["superseded"]}
    with Scripted(HELLO, Answer(409, body, media_type=said.media_type)) as server:
        team = connected(server)
        with pytest.raises(ExposureError) as refused:
            team.agent("bob", role="planner", task="trip").delivery("r", secret="s").expose()
    assert refused.value.reasons == (Reason.SUPERSEDED,)


RETURNED = {"id": "r", "kind": "admitted", "admitted": True, "items": ["h"], "secret": "s"}


def test_a_return_whose_stream_is_lost_is_asked_for_again() -> None:
    with Scripted(
        HELLO, events(("stage", {"stage": "load"})), LOST, events(("stage", {"stage": "load"}), ("returned", RETURNED))
    ) as server:
        stages: list[str] = []
        returned = connected(server).agent("bob", role="planner", task="trip").come_back(progress=stages.append)
        assert (returned.id, returned.items, stages) == ("r", ("h",), ["load", "load"])


def test_a_return_that_a_stream_refuses_is_an_error() -> None:
    refused = problem("UnknownError", 404, "'bob' has not departed").body
    with Scripted(HELLO, events(("stage", {"stage": "load"}), ("problem", refused))) as server:
        agent = connected(server).agent("bob", role="planner", task="trip")
        with pytest.raises(UnknownError, match="has not departed"):
            agent.come_back()


def test_a_page_in_place_of_a_stream_is_no_stream() -> None:
    with Scripted(HELLO, Answer(200, "<h1>Log in</h1>", media_type="text/html")) as server:
        agent = connected(server).agent("bob", role="planner", task="trip")
        with pytest.raises(StoreError, match="Expected response with content type 'text/event-stream'"):
            agent.come_back()
        assert len(posted(server)) == 1


def test_what_only_an_operator_may_know_names_where_it_is() -> None:
    with Scripted(HELLO, events(("returned", RETURNED))) as server:
        returned = connected(server).agent("bob", role="planner", task="trip").come_back()
    with pytest.raises(AttributeError, match=r"^dispositions: .* workspace\.returned\(id\)\.dispositions"):
        returned.dispositions  # type: ignore[attr-defined]  # noqa: B018 - asking is the point


def test_a_subscription_survives_a_lost_stream_and_says_again_what_fell() -> None:
    fallen = {"return_id": "r", "item": "h", "state": "superseded"}
    with Scripted(HELLO, events(("fallen", fallen)), LOST, events(("fallen", fallen))) as server:
        agent = connected(server).agent("bob", role="planner", task="trip")
        with agent.subscribe() as subscription:
            told = [one.item for _, one in zip(range(3), subscription, strict=False)]
        assert told == ["h", "h", "h"]
        assert subscription.wait() == ()


def test_a_subscription_that_heard_nothing_for_long_survives_a_lost_stream_too() -> None:
    """Patience is for a server that is away, not for one at which nothing falls."""
    fallen = {"return_id": "r", "item": "h", "state": "superseded"}
    with Scripted(HELLO, events(after=1.5), LOST, events(("fallen", fallen))) as server:
        agent = connected(server, patience=1).agent("bob", role="planner", task="trip")
        with agent.subscribe() as subscription:
            assert next(iter(subscription)).item == "h"


def test_a_subscription_that_is_refused_says_so_once_and_ends() -> None:
    with Scripted(HELLO, problem("NotAllowedError", 403, "role: not yours")) as server:
        subscription = connected(server).agent("bob", role="planner", task="trip").subscribe()
        with pytest.raises(NotAllowedError, match="role: not yours"):
            list(subscription)
        assert list(subscription) == []


def test_a_subscription_ends_while_its_server_is_away() -> None:
    with Scripted(HELLO, LOST) as server:
        agent = connected(server).agent("bob", role="planner", task="trip")
        subscription = agent.subscribe()
        while len(server.received) < 3:
            time.sleep(0.01)
    begun = time.monotonic()
    subscription.close()
    assert time.monotonic() - begun < 2
    assert subscription.wait(timeout=0) == ()


def test_nothing_is_written_by_a_batch_that_ends_with_an_error() -> None:
    with Scripted(HELLO) as server:
        with suppress(ZeroDivisionError), connected(server).batch() as together:
            seen = together.observe("It rains.")
            raise ZeroDivisionError
        with pytest.raises(RecordError, match="value: observe is not written before its batch ends"):
            seen.value  # noqa: B018 - asking is the point
        assert posted(server) == []


ADDRESSES: dict[str, tuple[dict[str, Any], str]] = {
    "no address": ({"url": "team.db"}, "^url: 'team.db' is not a server's address; give one as https://HOST"),
    "another scheme": ({"url": "ftp://localhost"}, "^url: .*is not a server's address"),
    "no host": ({"url": "https://"}, "^url: .*is not a server's address"),
    "a query": ({"url": "https://host/?key=x"}, "^url: .*is not a server's address"),
    "a wrong port": ({"url": "http://localhost:99999"}, "^url: .*is not a server's address"),
    "no text": ({"url": 7}, "^url: 7 is not a server's address"),
    "a key in it": ({"url": "https://me:secret@host"}, r"^url: give the key as key=…, not in the address$"),
    "in clear": ({"url": "http://readmit.example"}, "^url: a key is not sent to readmit.example over http://"),
    "no key": ({"key": ""}, "^key: not an API key"),
    "a key of two lines": ({"key": "one\ntwo"}, "^key: not an API key"),
    "a key that is none": ({"key": None}, "^key: not an API key"),
    "no name": ({"name": ""}, "^name: '' is not a name"),
    "no patience": ({"patience": -1}, "^patience: -1 is no number of seconds"),
    "a policy that is none": ({"policy": {"paper": {}}}, "^policy: .* is not a Policy"),
}


@pytest.mark.parametrize("opened", [connect, connect_async], ids=["blocking", "async"])
@pytest.mark.parametrize("case", ADDRESSES)
def test_a_wrong_address_is_refused_before_anything_is_sent(case: str, opened: Callable[..., object]) -> None:
    given, said = ADDRESSES[case]
    with pytest.raises(RecordError, match=said):
        opened(**{"url": "http://localhost:1", "key": KEY, **given})


def test_the_key_is_in_no_text() -> None:
    with Scripted(HELLO, LOST) as server:
        team = connected(server, patience=0.2)
        with pytest.raises(StoreError) as lost:
            team.revoke("h")
        said = [repr(team), repr(team.agent("bob", role="planner", task="trip")), str(lost.value), repr(vars(team))]
        said += [repr(team._connection.to)]  # type: ignore[attr-defined]  # of the class
        assert server.received[-1].headers["authorization"] == f"Bearer {KEY}"
    assert all(KEY not in one for one in said)


REFUSED: dict[str, tuple[Callable[[Any], object], type[Exception], str]] = {
    "another writer": (
        lambda team: team.observe("x", by="eve"), NotAllowedError,
        "^by: this handle writes as 'bob'; 'eve' needs a handle of its own$",
    ),
    "another writer of one of many": (
        lambda team: team.observe_many([{"text": "x", "by": "eve"}]), NotAllowedError,
        "^by: this handle writes as 'bob'",
    ),
    "another principal": (lambda team: team.principal("eve"), NotAllowedError, "^principal: this handle is that of"),
    "another agent": (
        lambda team: team.agent("eve", role="r", task="t"), NotAllowedError, "^principal: this handle is that of 'bob'",
    ),
    "no such argument": (lambda team: team.revoke("h", reasn="x"), RecordError, "^reasn: revoke has no such field"),
    "no argument": (lambda team: team.revoke(), RecordError, "^target: revoke needs it; add target=…$"),
    "bytes": (lambda team: team.observe(b"x"), RecordError, "^text: b'x' is not a value that a server can be sent$"),
    "not a number": (
        lambda team: team.agent("bob", role="r", task="t").present(lease=float("nan")), RecordError,
        "^lease: nan is not a value",
    ),
    "no value of JSON": (lambda team: team.observe("x", roles=[object()]), RecordError, "^roles: not a value"),
    "half a character": (lambda team: team.observe("\ud800"), RecordError, "^text holds a character that UTF-8 cannot"),
    "a place": (lambda team: team.observe(probe="plan.md"), RecordError, "^probe: a server looks at no place"),
    "no verdict": (lambda team: team.judge("h"), RecordError, "^found: 'h' is neither a Verdict nor a Pair"),
    "no id": (lambda team: team.returned("two words"), RecordError, "^return_id: 'two words' is not an id"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_call_is_refused_as_by_the_library_before_anything_is_sent(case: str) -> None:
    call, kind, said = REFUSED[case]
    with Scripted(HELLO) as server:
        team = connected(server)
        with pytest.raises(kind, match=said):
            call(team)
        assert len(server.received) == 1


def test_a_closed_handle_says_so() -> None:
    with Scripted(HELLO) as server:
        team = connected(server)
        team.close()
        team.close()
        with pytest.raises(StoreError, match="closed: open it again"):
            team.observe("x")


def test_a_policy_starts_the_workspace() -> None:
    with Scripted(HELLO) as server:
        connected(server, name="trip/é", policy=Policy())
        assert (server.received[0].method, server.received[0].path) == ("PUT", "/v1/workspaces/trip%2F%C3%A9")


def test_the_same_for_an_event_loop() -> None:
    fallen = {"return_id": "r", "item": "h", "state": "superseded"}
    answers = [
        HELLO, LOST, problem("StoreError", 503, "busy", retry_after="0"), Answer(200, "d1"), Answer(200, ["d2", 7]),
        events(("stage", {"stage": "load"})), events(("returned", RETURNED)), events(("fallen", fallen)), LOST,
        events(("fallen", fallen)), problem("NotAllowedError", 403, "role: not yours"),
    ]  # fmt: skip

    async def story(server: Scripted) -> None:
        async with connect_async(server.url, key=KEY) as team:
            assert await team.observe("It rains.") == "d1"
            async with team.batch() as together:
                seen, epoch = together.observe("It pours."), together.revoke("h")
            assert (seen.value, epoch.value) == ("d2", 7)
            agent = team.agent("bob", role="planner", task="trip")
            stages: list[str] = []
            returned = await agent.come_back(progress=stages.append)
            assert (returned.id, stages) == ("r", ["load"])
            subscription = agent.subscribe()
            assert [one.item for one in await subscription.wait()] == ["h"]
            assert [one.item for one in await subscription.wait()] == ["h"]
            with pytest.raises(NotAllowedError, match="role: not yours"):
                await subscription.wait()
            subscription.close()
        with pytest.raises(StoreError, match="closed: open it again"):
            await team.epoch()

    with Scripted(*answers) as server:
        asyncio.run(asyncio.wait_for(story(server), 60))
