"""Write ``answers.jsonl``: what a careful reader would answer, filed under the requests that readmit makes today."""

from __future__ import annotations

import json
import re
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))

from cases import ABSTAINED, BOOKSTORE, CASES, MISSED
from run import ANSWERS, play

from readmit.models import Recorder, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models import Ask

# Words that identify a text, what is extracted from it, and what it presupposes or implies.
TEXTS: dict[str, dict[str, Any]] = {
    "asleep by 10:30": {
        "slot": "routine.sleep.time",
        "statement": "The user is consistently asleep by 10:30 p.m.",
        "quote": "I am consistently asleep by 10:30 p.m.",
        "lines": ["evenings: spent at home", "work hours: over before the evening", "bedtime: 10:30 p.m."],
    },
    "evening shift": {
        "slot": "work.shift.hours",
        "statement": "The user started the evening shift at a bookstore.",
        "quote": "I started the evening shift at a bookstore.",
        "lines": ["evenings: spent at work", "work hours: evening shift until closing", "bedtime: after 1 a.m."],
    },
    "running shoes": {
        "slot": "purchases.shoes.running",
        "statement": "The user bought new running shoes today, the blue ones.",
        "quote": "I bought new running shoes today, the blue ones.",
        "lines": ["running shoes: new and blue"],
    },
    "familiar destinations": {
        "slot": "preference.outings.style",
        "statement": "The user prefers familiar destinations and predictable outings.",
        "quote": "I prefer familiar destinations and predictable outings",
        "lines": ["outings: predictable ones preferred", "surprises: disliked"],
    },
    "neighborhoods": {
        "slot": "habit.outings.recent",
        "statement": "Lately the user wanders through neighborhoods they don't know, without a list or a backup plan.",
        "quote": "Lately I wander through neighborhoods I don't know, without a list or a backup plan.",
        "lines": ["outings: spontaneous, to unknown places", "restaurants: tries unknown ones"],
    },
    "connected devices": {
        "slot": "devices.personal.use",
        "statement": "The user's whole workflow runs on their own connected devices: laptop, phone and watch, always in"
        " sync.",
        "quote": "My whole workflow runs on my own connected devices",
        "lines": ["devices: own ones, always at hand", "workflow: needs devices in sync"],
    },
    "loaner tablet": {
        "slot": "devices.shared.use",
        "statement": "The user uses whichever loaner tablet is free at the office or at their sister's place.",
        "quote": "I use whichever loaner tablet is free",
        "lines": ["devices: none of their own are carried", "workflow: on changing shared tablets"],
    },
}

PLANS = {
    BOOKSTORE.question: [("evening_presence", "Whether the user is at home at 10:15 p.m.", True)],
    MISSED.question: [
        ("outing_style", "What kind of outing the user likes.", True),
        ("recent_outings", "How recent outings went.", False),
    ],
    ABSTAINED.question: [("device_use", "Which devices the user works on.", True)],
}

# Words that identify a need, and those of the statements that meet it.
MEETS = {
    "10:15 p.m.": ("10:30 p.m.", "evening shift"),
    "outing the user likes": ("familiar destinations",),
    "recent outings": ("neighborhoods",),
    "devices": ("connected laptop", "loaner tablet"),
}

# Which later text changes which earlier one. The missed change of counterexample A is not here: that is the case.
CHANGES = {("10:30", "bookstore"): "Evenings are spent at home.", ("connected", "loaner"): "The user carries devices."}

ADVICE = {
    BOOKSTORE.question: (True, "No. On work nights you are at the bookstore at 10:15 p.m. and cannot lock the gate."),
    MISSED.question: (True, "It may suit you, as you prefer predictable outings, though recent ones were freer."),
    ABSTAINED.question: (False, ""),
}


