"""Export of spans and measurements from ``readmit serve``, as the standard environment variables ask for it."""

from __future__ import annotations

import importlib
import os
from importlib.metadata import entry_points
from typing import Any

from readmit.records.error_types import RecordError

SIGNALS = ("TRACES", "METRICS")


def start_export() -> str:
    """Set up the SDK for what the environment names; returns a line for the operator, if there is one to say."""
    wanted = {signal: kind for signal in SIGNALS if (kind := _exporter(signal))}
    if not wanted or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return ""
    try:
        trace, metrics = (importlib.import_module(f"opentelemetry.{one}") for one in ("trace", "metrics"))
        spans = importlib.import_module("opentelemetry.sdk.trace")
        batches = importlib.import_module("opentelemetry.sdk.trace.export")
        meters = importlib.import_module("opentelemetry.sdk.metrics")
        readers = importlib.import_module("opentelemetry.sdk.metrics.export")
    except ModuleNotFoundError:
        return "Nothing goes to OpenTelemetry, as OTEL_ variables ask for: run `pip install opentelemetry-sdk`."
    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        # A launcher has set it up already.
        return ""
    if "service.name" not in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        os.environ.setdefault("OTEL_SERVICE_NAME", "readmit")
    made = {signal: _made(signal, kind) for signal, kind in wanted.items()}
    if "TRACES" in made:
        provider = spans.TracerProvider()
        provider.add_span_processor(batches.BatchSpanProcessor(made["TRACES"]))
        trace.set_tracer_provider(provider)
    if "METRICS" in made:
        reader = readers.PeriodicExportingMetricReader(made["METRICS"])
        metrics.set_meter_provider(meters.MeterProvider(metric_readers=[reader]))
    return f"OpenTelemetry gets {' and '.join(made).lower()}."


def _exporter(signal: str) -> str:
    """The exporter that the environment names for a signal, or the usual one if it names an address."""
    places = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    usual = "otlp" if any(map(os.environ.get, places)) else "none"
    named = os.environ.get(f"OTEL_{signal}_EXPORTER") or usual
    return "" if named == "none" else named


def _made(signal: str, name: str) -> Any:
    kind = name
    if name == "otlp":
        protocol = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
        kind = f"otlp_proto_{protocol.partition('/')[0]}"
    found = entry_points(group=f"opentelemetry_{signal.lower()}_exporter", name=kind)
    if not found:
        package = f"opentelemetry-exporter-{kind.replace('_', '-')}"
        raise RecordError(
            f"OTEL_{signal}_EXPORTER: no exporter {name!r} is installed; run `pip install {package}`, or set it to none"
        )
    (first, *_) = found
    return first.load()()
