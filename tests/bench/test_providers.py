"""What providers do to a run, against a real endpoint: refusals are failures, what may pass leaves episodes open."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from tests.bench.data import SMOKE, shared
from tests.bench.endpoint import AnsweringEndpoint, digest, stage_of
from tests.models.stand_in import cuts, fails, hangs, resets, says, sends

from readmit.cli.app import main
from readmit.lab import Status
from readmit_bench.results import read_results
from readmit_bench.study_runs import ProviderCalls, RunOrder, run

pytest.importorskip("inspect_ai", reason="runs with models need readmit-bench's dependencies")
pytest.importorskip("openai", reason="endpoints need readmit[models]")
# inspect and its dependencies leave streams to the garbage collector; that is not ours to mend.
pytestmark = [pytest.mark.usefixtures("swept"), pytest.mark.filterwarnings("ignore")]

if TYPE_CHECKING:
    from pathlib import Path

    from tests.models.stand_in import Play

TOO_LONG = {"error": {"message": "the context is 8192 tokens", "code": "context_length_exceeded", "type": "x"}}
NO_CHOICE = b'{"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": []}'
FOREVER = 1_000
# Both ways are tried in full by `make test-slow`.
KINDS = pytest.mark.parametrize("kind", ["inspect", pytest.param("readmit", marks=pytest.mark.slow)])


def model(kind: str, server: AnsweringEndpoint, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same endpoint as one of inspect's own models, or as one of ours."""
    monkeypatch.setenv("STAND_API_KEY", "k")
    monkeypatch.setenv("STAND_BASE_URL", server.url)
    return "openai-api/stand/m" if kind == "inspect" else f"openai:m?base_url={server.url}"


def order(named: str, *, retries: int = 1, timeout: int = 30, **fields: Any) -> RunOrder:
    models = {"actor": named, "judge": named}
    calls = ProviderCalls(max_connections=4, max_retries=retries, timeout=timeout)
    data = SMOKE / "stale"
    return RunOrder(study="stale", data=data, methods=("Static",), models=models, calls=calls, **fields)


def refuse(stage: str, fault: Play) -> Any:
    return lambda body: fault if stage_of(body) == stage else None


@dataclass(frozen=True)
class Refusal:
    fault: Play
    says: str


REFUSALS = {
    "bad request": Refusal(fails(400, "no such field"), "no such field"),
    "context window": Refusal(lambda handler: handler.send(400, json.dumps(TOO_LONG).encode()), "8192 tokens"),
    "too large": Refusal(fails(413, "payload"), "payload"),
    "content filter": Refusal(says("", finish="content_filter"), "refused"),
}


