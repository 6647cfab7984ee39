"""readmit's model and embedder in the shape that mem0 calls.

When an answer cannot be read or a text cannot be embedded, mem0 only logs it and the memory is missing. Here both are
failures, kept until the adapter checks, so that nothing is lost silently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from readmit.models.protocols import Ask, Failure
from readmit.records.error_types import BackendError, ReadmitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models.protocols import Embedder, Model

_ANSWER = {
    "type": "object",
    "properties": {
        "memory": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "text": {"type": "string"}},
                "required": ["id", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["memory"],
    "additionalProperties": False,
}


class _Memory(msgspec.Struct):
    text: str


class _Memories(msgspec.Struct):
    memory: list[_Memory]


class Extractor:
    """Replaces mem0's language model."""

    def __init__(self, model: Model | None, workspace: str, max_tokens: int) -> None:
        self._model = model
        self._workspace = workspace
        self._max_tokens = max_tokens
        self.extracted: frozenset[str] = frozenset()
        """The memories of the last answer. mem0 only logs those that it cannot store."""

    def generate_response(self, messages: Sequence[dict[str, str]], **_: Any) -> str:
        """Answer mem0's request, which has a system and a user message."""
        self.extracted = frozenset()
        if self._model is None:
            raise BackendError("model: inferred memories need one; open Mem0 with model=, or form with verbatim=True")
        said = {"system": "", "user": ""}
        for message in messages:
            said[message["role"]] += message["content"]
        ask = Ask(
            stage="memory",
            prompt="mem0.extract@1",
            system=said["system"],
            user=said["user"],
            schema=msgspec.json.encode(_ANSWER),
            max_tokens=self._max_tokens,
            workspace=self._workspace,
        )
        (answer,) = self._model.ask([ask])
        if isinstance(answer, Failure):
            raise BackendError(f"model: {answer.fault}: {answer.message}; no memory was formed")
        try:
            memories = msgspec.json.decode(answer.text, type=_Memories).memory
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise BackendError("model: the answer is not a list of memories in JSON; none was formed") from None
        self.extracted = frozenset(one.text for one in memories if one.text)
        return answer.text


class Mem0Embedding:
    """Replaces mem0's embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.failed: Exception | None = None
        """The failure since the adapter last checked, which mem0 may have swallowed."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - mem0's own name
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:  # noqa: ARG002
        try:
            rows: list[list[float]] = self.embedder.embed(list(texts)).tolist()
        except ReadmitError as error:
            self.failed = error
            raise
        except Exception as error:
            self.failed = BackendError(f"embedder {self.embedder.name}: {error}")
            raise self.failed from error
        return rows
