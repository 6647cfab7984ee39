"""Every span: its name, its meaning, and the only attributes that it can have.

Nothing is imported for a span. A program that wants them has imported OpenTelemetry and set up an SDK; otherwise a span
is nothing. A text, a secret or an id is no attribute, and neither is the message of an exception.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from opentelemetry.trace import Tracer

    Note = Callable[[Mapping[str, str | int]], None]
    """Sets attributes of an open span. Those that are not declared are left out."""

PRINCIPALS = "READMIT_TELEMETRY_PRINCIPALS"
"""The environment variable with which an operator asks for the names of principals: ``1``."""
PRINCIPAL = "readmit.principal"
ERROR = "error.type"


class SpanKind(NamedTuple):
    """The declaration of a span."""

    says: str
    attributes: tuple[str, ...] = ()


SPANS = {
    "readmit.request": SpanKind(
        "A request to the server. It continues the trace of a caller that sends `traceparent`.",
        ("http.request.method", "http.response.status_code", "http.route", PRINCIPAL),
    ),
    "readmit.return": SpanKind(
        "A return, from the request to the committed decision.",
        ("readmit.outcome", "readmit.reason", "readmit.epoch", PRINCIPAL),
    ),
    "readmit.return.prepare": SpanKind("Models are asked about what is not examined yet."),
    "readmit.return.read": SpanKind("Checkpoint, events since, and evidence are loaded from the log."),
    "readmit.return.look": SpanKind("Sources that are due are looked at, and what was found is written."),
    "readmit.return.decide": SpanKind("The rules decide."),
    "readmit.return.capture": SpanKind("Source bindings and links of the captured state."),
    "readmit.return.invalidate": SpanKind("What no longer stands, and why."),
    "readmit.return.gate": SpanKind("The gates judge every candidate, and duties are collected."),
    "readmit.return.cover": SpanKind("A sufficient set is searched for."),
    "readmit.return.readmission": SpanKind("What is handed over is issued, and every candidate accounted for."),
    "readmit.return.commit": SpanKind("The lock is awaited, and decision and audit are committed."),
    "readmit.return.seal": SpanKind("What is handed over is signed."),
    "readmit.expose": SpanKind("A view is checked again, and handed over.", (PRINCIPAL,)),
    "readmit.model": SpanKind(
        "A request to a model. Those of one batch begin together.",
        (
            "gen_ai.operation.name",
            "gen_ai.request.model",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.output_tokens",
            "readmit.stage",
        ),
    ),
}  # fmt: skip
"""Every span by name. A failed one has ``error.type`` too: the class of the error, or the fault of the model."""


def span(name: str, headers: Mapping[str, str] | None = None) -> AbstractContextManager[Note]:
    """Open a span until the block ends. ``headers`` are those of the request that it answers."""
    tracer = _tracer()
    return _NOTHING if tracer is None else _recorded(tracer, name, headers)


def return_stage(name: str) -> AbstractContextManager[Note]:
    """Open the span of a stage of a return."""
    return span(f"readmit.return.{name}")


def past_span(name: str, began: int, milliseconds: int, attributes: Mapping[str, str | int], fault: str = "") -> None:
    """Record a span that is over. ``began`` is in nanoseconds of the host's clock."""
    if (tracer := _tracer()) is not None:
        opened = tracer.start_span(name, kind=_api().SpanKind.CLIENT, start_time=began)
        opened.set_attributes(_declared(name, attributes))
        if fault:
            _fail(opened, fault)
        opened.end(began + milliseconds * 1_000_000)


def _ignored(_: Mapping[str, str | int]) -> None:
    """Nothing is recorded."""


_NOTHING: AbstractContextManager[Note] = nullcontext(_ignored)


@contextmanager
def _recorded(tracer: Tracer, name: str, headers: Mapping[str, str] | None) -> Iterator[Note]:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    kinds = _api().SpanKind
    kind, context = kinds.INTERNAL, None
    if headers is not None:
        kind, context = kinds.SERVER, TraceContextTextMapPropagator().extract(headers)
    # An exception's message may quote a text.
    with tracer.start_as_current_span(
        name, context, kind, record_exception=False, set_status_on_exception=False
    ) as opened:
        try:
            yield lambda attributes: opened.set_attributes(_declared(name, attributes))
        except BaseException as error:
            _fail(opened, type(error).__name__)
            raise


def _fail(opened: Any, fault: str) -> None:
    opened.set_attribute(ERROR, fault)
    opened.set_status(_api().StatusCode.ERROR)


def _declared(name: str, attributes: Mapping[str, str | int]) -> dict[str, str | int]:
    allowed = SPANS[name].attributes
    named = os.environ.get(PRINCIPALS) == "1"
    return {
        one: value
        for one, value in attributes.items()
        if one in allowed and value != "" and (named or one != PRINCIPAL)
    }


def _tracer() -> Tracer | None:
    """The tracer of the SDK that the program set up, if it did."""
    if (current := getattr(_api(), "get_tracer_provider", None)) is None:
        return None
    provider = current()
    return None if isinstance(provider, _api().ProxyTracerProvider) else _tracer_of(provider)


def _api() -> Any:
    return sys.modules.get("opentelemetry.trace")


@lru_cache(maxsize=1)
def _tracer_of(provider: Any) -> Tracer:
    tracer: Tracer = provider.get_tracer("readmit")
    return tracer
