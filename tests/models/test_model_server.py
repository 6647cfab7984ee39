"""A batch folder behind HTTP, asked by the real OpenAI client."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from readmit.lab import ModelServer
from readmit.models import Batch, Lexical, batch_status, check_batch
from tests.cli.run import run

openai = pytest.importorskip("openai", reason="the client under test")
pytest.importorskip("filelock", reason="batch files need readmit[models]")

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is the hotel open?"}]


@contextmanager
def serving(folder: Path, **options: Any) -> Iterator[ModelServer]:
    with ModelServer(Batch(folder, "strong", shared=True), Lexical(), **options) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def client(server: ModelServer, play: str = "first") -> Any:
    return openai.OpenAI(base_url=server.url, api_key=play, timeout=30)


def completed(server: ModelServer, play: str = "first", **body: Any) -> Any:
    with client(server, play) as asking:
        return asking.chat.completions.create(**{"model": "any", "messages": MESSAGES, **body})


def answer_everything(folder: Path, text: str = "No.") -> list[dict[str, Any]]:
    requests = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    body = {
        "model": "strong",
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }
    lines = [{"custom_id": one["custom_id"], "response": {"status_code": 200, "body": body}} for one in requests]
    (folder / "responses.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return requests


def test_what_is_not_on_record_is_written_down_and_answered_in_the_next_round(tmp_path: Path) -> None:
    with serving(tmp_path / "answers") as server:
        with pytest.raises(openai.APIStatusError, match="1 request waits in") as stop:
            completed(server)
        assert stop.value.status_code == 424
        assert stop.value.response.headers["x-should-retry"] == "false"
        (request,) = answer_everything(tmp_path / "answers")
        said = completed(server, "second")
        again = completed(server, "third")
    assert request["body"]["messages"] == MESSAGES
    assert (request["body"]["model"], request["url"]) == ("strong", "/v1/chat/completions")
    assert said.choices[0].message.content == "No."
    assert (said.usage.prompt_tokens, said.usage.completion_tokens) == (7, 2)
    assert said == again, "ids and moments are fixed"
    assert check_batch(tmp_path / "answers").ok


def test_a_client_does_not_retry_and_the_play_stays_ended(tmp_path: Path) -> None:
    reported: list[str] = []
    with serving(tmp_path, report=reported.append) as server:
        with pytest.raises(openai.APIStatusError):
            completed(server)
        assert len(reported) == 1, "asked once, although the client would retry twice"
        with pytest.raises(openai.APIStatusError, match="this play has ended"):
            completed(server, messages=[{"role": "user", "content": "Something that rests on the gap"}])
        with client(server) as asking, pytest.raises(openai.APIStatusError, match="this play has ended"):
            asking.embeddings.create(model="any", input="a text")
        play = client(server).get("/play", cast_to=object)
    assert batch_status(tmp_path).requests == 1, "nothing after the gap is written down"
    assert (play["ended"], play["unanswered"]) == (True, 1)


def test_requests_side_by_side_are_all_written_down_before_the_play_ends(tmp_path: Path) -> None:
    def ask(number: int) -> int:
        try:
            completed(server, messages=[{"role": "user", "content": f"Question {number}"}])
        except openai.APIStatusError as error:
            return int(error.status_code)
        return 200

    with serving(tmp_path) as server, ThreadPoolExecutor(5) as pool:
        assert list(pool.map(ask, range(5))) == [424] * 5
    assert batch_status(tmp_path).waiting == 5


def test_the_form_and_the_sampling_of_an_answer_are_in_the_request(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"open": {"type": "boolean"}}, "required": ["open"]}
    forms: list[dict[str, Any]] = [
        {"type": "json_schema", "json_schema": {"name": "mine", "schema": schema}},
        {"type": "json_object"},
    ]
    with serving(tmp_path) as server:
        for number, form in enumerate(forms):
            with pytest.raises(openai.APIStatusError):
                completed(server, str(number), response_format=form, temperature=0.1, top_p=0.2, max_tokens=99)
    first, second = (json.loads(line)["body"] for line in (tmp_path / "requests.jsonl").read_text().splitlines())
    assert first["response_format"]["json_schema"]["schema"] == schema
    assert second["response_format"] == {"type": "json_object"}
    for body in (first, second):
        assert (body["temperature"], body["top_p"], body["max_completion_tokens"]) == (0.1, 0.2, 99)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a stream": ({"stream": True}, "stream: an answer comes whole"),
    "tools": ({"tools": []}, r"request\.tools: "),
    "several answers": ({"n": 2}, "n"),
    "no message": ({"messages": []}, "messages: "),
    "a conversation": ({"messages": [MESSAGES[1], MESSAGES[1]]}, "messages: give one user message"),
    "an answer of its own": ({"messages": [{"role": "assistant", "content": "x"}]}, "messages"),
    "a form without a schema": ({"response_format": {"type": "json_schema"}}, r"response_format\.json_schema"),
    "no room": ({"max_tokens": -1}, "max_tokens"),
    "logprobs": ({"logprobs": True}, r"request\.logprobs: "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_served_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    body, says = REFUSED[name]
    with serving(tmp_path) as server, pytest.raises(openai.BadRequestError, match=says):
        list(completed(server, **body))
    assert not (tmp_path / "requests.jsonl").exists()


def test_a_refused_answer_is_the_programs_own_to_handle(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        with pytest.raises(openai.APIStatusError):
            completed(server)
        (request,) = answer_everything(tmp_path)
        body = {"error": {"message": "context length exceeded"}}
        line = {"custom_id": request["custom_id"], "response": {"status_code": 400, "body": body}}
        (tmp_path / "responses.jsonl").write_text(json.dumps(line) + "\n")
        with pytest.raises(openai.BadRequestError, match="context length exceeded"):
            completed(server, "second")
        with client(server, "second") as asking:
            assert asking.embeddings.create(model="any", input="a text").data, "the play goes on"


@pytest.mark.parametrize("form", ["float", "base64"])
def test_embeddings_are_the_local_embedders(form: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as server, client(server) as asking:
        made = asking.embeddings.create(model="any", input=["a text", "two texts"], encoding_format=form)
        plain = asking.embeddings.create(model="any", input="a text")
        with pytest.raises(openai.BadRequestError, match="dimensions: lexical-hash@1 makes vectors of 2048"):
            asking.embeddings.create(model="any", input="a text", dimensions=5)
        with pytest.raises(openai.BadRequestError, match="input: "):
            asking.embeddings.create(model="any", input=[])
    expected = Lexical().embed(["a text", "two texts"])
    assert plain.data[0].embedding == expected[0].tolist()
    if form == "float":
        assert [one.embedding for one in made.data] == expected.tolist()


def test_models_are_listed(tmp_path: Path) -> None:
    with serving(tmp_path) as server, client(server) as asking:
        assert [one.id for one in asking.models.list()] == ["strong", "lexical-hash@1"]


RAW = {
    "another path": ("POST", "/v1/files", {}, 404, "path: use /v1/chat/completions"),
    "another method": ("POST", "/v1/models", {}, 405, "takes GET"),
    "no method of these": ("PUT", "/v1/embeddings", {}, 501, "Unsupported method"),
    "a method that reads": ("GET", "/v1/chat/completions", {}, 405, "takes POST"),
    "no length": ("POST", "/v1/embeddings", {"Transfer-Encoding": "chunked"}, 411, "Content-Length"),
    "too long": ("POST", "/v1/embeddings", {"Content-Length": str(8 * 1024 * 1024 + 1)}, 413, "bytes at most"),
    "no JSON": ("POST", "/v1/embeddings", {"Content-Length": "0"}, 400, "request"),
}


@pytest.mark.parametrize("name", RAW)
def test_method_path_and_size_are_limited(name: str, tmp_path: Path) -> None:
    method, path, headers, status, says = RAW[name]
    with serving(tmp_path) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
        connection.putrequest(method, path)
        for header, value in headers.items():
            connection.putheader(header, value)
        connection.endheaders()
        response = connection.getresponse()
        said = response.read().decode()
        connection.close()
    assert (response.status, says in said) == (status, True), said


def test_the_command_serves_a_folder_on_this_machine_only(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "readmit", "batch", "serve", str(tmp_path), "--model", "strong"]
    line += ["--embedder", "lexical", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            said = running.stdout.readline()
            url = said.split(" on ")[1].rstrip(".\n")
            asking = openai.OpenAI(base_url=url, api_key="one")
            with asking, pytest.raises(openai.APIStatusError, match="1 request waits"):
                asking.chat.completions.create(model="any", messages=MESSAGES)
        finally:
            running.terminate()
    assert url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--listen", "here"], "--listen: 'here' is not HOST:PORT"),
        (["--listen", "192.0.2.1:1"], "listen: cannot listen on 192.0.2.1:1"),
        (["--embedder", "none such"], "embedder: 'none such' is not known"),
    ],
)
def test_the_command_says_what_is_wrong(options: list[str], says: str, tmp_path: Path) -> None:
    line = ["batch", "serve", str(tmp_path), "--model", "strong", "--embedder", "lexical", *options]
    assert says in " ".join(run(*line, status=None).output.split())
