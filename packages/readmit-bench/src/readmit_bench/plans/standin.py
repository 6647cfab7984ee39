"""Answers of the requested form, for planning a run. The stand-in understands nothing and quotes what it is shown.

A plan plays real episodes, so that every request is built by the code that would send it. Later requests depend on the
answers, so these choices affect the figures, and a plan states them (``ASSUMED``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readmit.models import Ask

ITEMS = 1
"""Statements drawn from one session."""
NEEDS, CRITICAL = 5, 3
"""Needs of a task, and how many of them are critical, as a strong model plans them."""
LINES = 4
"""Premises of a statement, facts that a session implies, queries for a task."""
SCANNED = 50
"""The scan names one observation in this many."""
JUDGED = 20
"""The verifier has something to say about one pair in this many, and lists the others as untouched."""
ASSUMED = (
    f"statements drawn from a session: {ITEMS}; premises or implied facts written for a text: {LINES}",
    f"needs of a task: {NEEDS}, {CRITICAL} of them critical and lists, in the words of the task",
    f"the scan names one observation in {SCANNED}",
    f"the verifier finds every pair compatible, so that views are as full as they get, and words one in {JUDGED}",
    "no answer has to be asked for again",
)

FENCED = re.compile(
    r"^--- (.+?) \[[0-9a-f]{16}\] begins ---\n(.*?)\n--- \1 \[[0-9a-f]{16}\] ends ---", re.MULTILINE | re.DOTALL
)
_USER_TURN = re.compile(r"^\[[0-9a-f]{16}\] turn (\d+), user\n(.+)$", re.MULTILINE)
_CHOICE = re.compile(r"^\([A-Z]\) (.*)$", re.MULTILINE)
_LISTED = re.compile(r"^(\d+)\. ", re.MULTILINE)
_NUMBERED = re.compile(r"^\[[0-9a-f]{16}\] (?:statement|observation) (\d+)(?:, of \S+)?\n", re.MULTILINE)
_BESIDE = re.compile(r"^statement (\d+): observations (.+)$", re.MULTILINE)
EARLIER, LATER = "earlier statements", "later observations"
_COUNTED = ("observation", "number", "proposition")
_PREFERRED = ("compatible", "add", "none", "keep", "no")


def answer_to(ask: Ask, chars: int = 0) -> str:
    """An answer of the requested form; free text has at least ``chars`` characters and differs between requests."""
    shown = dict(FENCED.findall(ask.user))
    if not ask.schema:
        choices = _CHOICE.findall(shown.get("question", ""))
        return str(choices[0]) if choices else f"Said to {ask.digest('')[:16]}. ".ljust(chars, "x")
    if ask.stage == "verify":
        return msgspec.json.encode(compatible(shown)).decode()
    schema: dict[str, Any] = msgspec.json.decode(ask.schema)
    return msgspec.json.encode(_value(schema, "", shown, 0)).decode()


def _value(schema: Mapping[str, Any], name: str, shown: Mapping[str, str], place: int) -> Any:
    if "enum" in schema:
        return next((word for word in _PREFERRED if word in schema["enum"]), schema["enum"][0])
    kind = schema.get("type")
    if kind == "object":
        return {key: _value(inner, key, shown, place) for key, inner in schema["properties"].items()}
    if kind == "array":
        return _list(schema, name, shown, place)
    if kind == "boolean":
        return place < CRITICAL if name in ("critical", "many") else name != "may_change"
    if kind == "integer":
        return _number(name, shown, place)
    if kind == "number":
        return 0.1 if name == "stale" else 0.9
    return _text(name, shown, place)


def _list(schema: Mapping[str, Any], name: str, shown: Mapping[str, str], place: int) -> list[Any]:
    inner = schema["items"]
    if name == "answers" and "questions" in shown:
        return [{"number": int(number), "answer": "yes"} for number in _LISTED.findall(shown["questions"])]
    if name == "labels":
        return [_label(inner, label, number) for number, label in enumerate(_observations(shown), start=1)]
    if name == "items":
        return [_value(inner, "item", shown, at) for at in range(ITEMS * max(1, len(_observations(shown))))]
    many = LINES if inner.get("type") == "string" else NEEDS if name == "needs" else 1
    many = min(max(many, schema.get("minItems", 0)), schema.get("maxItems", many))
    return [_value(inner, name.rstrip("s"), shown, place + at) for at in range(many)]


def parts_in(ask: Ask) -> int:
    """How many pairs are judged in a request, or sessions read: the answer's length grows with them."""
    shown = dict(FENCED.findall(ask.user))
    many = {"verify": len(pairs_in(shown)), "extract": len(_observations(shown))}
    return max(1, many.get(ask.stage, 1))


