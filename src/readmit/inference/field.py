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
from readmit.text.nearness import name_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.inference.expected_return import ExpectedReturn
    from readmit.log.derived_texts import DerivedTexts
    from readmit.rules.cycle import Examined

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
    many: bool = False
    """Whether it is a list: every item that meets it is of use."""


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

    def wanted(self) -> tuple[OpenNeed, ...]:
        """Needs that a model may link items to: the open ones, and lists."""
        open_ones = {need.name for need in self.open()}
        return tuple(need for need in self.needs.values() if (need.many or need.name in open_ones) and not need.vouched)


def field(expected: ExpectedReturn) -> Field:
    """Read it from the log, as of its current end."""
    seen = expected.snapshot()
    found = examine(seen, expected.policy)
    held = {name: entry for name, entry in seen.state.held.items() if _is_evidence(entry)}
    # As they were opened, so that open questions are searched for like other needs.
    owed = [seen.state.held[duty.obligation.id].item for duty in found.duties.owed]
    return Field(
        needs=_needs(expected.log.derived, [duty for duty in owed if isinstance(duty, Obligation)]),
        held=held,
        baseline=_standing(found) & held.keys(),
        rejected=found.gated.rejected,
    )


def stood(expected: ExpectedReturn) -> frozenset[str]:
    """Items that stood at departure. A need that one of them met counts as met, also by a later link."""
    departed = expected.departed
    return _standing(examine(expected.snapshot(departed.epoch, departed.at), expected.policy))


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
            many=any(name in duty.lists for duty in requiring),
        )
        for name in dict.fromkeys(name for _, name in keys)
        if (requiring := [duty for duty in duties if name in duty.required])
    }


def _worded(name: str, texts: Sequence[str], requiring: Sequence[Obligation]) -> str:
    plain = " ".join(name_words(name)) or name
    said = list(dict.fromkeys(texts)) or [f"needed to: {duty.text}" for duty in requiring[:1]]
    return f"{plain}. {' '.join(said)}"