@KINDS
@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_request_is_a_failure_that_keeps_its_line(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = REFUSALS[name]
    with AnsweringEndpoint(rule=refuse("answer", case.fault)) as server:
        told = run(order(model(kind, server, monkeypatch), limit=1), tmp_path)
    assert (told.done, told.failed, told.interrupted) == (1, 1, 0)
    (result,) = read_results(tmp_path)
    assert case.says in result.failure
    assert result.stale is not None
    assert not any((result.stale.sr, result.stale.pr, result.stale.ipa))


@dataclass(frozen=True)
class Passing:
    fault: Play
    says: str
    hopeless: bool = False


PASSING = {
    "401": Passing(fails(401, "wrong key"), "401", hopeless=True),
    "403": Passing(fails(403, "not yours"), "403", hopeless=True),
    "404": Passing(fails(404, "no such model"), "404", hopeless=True),
    "429": Passing(fails(429, "slow down"), "429"),
    "500": Passing(fails(500, "broken"), "500"),
    "reset": Passing(resets, "onnect"),
    "half a response": Passing(cuts, ""),
    "never answering": Passing(hangs, "'4' exceeded"),
    "malformed JSON": Passing(sends(b"<html>Bad gateway</html>"), ""),
    "no choice": Passing(sends(NO_CHOICE), "no choice"),
}


# One of each kind: denied, broken, cut off, too slow, not in the form. The others differ in the number alone.
OFTEN = ("401", "500", "half a response", "never answering", "no choice")


@KINDS
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in OFTEN else pytest.mark.slow) for name in PASSING]
)
def test_what_may_pass_leaves_episodes_open_and_the_same_command_goes_on(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = PASSING[name]
    broken = True
    with AnsweringEndpoint(rule=lambda body: case.fault if broken and stage_of(body) == "answer" else None) as server:
        timeout = 4 if name == "never answering" else 30
        asking = order(model(kind, server, monkeypatch), retries=0, timeout=timeout, limit=1)
        told = run(asking, tmp_path)
        assert (told.done, told.failed, told.interrupted) == (0, 0, 1)
        assert told.stopped
        assert case.says in told.stopped
        assert read_results(tmp_path) == []
        answers = sum(stage_of(body) == "answer" for body in server.bodies)
        # One that is denied, or three in a row, and what was under way with it. inspect's client tries three times.
        assert answers <= 3 if case.hopeless else answers <= 3 * (3 if kind == "inspect" else 1)
        paid = {digest(body) for body in server.bodies if stage_of(body) != "answer"}
        broken = False
        told = run(asking, tmp_path)
        assert (told.done, told.failed, told.interrupted, told.outages) == (1, 0, 0, {})
        assert all(server.asked[name] == 1 for name in paid), "what was paid for before the outage is not asked again"


@KINDS
@pytest.mark.parametrize("fault", [fails(429, Retry_After="1"), fails(500), resets], ids=["429", "500", "reset"])
def test_what_passes_within_the_retries_is_counted_with_its_episode(
    fault: Play, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = iter([fault])
    once = lambda body: next(failing, None) if stage_of(body) == "answer" else None  # noqa: E731
    with AnsweringEndpoint(rule=once) as server:
        asking = order(model(kind, server, monkeypatch), limit=1)
        told = run(asking, tmp_path)
    assert (told.done, told.failed, told.outages) == (1, 0, {})
    assert [result.retries for result in read_results(tmp_path) if result.retries] == [1]
    (tmp_path / "results.jsonl").unlink()
    run(asking, tmp_path)
    assert sum(result.retries for result in read_results(tmp_path)) == 1, "the account of replayed answers is whole"


def test_one_request_that_always_breaks_the_server_holds_up_its_episode_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doomed: list[str] = []

    def rule(body: dict[str, Any]) -> Play | None:
        if stage_of(body) == "answer" and not doomed:
            doomed.append(digest(body))
        return fails(500) if digest(body) in doomed else None

    with AnsweringEndpoint(rule=rule) as server:
        told = run(order(model("readmit", server, monkeypatch), retries=0), tmp_path)
    assert (told.done, told.interrupted, told.stopped) == (2, 1, "")


def test_the_command_says_what_happened_and_exits_with_its_own_status(tmp_path: Path) -> None:
    with AnsweringEndpoint(*[fails(401, "wrong key")] * FOREVER) as server:
        named = f"openai:m?base_url={server.url}"
        line = ["bench", "run", "stale", "--data", str(SMOKE / "stale"), "--out", str(tmp_path), "--methods", "Static"]
        ran = CliRunner().invoke(main, [*line, "--actor", named, "--judge", named, "--max-connections", "1"])
        assert ran.exit_code == Status.OUTAGE, ran.output
        assert len(server.bodies) == 1, "a wrong key is not tried hundreds of times"
    assert "Static: 3 to go" in ran.output
    assert "wrong key" in ran.output
    assert "Nothing more was asked. Fix the errors above, then run the same command again." in ran.output


def test_a_missing_key_is_reported_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOWHERE_API_KEY", raising=False)
    line = ["bench", "run", "stale", "--data", str(SMOKE / "stale"), "--out", str(tmp_path), "--methods", "Static"]
    ran = CliRunner().invoke(main, [*line, "--actor", "openai-api/nowhere/m", "--judge", "openai-api/nowhere/m"])
    assert ran.exit_code == Status.ERROR
    assert "NOWHERE" in ran.output
    assert len(ran.output.strip().splitlines()) == 1


@pytest.mark.slow
def test_more_episodes_at_once_than_there_are_threads_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """Every episode holds a thread while its requests need one, too."""
    # More than the 40 threads that are lent by default: none is answered before so many have asked.
    together = threading.Barrier(41)
    early = iter(range(together.parties))

    def rule(_: dict[str, Any]) -> None:
        if next(early, None) is not None:
            together.wait(60)

    with AnsweringEndpoint(rule=rule) as server:
        models = {"actor": f"openai:m?base_url={server.url}"}
        calls = ProviderCalls(max_connections=64)
        many = RunOrder(
            study="manbench", data=shared("manbench"), methods=("Reset",), models=models, limit=60, calls=calls
        )
        told = run(many, tmp_path)
    assert told.complete
    assert server.most_busy > 40
