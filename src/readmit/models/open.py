"""A model from one line of text, as command lines and configuration files name it.

    openai:NAME?base_url=…&key_env=…     any OpenAI-compatible endpoint
    gguf:PATH                            a local model file
    batch:DIR?model=NAME                 requests and answers in files
    recorded:PATH                        recorded answers

The options of each are the keyword arguments of its class. A key is named by its environment variable and
never written into the line, because such lines end up in shell histories, logs and audit entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import msgspec

from readmit.models.chat import Limit
from readmit.records.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.ports.models import OpenModel


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


def open_model(spec: str) -> OpenModel:
    """Open the model that a line names. Weights are loaded and connections made when it is first asked."""
    kind, colon, rest = spec.partition(":")
    if not colon or kind not in _KINDS:
        known = ", ".join(f"{name}:…" for name in _KINDS)
        raise ModelError(f"model {spec!r}: must begin with one of {known}")
    target, _, query = rest.partition("?")
    if not target:
        raise ModelError(f"model {spec!r}: name something after {kind}:")
    options, make = _KINDS[kind]
    return make(target, _options(kind, query, options))


def _options(kind: str, query: str, options: type[msgspec.Struct]) -> Any:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise ModelError(f"model {kind}:…?{query}: write options as name=value, joined by &") from None
    given = dict(pairs)
    if len(given) != len(pairs):
        raise ModelError(f"model {kind}:…: an option is given twice")
    if "api_key" in given:
        raise ModelError(f"model {kind}:…: put the key into an environment variable and name that with key_env=")
    try:
        return msgspec.convert(given, options, strict=False)
    except msgspec.ValidationError as error:
        allowed = ", ".join(options.__struct_fields__)
        raise ModelError(f"model {kind}:…: {error}; options are {allowed}") from None


def _openai(target: str, options: _OpenAI) -> OpenModel:
    from readmit.models.endpoint import Endpoint
    from readmit.models.openai_compatible import OpenAICompatible

    endpoint = Endpoint(
        options.base_url,
        key_env=options.key_env,
        deadline=options.deadline,
        overall=options.overall,
        retries=options.retries,
        concurrency=options.concurrency,
    )
    return OpenAICompatible(target, endpoint, temperature=options.temperature)


def _gguf(target: str, options: _Gguf) -> OpenModel:
    from readmit.models.gguf import Gguf

    return Gguf(target, **msgspec.structs.asdict(options))


def _batch(target: str, options: _Batch) -> OpenModel:
    from readmit.models.batch import Batch

    return Batch(target, **msgspec.structs.asdict(options))


def _recorded(target: str, options: _Recorded) -> OpenModel:
    from readmit.models.recorded import Recorded

    return Recorded(target, **msgspec.structs.asdict(options))


_KINDS: dict[str, tuple[type[msgspec.Struct], Callable[[str, Any], OpenModel]]] = {
    "openai": (_OpenAI, _openai),
    "gguf": (_Gguf, _gguf),
    "batch": (_Batch, _batch),
    "recorded": (_Recorded, _recorded),
}
