"""The scan with several targets, or more later observations, in one request than the paper's scan takes.

As in ``scan``, unlabelled pairs and those too long to be shown are proposed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from readmit.models.fence import MAX_CHARS, visible_text
from readmit.models.protocols import Failure
from readmit.models.stages.prompt_files import Section, request
from readmit.models.stages.scan import MAX_TOKENS, Later, TargetLook
from readmit.models.structured import answer
from readmit.records.error_types import ModelError
from readmit.records.verdicts import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.models.protocols import Model

PROMPT = "scan-many@1"
MOST = 16
"""Most targets, and most observations, in one request."""


class Cell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer about one statement and one observation."""

    statement: int
    observation: int
    may_change: bool


class Cells(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer to one request."""

    labels: Annotated[list[Cell], msgspec.Meta(max_length=MOST * MOST)]


def scan_many(
    model: Model,
    groups: Sequence[Sequence[TargetLook]],
    *,
    workspace: str = "",
    max_tokens: int = MAX_TOKENS,
    max_chars: int = MAX_CHARS,
) -> list[list[tuple[Pair, ...] | Failure]]:
    """The pairs that each look of each group proposes, in order. The looks of a group have the same observations."""
    parts = [list(_parts(group, max_chars)) for group in groups]
    asks = [
        request(PROMPT, _sections(group, part), workspace=workspace, max_tokens=max_tokens, max_chars=max_chars)
        for group, own in zip(groups, parts, strict=True)
        for part in own
    ]
    said = iter(answer(model, asks, Cells))
    return [
        _named(group, own, [next(said) for _ in own]) for group, own in zip(groups, parts, strict=True)
    ]  # fmt: skip


def _parts(group: Sequence[TargetLook], max_chars: int) -> Iterator[tuple[Later, ...]]:
    """The observations in parts that fit beside the targets; none if the targets alone do not fit."""
    if not group or len(group) > MOST or any(one.later != group[0].later or len(one.later) > MOST for one in group):
        raise ModelError(f"looks: a group takes 1 to {MOST} looks at the same observations, at most {MOST} of them")
    left = room = max_chars - sum(len(visible_text(one.text)) for one in group)
    shown: list[Later] = []
    for later in group[0].later:
        size = len(visible_text(later.text))
        if size > room:
            continue
        if size > left:
            yield tuple(shown)
            shown, left = [], room
        shown.append(later)
        left -= size
    if shown:
        yield tuple(shown)


def _sections(group: Sequence[TargetLook], part: Sequence[Later]) -> list[Section]:
    return [
        *(Section(f"earlier statement {number}", one.text, one.at) for number, one in enumerate(group, start=1)),
        *(Section(f"observation {number}", one.text, one.at) for number, one in enumerate(part, start=1)),
    ]


def _named(
    group: Sequence[TargetLook], parts: Sequence[Sequence[Later]], said: Sequence[Cells | Failure]
) -> list[tuple[Pair, ...] | Failure]:
    failed = next((one for one in said if isinstance(one, Failure)), None)
    if failed is not None:
        return [failed] * len(group)
    labels: dict[tuple[int, str], list[bool]] = {}
    for part, one in zip(parts, said, strict=True):
        shown = {number: later.evidence for number, later in enumerate(part, start=1)}
        for cell in one.labels if isinstance(one, Cells) else ():
            if cell.observation in shown:
                labels.setdefault((cell.statement, shown[cell.observation]), []).append(cell.may_change)
    return [
        tuple(
            Pair(item=look.item, evidence=later.evidence)
            for later in look.later
            if any(labels.get((number, later.evidence), [True]))
        )
        for number, look in enumerate(group, start=1)
    ]
