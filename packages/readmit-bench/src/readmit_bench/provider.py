"""readmit's own models as an inspect_ai provider.

``readmit/batch:DIR?model=NAME``, ``readmit/recorded:PATH``, ``readmit/gguf:PATH``, ``readmit/openai:NAME?…``: a whole
study can run in rounds through files, on recorded answers, or on a local model file, with inspect's accounts, logs and
viewer. inspect finds the provider by the package's entry point.

A request whose answer is still pending gives readmit's own tasks an output that says so. Other tasks would score that
output: ``inspect eval`` ends with ``PendingAnswers`` once every sample has written its request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
from anyio import CapacityLimiter, current_time, sleep, to_thread
from inspect_ai.log._samples import sample_active
from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, ModelUsage, RetryDecision, modelapi

from readmit.errors import ModelError, PendingAnswers
from readmit.models import Ask, Failure, Fault, batch_status, open_model
from readmit_bench.outages import ProviderFailure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspect_ai.model import ChatMessage
    from inspect_ai.tool import ToolChoice, ToolInfo

    from readmit.models import OpenModel

PENDING, TROUBLE = "readmit_pending", "readmit_trouble"
KINDS = ("openai", "gguf", "batch", "recorded")
MAX_TOKENS = 1_024
FILES = ("batch", "recorded")
# Files answer at once or not at all: every request of a round is written before any is waited for. Running many
# episodes at once gains nothing, and all of them would be held in memory.
FILE_CONNECTIONS, FILE_SAMPLES = 256, 16
# Samples of other tasks end together when the first of them has to wait, so all of them must be running.
ALL_SAMPLES = 100_000
QUIET_SECONDS = 1.0
"""How long no sample asks anything before a round counts as written."""
GRACE_SECONDS = 5.0
SENT = {
    "top_p": "top_p",
    "seed": "seed",
    "stop_seqs": "stop",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "logit_bias": "logit_bias",
    "verbosity": "verbosity",
}
"""inspect's settings that go out as fields of the request."""
UNSENT = (
    "best_of", "top_k", "num_choices", "logprobs", "prompt_logprobs", "reasoning_tokens", "extra_body", "modalities",
)  # fmt: skip
"""Settings that change the answer and cannot be sent."""


def inspect_name(spec: str) -> str:
    """What inspect calls a model: its own names as they are, ours under our provider."""
    return f"readmit/{spec}" if spec.partition(":")[0] in KINDS else spec


def connections(spec: str, asked: int | None) -> int | None:
    """How many calls at once: a fixed number for files, else as given; by default one for a model in this process."""
    kind = spec.partition(":")[0]
    if kind in FILES:
        return FILE_CONNECTIONS
    return asked if asked is not None else 1 if kind == "gguf" else None


def samples(specs: Iterable[str]) -> int | None:
    """How many samples at once: inspect's choice, unless all answers come by file."""
    return FILE_SAMPLES if all(spec.partition(":")[0] in FILES for spec in specs) else None


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
        self._kind, rest = model_name.partition(":")[::2]
        own = "retries=" in rest.partition("?")[2]
        # Only one layer retries: inspect's, which counts retries, unless the line asks for the endpoint's own.
        self._retried_by_inspect = self._kind == "openai" and not own
        line = f"{model_name}{'&' if '?' in rest else '?'}retries=0" if self._retried_by_inspect else model_name
        self._model: OpenModel = open_model(line)
        self.returns_pending = False
        """Whether a pending answer is an output, for tasks that know it, or ends the run."""
        self._last_asked = 0.0
        self._round_ended = False
        if self._kind == "batch" and config.max_connections is None:
            # The model's own setting: inspect takes the number of samples at once from it.
            config.max_connections = ALL_SAMPLES

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002  # inspect's own signature
        tools: list[ToolInfo],
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,
    ) -> ModelOutput:
        if tools:
            raise ModelError(f"{self.model_name}: this provider answers text and takes no tools")
        ask = request_of(input, config) if self.returns_pending else _request_as_set(input, config)
        self._last_asked = current_time()
        try:
            # Its own limiter: inspect's threads are taken by the methods that wait for this.
            (result,) = await to_thread.run_sync(
                self._model.ask, [ask], abandon_on_cancel=True, limiter=CapacityLimiter(1)
            )
        except PendingAnswers as waiting:
            if not self.returns_pending:
                await self._end_of_round(waiting.directory)
            # This is normal and happens hundreds of times, so it is in the output and not raised.
            return self._to_come(waiting.directory)
        if isinstance(result, Failure):
            if self._kind == "batch" and result.fault is Fault.UNAVAILABLE and self.returns_pending:
                # A line with "error" is not an answer: a later line can give one.
                return self._to_come(self.model_name, f"{result.message}; answer it again in a later line")
            raise ProviderFailure(result)
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

    async def _end_of_round(self, directory: str) -> NoReturn:
        # There is no event to wait for: each request puts the end off.
        while (left := self._last_asked + QUIET_SECONDS - current_time()) > 0:  # noqa: ASYNC110
            await sleep(left)
        if self._round_ended:
            # inspect cancels the other samples, unless it was asked to continue. Describing an error takes it long.
            await sleep(GRACE_SECONDS)
        self._round_ended = True
        raise PendingAnswers(batch_status(directory).waiting, directory)

    def should_retry(self, ex: Exception) -> bool | RetryDecision:
        if not self._retried_by_inspect or not isinstance(ex, ProviderFailure):
            return False
        if ex.failure.fault is Fault.RATE_LIMITED:
            return RetryDecision.rate_limit()
        return ex.failure.fault in (Fault.TIMEOUT, Fault.UNAVAILABLE)

    def connection_key(self) -> str:
        return self.model_name

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        """Release connections, files or weights, and callers that still wait for an answer."""
        self._model.close()

    def _to_come(self, directory: str, trouble: str = "") -> ModelOutput:
        metadata = {PENDING: directory, **({TROUBLE: trouble} if trouble else {})}
        return ModelOutput(model=self._model.name, error="the answer comes by file", metadata=metadata)


def _request_as_set(messages: list[ChatMessage], config: GenerateConfig) -> Ask:
    """The request of a task of somebody else's: every setting that changes the answer is sent, or refused."""
    for name in UNSENT:
        if getattr(config, name) is not None:
            raise ModelError(f"{name}: this provider cannot send it; leave it out")
    sent = {field: value for name, field in SENT.items() if (value := getattr(config, name)) is not None}
    active = sample_active()
    return msgspec.structs.replace(
        request_of(messages, config),
        temperature="" if config.temperature is None else f"{config.temperature:g}",
        sampling=msgspec.json.encode(sent, order="sorted") if sent else b"",
        # Every epoch asks again.
        workspace=f"epoch {active.epoch}" if active is not None and active.epoch > 1 else "",
    )


def request_of(messages: list[ChatMessage], config: GenerateConfig) -> Ask:
    """The inspect request as one of readmit's, which is how a batch directory identifies it."""
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
        # None and 0 leave what the model's line says, so that earlier answers are found.
        temperature=f"{config.temperature:g}" if config.temperature else "",
        effort=config.reasoning_effort or "",
    )


readmit = modelapi(name="readmit")(Readmit)
