"""Which needs are lists: one item meets such a need, and a view takes as many of its items as fit.

A duty says so (``lists``). A need that several items of one slot meet is a list too: items stand side by side in a slot
only where a model chose it and nobody has said that it has one value.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from readmit.rules.cover.coverage import required

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from readmit.records.items import Obligation
    from readmit.records.snapshot import Held


def listed(eligible: Iterable[Held], obligations: Sequence[Obligation]) -> frozenset[str]:
    """The required dependencies that are lists."""
    said = frozenset(name for duty in obligations for name in duty.lists)
    drafted = [held.item for held in eligible if held.item.drafted is not None and held.item.slot is not None]
    if not drafted:
        return said
    several = Counter((item.slot, need) for item in drafted for need in dict.fromkeys(item.covers))
    return said | (required(obligations) & {need for (_, need), count in several.items() if count > 1})
