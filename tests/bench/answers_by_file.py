"""Whoever answers the batch files in these tests: reads each request, writes an answer of the requested form.

It understands nothing. It quotes from the texts it is shown, so that its answers pass the checks in code.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from readmit.models.batch import unanswered_requests
from readmit_bench.plans.standin import EARLIER, LATER, entry_of, pairs_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_FENCED = re.compile(
    r"^--- (.+?) \[[0-9a-f]{16}\] begins ---\n(.*?)\n--- \1 \[[0-9a-f]{16}\] ends ---", re.MULTILINE | re.DOTALL
)
_USER_TURN = re.compile(r"^\[[0-9a-f]{16}\] turn \d+, user\n(.+)$", re.MULTILINE)


def sections(user: str) -> dict[str, str]:
    """The fenced texts of a request, by label."""
    return dict(_FENCED.findall(user))


def pairs_shown(shown: dict[str, str]) -> dict[tuple[int, int], tuple[str, str]]:
    """The pairs that a request to the verifier is about, by number: the statement and the observation."""
    return {(old, new): (entry_of(shown[EARLIER], old), entry_of(shown[LATER], new)) for old, new in pairs_in(shown)}


def _judgments(shown: dict[str, str]) -> dict[str, Any]:
    return {
        "judgments": [
            {
                "statement": old, "observation": new, "item_quote": _some_line(one),
                "evidence_quote": _some_line(other), "premise": "some premise", "stale": 0.9,
            }
            for (old, new), (one, other) in pairs_shown(shown).items()
        ],
        "untouched": [],
    }  # fmt: skip


def plain(shown: dict[str, str], schema: dict[str, Any] | None) -> str:
    """Something of the requested form."""
    if schema is None:
        choices = re.findall(r"^\([A-Z]\) (.*)$", shown.get("question", ""), re.MULTILINE)
        return choices[0] if choices else "I do not know."
    return json.dumps(_judgments(shown) if EARLIER in shown else _value(schema, "", shown))


def _value(schema: dict[str, Any], name: str, shown: dict[str, str]) -> Any:
    if "enum" in schema:
        return next((word for word in ("invalidates", "invalidate") if word in schema["enum"]), schema["enum"][0])
    kind = schema.get("type")
    if kind == "object":
        return {key: _value(inner, key, shown) for key, inner in schema["properties"].items()}
    if kind == "array":
        return _list(schema, name, shown)
    if kind == "boolean":
        return True
    if kind == "integer":
        listed = re.search(r"^(\d+)\. ", shown.get("older items", shown.get("filed items", "")), re.MULTILINE)
        if name == "item" and listed is not None:
            return int(listed[1])
        return 1 if name in ("observation", "number", "proposition", "statement") else 0
    if kind == "number":
        return 0.9
    return _text(name, shown)


def _list(schema: dict[str, Any], name: str, shown: dict[str, str]) -> list[Any]:
    if name == "answers":
        numbers = re.findall(r"^(\d+)\. ", shown["questions"], re.MULTILINE)
        return [{"number": int(number), "answer": "yes"} for number in numbers]
    if name == "queries":
        return [f"query number {n}" for n in range(3)]
    if name == "labels":
        count = sum(label.startswith("observation") for label in shown)
        return [{"observation": n, "may_change": n == 1} for n in range(1, count + 1)]
    return [_value(schema["items"], name.rstrip("s"), shown)]


def _text(name: str, shown: dict[str, str]) -> str:
    texts = list(shown.values())
    if name in ("item_quote", "evidence_quote"):
        return _some_line(texts[0 if name == "item_quote" else -1])
    if name == "quote":
        body = next((text for label, text in shown.items() if label != "schema"), texts[0])
        spoken = _USER_TURN.search(body)
        return spoken[1] if spoken else _some_line(body)
    if name == "bucket":
        return "stable_preferences"
    if name == "track":
        return "likes"
    return f"some {name}"


def _some_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("[")]
    return lines[0] if lines else text


def answer_all(directory: Path, number: int, say: Callable[..., str] = plain) -> int:
    """Answer everything that waits; how many that were."""
    lines = []
    for raw in unanswered_requests(directory):
        request = json.loads(raw)
        body = request["body"]
        user = body["messages"][-1]["content"]
        form = body.get("response_format")
        schema = form["json_schema"]["schema"] if form else None
        text = say(sections(user), schema)
        completion = {
            "id": "x", "object": "chat.completion", "created": 0, "model": "by-file",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": len(user) // 4, "completion_tokens": len(text) // 4 + 1, "total_tokens": 0},
        }  # fmt: skip
        lines.append(
            {
                "id": "b",
                "custom_id": request["custom_id"],
                "response": {"status_code": 200, "body": completion},
                "error": None,
            }
        )
    with (directory / f"responses-{number}.jsonl").open("w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return len(lines)
