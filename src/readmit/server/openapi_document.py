"""The OpenAPI document of the server, made from the table of verbs: ``python -m readmit.server.openapi_document``."""

from __future__ import annotations

import re
import sys
from typing import Any

import msgspec

from readmit.remote.verb_table import Verb, verbs
from readmit.remote.wire_values import ProblemAnswer, StageAnswer
from readmit.version import __version__

_REFERENCE = "#/components/schemas/{name}"
_PROBLEMS = {
    "401": "No credential, or one that does not count.",
    "403": "The credential lacks the right.",
    "404": "There is nothing of this name that the caller may know of.",
    "409": "The state does not allow it.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "422": "A field is malformed; `field` names it.",
    "429": "A limit of the policy, or of the server: then `Retry-After` says when to try again.",
    "500": "The store was altered, or the server failed.",
    "503": "The store is busy or unreachable; `Retry-After` says when to try again.",
}


def document() -> dict[str, Any]:
    """The document as JSON values."""
    every = verbs()
    kinds = [*(one.given for one in every), *(one.result for one in every), ProblemAnswer, StageAnswer]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    given, results = schemas[: len(every)], schemas[len(every) : 2 * len(every)]
    paths: dict[str, Any] = {}
    for verb, takes, gives in zip(every, given, results, strict=True):
        paths.setdefault(verb.path, {})[verb.method.lower()] = _operation(verb, takes, gives, components)
    for verb in every:
        if verb.method == "GET":
            components.pop(verb.given.__name__, None)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "readmit",
            "version": __version__,
            "description": "What may a returning agent still act on?",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"bearer": []}],
        "paths": {**paths, **_others()},
        "components": {
            "schemas": dict(sorted(components.items())),
            "responses": _problems(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(verb: Verb, given: Any, result: Any, components: dict[str, Any]) -> dict[str, Any]:
    content = {verb.media: {"schema": result}}
    if verb.name == "subscribe":
        content = {}
    if verb.streams:
        content["text/event-stream"] = {"schema": {"type": "string"}}
    made: dict[str, Any] = {
        "operationId": verb.name,
        "summary": verb.says,
        "tags": [verb.handle],
        "description": f"Needs the right {' or '.join(sorted(verb.rights))}.",
        "parameters": _in_path(verb),
        "responses": {"200": {"description": "The result.", "content": content}, **_references()},
    }
    if verb.method == "GET":
        made["parameters"] += _in_query(components[verb.given.__name__])
        return made
    made["requestBody"] = {"content": {"application/json": {"schema": given}}}
    made["requestBody"]["required"] = bool(components[verb.given.__name__].get("required"))
    if not verb.is_idempotent:
        made["parameters"].append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
                "description": "The same key and body within a day has the same answer and is done once.",
            }
        )
    return made


def _in_path(verb: Verb) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"\{(\w+)\}", verb.path)
    ]


def _in_query(given: dict[str, Any]) -> list[dict[str, Any]]:
    needed = given.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": schema}
        for name, schema in given["properties"].items()
    ]


def _references() -> dict[str, Any]:
    return {status: {"$ref": f"#/components/responses/Problem{status}"} for status in _PROBLEMS}


def _problems() -> dict[str, Any]:
    content = {"application/problem+json": {"schema": {"$ref": _REFERENCE.format(name="ProblemAnswer")}}}
    return {f"Problem{status}": {"description": says, "content": content} for status, says in _PROBLEMS.items()}


def _others() -> dict[str, Any]:
    """What a server answers without a credential."""

    def get(name: str, says: str, kind: str, **more: Any) -> dict[str, Any]:
        answers = {"200": {"description": says, "content": {kind: {}}}, **more}
        return {"get": {"operationId": name, "summary": says, "tags": ["server"], "security": [], "responses": answers}}

    return {
        "/health": get("health", "The server runs.", "application/json"),
        "/ready": get(
            "ready", "The server reaches its store.", "application/json", **{"503": {"description": "It does not."}}
        ),
        "/metrics": get("metrics", "Counts for Prometheus, without names.", "text/plain"),
        "/v1/openapi.json": get("openapi", "This document.", "application/json"),
    }


def encoded() -> bytes:
    """The document as it is served and checked in."""
    return msgspec.json.format(msgspec.json.encode(document()), indent=1) + b"\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(encoded())
