"""Opens a model from one line of text, as command lines and configuration files write it.

    openai:NAME?base_url=…&key_env=…     any OpenAI-compatible endpoint
    gguf:PATH                            a local model file
    batch:DIR?model=NAME                 requests and answers in files
    recorded:PATH                        recorded answers

The options of each are the keyword arguments of its class. A key is named by its environment variable and
never written into the line, because such lines end up in shell histories, logs and audit entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.models.chat import Limit
from readmit.plugins import Opener, Plugins
from readmit.records.error_types import ModelError

if TYPE_CHECKING:
    from readmit.models.protocols import OpenModel
    from readmit.plugins import Line


class _OpenAI(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    base_url: str | None = None
    key_env: str | None = None
    deadline: float = 120.0
    overall: float = 1_800.0
    retries: int = 4
    concurrency: int = 8
    temperature: float | None = 0.0


class _Gguf(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    context: int = 8_192
    concurrency: int = 1
    threads: int | None = None
    deadline: float = 300.0
    overall: float = 7_200.0
    text_chars: int | None = None
    list_items: int | None = None
    compact: bool = False


class _Batch(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    model: str
    shared: bool = False
    temperature: float | None = None
    limit: Limit = "max_completion_tokens"


class _Recorded(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    model: str | None = None


PROVIDERS = Plugins(
    "model",
    "readmit.models",
    {
        "openai": Opener("readmit.models.model_lines:open_openai", "models"),
        "gguf": Opener("readmit.models.model_lines:open_gguf", "gguf"),
        "batch": Opener("readmit.models.model_lines:open_batch", "models"),
        "recorded": Opener("readmit.models.model_lines:open_recorded"),
    },
    ModelError,
)


def open_model(spec: str) -> OpenModel:
    """Open the model that a line names. Weights are loaded and connections made on first use.

    Another package adds a provider by an entry point in the group ``readmit.models``: a function that takes a ``Line``
    and returns the model.
    """
    line = PROVIDERS.read(spec)
    if ":" in spec and line.kind and not line.target:
        raise ModelError(f"model {spec!r}: name something after {line.kind}:")
    made: OpenModel = PROVIDERS.open(line, line, methods=("name", "ask", "close"))
    return made


def open_openai(line: Line) -> OpenModel:
    """A model that an OpenAI-compatible endpoint serves."""
    from readmit.models.endpoint import Endpoint
    from readmit.models.openai_compatible import OpenAICompatible

    options = PROVIDERS.options(line, _OpenAI)
    endpoint = Endpoint(
        options.base_url,
        key_env=options.key_env,
        deadline=options.deadline,
        overall=options.overall,
        retries=options.retries,
        concurrency=options.concurrency,
    )
    return OpenAICompatible(line.target, endpoint, temperature=options.temperature)


def open_gguf(line: Line) -> OpenModel:
    """A model in a local file."""
    from readmit.models.gguf import Gguf

    return Gguf(line.target, **msgspec.structs.asdict(PROVIDERS.options(line, _Gguf)))


def open_batch(line: Line) -> OpenModel:
    """A model whose answers come by file."""
    from readmit.models.batch import Batch

    return Batch(line.target, **msgspec.structs.asdict(PROVIDERS.options(line, _Batch)))


def open_recorded(line: Line) -> OpenModel:
    """Recorded answers."""
    from readmit.models.recorded import Recorded

    return Recorded(line.target, **msgspec.structs.asdict(PROVIDERS.options(line, _Recorded)))
