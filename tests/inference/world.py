"""A team with one changed premise in it, and models that answer by rule and count what they are asked."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from readmit.inference import Inference, Settings
from readmit.log.location import MEMORY
from readmit.models.embedders import Lexical
from readmit.models.protocols import Failure, Fault, Reply, Usage
from readmit.records.policy import Policy
from readmit.rules.invalidate.propose import Signal
from readmit.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from readmit.models.protocols import Ask
    from readmit.workspace.agent import Agent

ASLEEP = "I am consistently asleep by 10:30 p.m. and want a screen-free routine that ends then."
BEDTIME = "The user is asleep by 10:30 p.m."
SHIFT = "I started the evening shift at the bookstore. After closing, the last bus brings me home around 1 a.m."
SHOES = "I bought new running shoes today, the blue ones."
SCREEN_FREE = "The user wants a screen-free evening."

MEANWHILE = datetime(2026, 5, 1, 20, tzinfo=UTC)

STRUCTURE = (Signal.DECLARED_PREMISE, Signal.SAME_SLOT)
NEAR = (*STRUCTURE, Signal.EMBEDDING, Signal.IMPLIED_FACTS)


def texts_of(ask: Ask) -> dict[str, str]:
    """What stands between the fences of a request, by label."""
    fences = re.finditer(r"--- ([\w ]+) \[(\w+)\] begins ---\n(.*?)\n--- \1 \[\2\] ends ---", ask.user, re.DOTALL)
    return {found[1]: found[3] for found in fences}


def judgment(ask: Ask, changes: str = "bookstore", touched: str = "10:30") -> str:
    """A high score where the later text holds one word and the earlier another; else a low one."""
    new = texts_of(ask)["later observation"]
    return scored(ask, lambda old: 0.9 if changes in new and touched in old else 0.1)


def scored(ask: Ask, stale: Callable[[str], float], **said: object) -> str:
    """A score for every earlier statement of a request, with quotes that are found, unless the test says otherwise."""
    texts = texts_of(ask)
    ordinary = {
        "evidence_quote": " ".join(texts["later observation"].split()[:6]),
        "premise": "The user is at home in the evening.",
    }
    return json.dumps(
        {
            "judgments": [
                {"statement": int(label.split()[-1]), "item_quote": old, "stale": stale(old), **ordinary, **said}
                for label, old in texts.items()
                if label.startswith("earlier statement")
            ]
        }
    )


@dataclass
class Ruled:
    """A model that answers by rule; a stage in ``broken`` fails. ``asked`` counts requests per stage."""

    name: str = "ruled"
    tokens: tuple[int, int] = (100, 20)
    broken: dict[str, Fault] = field(default_factory=dict)
    rules: dict[str, Callable[[Ask], str]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    seen: list[Ask] = field(default_factory=list)

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        return [self._result(ask) for ask in asks]

    def _result(self, ask: Ask) -> Reply | Failure:
        self.asked[ask.stage] += 1
        self.seen.append(ask)
        if ask.stage in self.broken:
            return Failure(fault=self.broken[ask.stage], message="as scripted", usage=Usage(stage=ask.stage))
        text = (_ORDINARY | self.rules)[ask.stage](ask)
        return Reply(
            text=text, usage=Usage(stage=ask.stage, input=self.tokens[0], output=self.tokens[1]), model=self.name
        )


def _lines(ask: Ask) -> str:
    (text,) = texts_of(ask).values()
    aspects = {"10:30": "evening: at home and asleep early", "bookstore": "evening: out at work until late"}
    return json.dumps({"lines": [line for word, line in aspects.items() if word in text] or ["shoes: blue"]})


def _labels(ask: Ask) -> str:
    later = {name: text for name, text in texts_of(ask).items() if name.startswith("observation")}
    labels = [{"observation": int(name.split()[1]), "may_change": "bookstore" in text} for name, text in later.items()]
    return json.dumps({"labels": labels})


def _choice(ask: Ask) -> str:
    (chosen,) = [line for line in texts_of(ask)["choices"].splitlines() if "10:30" in line]
    return json.dumps({"reason": "it was said", "answerable": True, "answer": chosen, "confidence": 0.8})


_ORDINARY: dict[str, Callable[[Ask], str]] = {
    "premises": _lines,
    "implied": _lines,
    "verify": judgment,
    "scan": _labels,
    "answer": _choice,
}


class Clock:
    """Ticks a second per reading, so that equal stories have equal times."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 4, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def home(path: str | Path = MEMORY, *, name: str = "home", critical: bool = True, **policy: object) -> Workspace:
    """A workspace with one fact that a duty needs, and one that nothing needs."""
    workspace = Workspace.open(path, name=name, policy=Policy(**{"fill": True, **policy}), clock=Clock())  # type: ignore[arg-type]
    said = workspace.observe(ASLEEP, by="A1", task="advice", at=datetime(2026, 3, 1, tzinfo=UTC))
    workspace.record(BEDTIME, id="bedtime", sources=[said], by="A1", supports=["d_bed"], task="advice")
    workspace.record(SCREEN_FREE, id="screens", sources=[said], by="A1", task="advice")
    workspace.oblige(
        "Advise on evening commitments.",
        id="o_advise",
        required=["d_bed"],
        critical=["d_bed"] if critical else [],
        sources=[said],
        by="A1",
        task="advice",
    )
    return workspace


def away(workspace: Workspace, principal: str = "A1", role: str = "helper") -> Agent:
    """An agent that has departed."""
    agent = workspace.agent(principal, role=role, task="advice")
    agent.depart(id=f"left-{principal}-{role}")
    return agent


def hear(workspace: Workspace, *texts: str) -> list[str]:
    """What somebody else observes meanwhile."""
    return [workspace.observe(text, by="A5", task="advice", at=MEANWHILE) for text in texts]


def foresee(workspace: Workspace, model: Ruled, **settings: object) -> Inference:
    """Every signal but the scan, with one model for all stages."""
    chosen = Settings(**{"signals": NEAR, **settings})  # type: ignore[arg-type]
    return Inference(workspace, chosen, verifier=model, implier=model, scanner=model, embedder=Lexical())


def states(returned: object) -> dict[str, str]:
    """Where each candidate ended."""
    return {one.item: str(one.state) for one in returned.dispositions}  # type: ignore[attr-defined]
