"""A scenario: one JSON document with a team's steps in order.

Reading is strict. Errors give the path of the field, before anything is written.
"""

from __future__ import annotations

import re
from functools import cache, reduce
from importlib import resources
from operator import or_
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import msgspec

from readmit.records.arguments import near_name
from readmit.records.base import Name, Record, Text, Time
from readmit.records.canonical import explained, fields_at, repeated_key, without_mark
from readmit.records.error_types import ScenarioError
from readmit.records.policy import Policy
from readmit.scenario.steps import Step, every_step, writing_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")
S = TypeVar("S", bound=Step)

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Scenario(Record, kw_only=True):
    """A team's steps, with the clock and the policy they start under."""

    readmit: Literal[1]
    name: Name
    description: Text | None = None
    workspace: Name | None = None
    clock: Time | None = None
    policy: Policy | None = None
    steps: tuple[Step, ...]


def _one_of(steps: tuple[type[Step], ...]) -> Any:
    return reduce(or_, steps)


@cache
def _scenario(steps: tuple[type[Step], ...]) -> type[Scenario]:
    """A scenario with these steps and no others."""
    fields: list[Any] = [("steps", tuple[_one_of(steps), ...])]  # type: ignore[misc]  # known when it runs
    return cast("type[Scenario]", msgspec.defstruct("Scenario", fields, bases=(Scenario,), kw_only=True))


def read_scenario(data: bytes | str, *, file: str = "") -> Scenario:
    """A scenario from its JSON. ``file`` is where it was read from, for errors."""
    return _read(data, file, _scenario(every_step()))


def read_steps(data: bytes | str, *, file: str = "") -> tuple[Step, ...]:
    """A bare array of steps that only write: what ``readmit record --file`` takes."""
    kinds: Any = tuple[_one_of(writing_steps()), ...]  # type: ignore[misc]  # known when it runs
    return _read(data, file, kinds)


def read_step(kind: type[S], fields: Mapping[str, object]) -> S:
    """One step from plain values; errors begin with the field."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise ScenarioError(_located(str(error), kind).removeprefix("$.")) from None


def shipped(name: str) -> Scenario:
    """A scenario that comes with readmit."""
    return read_scenario(resources.files("readmit").joinpath("scenario", f"{name}.json").read_bytes())


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario."""
    found: dict[str, Any] = _lenient(msgspec.json.schema(_scenario(every_step())))
    return {"$schema": DIALECT, "title": "readmit scenario", **found}


def _lenient(value: Any) -> Any:
    """Ratios are written as strings and read from numbers too."""
    if isinstance(value, dict):
        if value.get("format") == "decimal":
            value = {**value, "type": ["string", "number"]}
        return {name: _lenient(part) for name, part in value.items()}
    return [_lenient(part) for part in value] if isinstance(value, list) else value


def _read(data: bytes | str, file: str, kind: type[T]) -> T:
    place = f"{file}: " if file else ""
    data = without_mark(data)
    try:
        made = msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{place}{_located(str(error), kind)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ScenarioError(f"{place}{explained(error, data)}") from None
    if said := repeated_key(data):
        raise ScenarioError(f"{place}{said}")
    return made


def _located(message: str, kind: Any) -> str:
    """Msgspec's message with the path in front, down to the field that is wrong."""
    words, _, place = message.partition(" - at `")
    path = place.removesuffix("`") or "$"
    if found := re.fullmatch(r"Object missing required field `(.+)`", words):
        return f"{path}.{found[1]}: required, but missing"
    if found := re.fullmatch(r"Object contains unknown field `(.+)`", words):
        near = near_name(found[1], fields_at(kind, path))
        meant = f"did you mean {near}?" if near else "`readmit play --schema` lists the fields"
        return f"{path}.{found[1]}: no such field; {meant}"
    if path.endswith(".do"):
        tags = (str(step.__struct_config__.tag) for step in every_step())
        return f"{path}: {words}; a step does one of {', '.join(tags)}"
    if "RFC3339" in words or "timezone" in words:
        return f"{path}: {words}; write it as 2026-05-04T09:00:00Z"
    return f"{path}: {words}"
