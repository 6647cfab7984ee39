"""Protocols of language models and embedders.

A model takes many requests at once and gives one result for each, in order, so that a provider may ask them
concurrently or write them to a file. One failed request never loses the others. A failure is data: the caller decides
what a missing answer means, and it never means "still valid".
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Protocol, Self, TypeVar

import msgspec

from readmit.records.base import Count, Name, Note, Record, Text
from readmit.records.canonical import digest
from readmit.records.error_types import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
Prompt = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_.-]*@[0-9]+(\+repair)?$(?!\n)")]


class Ask(Record, frozen=True, kw_only=True):
    """One request to a model: its texts, stage, versioned prompt and workspace."""

    stage: Name
    """Which stage asks (``extract``, ``verify`` …); usage is accounted under it."""
    prompt: Prompt
    """Name and version of the prompt, as ``verify@2``."""
    system: str
    user: Text
    schema: bytes = b""
    """JSON Schema of the answer, fields in the order the model should write them. Empty: free text."""
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1_024
    """Most tokens the answer may have."""
    workspace: str = ""
    temperature: str = ""
    """A number in text. Empty: the model's default."""
    effort: str = ""
    """The provider's setting for reasoning effort. Empty: the provider's default."""
    sampling: bytes = b""
    """Further fields of the request body, as a JSON object: ``top_p``, ``seed``, ``stop`` …"""

    def digest(self, model: str) -> str:
        """The digest of request and model, without the workspace: the key of recorded answers."""
        how = ((self.temperature, self.effort),) if self.temperature or self.effort else ()
        more = (self.sampling,) if self.sampling else ()
        return digest((model, self.prompt, self.system, self.user, self.schema, self.max_tokens, *how, *more))

    def key(self, model: str) -> str:
        """The digest within its workspace: the key of every answer cache.

        Equal requests of two workspaces have different keys, so neither can read the other's answer.
        """
        return digest((self.workspace, self.digest(model)))


class Usage(Record, frozen=True, kw_only=True):
    """The usage of one call, or the sum of several."""

    stage: Name
    input: Count = 0
    """Prompt tokens, cached ones included."""
    cached: Count = 0
    """Prompt tokens that the provider served from its own prompt cache."""
    output: Count = 0
    milliseconds: Count = 0


class Reply(Record, frozen=True, kw_only=True):
    """An answer as the model wrote it, unchecked."""

    text: str
    usage: Usage
    model: str
    """The model that answered, as its provider reports it."""
    complete: bool = True
    """Whether the model finished by itself, not at the token limit."""
    replayed: bool = False
    """Whether the answer was read from a store or a file instead of being generated now."""


class Fault(StrEnum):
    """Why there is no usable answer."""

    TIMEOUT = "timeout"
    """The deadline passed."""
    RATE_LIMITED = "rate_limited"
    """The provider still answered 429 after the last retry."""
    UNAVAILABLE = "unavailable"
    """The provider could not be reached, or failed, after the last retry."""
    REFUSED = "refused"
    """The provider, or the model, declined the request."""
    DENIED = "denied"
    """The provider rejects the key, the account, the address or the model's name: no request can succeed."""
    MALFORMED = "malformed"
    """The answer does not have the requested shape, also after one repair."""
    TOO_LONG = "too_long"
    """The answer, or the response that carries it, is larger than allowed."""
    BUDGET = "budget"
    """The request was not sent: it could have exceeded the budget."""


class Failure(Record, frozen=True, kw_only=True):
    """The lack of a usable answer. The message is for the operator, never for the returning agent."""

    fault: Fault
    message: Note
    usage: Usage
    """The usage of the failed request, if the provider reported it."""


def read_json(data: bytes | str, kind: type[T]) -> T | None:
    """JSON from elsewhere as a value of ``kind``; ``None`` if it is not one. An error would quote the text."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


class Model(Protocol):
    """A language model: answers requests."""

    @property
    def name(self) -> str:
        """Identifier of the model in digests. Another model must have another name."""
        ...

    def ask(self, asks: Sequence[Ask]) -> Sequence[Reply | Failure]:
        """One result per request, in order."""
        ...


class OpenModel(Model, Protocol):
    """A model that holds connections, files or weights until it is closed."""

    def close(self) -> None:
        """Release them. Closing twice is harmless."""
        ...


class Closable:
    """Base of models and embedders for use in a ``with`` block. One that holds nothing open inherits ``close`` too."""

    def close(self) -> None:
        """Release connections, files or weights. Closing twice is harmless."""

    def __enter__(self) -> Self:
        """Use as a context manager to close it at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


class ModelWrapper(Closable):
    """Base of models that ask another one. Closing one closes the other, if it can be."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self._model = model

    def close(self) -> None:
        close_model(self._model)


def close_model(model: Model) -> None:
    """Close a model that holds something open."""
    close = getattr(model, "close", None)
    if close is not None:
        close()


def ask_all(model: Model, asks: Sequence[Ask]) -> Sequence[Reply | Failure]:
    """A model's results. Another number of them than of requests is an error."""
    replies = model.ask(asks)
    if len(replies) != len(asks):
        raise ModelError(f"model {model.name}: {len(replies)} results for {len(asks)} requests; one each is required")
    return replies


class Embedder(Protocol):
    """Turns texts into vectors. Cosine finds candidates and never decides."""

    @property
    def name(self) -> str:
        """Identifier of the embedder in stored vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, float32, of length one."""
        ...
