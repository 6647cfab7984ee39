"""A sample's model role as one of the library's models: every call, and so every token, is inspect's to account.

Each answer is kept the moment it arrives (``AnswerStore``), and looked for there first. A method runs in a worker
thread and asks synchronously; the calls themselves run side by side in inspect's event loop.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio
import msgspec
from anyio import from_thread
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ResponseSchema,
    get_model,
)
from inspect_ai.util import JSONSchema

from readmit.bench.provider import PENDING
from readmit.models.chat import failure
from readmit.ports.models import Ask, Failure, Fault, Reply, Usage
from readmit.records.errors import ModelError, PendingAnswers, UnknownError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.bench.results import AnswerStore


class RoleModel:
    """One role of the running sample."""

    def __init__(self, role: str, name: str, store: AnswerStore, *, cap: int | None = None) -> None:
        """``cap`` lowers the token budget of every answer, for trying things out."""
        self.role = role
        self.name = name
        self._store = store
        self._cap = cap
        self.peak_context = 0
        self.repairs = 0

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        """Every answer; ``PendingAnswers`` only after all requests were put."""
        self.repairs += sum(ask.prompt.endswith("+repair") for ask in asks)
        results: list[Reply | Failure] = from_thread.run(self._all, asks)
        self.peak_context = max(self.peak_context, *(result.usage.input for result in results), 0)
        return results

    async def _all(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        results: list[Reply | Failure | PendingAnswers | UnknownError] = [PendingAnswers(0, "")] * len(asks)

        async def one(place: int) -> None:
            try:
                results[place] = await self._one(asks[place])
            except (PendingAnswers, UnknownError) as stop:
                results[place] = stop

        async with anyio.create_task_group() as group:
            for place in range(len(asks)):
                group.start_soon(one, place)
        for result in results:
            if isinstance(result, UnknownError):
                raise result
        waiting = [result for result in results if isinstance(result, PendingAnswers)]
        if waiting:
            raise waiting[-1]
        return [result for result in results if isinstance(result, Reply | Failure)]

    async def _one(self, ask: Ask) -> Reply | Failure:
        if self._cap is not None:
            ask = msgspec.structs.replace(ask, max_tokens=min(ask.max_tokens, self._cap))
        request = ask.digest(self.name)
        held = self._store.get(request)
        if held is not None:
            return held
        started = time.monotonic()
        messages: list[ChatMessage] = [ChatMessageSystem(content=ask.system)] if ask.system else []
        messages.append(ChatMessageUser(content=ask.user))
        try:
            output = await get_model(role=self.role).generate(messages, config=_config(ask))
        except (PendingAnswers, UnknownError):
            raise
        except (ModelError, OSError, RuntimeError, ValueError) as error:
            return failure(ask, Fault.UNAVAILABLE, f"{type(error).__name__}: {error}")
        if output.metadata and PENDING in output.metadata:
            raise PendingAnswers(1, str(output.metadata[PENDING]))
        if output.stop_reason == "content_filter":
            return failure(ask, Fault.REFUSED, "the provider's content filter stopped the answer")
        used = output.usage
        cached = (used.input_tokens_cache_read or 0) if used else 0
        reply = Reply(
            text=output.completion,
            usage=Usage(
                stage=ask.stage,
                input=used.input_tokens + cached if used else 0,
                cached=cached,
                output=used.output_tokens if used else 0,
                milliseconds=round((time.monotonic() - started) * 1000),
            ),
            model=output.model,
            complete=output.stop_reason not in ("max_tokens", "model_length"),
        )
        self._store.put(request, reply)
        return reply


def _config(ask: Ask) -> GenerateConfig:
    schema = None
    if ask.schema:
        document = JSONSchema.model_validate(msgspec.json.decode(ask.schema))
        schema = ResponseSchema(name=ask.stage.replace("-", "_"), json_schema=document)
    return GenerateConfig(max_tokens=ask.max_tokens, temperature=0.0, response_schema=schema)
