"""A team with one changed premise in it, and models that answer by rule and count what they are asked."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from readmit import Workspace
from readmit.inference import Inference, Settings, Signal
from readmit.models import Failure, Fault, Lexical, Reply, Usage
from readmit.policies import Policy
from tests.scene import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from readmit import Agent
    from readmit.models import Ask

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


def numbered(ask: Ask, label: str) -> dict[int, str]:
    """The numbered texts of one group of a request to the verifier."""
    found = re.finditer(
        r"^\[(\w{16})\] \w+ (\d+)(?:, of \S+)?\n(.*?)(?=\n\[\1\]|\Z)", texts_of(ask)[label], re.DOTALL | re.MULTILINE
    )
    return {int(one[2]): one[3] for one in found}


def pairs_of(ask: Ask) -> dict[tuple[int, int], tuple[str, str]]:
    """The pairs that a request asks about, by number: the statement and the observation."""
    old, new = numbered(ask, "earlier statements"), numbered(ask, "later observations")
    listed = re.findall(r"statement (\d+): observations (.+)", texts_of(ask).get("pairs", ""))
    named = {(int(one), int(other)) for one, others in listed for other in others.split(", ")}
    return {(n, m): (old[n], new[m]) for n in old for m in new if not named or (n, m) in named}


def judgment(ask: Ask, changes: str = "bookstore", touched: str = "10:30") -> str:
    """A high score where the later text holds one word and the earlier another; else a low one."""
    return scored(ask, lambda old, new: 0.9 if changes in new and touched in old else 0.1)


def scored(ask: Ask, stale: Callable[[str, str], float], **said: object) -> str:
    """A score for every pair of a request, with quotes that are found, unless the test says otherwise."""
    return json.dumps(
        {
            "judgments": [
                {
                    "statement": statement,
                    "observation": observation,
                    "item_quote": old,
                    "evidence_quote": " ".join(new.split()[:6]),
                    "premise": "The user is at home in the evening.",
                    "stale": stale(old, new),
                    **{name: value(old, new) if callable(value) else value for name, value in said.items()},
                }
                for (statement, observation), (old, new) in pairs_of(ask).items()
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


def ticking() -> Clock:
    """A clock that ticks a second at each reading."""
    return Clock(datetime(2026, 5, 4, 9, tzinfo=UTC), tick=timedelta(seconds=1))


def home(path: str | Path = ":memory:", *, name: str = "home", critical: bool = True, **policy: Any) -> Workspace:
    """A workspace with one fact that a duty needs, and one that nothing needs."""
    rules = Policy(returns={"fill": "always"}).changed(**policy)
    workspace = Workspace.open(path, name=name, policy=rules, clock=ticking())
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
    """Every signal but the scan proposes what it can score, one pair a request, with one model for all stages."""
    usual = {"signals": NEAR, "all_pairs": 0, "near": -100, "near_stated": -100, "pairs_per_call": 1}
    chosen = Settings(**{**usual, **settings})  # type: ignore[arg-type]
    return Inference(workspace, chosen, verifier=model, implier=model, scanner=model, embedder=Lexical())


def states(returned: object) -> dict[str, str]:
    """Where each candidate ended."""
    return {one.item: str(one.state) for one in returned.dispositions}  # type: ignore[attr-defined]
