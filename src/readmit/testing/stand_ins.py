"""Stand-ins for tests: a clock and a model."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from readmit.models.protocols import Ask, Failure, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Clock:
    """A clock that moves only when a test moves it: ``Workspace.open(clock=Clock())``."""

    def __init__(self, now: datetime = datetime(2030, 5, 1, 8, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, by: timedelta) -> None:
        """Let time pass."""
        self.now += by


class ScriptedModel:
    """A model whose answers a function gives: it takes the ``Ask`` and returns a text, JSON data, or a ``Failure``."""

    def __init__(self, say: Callable[[Ask], Any], *, name: str = "scripted") -> None:
        self.name = name
        self.asked: list[Ask] = []
        """Every request so far, in order."""
        self._say = say

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        """One result for each request, in order."""
        self.asked += asks
        return [self._reply(ask, self._say(ask)) for ask in asks]

    def close(self) -> None:
        """Nothing to close."""

    def _reply(self, ask: Ask, said: Any) -> Reply | Failure:
        if isinstance(said, Failure):
            return said
        text = said if isinstance(said, str) else json.dumps(said)
        return Reply(text=text, usage=Usage(stage=ask.stage), model=self.name)
