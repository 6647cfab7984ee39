"""Any server that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, LM Studio, llama.cpp and others.

Servers accept different fields. If a server refuses the form of a request, the next simpler form is tried (JSON
Schema, JSON, plain text; the older name of the token limit; no temperature), and the form that worked is used for later
requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.models.chat import Dialect, failure_of, read_response, request_body
from readmit.models.endpoint import CallError, Endpoint
from readmit.models.protocols import Closable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models.protocols import Ask, Failure, Reply

_PATH = "/chat/completions"


class OpenAICompatible(Closable):
    """A model that an endpoint serves. Closing it closes the endpoint."""

    def __init__(
        self, model: str, endpoint: Endpoint, *, temperature: float | None = 0.0, name: str | None = None
    ) -> None:
        """Ask for ``model``. Digests use ``name`` instead, if the server's name does not identify the weights."""
        self.name = name or model
        self._model = model
        self._endpoint = endpoint
        self._dialect = Dialect(temperature=temperature)
        self._understood = False

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        """Ask all at once, as far as the endpoint's concurrency allows."""
        until = self._endpoint.until()
        results: dict[int, Reply | Failure] = {}
        waiting = list(range(len(asks)))
        while waiting:
            # Until this server has accepted a request, one is sent alone to find the form it accepts.
            wave = waiting if self._understood or results else waiting[:1]
            tried = self._dialect
            bodies = [request_body(asks[at], self._model, tried) for at in wave]
            for at, (response, milliseconds) in zip(wave, self._endpoint.post(_PATH, bodies, until=until), strict=True):
                if isinstance(response, CallError):
                    simpler = tried.without(str(response)) if response.complaint else None
                    if simpler is not None:
                        self._dialect = simpler
                        continue
                    results[at] = failure_of(asks[at], response.fault, str(response), milliseconds=milliseconds)
                else:
                    self._understood = True
                    results[at] = read_response(asks[at], response, milliseconds=milliseconds)
            waiting = [at for at in waiting if at not in results]
        return [results[at] for at in range(len(asks))]

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()
