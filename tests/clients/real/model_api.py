"""A stand-in for four model APIs on 127.0.0.1: it keeps each request and plays the calls that a test put in line.

Anthropic's Messages, OpenAI's Responses and Gemini's ``generateContent``, each whole and as a stream of events. A
request that offers tools takes the next planned call; without one, and for every other request, the answer is a text.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

Json = dict[str, Any]
ANSWER = "The stand-in has nothing to add."


class Call(NamedTuple):
    """One tool call that the model asks for. ``namespace`` is how Codex addresses the tools of an MCP server."""

    name: str
    arguments: Json
    namespace: str = ""


class Text(NamedTuple):
    """A text of a request, and where in its body it stands, such as ``messages/0/content/1/text``."""

    place: str
    text: str


class Request(NamedTuple):
    """A request as the model received it."""

    path: str
    body: Json

    @property
    def offers_tools(self) -> bool:
        return bool(self.body.get("tools"))

    @property
    def tools(self) -> str:
        return json.dumps(self.body.get("tools", []))

    def texts(self) -> list[Text]:
        """Every text, those of tools' descriptions apart, in order."""
        return list(_texts({key: value for key, value in self.body.items() if key != "tools"}))


def _texts(value: object, place: str = "") -> Iterator[Text]:
    if isinstance(value, str):
        yield Text(place.lstrip("/"), value)
        return
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in pairs:
        yield from _texts(part, f"{place}/{key}")


class ModelApi:
    """The server of one test. ``url`` is what a client is told to talk to."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.delay = 0.0
        """Seconds that every answer takes: time for a test to end the client meanwhile."""
        self._planned: deque[Call] = deque()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.api = self  # type: ignore[attr-defined]  # the handler's way back
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def plan(self, *calls: Call) -> None:
        """What the model asks for next, one call at a request; calls that nobody fetched are dropped."""
        with self._lock:
            self._planned = deque(calls)

    def answer(self, path: str, body: Json) -> tuple[int, Call | None]:
        """Note a request; the number that names the answer, and the call in it."""
        with self._lock:
            request = Request(path, body)
            self.requests.append(request)
            call = self._planned.popleft() if self._planned and request.offers_tools else None
            number = len(self.requests)
        time.sleep(self.delay)
        return number, call


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it
        """Say nothing: the requests are kept."""

    def do_HEAD(self) -> None:
        self._send("application/json", b"")

    def do_GET(self) -> None:
        self._json({"data": [], "models": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith(("count_tokens", "countTokens")):
            self._json({"input_tokens": 1_000, "totalTokens": 1_000})
            return
        number, call = cast("Any", self.server).api.answer(path, body)
        if path.endswith("/messages"):
            message, events = anthropic(body, number, call)
            self._events(events, named=True) if body.get("stream") else self._json(message)
        elif path.endswith("/responses"):
            self._events(responses(number, call), named=True)
        elif path.endswith("enerateContent"):
            answer = gemini(call)
            self._events([answer], named=False) if "stream" in path else self._json(answer)
        else:
            self._json({})

    def _json(self, value: Json) -> None:
        self._send("application/json", json.dumps(value).encode())

    def _events(self, events: list[Json], *, named: bool) -> None:
        lines = [(f"event: {one['type']}\n" if named else "") + f"data: {json.dumps(one)}\n\n" for one in events]
        self._send("text/event-stream", "".join(lines).encode())

    def _send(self, kind: str, content: bytes) -> None:
        try:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client was ended meanwhile


def anthropic(body: Json, number: int, call: Call | None) -> tuple[Json, list[Json]]:
    """A message of Anthropic's API, whole and as events."""
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    if call is None:
        block: Json = {"type": "text", "text": ANSWER}
        opened, delta, stop = {**block, "text": ""}, {"type": "text_delta", "text": ANSWER}, "end_turn"
    else:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call.name, "input": call.arguments}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        opened, stop = {**block, "input": {}}, "tool_use"
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }
    return message, [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": opened},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]


def responses(number: int, call: Call | None) -> list[Json]:
    """A response of OpenAI's API as events."""
    if call is None:
        text = {"type": "output_text", "text": ANSWER, "annotations": []}
        item: Json = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": [text]}
    else:
        item = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": call.name,
            "arguments": json.dumps(call.arguments),
        } | ({"namespace": call.namespace} if call.namespace else {})
    usage = {
        "input_tokens": 10,
        "input_tokens_details": None,
        "output_tokens": 5,
        "output_tokens_details": None,
        "total_tokens": 15,
    }
    response = {"id": f"resp_{number}"}
    return [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**response, "usage": usage}},
    ]


def gemini(call: Call | None) -> Json:
    """A candidate of Gemini's API."""
    part: Json = {"text": ANSWER} if call is None else {"functionCall": {"name": call.name, "args": call.arguments}}
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
    }
