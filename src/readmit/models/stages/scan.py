"""The paper's scan: one target beside at most four later observations; which may change one of its premises?

Its output is a set of hypotheses. Unlabelled pairs, and those too long to be shown, are proposed, so that a scan can
waste work but cannot hide a pair.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import msgspec

from readmit.models.fence import MAX_CHARS, visible_text
from readmit.models.protocols import Failure
from readmit.models.stages.prompt_files import Section, request
from readmit.models.structured import answer
from readmit.records.error_types import ModelError
from readmit.records.verdicts import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.models.protocols import Ask, Model

PROMPT = "scan@1"
PER_CALL = 4
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
    """The model's answer about one observation."""

    observation: int
    may_change: bool


class Labels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer about one look."""

    labels: Annotated[list[Label], msgspec.Meta(max_length=PER_CALL)]


def scan(
    model: Model,
    looks: Sequence[TargetLook],
    *,
    workspace: str = "",
    max_tokens: int = MAX_TOKENS,
    max_chars: int = MAX_CHARS,
) -> list[tuple[Pair, ...] | Failure]:
    """The pairs that each look proposes, in order.

    ``max_chars`` bounds all texts of one request; observations that do not fit beside the target go into further
    requests. After a failure every pair of the look is still open: propose it or treat it as unsure.
    """
    parts = [list(_parts(look, max_chars)) for look in looks]
    flat = [part for own in parts for part in own]
    asks = [_ask(part, workspace, max_tokens, max_chars) for part in flat]
    said = iter(answer(model, asks, Labels))
    return [_named(look, own, [next(said) for _ in own]) for look, own in zip(looks, parts, strict=True)]


def _parts(look: TargetLook, max_chars: int) -> Iterator[TargetLook]:
    if len(look.later) > PER_CALL:
        raise ModelError(f"later: {len(look.later)} observations; one look takes at most {PER_CALL}")
    group: list[Later] = []
    left = room = max_chars - _size(look.text)
    for later in look.later:
        size = _size(later.text)
        if size > room:
            continue
        if size > left:
            yield msgspec.structs.replace(look, later=tuple(group))
            group, left = [], room
        group.append(later)
        left -= size
    if group:
        yield msgspec.structs.replace(look, later=tuple(group))


def _ask(look: TargetLook, workspace: str, max_tokens: int, max_chars: int) -> Ask:
    later = [Section(f"observation {number}", one.text, one.at) for number, one in enumerate(look.later, start=1)]
    sections = [Section("earlier statement", look.text, look.at), *later]
    return request(PROMPT, sections, workspace=workspace, max_tokens=max_tokens, max_chars=max_chars)


def _named(
    look: TargetLook, parts: Sequence[TargetLook], said: Sequence[Labels | Failure]
) -> tuple[Pair, ...] | Failure:
    cleared: set[str] = set()
    for part, one in zip(parts, said, strict=True):
        if isinstance(one, Failure):
            return one
        for number, later in enumerate(part.later, start=1):
            own = [label.may_change for label in one.labels if label.observation == number]
            if own and not any(own):
                cleared.add(later.evidence)
    return tuple(Pair(item=look.item, evidence=one.evidence) for one in look.later if one.evidence not in cleared)


def _size(text: str) -> int:
    return len(visible_text(text))
