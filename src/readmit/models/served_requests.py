"""Requests of other programs' OpenAI clients as readmit's own, and answers in the form that such clients read.

A chat completion is one user message with system messages before it. Whatever changes the answer goes into the request
or is refused by its name; ``created`` and ids are fixed, so that equal requests get equal bytes.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from readmit.models.chat import response_body
from readmit.models.protocols import Ask
from readmit.records.base import LONGEST_TEXT
from readmit.records.canonical import decode
from readmit.records.error_types import RecordError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from readmit.models.protocols import Embedder, Reply

PROMPT, STAGE = "served@1", "memory"
ANSWER_TOKENS = 4_096
"""Most tokens of an answer if the client names no limit."""
TEXTS = 2_048
"""Most texts in one request for embeddings, as OpenAI allows."""


class _Part(msgspec.Struct):
    type: Literal["text"]
    text: str


class _Message(msgspec.Struct):
    role: Literal["system", "developer", "user"]
    content: str | list[_Part]
    name: str | None = None

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class _Form(msgspec.Struct):
    schema: dict[str, Any]


class _Format(msgspec.Struct):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: _Form | None = None


class _Chat(msgspec.Struct, forbid_unknown_fields=True):
    messages: list[_Message]
    model: str = ""
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None
    response_format: _Format | None = None
    n: Literal[1] | None = None
    stream: bool | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    verbosity: str | None = None
    # None of these changes an answer.
    user: Any = None
    metadata: Any = None
    store: Any = None
    service_tier: Any = None
    safety_identifier: Any = None
    prompt_cache_key: Any = None


_SAMPLING = ("top_p", "seed", "stop", "frequency_penalty", "presence_penalty", "logit_bias", "verbosity")


class _Embeddings(msgspec.Struct, forbid_unknown_fields=True):
    input: str | list[str]
    model: str = ""
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    user: Any = None


def read_chat(data: bytes) -> Ask:
    """The request in the body of a chat completion; an error names the field that cannot be served."""
    body = decode(data, _Chat, what="request")
    if body.stream:
        raise RecordError("stream: an answer comes whole; leave it out")
    *before, last = body.messages or [_Message("user", "")]
    if last.role != "user" or any(message.role == "user" for message in before):
        raise RecordError("messages: give one user message, with system messages before it")
    if not 0 < len(last.text) <= LONGEST_TEXT:
        raise RecordError(f"messages: the user message has 1 to {LONGEST_TEXT:,} characters")
    sampling = {name: value for name in _SAMPLING if (value := getattr(body, name)) is not None}
    form, schema = body.response_format, b""
    if form is not None and form.type == "json_schema":
        if form.json_schema is None:
            raise RecordError("response_format.json_schema: give the schema")
        schema = msgspec.json.encode(form.json_schema.schema)
    elif form is not None and form.type == "json_object":
        sampling["response_format"] = {"type": "json_object"}
    most = body.max_completion_tokens or body.max_tokens or ANSWER_TOKENS
    if most < 1:
        raise RecordError("max_tokens: at least 1")
    return Ask(
        stage=STAGE,
        prompt=PROMPT,
        system="\n\n".join(message.text for message in before),
        user=last.text,
        schema=schema,
        max_tokens=most,
        temperature="" if body.temperature is None else f"{body.temperature:g}",
        effort=body.reasoning_effort or "",
        sampling=msgspec.json.encode(sampling, order="sorted") if sampling else b"",
    )


def write_chat(ask: Ask, reply: Reply) -> bytes:
    """A reply as a chat completion."""
    named = {"id": f"chatcmpl-{ask.digest(reply.model)[:24]}", "object": "chat.completion", "created": 0}
    return msgspec.json.encode(named | response_body(reply))


def write_embeddings(data: bytes, embedder: Embedder) -> bytes:
    """The vectors that a request for embeddings asks for."""
    body = decode(data, _Embeddings, what="request")
    texts = [body.input] if isinstance(body.input, str) else body.input
    if not 0 < len(texts) <= TEXTS or not all(texts):
        raise RecordError(f"input: give 1 to {TEXTS:,} texts, none of them empty")
    if body.dimensions not in (None, embedder.dimensions):
        raise RecordError(f"dimensions: {embedder.name} makes vectors of {embedder.dimensions}; leave it out")
    rows = [
        {"object": "embedding", "index": at, "embedding": vector}
        for at, vector in enumerate(_vectors(embedder.embed(texts), body.encoding_format))
    ]
    tokens = sum(map(len, texts)) // 4
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return msgspec.json.encode({"object": "list", "data": rows, "model": embedder.name, "usage": usage})


def write_error(message: str, code: str) -> bytes:
    """An error as OpenAI's clients read it."""
    return msgspec.json.encode({"error": {"message": message, "type": code, "param": None, "code": code}})


def write_models(names: Sequence[str]) -> bytes:
    """The answer that lists the models."""
    rows = [{"id": name, "object": "model", "created": 0, "owned_by": "readmit"} for name in names]
    return msgspec.json.encode({"object": "list", "data": rows})


def _vectors(matrix: NDArray[np.float32], form: str) -> list[Any]:
    if form == "float":
        rows: list[Any] = matrix.tolist()
        return rows
    return [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in matrix]
