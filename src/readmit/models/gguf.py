"""A local model file, served by llama.cpp inside this process (through xllamacpp).

The server listens on a free port of the loopback interface, behind a key made for it. Asking it over
HTTP rather than by a direct call gives the same deadline as any endpoint: a call that runs too long is
dropped, and llama.cpp stops generating. Answers with a schema are constrained by a grammar, so also a
small model writes the requested form.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readmit.models.endpoint import Endpoint
from readmit.models.extras import need
from readmit.models.openai_compatible import OpenAICompatible
from readmit.records.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from readmit.ports.models import Ask, Failure, Reply


class Gguf:
    """A model file. Its weights are loaded when it is first asked and let go when it is closed."""

    def __init__(
        self,
        path: str | Path,
        *,
        context: int = 8_192,
        concurrency: int = 1,
        threads: int | None = None,
        deadline: float = 300.0,
        overall: float = 7_200.0,
    ) -> None:
        """Check the file and name the model by its content, so that replaced weights are another model."""
        need("xllamacpp", "gguf")
        self._path = Path(path)
        self._context = context
        self._concurrency = concurrency
        # llama.cpp's threads spin while they wait for each other: with as many as there are cores, any other
        # work on the machine makes generation ten times slower. So one core is left for it.
        self._threads = threads or max(1, (os.cpu_count() or 1) - 1)
        self._deadline = deadline
        self._overall = overall
        self.name = f"{self._path.name}@{_fingerprint(self._path)[:16]}"
        self._loading = threading.Lock()
        self._server: Any = None
        self._model: OpenAICompatible | None = None

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        """Answer on this machine, as many at a time as there are slots."""
        if not asks:
            return []
        with self._loading:
            model = self._model = self._model or self._served()
        return model.ask(asks)

    def close(self) -> None:
        """Stop the server and free the weights."""
        if self._model is not None:
            self._model.close()
        self._model = self._server = None

    def __enter__(self) -> Self:
        """Use as a context manager to close it at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

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
        # Anyone on this machine can reach the port: a key, and none of the pages that show prompts.
        parameters.api_keys = [key]
        parameters.endpoint_slots = False
        parameters.endpoint_props = False
        parameters.ui = False
        parameters.verbosity = -1
        try:
            self._server = xllamacpp.Server(parameters)
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelError(f"{self._path}: llama.cpp cannot load this file: {error}") from None
        endpoint = Endpoint(
            f"{self._server.listening_address}/v1",
            api_key=key,
            deadline=self._deadline,
            overall=self._overall,
            retries=1,
            concurrency=self._concurrency,
        )
        return OpenAICompatible(self.name, endpoint)


def _fingerprint(path: Path) -> str:
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelError(f"{path}: not a GGUF file; give the path of a model in that format")
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}; give the path of a GGUF model file") from None
