"""Puts open disputes to a model, in the name of a principal who may resolve them.

No model ends a dispute by itself: a principal asks for it, and the resolution is that principal's. It never counts in
that principal's own return. The disputed items still have to pass every gate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.inference.derive import answered
from readmit.models.protocols import Failure
from readmit.models.stages.answer import MAX_TOKENS, PROMPT, Opinion, Question, opine, position_of
from readmit.records.acts.event import Dispute, Resolve
from readmit.records.acts.kinds import targets_of
from readmit.records.base import nfc
from readmit.records.canonical import digest
from readmit.records.error_types import NotAllowedError
from readmit.records.evidence import Evidence
from readmit.records.identity import own_id
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit.log.log import Log
    from readmit.models.protocols import Model
    from readmit.records.acts.event import Event
    from readmit.records.identity import Identity
    from readmit.records.items import Item
    from readmit.workspace.workspace import Workspace

OPINION = "opinion"
"""The kind of derived text that holds a model's own answer."""
LONGEST_NOTE = 2_000


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one dispute. Without ``keep`` it stays open."""

    dispute: str
    keep: str | None = None
    why: str


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The question of a dispute, if known, and each item's answer to it."""

    question: Question
    sides: dict[str, str]
    exact: bool = False
    """Whether the answers are exact choices, so that even brackets matter."""


def resolve_disputes(
    workspace: Workspace,
    model: Model,
    identity: Identity,
    *,
    by: str,
    about: Mapping[str, Asked] | None = None,
    max_tokens: int = MAX_TOKENS,
) -> tuple[Resolution, ...]:
    """Resolve the open disputes that an identity can see, if the model's own answer matches exactly one side.

    ``about`` gives the question of a dispute. Otherwise the question is which of its items is true.
    """
    by = nfc(by)
    if by == identity.principal:
        raise NotAllowedError(f"{by!r} may not resolve disputes for its own return: name another principal")
    with desk_of(workspace).log.reading():
        contests = {
            event.name: (about or {}).get(event.name) or _asked(desk_of(workspace).log, event, identity)
            for event in _open(desk_of(workspace).log, identity)
        }
    said = _opinions(workspace, model, [one.question for one in contests.values() if _has_sides(one)], max_tokens)
    return tuple(_resolve(workspace, name, one, said, by) for name, one in contests.items())


def _open(log: Log, identity: Identity) -> list[Event]:
    seen = log.seen(identity, until=log.head)
    # The agent's own resolutions do not count in its return.
    others = (event.payload for event in seen if event.by != identity.principal)
    over = {payload.dispute for payload in others if isinstance(payload, Resolve)}
    return [event for event in seen if isinstance(event.payload, Dispute) and event.name not in over]


def _asked(log: Log, event: Event, identity: Identity) -> Asked:
    items = [log.item(name) for name in targets_of(event.payload)]
    parties = {event.by, *(item.by for item in items)}
    heard = (seen for seen in log.observations(identity, until=log.head) if seen.by not in parties)
    context = "\n\n".join(seen.payload.text for seen in heard if isinstance(seen.payload, Evidence))
    return Asked(question=_question(items, context), sides={item.id: item.text for item in items})


def _question(items: Sequence[Item], context: str) -> Question:
    """The question that the sides disagree about, without authors and in a neutral order.

    Its evidence are the observations of principals other than the parties.
    """
    choices = sorted({item.text for item in items}, key=digest)
    slots = {item.slot for item in items}
    about = f" They are about {slots.pop()}." if len(slots) == 1 and None not in slots else ""
    return Question(text=f"Which one of the choices is true now?{about}", choices=tuple(choices), context=context)


def _has_sides(contest: Asked) -> bool:
    return len(set(contest.sides.values())) > 1


def _opinions(
    workspace: Workspace, model: Model, questions: Sequence[Question], max_tokens: int
) -> dict[Question, Opinion | Failure]:
    """The model's answers; each question goes out once."""
    return answered(
        desk_of(workspace).log.derived,
        OPINION,
        PROMPT,
        {question: question.key(model.name, workspace=workspace.name) for question in questions},
        ask=lambda missing: opine(model, missing, workspace=workspace.name, max_tokens=max_tokens),
        form=Opinion,
    )


def _resolve(
    workspace: Workspace, name: str, contest: Asked, opinions: Mapping[Question, Opinion | Failure], by: str
) -> Resolution:
    if not _has_sides(contest):
        return Resolution(dispute=name, why="it has one side only: a person has to decide")
    said = opinions[contest.question]
    if isinstance(said, Failure):
        return Resolution(dispute=name, why=f"no answer: {said.message}")
    keep = position_of(said, contest.sides, workspace.admin.policy.paper.min_confidence, exact=contest.exact)
    why = f"{said.model} by itself: {said.answer or 'cannot tell'}, confidence {said.confidence}"[:LONGEST_NOTE]
    if keep is not None:
        workspace.resolve(name, keep=[keep], by=by, reason=why, id=own_id(by, digest((name, keep))))
    return Resolution(dispute=name, keep=keep, why=why)
