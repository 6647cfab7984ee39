"""Looks through Python functions that the program registered by name."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.records.base import shown
from readmit.records.error_types import GoneError, ProbeError
from readmit.records.probes import CallableProbe
from readmit.sources.look import LookDeadline, check_size, within
from readmit.sources.whole_source import WholeSource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from readmit.records.policy import LookRules


class Calls(WholeSource[CallableProbe]):
    """The registered functions. They return a text, a value that JSON can hold, or None for an absent source."""

    probe = CallableProbe

    def __init__(self, limits: LookRules, known: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__(limits)
        self._known = known
        self._running: set[str] = set()
        self._lock = threading.Lock()

    def read(self, probe: CallableProbe, deadline: LookDeadline) -> bytes:
        name = probe.name
        call = self._known.get(name)
        if call is None:
            raise ProbeError(f"name: the prober knows no function {shown(name)}; add it to callables")
        with self._lock:
            # A function that hangs keeps its thread; it is not called again until that one ends.
            if name in self._running:
                raise ProbeError(f"an earlier call of {name} has not ended")
            self._running.add(name)

        def answer() -> Any:
            try:
                return call(*probe.arguments)
            finally:
                self._running.discard(name)

        value = within(deadline, answer, name=name)
        if value is None:
            raise GoneError(f"{name} answers None")
        try:
            data = value.encode() if isinstance(value, str) else msgspec.json.encode(value, order="sorted")
        except (TypeError, ValueError):
            raise ProbeError(f"{name} answers a {type(value).__name__}; answer a text") from None
        check_size(len(data), self._limits.bytes)
        return data
