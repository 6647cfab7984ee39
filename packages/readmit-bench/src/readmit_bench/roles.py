"""A sample's model role as one of the library's models, so that inspect accounts for every call and token.

Each answer is stored as soon as it arrives (``AnswerStore``), and looked up there first. A method runs in a worker
thread and asks synchronously; the calls themselves run side by side in inspect's event loop.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import msgspec
from anyio import from_thread
from inspect_ai.log._samples import sample_active
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ResponseSchema,
    get_model,
)
from inspect_ai.util import JSONSchema, LimitExceededError

from readmit.errors import ModelError, PendingAnswers, UnknownError
from readmit.lab import failure_of
from readmit.models import Ask, Failure, Fault, Reply, Usage
from readmit_bench.outages import Fuse, Outage, meaning
from readmit_bench.provider import PENDING, TROUBLE
from readmit_bench.results import JUDGE
from readmit_bench.settings import RoleSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspect_ai.model import ModelOutput

    from readmit_bench.results import AnswerStore, KeptAnswer


class Form(JSONSchema):
    """The form of an answer. inspect's own omits list lengths, and models then produce endless lists."""

    items: Form | None = None
    properties: dict[str, Form] | None = None  # type: ignore[assignment]  # narrower, and never written to
    anyOf: list[Form] | None = None  # type: ignore[assignment]  # noqa: N815  # JSON Schema's own name
    minItems: int | None = None  # noqa: N815
    maxItems: int | None = None  # noqa: N815


@dataclass
class Exchange:
    """What all samples of a run share when they ask."""

    store: AnswerStore
    cap: int | None = None
    """Lowers the token budget of every answer, for trial runs."""
    token_limit: int | None = None
    """Most tokens of one sample, without those of the judge."""
    fuse: Fuse = field(default_factory=Fuse)
    asked: int = 0
    """Answers that were really asked for, and given, since this process began."""
    under_way: dict[str, anyio.Event] = field(default_factory=dict)
    """Equal requests of two samples are asked once: the second waits for the first."""


@dataclass
class Account:
    """What one sample has asked so far, over all its roles."""

    tokens: int = 0
    """Without those of the judge. Earlier answers count as if they were asked now."""
    peak_context: int = 0
    repairs: int = 0
    retries: int = 0
    noted: int = 0
    """Retries of this sample that are already kept with an answer."""
    spent: str = ""
    """What to say when the token limit is reached."""
    held_up: PendingAnswers | Outage | None = None
    """Why the sample cannot end now. Kept here because a method, or a store below it, may swallow the exception."""


