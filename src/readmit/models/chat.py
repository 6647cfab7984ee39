"""The wire format that every provider here shares: chat completions, as OpenAI defined them.

Live endpoints, local servers, batch files and recorded answers all use these two bodies, so each is written and read in
one place.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from readmit.models.fence import visible_text
from readmit.models.protocols import Ask, Failure, Fault, Reply, Usage, read_json

MAX_ANSWER_CHARS = 200_000
"""An answer longer than this is refused unread."""

Limit = Literal["max_completion_tokens", "max_tokens"]
"""The field that bounds an answer: the current name, and the one that older servers know."""

_MESSAGE_CHARS = 300


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """The request fields that one server supports. If it refuses a field, the next simpler form is tried."""

    structure: Literal["json_schema", "json_object", "plain"] = "json_schema"
    limit: Limit = "max_completion_tokens"
    temperature: float | None = None

    def without(self, complaint: str) -> Dialect | None:
        """The next form to try after a server's error, or ``None`` if the error is about something else."""
        complaint = complaint.lower()
        if "temperature" in complaint and self.temperature is not None:
            return msgspec.structs.replace(self, temperature=None)
        if "max_completion_tokens" in complaint or "max_tokens" in complaint:
            # OpenAI's message names both fields; drop the one in use.
            if self.limit == "max_completion_tokens":
                return msgspec.structs.replace(self, limit="max_tokens")
            return None
        if any(word in complaint for word in ("response_format", "json_schema", "json_object", "schema", "grammar")):
            match self.structure:
                case "json_schema":
                    return msgspec.structs.replace(self, structure="json_object")
                case "json_object":
                    return msgspec.structs.replace(self, structure="plain")
        return None


def request_body(ask: Ask, model: str, dialect: Dialect) -> dict[str, Any]:
    """The JSON body of a request."""
    system = ask.system
    body: dict[str, Any] = {"model": model, "messages": []}
    if ask.schema:
        schema = msgspec.json.decode(ask.schema)
        if dialect.structure == "json_schema":
            named = {"name": ask.prompt.partition("@")[0].replace(".", "_"), "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        else:
            system += (
                "\n\nAnswer with one JSON object and nothing else. It must match this JSON Schema:\n"
                + ask.schema.decode()
            )
            if dialect.structure == "json_object":
                body["response_format"] = {"type": "json_object"}
    if system:
        body["messages"].append({"role": "system", "content": system})
    body["messages"].append({"role": "user", "content": ask.user})
    body[dialect.limit] = ask.max_tokens
    if dialect.temperature is not None or ask.temperature:
        body["temperature"] = float(ask.temperature) if ask.temperature else dialect.temperature
    if ask.effort:
        body["reasoning_effort"] = ask.effort
    if ask.sampling:
        body |= msgspec.json.decode(ask.sampling, type=dict[str, Any])
    return body


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _Tokens(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Tokens | None = None


def read_response(ask: Ask, body: bytes, *, milliseconds: int = 0, replayed: bool = False) -> Reply | Failure:
    """The result in a response body. Never raises on malformed bodies."""
    completion = read_json(body, _Completion)
    if completion is None:
        return failure_of(
            ask, Fault.MALFORMED, "the response is not a chat completion in JSON", milliseconds=milliseconds
        )
    usage = _usage(ask, completion.usage, milliseconds)
    if not completion.choices:
        return Failure(fault=Fault.MALFORMED, message="the response holds no choice", usage=usage)
    choice = completion.choices[0]
    text = choice.message.content or ""
    if choice.message.refusal or choice.finish_reason == "content_filter":
        return Failure(fault=Fault.REFUSED, message="the model declined to answer", usage=usage)
    if len(text) > MAX_ANSWER_CHARS:
        return Failure(fault=Fault.TOO_LONG, message=f"the answer has {len(text)} characters", usage=usage)
    return Reply(
        text=text,
        usage=usage,
        model=(completion.model or "unspecified")[:256],
        complete=choice.finish_reason != "length",
        replayed=replayed,
    )


def completion_text(body: bytes) -> str | None:
    """The answer in a response body, or ``None`` if the body is not a chat completion."""
    completion = read_json(body, _Completion)
    return (completion.choices[0].message.content or "") if completion is not None and completion.choices else None


def model_of(body: bytes) -> str | None:
    """The model that a response body names."""
    completion = read_json(body, _Completion)
    return None if completion is None else completion.model


def response_body(reply: Reply) -> dict[str, Any]:
    """The relevant part of a reply's response body, as recorded answers store it."""
    return {
        "model": reply.model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": reply.text},
                "finish_reason": "stop" if reply.complete else "length",
            }
        ],
        "usage": {
            "prompt_tokens": reply.usage.input,
            "completion_tokens": reply.usage.output,
            "total_tokens": reply.usage.input + reply.usage.output,
            "prompt_tokens_details": {"cached_tokens": reply.usage.cached},
        },
    }


def failure_of(ask: Ask, fault: Fault, message: str, *, milliseconds: int = 0) -> Failure:
    """A failure of a request without reported usage."""
    return Failure(fault=fault, message=one_line(message), usage=Usage(stage=ask.stage, milliseconds=milliseconds))


def one_line(message: str) -> str:
    """A message that may quote a server or a model, as one visible line of bounded length."""
    line = visible_text(message).replace("\n", " ")
    return line if len(line) <= _MESSAGE_CHARS else line[: _MESSAGE_CHARS - 1] + "…"


def _usage(ask: Ask, tokens: _Tokens | None, milliseconds: int) -> Usage:
    if tokens is None:
        return Usage(stage=ask.stage, milliseconds=milliseconds)
    details = tokens.prompt_tokens_details
    return Usage(
        stage=ask.stage,
        input=max(0, tokens.prompt_tokens or 0),
        cached=max(0, (details.cached_tokens if details else None) or 0),
        output=max(0, tokens.completion_tokens or 0),
        milliseconds=milliseconds,
    )
