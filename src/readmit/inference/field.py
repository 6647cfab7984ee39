"""The input of linking and replacing: the needs of one agent's duties, and the items that may meet them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from readmit.records.acts.event import Link
from readmit.records.canonical import digest
from readmit.records.decisions import Disposition
from readmit.records.items import Frontier, Obligation
from readmit.records.reasons import Reason
from readmit.records.snapshot import Held
from readmit.rules.cycle import examine
from readmit.state.load import snapshot as take_snapshot
from readmit.text.nearness import name_words
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.log.derived_texts import DerivedTexts
    from readmit.records.acts.event import Checkpoint
    from readmit.records.identity import Identity
    from readmit.rules.cycle import Examined
    from readmit.workspace.workspace import Workspace

NEED = "need"
PLANNED = "plan"
"""Kind of the derived text that describes a planned duty's need."""


class OpenNeed(msgspec.Struct, frozen=True, kw_only=True):
    """One dependency of the duties that are owed."""

    name: str
    text: str
    """The need in words."""
    planned: bool
    """Whether only duties that a model planned require it."""
    vouched: bool
    """Whether a person called it critical: a model's link alone does not meet it."""


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One agent's needs and candidates, as of one epoch."""

    needs: Mapping[str, OpenNeed]
    held: Mapping[str, Held]
    """Every fact and constraint in sight, in log order."""
    baseline: frozenset[str]
    """Items that stand, or are out only because of a suspicion."""
    rejected: Mapping[str, Disposition]

    def open(self) -> tuple[OpenNeed, ...]:
        """Needs that no standing item meets."""
        met = {name for item in self.baseline for name in meets(self.held[item])}
        return tuple(need for name, need in self.needs.items() if name not in met)


def field(workspace: Workspace, departed: Checkpoint, identity: Identity, *, purpose: str | None) -> Field:
    """Read it from the log, as of its current end."""
    log, policy = desk_of(workspace).log, workspace.admin.policy
    with log.reading():
        seen = take_snapshot(
            log, departed, identity, epoch=log.head, purpose=purpose, now=desk_of(workspace).writer.now()
        )
    found = examine(seen, policy)
    held = {name: entry for name, entry in seen.state.held.items() if _is_evidence(entry)}
    # As they were opened, so that open questions are searched for like other needs.
    owed = [seen.state.held[duty.obligation.id].item for duty in found.duties.owed]
    return Field(
        needs=_needs(log.derived, [duty for duty in owed if isinstance(duty, Obligation)]),
        held=held,
        baseline=_standing(found) & held.keys(),
        rejected=found.gated.rejected,
    )


def stood(workspace: Workspace, departed: Checkpoint, identity: Identity, *, purpose: str | None) -> frozenset[str]:
    """Items that stood at departure. A need that one of them met counts as met, also by a later link."""
    log = desk_of(workspace).log
    with log.reading():
        seen = take_snapshot(log, departed, identity, epoch=departed.epoch, purpose=purpose, now=departed.at)
    return _standing(examine(seen, workspace.admin.policy))


def meets(held: Held) -> tuple[str, ...]:
    """The dependencies that an item meets by itself, and those that it is linked to."""
    links = {mark.payload.need: mark.payload for mark in held.marks if isinstance(mark.payload, Link)}
    return (*held.item.covers, *(name for name, link in links.items() if not link.withdrawn))


def spoken_of(held: Held) -> dict[str, int]:
    """The dependencies of an item's links, withdrawn or not, each with the epoch of the last link."""
    return {mark.payload.need: mark.epoch for mark in held.marks if isinstance(mark.payload, Link)}


def need_key(duty: str, need: str) -> str:
    """The key of a need's description."""
    return digest((duty, need))


def _standing(found: Examined) -> frozenset[str]:
    # The running preparation may clear an item that is out only because of a suspicion.
    suspected = (name for name, one in found.gated.rejected.items() if set(one.reasons) == {Reason.SUSPECTED})
    return frozenset((*found.gated.eligible, *suspected))


def _is_evidence(held: Held) -> bool:
    return not isinstance(held.item, Obligation | Frontier)


def _needs(derived: DerivedTexts, duties: Sequence[Obligation]) -> dict[str, OpenNeed]:
    keys = {(duty.id, name): need_key(duty.id, name) for duty in duties for name in duty.required}
    stored = derived.read(NEED, PLANNED, keys.values())
    texts: dict[str, list[str]] = {}
    for (_, name), key in keys.items():
        if key in stored:
            texts.setdefault(name, []).append(stored[key].decode())
    return {
        name: OpenNeed(
            name=name,
            text=_worded(name, texts.get(name, ()), requiring),
            planned=all(duty.drafted is not None for duty in requiring),
            vouched=any(duty.drafted is None and name in duty.critical for duty in requiring),
        )
        for name in dict.fromkeys(name for _, name in keys)
        if (requiring := [duty for duty in duties if name in duty.required])
    }


def _worded(name: str, texts: Sequence[str], requiring: Sequence[Obligation]) -> str:
    plain = " ".join(name_words(name)) or name
    said = list(dict.fromkeys(texts)) or [f"needed to: {duty.text}" for duty in requiring[:1]]
    return f"{plain}. {' '.join(said)}"