def pairs_in(shown: Mapping[str, str]) -> list[tuple[int, int]]:
    """The pairs that a request to the verifier is about, by the numbers of statement and observation."""
    old, new = (list(map(int, _NUMBERED.findall(shown.get(label, "")))) for label in (EARLIER, LATER))
    if "pairs" not in shown:
        return [(one, other) for one in old for other in new]
    listed = _BESIDE.findall(shown["pairs"])
    return [(int(one), int(other)) for one, others in listed for other in others.split(", ")]


def compatible(shown: Mapping[str, str]) -> dict[str, Any]:
    """No pair bears on another, but one in so many is worth a judgment, below any threshold."""
    pairs = pairs_in(shown)
    worth = pairs[::JUDGED]
    judged = [
        {
            "statement": one,
            "observation": other,
            "item_quote": _some_line(entry_of(shown[EARLIER], one)),
            "evidence_quote": _some_line(entry_of(shown[LATER], other)),
            "premise": "What the statement takes for granted, in one short sentence.",
            "stale": 0.1,
        }
        for one, other in worth
    ]
    untouched: dict[int, list[int]] = {}
    for one, other in pairs:
        if (one, other) not in worth:
            untouched.setdefault(one, []).append(other)
    return {
        "judgments": judged,
        "untouched": [{"statement": one, "observations": others} for one, others in untouched.items()],
    }


def entry_of(group: str, number: int) -> str:
    """The numbered text of a group, without its number."""
    parts = _NUMBERED.split(group)
    return dict(zip(map(int, parts[1::2]), (part.rstrip("\n") for part in parts[2::2]), strict=True))[number]


def _label(inner: Mapping[str, Any], label: str, number: int) -> dict[str, Any]:
    named = sum(label.encode()) % SCANNED == 0
    values = {"observation": number, "statement": 1, "may_change": named}
    return {key: values[key] for key in inner["properties"]}


def _observations(shown: Mapping[str, str]) -> list[str]:
    return [f"{label} {text[:200]}" for label, text in shown.items() if label.startswith(("observation", "later"))]


def _number(name: str, shown: Mapping[str, str], place: int) -> int:
    listed = _LISTED.search(shown.get("older items", shown.get("filed items", "")))
    if name == "item" and listed is not None:
        return int(listed[1])
    if name == "turn":
        return int(_turn(shown, place)[0])
    return 1 + place // ITEMS if name == "observation" else 1 if name in _COUNTED else 0


def _text(name: str, shown: Mapping[str, str], place: int) -> str:
    texts = list(shown.values()) or [""]
    if name in ("item_quote", "evidence_quote"):
        return _some_line(texts[0 if name == "item_quote" else -1])
    if name == "quote":
        return _turn(shown, place)[1]
    if name == "slot":
        return f"user.slot{place}.{sum(_turn(shown, place)[1].encode())}"
    if name == "needed":
        return shown.get("task", f"What is needed in place {place + 1}.")
    if name in ("bucket", "track") and "schema" in shown:
        buckets = shown["schema"].splitlines()
        bucket, _, tracks = buckets[sum(texts[-1].encode()) % len(buckets)].partition(": ")
        return bucket if name == "bucket" else tracks.split(", ")[0]
    return f"What the {name or 'answer'} says in place {place + 1}."


def _turn(shown: Mapping[str, str], place: int) -> tuple[str, str]:
    """A turn of the user in the session that the place falls into, with its number."""
    sessions = [text for label, text in shown.items() if label.startswith("observation")]
    sessions = sessions or [text for label, text in shown.items() if label != "schema"]
    body = sessions[min(place // ITEMS, len(sessions) - 1)] if sessions else ""
    turns = _USER_TURN.findall(body)
    return turns[place % ITEMS % len(turns)] if turns else ("0", _some_line(body))


def _some_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("[")]
    return lines[0] if lines else text