class RoleModel:
    """One role of the running sample."""

    def __init__(
        self, role: str, name: str, exchange: Exchange, account: Account, how: RoleSettings | None = None
    ) -> None:
        self.role = role
        self.name = name
        self._how = how or RoleSettings()
        self._exchange = exchange
        self._account = account

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        """Every answer; raises ``PendingAnswers`` or ``Outage`` only after all requests were sent."""
        account = self._account
        account.repairs += sum(ask.prompt.endswith("+repair") for ask in asks)
        try:
            results: list[Reply | Failure] = from_thread.run(self._all, asks)
        except (PendingAnswers, Outage) as stop:
            account.held_up = stop
            raise
        account.peak_context = max(account.peak_context, *(result.usage.input for result in results), 0)
        account.tokens += sum(
            result.usage.input + result.usage.output for result in results if result.usage.stage != JUDGE
        )
        limit = self._exchange.token_limit
        if limit is not None and account.tokens > limit and self.role != JUDGE:
            account.spent = f"token limit: {account.tokens} tokens, more than {limit} (--token-limit)"
            raise ModelError(account.spent)
        return results

    async def _all(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        results: list[Reply | Failure | Exception] = [Outage("")] * len(asks)

        async def one(place: int) -> None:
            try:
                results[place] = await self._one(asks[place])
            except (PendingAnswers, UnknownError, Outage) as stop:
                results[place] = stop

        async with anyio.create_task_group() as group:
            for place in range(len(asks)):
                group.start_soon(one, place)
        # A missing record is an error of the whole run; an outage takes precedence over pending answers.
        for kind in (UnknownError, Outage, PendingAnswers):
            for result in results:
                if isinstance(result, kind):
                    raise result
        return [result for result in results if isinstance(result, Reply | Failure)]

    async def _one(self, ask: Ask) -> Reply | Failure:
        exchange = self._exchange
        most = limit_of(ask, self._how, exchange.cap)
        if most != ask.max_tokens:
            ask = msgspec.structs.replace(ask, max_tokens=most)
        # Settings are part of the key, because they change the answer; the limit is already in the digest.
        request = ask.digest(f"{self.name}{_manner(self._how)}")
        while request in exchange.under_way:
            await exchange.under_way[request].wait()
        held = exchange.store.get(request)
        if held is not None:
            return self._entered(held, ask)
        exchange.fuse.check()
        done = exchange.under_way[request] = anyio.Event()
        try:
            result = await self._asked(ask)
            if isinstance(result, Reply):
                kept = exchange.store.put(request, result, retries=self._new_retries())
                exchange.asked += 1
                return self._entered(kept, ask)
            return result
        finally:
            del exchange.under_way[request]
            done.set()

    async def _asked(self, ask: Ask) -> Reply | Failure:
        started = time.monotonic()
        messages, model, config = messages_of(ask), get_model(role=self.role), config_of(ask, self._how)
        try:
            output = await model.generate(messages, config=config)
        except (PendingAnswers, UnknownError, LimitExceededError):
            raise
        except Exception as error:  # providers raise what their libraries raise, which nobody can list
            what = meaning(ask, f"{self.role} ({self.name})", error)
            if isinstance(what, Outage):
                if what is not error:
                    self._exchange.fuse.failed(what)
                raise what from error
            self._exchange.fuse.answered()
            return what
        if output.metadata and PENDING in output.metadata:
            if TROUBLE in output.metadata:
                self._exchange.fuse.outages[str(output.metadata[TROUBLE])] += 1
            raise PendingAnswers(1, str(output.metadata[PENDING]))
        if not output.choices:
            outage = Outage(f"{self.role} ({self.name}): the response holds no choice")
            self._exchange.fuse.failed(outage)
            raise outage
        self._exchange.fuse.answered()
        return _result(ask, output, round((time.monotonic() - started) * 1000))

    def _entered(self, kept: KeptAnswer, ask: Ask) -> Reply:
        """Enter an answer into the account, under the stage that asks now."""
        self._account.retries += kept.retries
        reply = kept.reply
        return msgspec.structs.replace(reply, usage=msgspec.structs.replace(reply.usage, stage=ask.stage))

    def _new_retries(self) -> int:
        """Retries of this sample that were not kept with an answer yet. inspect counts them by sample."""
        active = sample_active()
        seen = active.http_retries if active is not None else 0
        new, self._account.noted = seen - self._account.noted, seen
        return new


def _result(ask: Ask, output: ModelOutput, milliseconds: int) -> Reply | Failure:
    if output.stop_reason == "content_filter":
        return failure_of(ask, Fault.REFUSED, "the provider's content filter stopped the answer")
    if output.stop_reason == "model_length":
        # inspect returns the provider's error as if it were an answer.
        return failure_of(ask, Fault.REFUSED, f"the model's context window is exceeded: {output.completion}")
    used = output.usage
    cached = (used.input_tokens_cache_read or 0) if used else 0
    return Reply(
        text=output.completion,
        usage=Usage(
            stage=ask.stage,
            input=used.input_tokens + cached if used else 0,
            cached=cached,
            output=used.output_tokens if used else 0,
            milliseconds=milliseconds,
        ),
        model=output.model,
        complete=output.stop_reason != "max_tokens",
    )


def messages_of(ask: Ask) -> list[ChatMessage]:
    """The messages of a request."""
    said = ChatMessageUser(content=ask.user)
    return [ChatMessageSystem(content=ask.system), said] if ask.system else [said]


def limit_of(ask: Ask, how: RoleSettings, cap: int | None) -> int:
    """Most tokens of an answer: the role's, or the stage's, and never above the cap of a trial run."""
    most = how.answer_tokens or ask.max_tokens
    return most if cap is None else min(most, cap)


def _manner(how: RoleSettings) -> str:
    plain = RoleSettings()
    return (
        "" if (how.effort, how.temperature) == (plain.effort, plain.temperature) else f" {how.effort} {how.temperature}"
    )


def config_of(ask: Ask, how: RoleSettings | None = None) -> GenerateConfig:
    """How the model is asked to answer."""
    how = how or RoleSettings()
    schema = None
    if ask.schema:
        document = Form.model_validate(msgspec.json.decode(ask.schema))
        schema = ResponseSchema(name=ask.stage.replace("-", "_"), json_schema=document)
    return GenerateConfig(
        max_tokens=ask.max_tokens,
        temperature=how.temperature if isinstance(how.temperature, float | int) else None,
        reasoning_effort=None if how.effort == "default" else how.effort,
        response_schema=schema,
    )
