"""Counts of a server in the text format of Prometheus. No name of a workspace, principal or task is in them."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.remote.wire_values import ReturnAnswer

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the classes of durations, in seconds."""
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class ServerMetrics:
    """Requests by verb and status, their durations, returns by outcome, and open streams."""

    def __init__(self) -> None:
        self._began = time.time()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._durations: dict[str, _Durations] = {}
        self._returns: Counter[str] = Counter()
        self.streams = 0

    def request(self, verb: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests[verb, status] += 1
        self._durations.setdefault(verb, _Durations()).add(seconds)

    def returned(self, answer: ReturnAnswer) -> None:
        """Count the outcome of a return."""
        self._returns[answer.kind] += 1

    def text(self, *, calls: int) -> str:
        """All of them. ``calls`` run or wait now."""
        return "\n".join([*self._lines(calls), ""])

    def _lines(self, calls: int) -> Iterator[str]:
        yield from _head("readmit_requests_total", "counter", "Answered requests by verb and status.")
        for (verb, status), count in sorted(self._requests.items()):
            yield f'readmit_requests_total{{verb="{verb}",status="{status}"}} {count}'
        yield from _head("readmit_request_seconds", "histogram", "Durations of requests by verb.")
        for verb, durations in sorted(self._durations.items()):
            yield from durations.lines(verb)
        yield from _head("readmit_returns_total", "counter", "Decided returns by outcome.")
        for kind, count in sorted(self._returns.items()):
            yield f'readmit_returns_total{{kind="{kind}"}} {count}'
        yield from _head("readmit_calls", "gauge", "Calls that run or wait now.")
        yield f"readmit_calls {calls}"
        yield from _head("readmit_streams", "gauge", "Streams of events that are open now.")
        yield f"readmit_streams {self.streams}"
        yield from _head("process_start_time_seconds", "gauge", "When the server started.")
        yield f"process_start_time_seconds {self._began:.3f}"


class _Durations:
    """Durations of the requests of one verb, in classes."""

    def __init__(self) -> None:
        self._counts = [0] * len(BUCKETS)
        self._count = 0
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._count += 1
        self._sum += seconds
        for number, end in enumerate(BUCKETS):
            if seconds <= end:
                self._counts[number] += 1
                break

    def lines(self, verb: str) -> Iterator[str]:
        below = 0
        for end, count in zip(BUCKETS, self._counts, strict=True):
            below += count
            yield f'readmit_request_seconds_bucket{{verb="{verb}",le="{end}"}} {below}'
        yield f'readmit_request_seconds_bucket{{verb="{verb}",le="+Inf"}} {self._count}'
        yield f'readmit_request_seconds_sum{{verb="{verb}"}} {self._sum:.6f}'
        yield f'readmit_request_seconds_count{{verb="{verb}"}} {self._count}'


def _head(name: str, kind: str, says: str) -> Iterator[str]:
    yield f"# HELP {name} {says}"
    yield f"# TYPE {name} {kind}"
