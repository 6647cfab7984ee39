"""The new items of a returning agent's view, and the items that were said again during its absence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from readmit.rules.readmission.known_before import KnownBefore, words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from readmit.records.snapshot import Held, Snapshot

News = Literal["new", "confirmed"]


def news(
    shown: Collection[str], eligible: Mapping[str, Held], snapshot: Snapshot, before: KnownBefore
) -> dict[str, News]:
    """Items of a view whose statement did not stand for the agent when it left, and those repeated since."""
    everything = snapshot.state.held
    texts = {everything[name].item.text for name in shown}
    alike: dict[object, list[str]] = {}
    for name, held in everything.items():
        if held.item.text in texts:
            alike.setdefault(words_of(held.item), []).append(name)
    same = {name: alike[words_of(everything[name].item)] for name in shown}
    known = {other for names in same.values() for other in names if before.has(other)}
    known -= before.fell_before(known)
    found: dict[str, News] = {}
    for name, names in same.items():
        if known.isdisjoint(names):
            found[name] = "new"
        elif any(other in eligible and _is_of_the_absence(everything[other], snapshot) for other in names):
            found[name] = "confirmed"
    return found


def _is_of_the_absence(held: Held, snapshot: Snapshot) -> bool:
    """Whether an item was recorded since departure, from evidence observed since."""
    departed = snapshot.checkpoint.epoch
    own = (snapshot.evidence.get(one.evidence) for one in held.item.receipts if "item" in one.binds)
    return held.epoch > departed and any(one is not None and one.intact and one.epoch > departed for one in own)