class Careful:
    """Answers from the tables above."""

    name = "written-by-hand"

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        """One answer each, at about four characters a token."""
        return [self._reply(ask, json.dumps(getattr(self, f"_{ask.stage}")(_texts(ask)))) for ask in asks]

    def _reply(self, ask: Ask, text: str) -> Reply:
        usage = Usage(stage=ask.stage, input=(len(ask.system) + len(ask.user)) // 4, output=len(text) // 4)
        return Reply(text=text, usage=usage, model=self.name)

    def _extract(self, texts: dict[str, str]) -> dict[str, Any]:
        found = _known(texts["observation 1"])
        item = {key: found[key] for key in ("quote", "slot", "statement")}
        lines = found["lines"]
        rest = {"operation": "add", "premises": lines, "confidence": 0.95}
        return {"items": [{"observation": 1, "turn": 0, **item, **rest}]}

    def _premises(self, texts: dict[str, str]) -> dict[str, Any]:
        return {"lines": _known(texts["statement"])["lines"]}

    def _implied(self, texts: dict[str, str]) -> dict[str, Any]:
        return {"lines": _known(texts["observation"])["lines"]}

    def _plan(self, texts: dict[str, str]) -> dict[str, Any]:
        needs = [
            {"name": name, "needed": text, "critical": hard, "many": False} for name, text, hard in PLANS[texts["task"]]
        ]
        queries = [need["needed"] for need in needs]
        queries += ["What changed for the user lately?", "What did the user commit to?", "What does the user want?"]
        return {
            "obligations": [{"obligation": "Advise the user on the offer.", "needs": needs}],
            "queries": queries[:4],
        }

    def _link(self, texts: dict[str, str]) -> dict[str, Any]:
        needs, statements = (
            dict(re.findall(r"^(\d+): (.*)$", texts[label], re.MULTILINE)) for label in ("needs", "statements")
        )
        found = [
            {"need": int(need), "statement": int(number), "quote": word}
            for need, wanted in needs.items()
            for key, words in MEETS.items()
            for number, text in statements.items()
            for word in words
            if key in wanted and word in text
        ]
        return {"links": found}

    def _verify(self, texts: dict[str, str]) -> dict[str, Any]:
        judgments: list[dict[str, Any]] = []
        untouched: list[dict[str, Any]] = []
        for (one, old), (other, new) in product(
            _numbered(texts["earlier statements"]), _numbered(texts["later observations"])
        ):
            why = next((why for (a, b), why in CHANGES.items() if a in old and b in new), None)
            if why is None:
                untouched.append({"statement": one, "observations": [other]})
            else:
                quotes = {"item_quote": old, "evidence_quote": _known(new)["quote"]}
                judgments.append({"statement": one, "observation": other, **quotes, "premise": why, "stale": 0.92})
        return {"judgments": judgments, "untouched": untouched}

    def _answer(self, texts: dict[str, str]) -> dict[str, Any]:
        known, text = ADVICE[texts["question"]]
        return {"reason": "From the context alone.", "answerable": known, "answer": text, "confidence": 0.85}


def _numbered(group: str) -> list[tuple[int, str]]:
    """The numbered texts of a request to the verifier, without their sources."""
    parts = re.split(r"^\[\w{16}\] (.*)\n", group, flags=re.MULTILINE)[1:]
    named = zip(parts[::2], parts[1::2], strict=True)
    found = ((re.match(r"(?:statement|observation) (\d+)", name), text) for name, text in named)
    return [(int(number[1]), text.rstrip("\n")) for number, text in found if number]


def _known(text: str) -> dict[str, Any]:
    """What the tables hold about a text; about a question they hold nothing, and it implies nothing."""
    found = (entry for words, entry in TEXTS.items() if words in text or entry["statement"] in text)
    return next(found, {"lines": [], "quote": text[:60]})


def _texts(ask: Ask) -> dict[str, str]:
    fences = re.finditer(r"--- ([\w ]+) \[(\w+)\] begins ---\n(.*?)\n--- \1 \[\2\] ends ---", ask.user, re.DOTALL)
    return {found[1]: found[3] for found in fences}


if __name__ == "__main__":
    ANSWERS.unlink(missing_ok=True)
    for case in CASES:
        play(case, Recorder(Careful(), ANSWERS))
    print(f"wrote {ANSWERS.name}")
