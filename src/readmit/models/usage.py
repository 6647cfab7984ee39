"""Model usage per stage, and a budget that is never exceeded.

A request is sent only if the budget covers the most it could use: its size in bytes (no tokenizer makes more tokens
than bytes) and its token limit. When the answer arrives, the reported usage replaces the reservation. Requests that do
not fit together are sent in smaller waves, so that the reservation does not waste budget.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from readmit.models.chat import failure_of
from readmit.models.protocols import Failure, Fault, ModelWrapper, Reply, ask_all
from readmit.records.base import Count, Name, Record
from readmit.records.error_types import ModelError
from readmit.telemetry.measures import MODEL_SECONDS, MODEL_TOKENS
from readmit.telemetry.spans import past_span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models.protocols import Ask, Model

# What a chat template adds around the messages.
_TEMPLATE_TOKENS = 64


class StageUsage(Record, kw_only=True):
    """The usage of one stage."""

    stage: Name
    calls: Count = 0
    """Requests that were put to a provider."""
    failed: Count = 0
    """Calls that ended without an answer."""
    replayed: Count = 0
    """Calls answered from a store or a file; their tokens count as first reported."""
    unreported: Count = 0
    """Calls without reported usage. The budget counts the most they could have used."""
    input: Count = 0
    """Prompt tokens, cached ones included."""
    cached: Count = 0
    output: Count = 0
    milliseconds: Count = 0

    @property
    def tokens(self) -> int:
        """Prompt and answer tokens."""
        return self.input + self.output


class TokenLedger:
    """The usage of one return, or of any other unit. Thread-safe."""

    def __init__(self, limit: int | None = None) -> None:
        """Count without a limit, or stop before ``limit`` tokens are exceeded."""
        if limit is not None and limit < 0:
            raise ModelError(f"budget: {limit} tokens is below 0")
        self.limit = limit
        self._stages: dict[str, StageUsage] = {}
        self._spent = 0
        self._reserved = 0
        self._changed = threading.Condition()

    @property
    def spent(self) -> int:
        """Tokens that count against the limit: those reported, and the most that unreported calls could have taken."""
        return self._spent

    def stages(self) -> tuple[StageUsage, ...]:
        """The usage per stage, in the order of the stages' first requests."""
        with self._changed:
            return tuple(self._stages.values())

    def total(self) -> StageUsage:
        """The sum over all stages."""
        stages = self.stages()
        fields = [field for field in StageUsage.__struct_fields__ if field != "stage"]
        return StageUsage(stage="total", **{field: sum(getattr(one, field) for one in stages) for field in fields})

    def reserve(self, needs: Sequence[int]) -> int:
        """Reserve tokens for as many leading requests as fit; returns how many.

        Returns 0 only if no running request could still release tokens.
        """
        with self._changed:
            while True:
                fitting, sum_ = 0, 0
                for need in needs:
                    if self.limit is not None and self._spent + self._reserved + sum_ + need > self.limit:
                        break
                    fitting, sum_ = fitting + 1, sum_ + need
                if fitting or not self._reserved or not needs:
                    self._reserved += sum_
                    return fitting
                self._changed.wait()

    def release(self, need: int) -> None:
        """Release the reservation of a request that was not sent."""
        with self._changed:
            self._reserved -= need
            self._changed.notify_all()

    def enter(self, result: Reply | Failure, need: int) -> None:
        """Replace the reservation of a request by its usage."""
        usage = result.usage
        # A provider that ran into the deadline still charges, without reporting usage.
        worked = isinstance(result, Reply) or result.fault is Fault.TIMEOUT
        unreported = worked and usage.input + usage.output == 0
        with self._changed:
            self._reserved -= need
            self._spent += need if unreported else usage.input + usage.output
            so_far = self._stages.get(usage.stage) or StageUsage(stage=usage.stage)
            self._stages[usage.stage] = StageUsage(
                stage=usage.stage,
                calls=so_far.calls + 1,
                failed=so_far.failed + isinstance(result, Failure),
                replayed=so_far.replayed + (isinstance(result, Reply) and result.replayed),
                unreported=so_far.unreported + unreported,
                input=so_far.input + usage.input,
                cached=so_far.cached + usage.cached,
                output=so_far.output + usage.output,
                milliseconds=so_far.milliseconds + usage.milliseconds,
            )
            self._changed.notify_all()


class Metered(ModelWrapper):
    """A model whose calls are entered into a ledger, and skipped if they could exceed its limit."""

    def __init__(self, model: Model, ledger: TokenLedger) -> None:
        """Count ``model`` in ``ledger``. Several models may share one."""
        super().__init__(model)
        self._ledger = ledger

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        """Ask as many as the budget covers, in order; the rest fail unasked."""
        results: list[Reply | Failure] = []
        while len(results) < len(asks):
            rest = asks[len(results) :]
            needs = [most_tokens(ask) for ask in rest]
            fitting = self._ledger.reserve(needs)
            if not fitting:
                return results + [self._unasked(ask) for ask in rest]
            results += self._asked(rest[:fitting], needs[:fitting])
        return results

    def _asked(self, asks: Sequence[Ask], needs: Sequence[int]) -> list[Reply | Failure]:
        began = time.time_ns()
        try:
            replies = list(ask_all(self._model, asks))
        except BaseException:
            self._ledger.release(sum(needs))
            raise
        for reply, need in zip(replies, needs, strict=True):
            self._ledger.enter(reply, need)
            self._measure(reply, began)
        return replies

    def _measure(self, reply: Reply | Failure, began: int) -> None:
        """Record a request that was put to the model."""
        if isinstance(reply, Reply) and reply.replayed:
            return
        usage, fault = reply.usage, str(reply.fault) if isinstance(reply, Failure) else ""
        said: dict[str, str | int] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": self.name,
            "gen_ai.usage.input_tokens": usage.input,
            "gen_ai.usage.output_tokens": usage.output,
            "readmit.stage": usage.stage,
        }
        past_span("readmit.model", began, usage.milliseconds, said, fault)
        MODEL_SECONDS.add(usage.milliseconds / 1_000, "chat", self.name, fault)
        for kind, tokens in (("input", usage.input), ("output", usage.output)):
            if tokens:
                MODEL_TOKENS.add(tokens, "chat", self.name, kind)

    def _unasked(self, ask: Ask) -> Failure:
        left = (self._ledger.limit or 0) - self._ledger.spent
        message = f"not asked: {left} tokens are left of {self._ledger.limit}, and this could take {most_tokens(ask)}"
        return failure_of(ask, Fault.BUDGET, message)


def metered(model: Model | None, ledger: TokenLedger) -> Model | None:
    """A model that is counted, if there is one."""
    return None if model is None else Metered(model, ledger)


def most_tokens(ask: Ask) -> int:
    """The most tokens a request and its answer can take."""
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in (ask.system, ask.user))
    return size + len(ask.schema) + _TEMPLATE_TOKENS + ask.max_tokens
