"""The input of each tool: typed, bounded, and no other field. The schema that a client reads is made from the types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec

from readmit.records.base import Id, Record, shown
from readmit.records.canonical import convert
from readmit.records.error_types import RecordError
from readmit.text.escapes import one_line
from readmit.text.hidden import replace_hidden

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 400
"""Most characters of a statement, as many as the policy of a project lets an item have."""

Statement: TypeAlias = Annotated[
    str, msgspec.Meta(min_length=1, max_length=LONGEST, description="One plain statement, in its own words.")
]


class RememberInput(Record, kw_only=True):
    """A statement to remember. It is kept as a draft, and counts once a person confirmed it."""

    text: Statement
    slot: Annotated[Id | None, msgspec.Meta(description="What it is about, as server.port; no spaces.")] = None


class RecallInput(Record, kw_only=True):
    """Words to look for in what this session was handed and what still holds. Without words, all of it."""

    query: Annotated[str, msgspec.Meta(max_length=LONGEST)] = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=40)] = 10


class WhatChangedInput(Record, kw_only=True):
    """Nothing: it says what no longer holds of what this session was handed."""


class WhyInput(Record, kw_only=True):
    """The id of a statement that this session was handed, or heard of."""

    item: Id


class SettleInput(Record, kw_only=True):
    """The id of a duty that this session was handed, and why it is done or no longer owed."""

    duty: Id
    reason: Statement


class DepartInput(Record, kw_only=True):
    """Nothing: it says that this session leaves. The next start says what fell meanwhile."""


class ComeBackInput(Record, kw_only=True):
    """Nothing: it says that this agent returns. The answer holds what it may still act on."""


ToolInput: TypeAlias = (
    RememberInput | RecallInput | WhatChangedInput | WhyInput | SettleInput | DepartInput | ComeBackInput
)
INPUTS: Mapping[str, type[ToolInput]] = {
    "remember": RememberInput,
    "recall": RecallInput,
    "what_changed": WhatChangedInput,
    "why": WhyInput,
    "settle": SettleInput,
    "depart": DepartInput,
}
"""Every tool, with what it takes. The owner's and the overseers' verbs are not among them."""
AGENT_INPUTS: Mapping[str, type[ToolInput]] = {**INPUTS, "come_back": ComeBackInput}
"""The tools of an agent that no hook brings back."""


def tool_input(name: str, given: Mapping[str, Any], inputs: Mapping[str, type[ToolInput]] = INPUTS) -> ToolInput:
    """The checked input of a tool; the error names the field."""
    kind = inputs.get(name)
    if kind is None:
        raise RecordError(f"tool: {shown(name)} is not one of {', '.join(inputs)}")
    for field, value in given.items():
        if isinstance(value, str) and replace_hidden(value, lambda _: "") != value:
            raise RecordError(f"{name}.{one_line(field)}: it holds control or invisible characters; leave them out")
    return convert(dict(given), kind, what=name)


def input_schema(kind: type[ToolInput]) -> dict[str, Any]:
    """The JSON schema of a tool's input."""
    _, components = msgspec.json.schema_components([kind])
    return {**_without_patterns(components[kind.__name__]), "additionalProperties": False}


def _without_patterns(schema: Any) -> Any:
    """A schema without regular expressions: providers of models refuse some of them, and the server checks anyway."""
    if isinstance(schema, dict):
        return {name: _without_patterns(value) for name, value in schema.items() if name != "pattern"}
    return [_without_patterns(one) for one in schema] if isinstance(schema, list) else schema
