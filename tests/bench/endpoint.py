"""A real endpoint of the OpenAI kind for runs with models: it answers everything until it is held, and keeps count.

What it says is what ``answers_by_file`` would write into a batch file. Faults are those of ``tests.models.stand_in``.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.bench.answers_by_file import plain, sections
from tests.models.stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.models.stand_in import Handler, Play

    Rule = Callable[[dict[str, Any]], Play | None]


def digest(body: dict[str, Any]) -> str:
    """What identifies a request."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def stage_of(body: dict[str, Any]) -> str:
    """What is asked for, as far as the prompt tells: the judge, the actor, or a method's own stage."""
    system = body["messages"][0]["content"]
    if "You judge how an assistant" in system or "questions" in sections(body["messages"][-1]["content"]):
        return "judge"
    return "answer" if body.get("response_format") is None else "method"


def answer_to(body: dict[str, Any], say: Callable[..., str] = plain) -> bytes:
    """A chat completion of the requested form."""
    form = body.get("response_format")
    user = body["messages"][-1]["content"]
    text = say(sections(user), form["json_schema"]["schema"] if form else None)
    return json.dumps(
        {
            "id": "c", "object": "chat.completion", "created": 0, "model": "by-endpoint",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": len(user) // 4, "completion_tokens": 9, "total_tokens": len(user) // 4 + 9},
        }
    ).encode()  # fmt: skip


class AnsweringEndpoint(StandIn):
    """Answers at once. ``faults`` come first, one for each request, or by a rule."""

    def __init__(self, *faults: Play, rule: Rule | None = None) -> None:
        super().__init__(self._play)
        self._faults = iter(faults)
        self._rule = rule
        self._counting = threading.Lock()
        self._hold: Callable[[], threading.Event | None] = lambda: None
        self.asked: Counter[str] = Counter()
        self.stages: Counter[str] = Counter()

    @contextmanager
    def held(self, requests: int, stage: str = "") -> Iterator[threading.Event]:
        """Leave every request unanswered from so many more on, of a stage or of all; set once the first is.

        Whoever asks cannot get to its end meanwhile, however busy the machine is.
        """
        most = self._asked_for(stage) + requests
        reached, going_on = threading.Event(), threading.Event()

        def hold() -> threading.Event | None:
            if self._asked_for(stage) >= most:
                reached.set()
            return going_on if reached.is_set() else None

        self._hold = hold
        try:
            yield reached
        finally:
            self._hold = lambda: None
            going_on.set()

    def _asked_for(self, stage: str) -> int:
        return self.stages[stage] if stage else self.stages.total()

    def _play(self, handler: Handler) -> None:
        name = digest(handler.body)
        with self._counting:
            self.asked[name] += 1
            self.stages[stage_of(handler.body)] += 1
            going_on = self._hold()
            fault = next(self._faults, None)
        if fault is None and self._rule is not None:
            fault = self._rule(handler.body)
        if fault is not None:
            fault(handler)
            return
        if going_on is not None:
            going_on.wait()
        handler.send(200, answer_to(handler.body))
