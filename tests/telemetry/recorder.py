"""OpenTelemetry's own SDK, with everything that it exports kept in memory."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import ReadableSpan


class Recorder:
    """The spans and the measurements that were exported."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(), MeterProvider(metric_readers=[self.reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    def spans(self, name: str = "") -> list[ReadableSpan]:
        """In the order of their ends."""
        return [one for one in self.exporter.get_finished_spans() if name in ("", one.name)]

    def await_spans(self, name: str, count: int) -> list[ReadableSpan]:
        """At least so many: that of a request ends after its answer was sent."""
        until = time.monotonic() + 10
        while len(found := self.spans(name)) < count:
            assert time.monotonic() < until, f"{len(found)} of {count}"
            time.sleep(0.005)
        return found

    def names(self) -> list[str]:
        return [one.name for one in self.spans()]

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        """The attributes and the value of each point of a measure."""
        data = self.reader.get_metrics_data()
        found = [
            one
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for one in metric.data.data_points
        ]
        return [(dict(one.attributes or {}), getattr(one, "value", getattr(one, "sum", None))) for one in found]

    def everything(self) -> str:
        """All that was exported of spans, as text."""
        return "\n".join(one.to_json() for one in self.spans())


@contextmanager
def recording() -> Iterator[Recorder]:
    """Record until the block ends. A process sets its SDK up only once, so the getters give this one meanwhile."""
    recorder = Recorder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "get_tracer_provider", lambda: recorder.tracers)
        patch.setattr(metrics, "get_meter_provider", lambda: recorder.meters)
        yield recorder
    recorder.tracers.shutdown()
    recorder.meters.shutdown()
