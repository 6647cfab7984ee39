"""The scan: targets beside later observations; which observation may change a premise of which target?

The paper's request holds one target beside at most four observations. A wide request, which the paper does not have,
holds up to 16 of each. The output is a set of hypotheses: unlabelled pairs, and those too long to be shown, are
proposed, so that a scan can waste work but cannot hide a pair.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from readmit.models.fence import MAX_CHARS, visible_text
from readmit.models.protocols import Failure
from readmit.models.stages.prompt_files import Section, request
from readmit.models.structured import ask_typed
from readmit.records.error_types import ModelError
from readmit.records.verdicts import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.models.protocols import Model

PROMPT = "scan@1"
WIDE_PROMPT = "scan-many@1"
PER_CALL = 4
"""Most observations in a request of the paper's scan."""
MOST = 16
"""Most targets, and most observations, in a wide request."""
MAX_TOKENS = 512
"""The paper's budget for one scan."""


class Later(msgspec.Struct, frozen=True, kw_only=True):
    """A later observation."""

    evidence: str
    """The digest of the evidence."""
    text: str
    at: datetime | None = None


class TargetLook(msgspec.Struct, frozen=True, kw_only=True):
    """One target and the later observations to look at."""

    item: str
    text: str
    at: datetime | None = None
    later: tuple[Later, ...]


class Label(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer about the one target and an observation."""

    observation: int
    may_change: bool
    statement: ClassVar[int] = 1


class Labels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer to a request of the paper's scan."""

    labels: Annotated[list[Label], msgspec.Meta(max_length=PER_CALL)]


class WideLabel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer about one target and one observation."""

    statement: int
    observation: int
    may_change: bool


class WideLabels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer to a wide request."""

    labels: Annotated[list[WideLabel], msgspec.Meta(max_length=MOST * MOST)]


def scan(
    model: Model,
    groups: Sequence[Sequence[TargetLook]],
    *,
    wide: bool = False,
    workspace: str = "",
    max_tokens: int = MAX_TOKENS,
    max_chars: int = MAX_CHARS,
) -> list[list[tuple[Pair, ...] | Failure]]:
    """The pairs that each look of each group proposes, in order. The looks of a group have the same observations.

    ``max_chars`` bounds all texts of one request; observations that do not fit beside the targets go into further
    requests. After a failure every pair of the group is still open: propose it or treat it as unsure.
    """
    parts = [list(_parts(group, max_chars, wide=wide)) for group in groups]
    prompt = WIDE_PROMPT if wide else PROMPT
    asks = [
        request(
            prompt, _sections(group, part, wide=wide), workspace=workspace, max_tokens=max_tokens, max_chars=max_chars
        )
        for group, own in zip(groups, parts, strict=True)
        for part in own
    ]
    said = iter(ask_typed(model, asks, WideLabels) if wide else ask_typed(model, asks, Labels))
    return [_proposed(group, own, [next(said) for _ in own]) for group, own in zip(groups, parts, strict=True)]


def _parts(group: Sequence[TargetLook], max_chars: int, *, wide: bool) -> Iterator[tuple[Later, ...]]:
    """The observations in parts that fit beside the targets; none if the targets alone do not fit."""
    targets, observations = (MOST, MOST) if wide else (1, PER_CALL)
    later = group[0].later if group else ()
    if not 1 <= len(group) <= targets or len(later) > observations or any(one.later != later for one in group):
        raise ModelError(
            f"groups: a group takes 1 to {targets} looks at the same observations, at most {observations} of them"
        )
    left = room = max_chars - sum(_size(one.text) for one in group)
    shown: list[Later] = []
    for one in later:
        size = _size(one.text)
        if size > room:
            continue
        if size > left:
            yield tuple(shown)
            shown, left = [], room
        shown.append(one)
        left -= size
    if shown:
        yield tuple(shown)


def _sections(group: Sequence[TargetLook], part: Sequence[Later], *, wide: bool) -> list[Section]:
    return [
        *(
            Section(f"earlier statement {number}" if wide else "earlier statement", one.text, one.at)
            for number, one in enumerate(group, start=1)
        ),
        *(Section(f"observation {number}", one.text, one.at) for number, one in enumerate(part, start=1)),
    ]


def _proposed(
    group: Sequence[TargetLook], parts: Sequence[Sequence[Later]], said: Sequence[Labels | WideLabels | Failure]
) -> list[tuple[Pair, ...] | Failure]:
    labels: dict[tuple[int, str], list[bool]] = {}
    for part, one in zip(parts, said, strict=True):
        if isinstance(one, Failure):
            return [one] * len(group)
        shown = {number: later.evidence for number, later in enumerate(part, start=1)}
        for label in one.labels:
            if label.observation in shown:
                labels.setdefault((label.statement, shown[label.observation]), []).append(label.may_change)
    return [
        tuple(
            Pair(item=look.item, evidence=later.evidence)
            for later in look.later
            if any(labels.get((number, later.evidence), [True]))
        )
        for number, look in enumerate(group, start=1)
    ]


def _size(text: str) -> int:
    return len(visible_text(text))
