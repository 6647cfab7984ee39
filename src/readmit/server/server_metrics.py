"""Measurements of a server in the text format of Prometheus, named as OpenTelemetry's collectors name them there."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING

from readmit.telemetry.measures import CALLS, MEASURES, STREAMS, tallied
from readmit.telemetry.spans import span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from readmit.telemetry.measures import Measure

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
NOTE = "readmit.note"
"""The key of the request's scope under which its span takes attributes."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class ServerMetrics:
    """The tally of one server."""

    def __init__(self) -> None:
        self._began = time.time()
        self._lock = threading.Lock()
        self._sums: dict[str, dict[tuple[str, ...], float]] = {one.name: {} for one in MEASURES}
        self._classes: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        for state in ("running", "waiting"):
            self.enter(CALLS, 0, (state,))
        self.enter(STREAMS, 0, ())

    def enter(self, measure: Measure, value: float, labels: tuple[str, ...]) -> None:
        """Keep a measurement."""
        with self._lock:
            sums = self._sums[measure.name]
            sums[labels] = sums.get(labels, 0) + value
            if measure.ends:
                classes = self._classes.setdefault((measure.name, labels), [0] * (len(measure.ends) + 1))
                classes[bisect_left(measure.ends, value)] += 1

    def text(self) -> str:
        """All of them."""
        with self._lock:
            return "\n".join([*self._lines(), ""])

    def _lines(self) -> Iterator[str]:
        for measure in MEASURES:
            name = measure.exposed
            yield f"# HELP {name} {measure.says}"
            yield f"# TYPE {name} {measure.kind}"
            for labels, total in sorted(self._sums[measure.name].items()):
                pairs = _pairs(measure, labels)
                if not measure.ends:
                    yield f"{name}{_braced(pairs)} {total:g}"
                    continue
                below = [*accumulate(self._classes[measure.name, labels])]
                for end, count in zip((*map(str, measure.ends), "+Inf"), below, strict=True):
                    yield f"{name}_bucket{_braced([*pairs, _pair('le', end)])} {count}"
                yield f"{name}_sum{_braced(pairs)} {total:.6f}"
                yield f"{name}_count{_braced(pairs)} {below[-1]}"
        yield "# HELP process_start_time_seconds When the server started."
        yield "# TYPE process_start_time_seconds gauge"
        yield f"process_start_time_seconds {self._began:.3f}"


class TracedApp:
    """An application whose requests are spans, and whose measurements go to one tally."""

    def __init__(self, app: ASGIApp, tally: ServerMetrics) -> None:
        self._app = app
        self._tally = tally

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        token = tallied.set(self._tally)
        try:
            with span("readmit.request", headers) as note:
                note({"http.request.method": scope["method"] if scope["method"] in _METHODS else "_OTHER"})

                async def noted(message: Message) -> None:
                    if message["type"] == "http.response.start":
                        note({"http.response.status_code": message["status"]})
                    await send(message)

                scope[NOTE] = note
                await self._app(scope, receive, noted)
        finally:
            tallied.reset(token)


def _pairs(measure: Measure, labels: tuple[str, ...]) -> list[str]:
    named = zip(measure.labels, labels, strict=True)
    return [_pair(name.replace(".", "_"), value) for name, value in named]


def _pair(name: str, value: str) -> str:
    return f'{name}="{value.translate(_ESCAPES)}"'


def _braced(pairs: list[str]) -> str:
    return f"{{{','.join(pairs)}}}" if pairs else ""
