"""How much one caller may ask: requests a minute, requests at once, and bytes of a body."""

from __future__ import annotations

import ipaddress
import time
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Annotated

import msgspec

from readmit.records.base import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.server.caller import Caller

Seconds = Annotated[float, msgspec.Meta(gt=0, le=3_600)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]
_BURST_SECONDS = 10
_LEAST_BURST = 5
_MOST_NAMES = 20_000
"""Most callers, and most addresses, that are remembered. A bucket that was not used for long is full anyway."""
_V6_NETWORK = 64


class LimitSettings(Record, kw_only=True):
    """The limits of a server."""

    per_minute: Positive = 6_000
    """Requests a minute of one credential that names no limit of its own."""
    at_once: Positive = 64
    """Requests of one credential that are answered at the same time."""
    anonymous_per_minute: Positive = 600
    """Requests a minute of one address without a credential."""
    failures_per_minute: Positive = 30
    """Refused credentials a minute of one address."""
    largest: Positive = 8 << 20
    """Bytes of a request with a credential."""
    largest_anonymous: Positive = 64 << 10
    """Bytes of a request without one."""
    body_seconds: Seconds = 30.0
    """In this time a body has to arrive."""
    again_seconds: Seconds = 2.0
    """After this time the credential of a stream is looked at again."""


class RequestLimits:
    """Counts requests. A refusal says after how many seconds there is room again."""

    def __init__(self, settings: LimitSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self._callers = _Buckets(clock)
        self._addresses = _Buckets(clock)
        self._failures = _Buckets(clock)
        self._open: Counter[str] = Counter()

    def begin(self, caller: Caller | None, address: str) -> float:
        """Count a request; 0 if it may go on, and then ``end`` ends it."""
        if caller is None:
            return self._addresses.take(_network(address), self.settings.anonymous_per_minute)
        if self._open[caller.credential] >= self.settings.at_once:
            return 1.0
        wait = self._callers.take(caller.credential, caller.per_minute or self.settings.per_minute)
        self._open[caller.credential] += not wait
        return wait

    def end(self, caller: Caller | None) -> None:
        """A request that could begin is over."""
        if caller is not None:
            self._open[caller.credential] -= 1
            if not self._open[caller.credential]:
                del self._open[caller.credential]

    def failed(self, address: str) -> float:
        """Count a refused credential; not 0 if there were too many from this address."""
        return self._failures.take(_network(address), self.settings.failures_per_minute)

    def largest(self, caller: Caller | None) -> int:
        """The most bytes of a body."""
        return self.settings.largest_anonymous if caller is None else self.settings.largest


class _Buckets:
    """Token buckets by name: ten seconds' worth of requests at once, and then as many as flow in."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, per_minute: int) -> float:
        """Take one; 0 if there was one, else the seconds until there is."""
        now, rate = self._clock(), per_minute / 60
        most = max(_LEAST_BURST, rate * _BURST_SECONDS)
        left, at = self._left.pop(name, (most, now))
        left = min(most, left + (now - at) * rate)
        self._left[name] = (max(left - 1, 0) if left >= 1 else left, now)
        if len(self._left) > _MOST_NAMES:
            self._left.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) / rate


def _network(address: str) -> str:
    """An address; of the newer kind its network, of which one customer has all."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    return str(found) if found.version == 4 else str(ipaddress.ip_network((found, _V6_NETWORK), strict=False))  # noqa: PLR2004 - versions of the protocol
