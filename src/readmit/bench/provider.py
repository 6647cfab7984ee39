"""readmit's own models as an inspect_ai provider.

``readmit/batch:DIR?model=NAME``, ``readmit/recorded:PATH``, ``readmit/gguf:PATH``, ``readmit/openai:NAME?…``: so a
whole study can run in rounds through files, on recorded answers, or on a local model file, with inspect's accounts,
logs and viewer. A request whose answer is still to come gives an output that says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from anyio import to_thread
from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, ModelUsage, modelapi

from readmit.models.open import open_model
from readmit.ports.models import Ask, Failure
from readmit.records.errors import ModelError, PendingAnswers

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage
    from inspect_ai.tool import ToolChoice, ToolInfo

    from readmit.ports.models import OpenModel

PENDING = "readmit_pending"
KINDS = ("openai", "gguf", "batch", "recorded")
MAX_TOKENS = 1_024
# Files answer at once or not at all: every request of a round is put before any is waited for.
CONNECTIONS = 256


def inspect_name(spec: str) -> str:
    """What inspect calls a model: its own names as they are, ours under our provider."""
    return f"readmit/{spec}" if spec.partition(":")[0] in KINDS else spec


class Readmit(ModelAPI):
    """One of readmit's models."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008  # inspect's own signature
        **_: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self._model: OpenModel = open_model(model_name)

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002  # inspect's own signature
        tools: list[ToolInfo],
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,
    ) -> ModelOutput:
        if tools:
            raise ModelError(f"{self.model_name}: this provider answers text and takes no tools")
        ask = _ask(input, config)
        try:
            (result,) = await to_thread.run_sync(self._model.ask, [ask])
        except PendingAnswers as waiting:
            # Nothing went wrong, and hundreds of these are ordinary: told in the output, not raised.
            told = {PENDING: str(waiting)}
            return ModelOutput(model=self._model.name, error="the answer comes by file", metadata=told)
        if isinstance(result, Failure):
            raise ModelError(f"{self.model_name}: {result.fault}: {result.message}")
        output = ModelOutput.from_content(
            self._model.name, result.text, stop_reason="stop" if result.complete else "max_tokens"
        )
        used = result.usage
        output.usage = ModelUsage(
            input_tokens=used.input - used.cached,
            output_tokens=used.output,
            total_tokens=used.input + used.output,
            input_tokens_cache_read=used.cached,
        )
        return output

    def max_connections(self) -> int:
        return 1 if self.model_name.startswith("gguf:") else CONNECTIONS

    def connection_key(self) -> str:
        return self.model_name

    async def aclose(self) -> None:
        self._model.close()


def _ask(messages: list[ChatMessage], config: GenerateConfig) -> Ask:
    system = "\n\n".join(message.text for message in messages if message.role == "system")
    said = [message for message in messages if message.role != "system"]
    if [message.role for message in said] != ["user"]:
        raise ModelError("messages: this provider takes one user message, with system messages before it")
    schema = b""
    if config.response_schema is not None:
        schema = msgspec.json.encode(config.response_schema.json_schema.model_dump(exclude_none=True))
    return Ask(
        stage="inspect",
        prompt="inspect@1",
        system=system,
        user=said[0].text,
        schema=schema,
        max_tokens=config.max_tokens or MAX_TOKENS,
    )


readmit = modelapi(name="readmit")(Readmit)
