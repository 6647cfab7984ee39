"""A reader without a model, to try rules of replacement, linking and selection on histories that no model has read.

It answers the requests of the shared extraction, of planning and of linking by rules of general English. Each sentence
in which a speaker talks about themselves is a statement in its own words; it is an update if it also says that
something ended, and a deletion if it says nothing else. Its slot is the most frequent content word of its session, so
slots are coarser than a model's. A plan asks what holds, what is avoided, and which limits apply; what is near a need
by the product's measure bears on it. Every pair is compatible, and all other answers are the stand-in's
(``plans.standin``). Its figures compare rules with each other and estimate no model's.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.lab import clauses_of, content_words, near, read_answers, word_list
from readmit.models import Reply, Usage
from readmit_bench.plain_turns import facts
from readmit_bench.plans.recorded_answers import Recorded
from readmit_bench.plans.standin import FENCED, answer_to, parts_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from readmit.models import Ask

MOST_ITEMS = 16
_NUMBERED = re.compile(r"^(\d+): (.*)$", re.MULTILINE)
_TURN = re.compile(r"^\[[0-9a-f]{16}\] turn (\d+), (\w+)\n", re.MULTILINE)


class PlainReader:
    """A model by name only. Recorded answers to the same requests, and plans of the same tasks, come first."""

    name = "plain-reader"

    def __init__(self, recorded: Sequence[Path] = ()) -> None:
        self._recorded = Recorded(recorded)
        self._plans = {task: plan for folder in recorded for task, plan in _recorded_plans(folder)}
        self.replayed = 0
        """Requests that were answered from records."""
        self.judgments = 0
        """Pairs that it was asked to judge."""

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        """One answer each."""
        return [self._answer(ask) for ask in asks]

    def _answer(self, ask: Ask) -> Reply:
        self.judgments += parts_in(ask) if ask.stage == "verify" else 0
        known = self._recorded.answer(ask)
        if known is not None:
            self.replayed += 1
            return known
        shown = dict(FENCED.findall(ask.user))
        if ask.stage == "plan" and shown["task"] in self._plans:
            text = msgspec.json.encode(self._plans[shown["task"]]).decode()
            return Reply(text=text, usage=Usage(stage=ask.stage), model=self.name)
        said = {"extract": _read, "plan": _plan, "link": _link}.get(ask.stage)
        text = answer_to(ask) if said is None else msgspec.json.encode(said(shown)).decode()
        return Reply(text=text, usage=Usage(stage=ask.stage), model=self.name)


def _recorded_plans(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Plans that a model made before a plan said which needs are lists: every need is taken for one."""
    answers = read_answers(folder.glob("responses*.jsonl"))
    requests = folder / "requests.jsonl"
    for line in requests.read_bytes().splitlines() if requests.exists() else ():
        sent = msgspec.json.decode(line)
        shown = dict(FENCED.findall(sent["body"]["messages"][-1]["content"]))
        entry = answers.answer(sent["custom_id"])
        if "task" in shown and entry is not None and entry.body:
            said = msgspec.json.decode(msgspec.json.decode(entry.body)["choices"][0]["message"]["content"])
            for need in (need for duty in said["obligations"] for need in duty["needs"]):
                need.setdefault("many", True)
            yield shown["task"], said


def _read(shown: dict[str, str]) -> dict[str, Any]:
    sessions = [text for label, text in shown.items() if label.startswith("observation")]
    items = [item for number, text in enumerate(sessions, start=1) for item in _statements(number, text)]
    return {"items": items[:96]}


def _statements(number: int, session: str) -> Iterator[dict[str, Any]]:
    parts = _TURN.split(session)[1:]
    turns = list(zip(map(int, parts[::3]), parts[1::3], parts[2::3], strict=True))
    common = Counter(word for _, _, text in turns for word in content_words(text) if word.isalpha())
    attitudes = frozenset(word_list("attitudes"))
    said = [(at, sentence) for at, by, text in turns if by == "user" for sentence in facts(text)]
    for at, sentence in said[:MOST_ITEMS]:
        kept, gone = clauses_of(sentence)
        words = content_words(sentence)
        theme = max(sorted(words & common.keys()), key=common.__getitem__, default="other")
        about = "preference" if attitudes & words else "note"
        yield {
            "observation": number,
            "turn": at,
            "quote": sentence,
            "slot": f"{theme}.{about}",
            "statement": sentence,
            "operation": "add" if not gone else "update" if kept else "delete",
            "premises": [],
            "confidence": 0.9,
        }


def _plan(shown: dict[str, str]) -> dict[str, Any]:
    task = shown["task"]
    topic = " ".join(sorted(content_words(task)))
    needs = [
        _need("holds", f"What holds now of {topic}: likes, plans, tasks and facts.", critical=True, many=True),
        _need("avoided", f"What is avoided or no longer wanted of {topic}.", critical=True, many=True),
        _need("limits", f"Limits and instructions about {topic}.", critical=False, many=False),
    ]
    queries = [topic, f"I like {topic} now", f"I no longer want {topic}", f"favorite {topic}"]
    return {"obligations": [{"obligation": task, "needs": needs}], "queries": queries}


def _link(shown: dict[str, str]) -> dict[str, Any]:
    needs, statements = (dict(_NUMBERED.findall(shown[name])) for name in ("needs", "statements"))
    links = [
        {"need": int(need), "statement": int(number), "quote": statements[number]}
        for need, ranked in near(needs, statements, None).items()
        for score, number in ranked
        if score >= 1
    ]
    return {"links": links}


def _need(name: str, needed: str, *, critical: bool, many: bool) -> dict[str, Any]:
    return {"name": f"task.{name}", "needed": needed, "critical": critical, "many": many}
