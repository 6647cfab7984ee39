"""A model that gives the answers a test scripts, and remembers what it was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.models import Failure, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from readmit.models import Ask

    Line = str | Reply | Failure


def reply(text: str, *, stage: str = "verify", tokens: tuple[int, int] = (10, 5), complete: bool = True) -> Reply:
    usage = Usage(stage=stage, input=tokens[0], output=tokens[1], milliseconds=3)
    return Reply(text=text, usage=usage, model="scripted", complete=complete)


class Scripted:
    name = "scripted"

    def __init__(self, *lines: Line | Callable[[Ask], Line]) -> None:
        self._lines = iter(lines)
        self._last = lines[-1]
        self.asked: list[Ask] = []
        self.rounds: list[int] = []

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        self.rounds.append(len(asks))
        self.asked += asks
        return [self._said(ask) for ask in asks]

    def _said(self, ask: Ask) -> Reply | Failure:
        line = next(self._lines, self._last)
        if callable(line):
            line = line(ask)
        return reply(line, stage=ask.stage) if isinstance(line, str) else line
