"""A local model file, served by llama.cpp inside this process (through xllamacpp).

The server listens on a free port of the loopback interface, behind a key made for it. HTTP instead of a direct call
gives the same deadline as any endpoint: a call that runs too long is dropped, and llama.cpp stops generating. A grammar
constrains answers with a schema, so even a small model writes the requested form; the length of its texts and lists can
be limited too, because a small model does not stop by itself.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.models.endpoint import CallError, Endpoint
from readmit.models.openai_compatible import OpenAICompatible
from readmit.models.protocols import Closable
from readmit.plugins import require_package
from readmit.records.error_types import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models.protocols import Ask, Failure, Reply

# Makes llama.cpp's schema compiler omit white space; other servers ignore it.
_COMPACT = {"x-guidance": {"whitespace_flexible": False}}


class Gguf(Closable):
    """A model file. Its weights are loaded on first use and released on close."""

    def __init__(
        self,
        path: str | Path,
        *,
        context: int = 8_192,
        concurrency: int = 1,
        threads: int | None = None,
        deadline: float = 300.0,
        overall: float = 7_200.0,
        text_chars: int | None = None,
        list_items: int | None = None,
        compact: bool = False,
    ) -> None:
        """Check the file and name the model by its content, so that other weights are another model.

        For answers that have a schema: ``text_chars`` is the most of every text, ``list_items`` the number of
        entries of every list, as far as the schema allows it; ``compact`` leaves out white space, which is a third
        of what a model writes, and all but two decimals. A larger model answers better without these limits.
        """
        require_package("xllamacpp", "gguf", ModelError)
        bounds = {"concurrency": concurrency, "text_chars": text_chars, "list_items": list_items}
        for field, value in bounds.items():
            if value is not None and value < 1:
                raise ModelError(f"{field}: {value} is too small; the least is 1")
        self._path = Path(path)
        self._context = context
        self._concurrency = concurrency
        # llama.cpp's threads spin while they wait for each other: with one per core, any other work on the machine
        # makes generation ten times slower. So one core is left free. With OMP_WAIT_POLICY=passive in the environment
        # they sleep instead, and every core can be used.
        self._threads = threads or max(1, (os.cpu_count() or 1) - 1)
        self._deadline = deadline
        self._overall = overall
        self._text_chars = text_chars
        self._list_items = list_items
        self._compact = compact
        self.name = f"{self._path.name}@{_fingerprint(self._path)[:16]}"
        self._loading = threading.Lock()
        self._server: Any = None
        self._model: OpenAICompatible | None = None

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        """Answer on this machine, one request per slot at a time."""
        if not asks:
            return []
        with self._loading:
            model = self._model = self._model or self._served()
        return model.ask([self._bounded(ask) for ask in asks])

    def close(self) -> None:
        """Stop the server and free the weights."""
        if self._model is not None:
            self._model.close()
        self._model = self._server = None

    def _bounded(self, ask: Ask) -> Ask:
        if not ask.schema or (self._text_chars is None and self._list_items is None and not self._compact):
            return ask
        schema = self._narrowed(msgspec.json.decode(ask.schema))
        return msgspec.structs.replace(ask, schema=msgspec.json.encode(schema))

    def _narrowed(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema with its texts and lists bounded; every match of it also matches the schema."""
        kept = dict(schema)
        if self._text_chars is not None and kept.get("type") == "string" and "enum" not in kept:
            kept["maxLength"] = min(self._text_chars, kept.get("maxLength", self._text_chars))
        if self._compact and kept.get("type") == "number":
            kept.setdefault("multipleOf", 0.01)
        if "items" in kept:
            kept["items"] = self._narrowed(kept["items"])
            if self._list_items is not None:
                many = max(self._list_items, kept.get("minItems", 0))
                kept["minItems"] = kept["maxItems"] = min(many, kept.get("maxItems", many))
        if "anyOf" in kept:
            kept["anyOf"] = [self._narrowed(option) for option in kept["anyOf"]]
        if "properties" in kept:
            kept["properties"] = {name: self._narrowed(inner) for name, inner in kept["properties"].items()}
        return kept

    def _served(self) -> OpenAICompatible:
        import xllamacpp  # type: ignore[import-untyped,import-not-found,unused-ignore]

        key = secrets.token_urlsafe(32)
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(self._path)
        parameters.model_alias = {self.name}
        # llama.cpp divides the context among its slots.
        parameters.n_ctx = self._context * self._concurrency
        parameters.n_parallel = self._concurrency
        for cpu in (parameters.cpuparams, parameters.cpuparams_batch):
            cpu.n_threads = self._threads
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0
        # Any local user can reach the port, so require a key and disable the pages that show prompts.
        parameters.api_keys = [key]
        parameters.endpoint_slots = False
        parameters.endpoint_props = False
        parameters.ui = False
        parameters.verbosity = -1
        try:
            self._server = xllamacpp.Server(parameters)
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelError(f"{self._path}: llama.cpp cannot load this file: {error}") from None
        endpoint = (_Compact if self._compact else Endpoint)(
            f"{self._server.listening_address}/v1",
            api_key=key,
            deadline=self._deadline,
            overall=self._overall,
            retries=1,
            concurrency=self._concurrency,
        )
        return OpenAICompatible(self.name, endpoint)


class _Compact(Endpoint):
    """Sends a schema's grammar instead of the schema, which the server would compile with white space."""

    def post(
        self, path: str, bodies: Sequence[dict[str, Any]], *, until: float | None = None
    ) -> list[tuple[bytes | CallError, int]]:
        return super().post(path, [_with_grammar(body) for body in bodies], until=until)


def _with_grammar(body: dict[str, Any]) -> dict[str, Any]:
    import xllamacpp

    match body:
        case {"response_format": {"json_schema": {"schema": schema}}}:
            kept = {name: value for name, value in body.items() if name != "response_format"}
            return kept | {"grammar": xllamacpp.json_schema_to_grammar(msgspec.json.encode(schema | _COMPACT).decode())}
    return body


def _fingerprint(path: Path) -> str:
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelError(f"{path}: not a GGUF file; give the path of a model in that format")
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}; give the path of a GGUF model file") from None
