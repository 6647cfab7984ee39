"""Gathers the items that an agent held when it left beside the texts that hold now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.diagnosis.history import in_words
from readmit.diagnosis.trial import FIT
from readmit.pages.page_values import Belief, Believed, Quote
from readmit.records.retractions import FALLEN, IN_DOUBT
from readmit.text.escapes import shorten_digests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readmit.pages.item_entries import Sight
    from readmit.records.acts.event import Checkpoint
    from readmit.records.decisions import Disposition

_DOUBTED = FALLEN | IN_DOUBT


def believed(sight: Sight, judged: Mapping[str, Disposition], departed: Checkpoint) -> Believed:
    """The items of a departure, as a later return found them."""
    held = [one for name, one in judged.items() if sight.held[name].epoch <= departed.epoch]
    fallen = [one for one in held if one.state in _DOUBTED]
    earlier = [one for one in fallen if _fell_before(one, departed)]
    standing = _standing(sight, judged)
    return Believed(
        fallen=tuple(_belief(sight, one, judged, standing) for one in fallen if one not in earlier),
        holding=sum(one.state in FIT for one in held),
        earlier=len(earlier),
        apart=sum(one.state not in FIT | _DOUBTED for one in held),
    )


def _fell_before(one: Disposition, departed: Checkpoint) -> bool:
    """Whether an event before the departure had ended it. A date alone ends an item at any time."""
    return any(cause.epoch is not None and cause.epoch <= departed.epoch for cause in one.causes)


def _standing(sight: Sight, judged: Mapping[str, Disposition]) -> dict[str, str]:
    """Slot → the item of it that stands."""
    fit = (sight.held[name].item for name, one in judged.items() if one.state in FIT)
    return {item.slot: item.id for item in fit if item.slot is not None}


def _belief(sight: Sight, one: Disposition, judged: Mapping[str, Disposition], standing: Mapping[str, str]) -> Belief:
    item = sight.held[one.item].item
    now = [quote for cause in one.causes for quote in sight.present(cause)]
    holder = standing.get(item.slot or "")
    if holder is not None:
        now = [quote for quote in now if quote != sight.side(holder)]
        now.insert(0, Quote(f"{holder} stands in slot {item.slot}", sight.side(holder).text))
    premises = (quote for cause in one.causes if cause.root for quote in sight.premise(cause))
    return Belief(
        id=one.item,
        kind=item.kind,
        state=one.state,
        was=tuple(dict.fromkeys((Quote(f"Recorded by {item.by}", sight.side(item.id).text), *premises))),
        now=tuple(dict.fromkeys(now)),
        why=tuple(map(shorten_digests, in_words(one, judged))),
    )
