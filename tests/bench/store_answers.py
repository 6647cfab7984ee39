"""Answers to the requests that real memory systems send: something of the form, in the session's own words."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from readmit.models.batch import unanswered_requests

if TYPE_CHECKING:
    from pathlib import Path

_NEW = re.compile(r"## New Messages\n(.+?)\n\n", re.DOTALL)


def answer_store(folder: Path, number: int) -> int:
    """Answer everything that waits; how many that were."""
    lines = []
    for raw in unanswered_requests(folder):
        request = json.loads(raw)
        body = {
            "model": "by-file",
            "choices": [{"message": {"content": text_for(request["body"])}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": len(raw) // 4, "completion_tokens": 20},
        }
        lines.append({"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}})
    (folder / f"responses-{number}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return len(lines)


def text_for(body: dict[str, Any]) -> str:
    """Of the form that the request gives by schema, at the end of its prompt (Graphiti), or in words (Mem0)."""
    user: str = body["messages"][-1]["content"]
    form = body.get("response_format", {})
    if form.get("type") == "json_schema":
        return json.dumps(_value(form["json_schema"]["schema"], {}))
    if found := _NEW.search(user):
        said = [line.partition(": ")[2] for line in found[1].splitlines() if line.startswith("user: ")]
        return json.dumps({"memory": [{"id": str(at), "text": text} for at, text in enumerate(said)]})
    if not form:
        return user.splitlines()[-1]
    schema = json.loads(user.rpartition("\n\n")[2])
    return json.dumps(_value(schema, schema.get("$defs", {})))


def _value(schema: dict[str, Any], defs: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return _value(defs[schema["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in schema:
        return None if {"type": "null"} in schema["anyOf"] else _value(schema["anyOf"][0], defs)
    kind = schema.get("type")
    if kind == "object":
        return {name: _value(inner, defs) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [_value(schema["items"], defs)] if "$ref" in schema["items"] else []
    return {"integer": 0, "number": 0.5, "boolean": False}.get(str(kind), "Something")
