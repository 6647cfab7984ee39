"""Every measure: its name, unit and labels. A measurement goes to OpenTelemetry, and to the server it was made in.

Labels have few values. A workspace, a principal and a task are none of them.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_TOKENS = tuple(4**power for power in range(14))


class Measure(NamedTuple):
    """The declaration of a measure."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    unit: str
    says: str
    labels: tuple[str, ...] = ()
    ends: tuple[float, ...] = ()
    """Upper ends of the classes of a histogram."""

    @property
    def exposed(self) -> str:
        """Its name in Prometheus."""
        ending = "_total" if self.kind == "counter" else "_seconds" if self.unit == "s" else ""
        return self.name.replace(".", "_") + ending

    def add(self, value: float, *labels: str) -> None:
        """Count or record a value, with one value for each label."""
        if (tally := tallied.get()) is not None:
            tally.enter(self, value, labels)
        if (api := sys.modules.get("opentelemetry.metrics")) is not None and hasattr(api, "get_meter_provider"):
            instrument = _instruments(api.get_meter_provider())[self.name]
            given = {name: label for name, label in zip(self.labels, labels, strict=True) if label}
            instrument.record(value, given) if self.kind == "histogram" else instrument.add(value, given)


class MeasureTally(Protocol):
    """Keeps the measurements of one server."""

    def enter(self, measure: Measure, value: float, labels: tuple[str, ...]) -> None:
        """Keep one. Called from any thread."""
        ...


tallied: ContextVar[MeasureTally | None] = ContextVar("tallied", default=None)
"""The tally of the server that works on a request now."""

REQUESTS = Measure(
    "readmit.request.duration", "histogram", "s", "Requests by verb and status, and how long they took.",
    ("verb", "status"), _SECONDS,
)  # fmt: skip
RETURNS = Measure(
    "readmit.returns", "counter", "{return}", "Decided returns by outcome and first reason.", ("outcome", "reason")
)
RETURN_SECONDS = Measure(
    "readmit.return.duration", "histogram", "s", "How long returns took to be decided and committed.", ("outcome",),
    _SECONDS,
)  # fmt: skip
CALLS = Measure("readmit.calls", "gauge", "{call}", "Calls that run or wait in the server now.", ("state",))
STREAMS = Measure("readmit.streams", "gauge", "{stream}", "Streams of events that are open now.")
MODEL_SECONDS = Measure(
    "gen_ai.client.operation.duration", "histogram", "s", "How long requests to models took.",
    ("gen_ai.operation.name", "gen_ai.request.model", "error.type"), (*_SECONDS, 20.0, 40.0, 80.0),
)  # fmt: skip
MODEL_TOKENS = Measure(
    "gen_ai.client.token.usage", "histogram", "{token}", "Tokens that models read and wrote.",
    ("gen_ai.operation.name", "gen_ai.request.model", "gen_ai.token.type"), _TOKENS,
)  # fmt: skip
MEASURES = (REQUESTS, RETURNS, RETURN_SECONDS, CALLS, STREAMS, MODEL_SECONDS, MODEL_TOKENS)


@lru_cache(maxsize=1)
def _instruments(provider: Any) -> Mapping[str, Any]:
    meter = provider.get_meter("readmit")
    made = {"counter": meter.create_counter, "gauge": meter.create_up_down_counter, "histogram": meter.create_histogram}
    ends = {one.name: {"explicit_bucket_boundaries_advisory": one.ends} if one.ends else {} for one in MEASURES}
    return {one.name: made[one.kind](one.name, one.unit, one.says, **ends[one.name]) for one in MEASURES}
